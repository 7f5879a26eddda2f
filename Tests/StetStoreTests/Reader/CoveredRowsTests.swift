import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// Values that a query takes from the entries of an index.
struct CoveredRowsTests {
    private let library: Library

    init() throws {
        library = try Library(schema: .people)
        try library.commit([
            library.edit(person(1), person("Ada", age: 3, score: 1.5)),
            library.edit(person(2), person("Bob", age: -7, score: -2)),
            library.edit(person(3), person("\u{212a}im", age: nil, score: 0)),
            library.edit(person(4), person("Kip", age: .max, score: -0.0)),
            library.edit(person(5), person("e\u{301}", age: .min, score: .infinity)),
            library.edit(
                person(6), person(String(repeating: "x", count: 600), age: 0, score: .nan)),
        ])
    }

    /// Returns the values of a property of all people at or above the least value of another one,
    /// in its order.
    private func values(
        _ slot: Slot, by order: Slot, from least: Value
    ) throws -> [Value] {
        try library.file.read { reader in
            var query = StoreQuery(entity: 1)
            let node = QueryNode.property(.root, slot: order)
            query.condition = .comparison(.greaterOrEqual, node, .constant(least))
            query.order = [QueryOrder(node)]
            let view = QueryState.View(
                WorkingState(library.file.schema, at: try reader.head().revision))
            let run = try QueryRun(QueryState(reader, view), query)
            let page = try run.values(of: .property(.root, slot: slot))
            var all: [Value] = []
            query.order = []
            try QueryRun(QueryState(reader, view), query)
                .forEachValue(.property(.root, slot: slot)) { value in
                    all.append(value)
                    return true
                }
            #expect(all.count == page.count)
            return page
        }
    }

    /// Makes the records of people unreadable.
    private func damageRecords(_ numbers: [Int]) throws {
        let records = try #require(try library.file.dump()["records.1"])
        for number in numbers {
            let key = withUnsafeBytes(of: person(number).id.uuid.uuid) { Array($0) }
            #expect(records[key] != nil)
            try library.file.tamper("records.1", key, [1, 2, 3])
        }
    }

    private func texts(_ values: [Value]) -> [[UInt8]] {
        values.map { value in
            if case .string(let text) = value { Array(text.utf8) } else { [] }
        }
    }

    @Test func valuesOfAnIndexAreReadWithoutRecords() throws {
        try damageRecords([1, 2])
        let names = try texts(values(0, by: 0, from: .string("A")))
        #expect(names.prefix(2) == [Array("Ada".utf8), Array("Bob".utf8)])
        #expect(names.count == 6)
        try damageRecords([4, 5, 6])
        #expect(try values(2, by: 2, from: .int(-7)) == [-7, 0, 3, .max].map(Value.int))
    }

    @Test func textThatAnEntryDoesNotShowComesFromItsRecord() throws {
        let found = try texts(values(0, by: 0, from: .string("K")))
        let expected = ["\u{212a}im", "Kip", String(repeating: "x", count: 600), "e\u{301}"]
        #expect(found == expected.map { Array($0.utf8) })
    }

    @Test func numbersThatAnEntryDoesNotShowComeFromTheirRecords() throws {
        let found = try values(3, by: 3, from: .double(-2)).map { value in
            if case .double(let number) = value { number.bitPattern } else { UInt64.max }
        }
        #expect(found == [-2, 0, -0.0, 1.5, .infinity].map(\.bitPattern))
    }

    @Test func otherValuesAreReadFromRecords() throws {
        #expect(try values(3, by: 2, from: .int(3)) == [.double(1.5), .double(-0.0)])
        try damageRecords([1])
        #expect(throws: StoreError.self) { try values(3, by: 2, from: .int(3)) }
    }

    @Test func aConditionOnOtherPropertiesIsTestedOnRecords() throws {
        let name = QueryNode.property(.root, slot: 0)
        var query = StoreQuery(entity: 1)
        query.condition = .not(
            .comparison(.equal, .property(.root, slot: 2), .constant(.int(3))))
        query.order = [QueryOrder(name)]
        query.limit = 2
        let names = try library.file.read { reader in
            let view = QueryState.View(
                WorkingState(library.file.schema, at: try reader.head().revision))
            return try QueryRun(QueryState(reader, view), query).values(of: name)
        }
        #expect(texts(names) == [Array("Bob".utf8), Array("\u{212a}im".utf8)])
    }

    @Test func aDamagedEntryIsAnErrorAndOneOfAnEarlierVersionIsNot() throws {
        let index = try library.file.index(.age)
        let entries = try #require(try library.file.dump()["indexes"])
        let isOfAge = { (key: [UInt8]) in key[0] == 0 && Int(key[1]) == index.number }
        for key in entries.keys.filter(isOfAge) { try library.file.tamper("indexes", key, []) }
        #expect(try values(2, by: 2, from: .int(0)) == [0, 3, .max].map(Value.int))
        #expect(try library.file.verify().problems == [])
        for key in entries.keys.filter(isOfAge) {
            try library.file.tamper("indexes", key, [1, 2, 3, 4])
        }
        let error = #expect(throws: StoreError.self) { try values(2, by: 2, from: .int(0)) }
        #expect(error?.code == .damaged)
        let problems = try library.file.verify().problems
        #expect(problems.count == 6)
        #expect(problems.allSatisfy { $0.contains("has a wrong checksum for") })
    }

    /// Entries whose checksums are right, as an attacker writes them.
    @Test func noHostileEntryIsATrap() throws {
        var random = SeededGenerator(seed: 0x57e7_c0fe)
        for index in [EntityIndex.name, .age, .score, .tag] {
            let number = try library.file.index(index).number
            let slot = index.parts[0].slot
            for _ in 0..<300 {
                let count = Int.random(in: 0...20, using: &random)
                let values = (0..<count).map { _ in
                    [0, 1, 0x7f, 0xff, UInt8.random(in: .min ... .max, using: &random)]
                        .randomElement(using: &random)!
                }
                let key = [0, UInt8(number)] + values + [UInt8](repeating: 7, count: 16)
                let checksum = key.withUnsafeBytes {
                    UInt32(truncatingIfNeeded: Checksum.hash($0, seed: 0))
                }
                let value = withUnsafeBytes(of: checksum.littleEndian) { Array($0) }
                try library.file.tamper("indexes", key, value)
                do {
                    _ = try all(slot)
                } catch let error as StoreError {
                    #expect(error.code == .damaged)
                }
                try library.file.tamper("indexes", key, nil)
            }
            #expect(try all(slot).count == 6)
        }
        #expect(try library.file.verify().problems == [])
    }

    /// Returns a property of the first people in its order, whose nils come first.
    private func all(_ slot: Slot) throws -> [Value] {
        try library.file.read { reader in
            var query = StoreQuery(entity: 1)
            query.order = [QueryOrder(.property(.root, slot: slot))]
            query.limit = 1_000
            let view = QueryState.View(
                WorkingState(library.file.schema, at: try reader.head().revision))
            return try QueryRun(QueryState(reader, view), query)
                .values(of: .property(.root, slot: slot))
        }
    }
}

extension QueryRun {
    /// Returns the value of a node for each object of the page, in order.
    func values(of node: QueryNode) throws -> [Value] {
        var all: [Value] = []
        try forEachOfPage(reading: [node]) { _, values in all.append(values[0]) }
        return all
    }
}
