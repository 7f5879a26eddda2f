import Foundation
import Stet
import StetLMDB
import Testing

@Model private final class Reading {
    #Index<Reading>(\.sensor, \.value)
    #Index<Reading>(\.at, where: { $0.isValid == true })

    var sensor: String
    var value: Double
    @Attribute(.indexed) var note: String?
    var at: Date
    var isValid: Bool
    var place: Int

    init(_ number: Int) {
        sensor = "sensor \(number % 5)"
        value = number % 7 == 0 ? .nan : Double(number % 500) - 100
        note = number % 3 == 0 ? nil : "note \(number % 400)"
        at = Date(timeIntervalSinceReferenceDate: Double(number))
        isValid = number % 10 < 8
        place = number % 900
    }
}

/// The least and the greatest value are found at the end of an index that has the objects of the
/// query in the order of the values.
@Suite struct IndexEndTests {
    private let store: Store
    private let context: ManagedContext
    private let readings: [Reading]

    init() throws {
        store = try Store.inMemory(for: Reading.self)
        context = store.context()
        readings = (1...1_000).map(Reading.init)
        for reading in readings { context.insert(reading) }
        try context.save()
    }

    /// The values that count, in ascending order.
    private func values<T: Comparable>(
        _ value: (Reading) -> T?, where condition: (Reading) -> Bool = { _ in true }
    ) -> [T] {
        readings.filter { !$0.isDeleted && condition($0) }.compactMap(value)
            .filter { $0 == $0 }.sorted()
    }

    /// Compares with what Swift computes.
    private func compare() throws {
        let all = context.fetch(Reading.self)
        let notes = values(\.note)
        #expect(try all.min(\.note) == notes.first)
        #expect(try all.max(\.note) == notes.last)
        for sensor in ["sensor 0", "sensor 3", "sensor 5"] {
            let some = all.filter { $0.sensor == sensor }
            let numbers = values(\.value) { $0.sensor == sensor }
            #expect(try some.min(\.value) == numbers.first)
            #expect(try some.max(\.value) == numbers.last)
            let high = values(\.value) { $0.sensor == sensor && $0.value > 250 }
            let above = some.filter { $0.value > 250 }
            #expect(try above.min(\.value) == high.first)
            #expect(try above.max(\.value) == high.last)
            // The index does not decide this condition.
            let odd = values(\.value) { $0.sensor == sensor && $0.place > 700 }
            #expect(try some.filter { $0.place > 700 }.max(\.value) == odd.last)
        }
        let valid = all.filter { $0.isValid == true }
        let times = values(\.at) { $0.isValid }
        #expect(try valid.min(\.at) == times.first)
        #expect(try valid.max(\.at) == times.last)
        #expect(try all.max(\.at) == values(\.at).last)
        #expect(try all.sorted(by: \.place).limit(10).max(\.place) == 5)
    }

    @Test func endsAreThoseOfTheValues() throws {
        try compare()
        // The ends move: by pending changes, then by stored ones.
        for reading in readings.suffix(20) { context.delete(reading) }
        for reading in readings.prefix(30) {
            reading.note = "zoo"
            reading.value = 1_000
            reading.at = .distantFuture
        }
        readings[40].note = "a"
        readings[41].value = -.infinity
        readings[42].at = .distantPast
        try compare()
        try context.save()
        try compare()
        for reading in readings.dropLast(20) { reading.note = nil }
        try compare()
        try context.save()
        try compare()
    }

    @Test func aPageHasItsOwnEnds() throws {
        let page = context.fetch(Reading.self).sorted(by: \.at).limit(10)
        #expect(try page.max(\.note) == "note 8")
        #expect(try page.offset(1).min(\.note) == "note 10")
        #expect(try page.offset(10).min(\.note) == "note 11")
    }

    @Test func anEarlierRevisionHasItsOwnEnds() throws {
        let first = try store.revision()
        let notes = values(\.note)
        readings[0].note = "zoo"
        readings[1].note = "a"
        try context.save()
        let view = try store.view(asOf: first)
        #expect(try view.fetch(Reading.self).max(\.note) == notes.last)
        #expect(try view.fetch(Reading.self).min(\.note) == notes.first)
        #expect(try store.fetch(Reading.self).max(\.note) == "zoo")
        #expect(try store.fetch(Reading.self).min(\.note) == "a")
    }

    #if STET_FAULTS
        @Test func whatARangeExcludesIsNotRead() throws {
            for reading in readings.prefix(900) {
                reading.sensor = "sensor 3"
                reading.value = 5
            }
            try context.save()
            let all = store.fetch(Reading.self)
            let some = all.filter { $0.sensor == "sensor 3" }
            let faults = store.file.environment.faults
            let before = faults.moveCount
            let below = all.filter { $0.note < "note 1" }.sorted(by: \.note).limit(2)
            #expect(try below.values(of: \.note) == ["note 0", "note 0"])
            let after = some.filter { $0.value > 5 }.sorted(by: \.value).limit(2)
            #expect(try after.values(of: \.value) == [308, 313])
            let least = some.filter { $0.value < 5 }.sorted(by: \.value, .descending).limit(1)
            #expect(try least.values(of: \.value) == [])
            #expect(try some.filter { $0.value > 5 }.count() == 17)
            #expect(faults.moveCount - before < 50)
        }

        @Test func anEndIsFoundByAFewReads() throws {
            let all = store.fetch(Reading.self)
            let some = all.filter { $0.sensor == "sensor 3" }
            let valid = all.filter { $0.isValid == true }
            let faults = store.file.environment.faults
            let before = faults.moveCount
            #expect(try all.min(\.note) == "note 0")
            #expect(try all.max(\.note) == "note 99")
            #expect(try some.min(\.value) == -97)
            #expect(try some.max(\.value) == 398)
            #expect(try valid.max(\.at) == Date(timeIntervalSinceReferenceDate: 1_000))
            #expect(faults.moveCount - before < 50)
            // Without an index of the value.
            #expect(try all.max(\.place) == 899)
            #expect(faults.moveCount - before > 1_000)
        }
    #endif
}
