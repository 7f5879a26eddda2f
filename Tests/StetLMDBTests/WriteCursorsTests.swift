import Foundation
import StetLMDB
import StetTestSupport
import Testing

/// Changes of tables in every order, beside plain dictionaries: the cursor of a table stays where
/// the last change was, which the next one must not notice.
struct WriteCursorsTests {
    /// A table, and what it should have.
    private struct Twin {
        let table: Table
        var entries: [[UInt8]: [UInt8]] = [:]
        var appendedCount: UInt16 = 0

        func expected() -> [KeyValue] {
            entries.map { KeyValue($0, $1) }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        }
    }

    private struct Refusal: Error {}

    private let directory: EnvironmentDirectory
    private let environment: Environment

    init() throws {
        directory = try EnvironmentDirectory()
        environment = try directory.open(mapByteCount: 64 << 20)
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func tablesHaveWhatDictionariesHave(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var twins = [Twin(table: .unnamed), Twin(table: try environment.makeTable("a"))]
        twins.append(Twin(table: try environment.makeTable("b")))
        let names = try environment.entries(in: .unnamed)
        for _ in 0..<12 {
            var changed = twins
            let isRefused = Int.random(in: 0..<5, using: &random) == 0
            do {
                try environment.write { transaction in
                    for _ in 0..<Int.random(in: 1...20, using: &random) {
                        let place = Int.random(in: 0..<changed.count, using: &random)
                        try change(&changed[place], in: transaction, &random)
                    }
                    if isRefused { throw Refusal() }
                }
                twins = changed
            } catch is Refusal {
                #expect(isRefused)
            }
            for twin in twins {
                let found = try environment.entries(in: twin.table)
                #expect(found.filter { !names.map(\.key).contains($0.key) } == twin.expected())
            }
            #expect(try damages() == [])
        }
    }

    /// `STET_PAGES` sets the number of pages: of more than 131,071, LMDB writes some before the
    /// transaction ends, but none that a cursor is on.
    @Test func aTransactionOfManyPagesIsWhole() throws {
        let set = ProcessInfo.processInfo.environment["STET_PAGES"].flatMap(Int.init)
        let count = set ?? 2_000
        let environment = try directory.open("many.mdb", mapByteCount: count * 16_384 + 4 << 20)
        let table = try environment.makeTable()
        var random = SeededGenerator(seed: 1)
        func key(_ number: Int) -> [UInt8] {
            withUnsafeBytes(of: UInt32(number).bigEndian, Array.init)
        }
        func value(_ number: Int, _ round: UInt8) -> [UInt8] {
            [UInt8](repeating: round, count: 2_500) + key(number)
        }
        try environment.write { transaction in
            for number in (0..<count).shuffled(using: &random) {
                try transaction.set(key(number), value(number, 1), in: table)
            }
            for number in 0..<count where number % 3 == 0 {
                _ = try transaction.unset(key(number), in: table)
            }
            for number in (0..<count).shuffled(using: &random) where number % 5 == 0 {
                try transaction.set(key(number), value(number, 2), in: table)
            }
        }
        var isExpected = true
        var next = 0
        try environment.read { transaction in
            try transaction.scan(table) { found, bytes in
                while next % 3 == 0, next % 5 != 0 { next += 1 }
                let expected = value(next, next % 5 == 0 ? 2 : 1)
                isExpected = isExpected && Array(found) == key(next) && Array(bytes) == expected
                next += 1
                return isExpected
            }
        }
        #expect(isExpected)
        while next % 3 == 0, next % 5 != 0 { next += 1 }
        #expect(next >= count)
        #expect(try damages(of: "many.mdb") == [])
    }

    /// With eight keys to a page, a few hundred make a tree that grows and shrinks by branches.
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func aDeepTreeGrowsAndShrinks(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var twin = Twin(table: try environment.makeTable())
        func key(_ number: Int) -> [UInt8] {
            [UInt8(number >> 8), UInt8(number & 0xff)]
                + [UInt8](repeating: UInt8(number & 0xff), count: 300 + number % 200)
        }
        for round in 0..<8 {
            var numbers = Array(0..<600)
            if round % 2 == 1 { numbers.shuffle(using: &random) }
            try environment.write { transaction in
                for number in numbers where Int.random(in: 0..<3, using: &random) > 0 {
                    let value = [UInt8](
                        repeating: UInt8(round), count: Int.random(in: 0...1_500, using: &random))
                    try put(key(number), value, &twin, in: transaction)
                }
                if round % 3 == 0 {
                    _ = try transaction.table("new \(round)")
                    try append(value(&random), &twin, in: transaction)
                }
                for number in numbers where Int.random(in: 0...round + 1, using: &random) > 1 {
                    try remove(key(number), &twin, in: transaction)
                }
                let isEmptied = round == 5
                for key in isEmptied ? Array(twin.entries.keys) : [] {
                    try remove(key, &twin, in: transaction)
                }
            }
            #expect(try environment.entries(in: twin.table) == twin.expected())
            #expect(try damages() == [])
        }
        #expect(!twin.entries.isEmpty)
    }

    @Test func aTableIsMadeBetweenChangesOfTheListOfTables() throws {
        try environment.write { transaction in
            for number in 0..<40 as Range<UInt8> {
                try transaction.set([0x80, number], [number], in: .unnamed)
                let table = try transaction.table("table \(number)")
                try transaction.set([number], [], in: table)
                let isThere = try transaction.unset([0x80, number / 2], in: .unnamed)
                #expect(isThere == (number % 2 == 0))
            }
        }
        let names = try environment.entries(in: .unnamed).map(\.key)
        #expect(names.filter { $0[0] == 0x80 } == (20..<40 as Range<UInt8>).map { [0x80, $0] })
        for number in 0..<40 as Range<UInt8> {
            let table = try #require(try environment.tables(["table \(number)"]).first ?? nil)
            #expect(try environment.entries(in: table) == [KeyValue([number], [])])
        }
        #expect(try damages() == [])
    }

    @Test func anAppendedKeyThatIsNotTheLastLeavesTheCursorUsable() throws {
        let table = try environment.makeTable()
        try environment.write { transaction in
            try transaction.set([5], [5], in: table)
            let error = #expect(throws: LMDBError.self) {
                try transaction.fill([4], [4], in: table, appending: true)
            }
            #expect(error?.code == LMDBError.keyExists)
            try transaction.fill([6], [6], in: table, appending: true)
            try transaction.set([4], [4], in: table)
        }
        let keys = try environment.entries(in: table).map(\.key)
        #expect(keys == [[4], [5], [6]])
    }

    /// Makes a series of changes of one kind.
    private func change(
        _ twin: inout Twin, in transaction: borrowing WriteTransaction,
        _ random: inout SeededGenerator
    ) throws {
        let count = [1, 3, 40, 900][Int.random(in: 0..<4, using: &random)]
        var keys = (0..<count).map { _ in key(&random) }
        if Bool.random(using: &random) { keys.sort { $0.lexicographicallyPrecedes($1) } }
        if Int.random(in: 0..<4, using: &random) == 0 { keys.reverse() }
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1:
            for key in keys { try put(key, value(&random), &twin, in: transaction) }
        case 2:
            for key in keys {
                let value = value(&random)
                try transaction.fill(key, value, in: twin.table)
                twin.entries[key] = value
            }
        case 3:
            // Of those that are there, and of some that are not.
            let present = twin.expected().prefix(count).map(\.key)
            for key in present + keys { try remove(key, &twin, in: transaction) }
        case 4:
            for key in keys {
                try put(key, value(&random), &twin, in: transaction)
                try remove(keys[Int.random(in: 0..<count, using: &random)], &twin, in: transaction)
            }
        case 5:
            for _ in keys { try append(value(&random), &twin, in: transaction) }
        case 6:
            try readBack(Array(keys.prefix(20)), &twin, in: transaction, &random)
            let isKept = twin.table == .unnamed || Int.random(in: 0..<3, using: &random) > 0
            if isKept { return }
            try transaction.empty(twin.table)
            twin.entries = [:]
        default:
            try seek(keys, &twin, in: transaction, &random)
        }
    }

    private func readBack(
        _ keys: [[UInt8]], _ twin: inout Twin, in transaction: borrowing WriteTransaction,
        _ random: inout SeededGenerator
    ) throws {
        for key in keys {
            try put(key, value(&random), &twin, in: transaction)
            let found = try transaction.reading.value(of: key, in: twin.table)
            #expect(found == twin.entries[key])
        }
    }

    /// Puts and removes keys beside a cursor that reads.
    private func seek(
        _ keys: [[UInt8]], _ twin: inout Twin, in transaction: borrowing WriteTransaction,
        _ random: inout SeededGenerator
    ) throws {
        let cursor = try transaction.reading.cursor(in: twin.table)
        for key in keys {
            _ = try cursor.seek(key)
            try put(key, value(&random), &twin, in: transaction)
            let entry = try cursor.seek(key)
            #expect(entry.map { Array($0.key) } == key)
            #expect(entry.map { Array($0.value) } == twin.entries[key])
            try remove(key, &twin, in: transaction)
        }
    }

    private func damages(of name: String = "test.mdb") throws -> [FileInspection.Damage] {
        try FileInspection.inspect(path: directory.file(name), walkingPages: true).damages
    }

    private func put(
        _ key: [UInt8], _ value: [UInt8], _ twin: inout Twin,
        in transaction: borrowing WriteTransaction
    ) throws {
        try transaction.set(key, value, in: twin.table)
        twin.entries[key] = value
    }

    private func append(
        _ value: [UInt8], _ twin: inout Twin, in transaction: borrowing WriteTransaction
    ) throws {
        twin.appendedCount += 1
        let key = [0xff, UInt8(twin.appendedCount >> 8), UInt8(twin.appendedCount & 0xff)]
        try transaction.fill(key, value, in: twin.table, appending: true)
        twin.entries[key] = value
    }

    private func remove(
        _ key: [UInt8], _ twin: inout Twin, in transaction: borrowing WriteTransaction
    ) throws {
        let wasThere = try transaction.unset(key, in: twin.table)
        #expect(wasThere == (twin.entries.removeValue(forKey: key) != nil))
    }

    /// A key behind the names of tables.
    private func key(_ random: inout SeededGenerator) -> [UInt8] {
        let count = Int.random(in: 0..<10, using: &random) == 0 ? 200 : 2
        return [0x80 | UInt8.random(in: 0..<32, using: &random)]
            + (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    private func value(_ random: inout SeededGenerator) -> [UInt8] {
        let isLong = Int.random(in: 0..<60, using: &random) == 0
        let count = Int.random(in: 0..<(isLong ? 9_000 : 60), using: &random)
        return [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: count)
    }
}
