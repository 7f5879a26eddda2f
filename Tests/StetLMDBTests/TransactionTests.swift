import Foundation
import StetLMDB
import StetTestSupport
import Testing

struct TransactionTests {
    let directory: EnvironmentDirectory
    let environment: Environment
    let table: Table

    private struct Refusal: Error, Equatable {}

    init() throws {
        directory = try EnvironmentDirectory()
        environment = try directory.open()
        table = try environment.makeTable()
    }

    private func failure(_ operation: LMDBError.Operation, _ code: Int32) -> LMDBError {
        LMDBError(operation, code: code, path: directory.file())
    }

    @Test func aWriteReadsItsOwnChangesAndTheyStay() throws {
        let result = try environment.write { transaction in
            try transaction.set([1], [10], in: table)
            try transaction.set([2], [20], in: table)
            try transaction.set([1], [11], in: table)
            #expect(try transaction.unset([2], in: table))
            #expect(try !transaction.unset([3], in: table))
            #expect(try transaction.reading.count(of: table) == 1)
            return try transaction.reading.entries(in: table)
        }
        #expect(result == [KeyValue([1], [11])])
        #expect(try environment.entries(in: table) == result)
    }

    @Test func aWriteThatThrowsChangesNothing() throws {
        try environment.write { try $0.set([1], [10], in: table) }
        #expect(throws: Refusal()) {
            try environment.write { transaction in
                try transaction.set([1], [11], in: table)
                try transaction.set([2], [20], in: table)
                _ = try transaction.table("other")
                throw Refusal()
            }
        }
        #expect(try environment.entries(in: table) == [KeyValue([1], [10])])
        #expect(try environment.tables(["t", "other"]) == [table, nil])
    }

    @Test func aReadThatThrowsGivesItsErrorAndEnds() throws {
        #expect(throws: Refusal()) { try environment.read { _ in throw Refusal() } }
        try environment.write { try $0.set([1], [10], in: table) }
        #expect(try environment.entries(in: table) == [KeyValue([1], [10])])
    }

    @Test func aReadKeepsItsViewWhileAWriteCommits() throws {
        try environment.write { try $0.set([1], [10], in: table) }
        try environment.read { transaction in
            try environment.write { try $0.set([1], [11], in: table) }
            #expect(try transaction.value(of: [1], in: table) == [10])
            #expect(try environment.entries(in: table) == [KeyValue([1], [11])])
        }
        #expect(try environment.entries(in: table) == [KeyValue([1], [11])])
    }

    @Test func absentKeysHaveNoValueAndEmptyValuesAreValues() throws {
        try environment.write { try $0.set([1], [], in: table) }
        try environment.read { transaction in
            let values = [
                try transaction.value(of: [1], in: table),
                try transaction.value(of: [2], in: table),
            ]
            #expect(values == [[], nil])
            #expect(try transaction.count(of: table) == 1)
        }
    }

    @Test func aNamedTableIsFoundByItsNameOnly() throws {
        #expect(try environment.tables(["t", "u"]) == [table, nil])
        #expect(try environment.read { try $0.table("u") } == nil)
        #expect(try environment.write { try $0.table("t") } == table)
        let other = try environment.makeTable("u")
        #expect(try environment.tables(["t", "u"]) == [table, other])
    }

    // MARK: Limits of keys

    @Test(arguments: [1, 510, 511])
    func aKeyWithinTheLimitIsStored(byteCount: Int) throws {
        let key = [UInt8](repeating: 0xab, count: byteCount)
        try environment.write { try $0.set(key, [1], in: table) }
        #expect(try environment.entries(in: table) == [KeyValue(key, [1])])
        #expect(try environment.write { try $0.unset(key, in: table) })
        #expect(try environment.entries(in: table) == [])
    }

    @Test(arguments: [0, 512, 5_000])
    func aKeyOutsideOfTheLimitIsRefused(byteCount: Int) throws {
        let key = [UInt8](repeating: 0xab, count: byteCount)
        try environment.write { try $0.set([1], [1], in: table) }
        let refused = failure(.put, LMDBError.badValueSize)
        #expect(lmdbError { try environment.write { try $0.set(key, [1], in: table) } } == refused)
        #expect(lmdbError { try environment.write { try $0.fill(key, [1], in: table) } } == refused)
        #expect(try environment.entries(in: table) == [KeyValue([1], [1])])
    }

    @Test func theLongestKeyIsThatOfTheLimit() {
        #expect(Table.longestKeyByteCount == 511)
    }

    // MARK: Reserve and append

    @Test(arguments: [0, 1, 2_000, 4_080, 4_081, 100_000])
    func reservedRoomIsAsLargeAsAskedFor(byteCount: Int) throws {
        let value = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try environment.write { transaction in
            try transaction.fill([1], Array(value.reversed()), in: table)
            try transaction.fill([1], value, in: table)
        }
        #expect(try environment.entries(in: table) == [KeyValue([1], value)])
    }

    @Test func appendingInOrderGivesThatOrder() throws {
        let expected = (1...500).map { (number: Int) in
            KeyValue([UInt8(number / 256), UInt8(number % 256)], [UInt8(number % 7)])
        }
        try environment.write { transaction in
            for entry in expected {
                try transaction.fill(entry.key, entry.value, in: table, appending: true)
            }
        }
        #expect(try environment.entries(in: table) == expected)
    }

    @Test(arguments: [[UInt8]]([[5], [4], [4, 9]]))
    func appendingOutOfOrderIsAnErrorAndChangesNothing(key: [UInt8]) throws {
        try environment.write { try $0.fill([5], [50], in: table, appending: true) }
        let error = lmdbError {
            try environment.write { try $0.fill(key, [1], in: table, appending: true) }
        }
        #expect(error == failure(.put, LMDBError.keyExists))
        #expect(try environment.entries(in: table) == [KeyValue([5], [50])])
    }

    // MARK: Against a model

    @Test func randomWritesLeaveWhatADictionaryHas() throws {
        let seed: UInt64 = 0x57e7_0001
        var random = SeededGenerator(seed: seed)
        var model: [[UInt8]: [UInt8]] = [:]
        for round in 0..<60 {
            var copy = model
            let fails = Int.random(in: 0..<4, using: &random) == 0
            do {
                try environment.write { transaction in
                    for _ in 0..<Int.random(in: 1...30, using: &random) {
                        try Self.step(&copy, transaction, table, &random)
                    }
                    let entries = try transaction.reading.entries(in: table)
                    #expect(entries == Self.sorted(copy), "seed \(seed), round \(round)")
                    if fails { throw Refusal() }
                }
                model = copy
            } catch is Refusal {}
            let entries = try environment.entries(in: table)
            #expect(entries == Self.sorted(model), "seed \(seed), round \(round)")
        }
    }

    private static func step(
        _ model: inout [[UInt8]: [UInt8]], _ transaction: borrowing WriteTransaction,
        _ table: Table, _ random: inout SeededGenerator
    ) throws {
        let key = (0...Int.random(in: 0...2, using: &random)).map { _ in
            UInt8.random(in: 0...5, using: &random)
        }
        let count = [0, 3, 900, 3_000, 9_000].randomElement(using: &random) ?? 0
        let value = [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: count)
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            try transaction.set(key, value, in: table)
            model[key] = value
        case 1:
            try transaction.fill(key, value, in: table)
            model[key] = value
        default:
            let isThere = try transaction.unset(key, in: table)
            #expect(isThere == (model.removeValue(forKey: key) != nil))
        }
    }

    private static func sorted(_ model: [[UInt8]: [UInt8]]) -> [KeyValue] {
        model.map { KeyValue($0.key, $0.value) }
            .sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }
}
