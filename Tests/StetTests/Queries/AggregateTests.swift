import Foundation
import Stet
import StetTestSupport
import Testing

/// Sums, groups and the like, compared with what Swift computes.
@Suite struct AggregateTests {
    private let directory = TemporaryDirectory()
    private let context: ManagedContext
    private let samples: [PlainSample]

    init() throws {
        let store = try Store.open(at: directory.file(), for: PlainSample.self, PlainBox.self)
        context = store.context()
        let boxes = ["one", "two"].map { PlainBox(name: $0) }
        samples = (0..<40).map { number in
            let sample = PlainSample()
            sample.number = number
            sample.size = number % 3 == 0 ? nil : number
            sample.real = number == 7 ? .nan : Double(number) / 2
            sample.price = Decimal(number) / 10
            sample.small = Int8(number % 5)
            sample.text = ["a", "e\u{301}", "\u{e9}", "b"][number % 4]
            sample.note = number % 2 == 0 ? "note \(number % 6)" : nil
            sample.box = number % 4 == 0 ? nil : boxes[number % 2]
            return sample
        }
        for sample in samples { context.insert(sample) }
        try context.save()
        // Some of the objects have pending changes.
        samples[39].number = 1_000
    }

    private var all: Fetch<PlainSample> { context.fetch(PlainSample.self) }

    @Test func valuesComeInTheOrderOfTheQueryWithoutObjects() throws {
        let query = context.fetch(PlainSample.self) { $0.number > 30 }
            .sorted(by: \.number, .descending).limit(3)
        #expect(try query.values(of: \.number) == [1_000, 38, 37])
        let pairs = try query.values(of: \.number, \.note)
        #expect(pairs.map { $0.0 } == [1_000, 38, 37])
        #expect(pairs.map { $0.1 } == [nil, "note 2", nil])
        #expect(try query.values(of: \.box?.name) == ["two", "one", "two"])
        #expect(try all.values { $0.number + 1 }.max() == 1_001)
        let stored = context.store.fetch(PlainSample.self).sorted(by: \.number)
        #expect(try stored.values(of: \.number) == Array(0..<40))
    }

    @Test func valuesOfEachTypeAreThoseOfTheObjects() throws {
        samples[3].note = "edited"
        samples[3].kind = .blue
        samples[5].size = nil
        samples[6].box = nil
        let found = try all.all()
        #expect(try all.values(of: \.number) == found.map(\.number))
        #expect(try all.values(of: \.small) == found.map(\.small))
        #expect(try all.values(of: \.whole) == found.map(\.whole))
        #expect(
            try all.values(of: \.real).map(\.bitPattern) == found.map(\.real.bitPattern))
        #expect(try all.values(of: \.size) == found.map(\.size))
        #expect(try all.values(of: \.text) == found.map(\.text))
        #expect(try all.values(of: \.note) == found.map(\.note))
        #expect(try all.values(of: \.date) == found.map(\.date))
        #expect(try all.values(of: \.flag) == found.map(\.flag))
        #expect(try all.values(of: \.price) == found.map(\.price))
        #expect(try all.values(of: \.kind) == found.map(\.kind))
        #expect(try all.values(of: \.id) == found.map { $0.id })
        #expect(try all.values(of: \.box?.id) == found.map { $0.box?.id })
        #expect(try all.values(of: \.box?.rank).map { $0 ?? nil } == found.map { $0.box?.rank })
    }

    @Test func computedValuesAndStoredOnesComeTogether() throws {
        let found = try all.all()
        let quadruples = try all.values(of: \.text, { $0.number + 1 }, \.note, \.text)
        #expect(quadruples.map { $0.0 } == found.map(\.text))
        #expect(quadruples.map { $0.1 } == found.map { $0.number + 1 })
        #expect(quadruples.map { $0.2 } == found.map(\.note))
        #expect(quadruples.map { $0.3 } == found.map(\.text))
        let pairs = try all.values(of: { $0.number * 2 }, \.kind)
        #expect(pairs.map { $0.0 } == found.map { $0.number * 2 })
        #expect(pairs.map { $0.1 } == found.map(\.kind))
    }

    @Test func aValueThatItsTypeCannotRepresentIsAnError() throws {
        samples[0].number = .max
        let error = #expect(throws: StoreError.self) { try all.values { $0.number + 1 } }
        #expect(error?.code == .unreadableValue)
        let object = "the object \(samples[0].id) of PlainSample"
        #expect(error?.message == "A value of \(object) does not fit Int.")
    }

    @Test func sumsAndAveragesAreThoseOfTheValues() throws {
        #expect(try all.sum(\.number) == samples.map(\.number).reduce(0, +))
        #expect(try all.sum(\.size) == samples.compactMap(\.size).reduce(0, +))
        #expect(try all.sum(\.price) == samples.map(\.price).reduce(0, +))
        #expect(try all.sum(\.real).isNaN)
        #expect(try all.average(\.number) == Double(samples.map(\.number).reduce(0, +)) / 40)
        #expect(try all.average(\.price) == 1.95)
        let none = context.fetch(PlainSample.self) { $0.number < 0 }
        #expect(try none.sum(\.number) == 0)
        #expect(try none.average(\.number) == nil)
        #expect(try none.min(\.number) == nil)
    }

    @Test func aSumThatDoesNotFitIsAnError() throws {
        samples[0].small = 127
        #expect {
            try all.sum(\.small)
        } throws: { ($0 as? QueryError)?.code == .overflow }
        samples[0].number = .max
        samples[1].number = .max
        #expect {
            try all.sum(\.number)
        } throws: { ($0 as? QueryError)?.code == .overflow }
        #expect(try all.average(\.number)! > Double(Int.max) / 40)
    }

    @Test func leastAndGreatestLeaveNilAndNotANumberOut() throws {
        #expect(try all.min(\.number) == 0)
        #expect(try all.max(\.number) == 1_000)
        #expect(try all.min(\.size) == 1)
        #expect(try all.max(\.real) == 19.5)
        #expect(try all.min(\.note) == "note 0")
        #expect(try all.max(\.box?.name) == "two")
        #expect(try all.limit(3).max(\.number) == 2)
    }

    @Test func distinctValuesComeOnceInOrder() throws {
        #expect(try all.distinct(\.text) == ["a", "b", "e\u{301}"])
        #expect(try all.distinct(\.small) == [0, 1, 2, 3, 4])
        #expect(try all.distinct(\.note) == [nil, "note 0", "note 2", "note 4"])
        #expect(try all.distinct(\.box?.name) == [nil, "one", "two"])
        #expect(try all.distinct(\.kind) == [.red])
    }

    @Test func groupsHaveTheirOwnSums() throws {
        let groups = try all.grouped(by: \.small) { group in
            (group.count, try group.sum(\.number), try group.max(\.number))
        }
        let expected = Dictionary(grouping: samples, by: \.small).sorted { $0.key < $1.key }
        #expect(groups.map(\.key) == expected.map(\.key))
        #expect(groups.map(\.value.0) == expected.map(\.value.count))
        #expect(groups.map(\.value.1) == expected.map { $0.value.map(\.number).reduce(0, +) })
        #expect(groups.map(\.value.2) == expected.map { $0.value.map(\.number).max() })
        let byBox = try all.grouped(by: \.box) { $0.count }
        let boxes = Dictionary(grouping: samples, by: \.box?.id)
        #expect(byBox.map(\.key) == [nil] + boxes.keys.compactMap(\.self).sorted())
        #expect(byBox.map(\.value) == byBox.map { boxes[$0.key]?.count })
        let byName = try all.sorted(by: \.number, .descending)
            .grouped(by: \.box?.name) { try $0.snapshots().first?.number }
        #expect(byName.map(\.value) == [36, 38, 1_000])
    }

    @Test func aGroupIsOfNoUseBehindItsClosure() async {
        await #expect(processExitsWith: .failure) {
            let store = try Store.open(
                at: TemporaryDirectory().file(), for: PlainSample.self, PlainBox.self)
            let context = store.context()
            context.insert(PlainSample())
            var kept: QueryGroup<PlainSample>?
            _ = try context.fetch(PlainSample.self).grouped(by: \.number) { kept = $0 }
            _ = kept?.count
        }
    }
}
