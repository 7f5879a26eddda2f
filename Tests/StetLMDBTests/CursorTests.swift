import StetLMDB
import StetTestSupport
import Testing

struct CursorTests {
    let directory: EnvironmentDirectory
    let environment: Environment
    let table: Table

    init() throws {
        directory = try EnvironmentDirectory()
        environment = try directory.open()
        table = try environment.makeTable()
    }

    private func key(_ entry: Cursor.Entry?) -> [UInt8]? { entry.map { Array($0.key) } }

    private func store(_ keys: some Sequence<[UInt8]>) throws {
        try environment.write { transaction in
            for key in keys { try transaction.set(key, key.reversed(), in: table) }
        }
    }

    @Test func aCursorOverAnEmptyTableFindsNothing() throws {
        try environment.read { transaction in
            let cursor = try transaction.cursor(in: table)
            #expect(try key(cursor.first()) == nil)
            #expect(try key(cursor.last()) == nil)
            #expect(try key(cursor.next()) == nil)
            #expect(try key(cursor.previous()) == nil)
            #expect(try key(cursor.seek([])) == nil)
            #expect(try key(cursor.seek([0])) == nil)
        }
    }

    @Test func aFreshCursorBeginsAtEitherEnd() throws {
        try store([[1], [2], [3]])
        try environment.read { transaction in
            let one = try transaction.cursor(in: table)
            let other = try transaction.cursor(in: table)
            #expect(try key(one.next()) == [1])
            #expect(try key(other.previous()) == [3])
        }
    }

    @Test func aCursorMovesBothWaysAndStopsAtTheEnds() throws {
        try store([[1], [2], [3]])
        try environment.read { transaction in
            let cursor = try transaction.cursor(in: table)
            #expect(try key(cursor.first()) == [1])
            #expect(try key(cursor.next()) == [2])
            #expect(try key(cursor.next()) == [3])
            #expect(try key(cursor.next()) == nil)
            #expect(try key(cursor.last()) == [3])
            #expect(try key(cursor.previous()) == [2])
            #expect(try key(cursor.previous()) == [1])
            #expect(try key(cursor.previous()) == nil)
            #expect(try cursor.first().map { Array($0.value) } == [1])
        }
    }

    @Test func seekFindsTheFirstKeyThatIsAtLeastTheGivenOne() throws {
        try store([[1], [1, 0], [3], [0xff], [0xff, 0xff]])
        let expected: [([UInt8], [UInt8]?)] = [
            ([], [1]), ([0], [1]), ([1], [1]), ([1, 0], [1, 0]), ([1, 0, 0], [3]), ([2], [3]),
            ([3, 0], [0xff]), ([0xff], [0xff]), ([0xff, 0], [0xff, 0xff]),
            ([0xff, 0xff, 0], nil), ([UInt8](repeating: 2, count: 600), [3]),
        ]
        try environment.read { transaction in
            let cursor = try transaction.cursor(in: table)
            for (target, found) in expected {
                #expect(try key(cursor.seek(target)) == found, "seek \(target)")
                let again = try target.withUnsafeBytes { try key(cursor.seek($0)) }
                #expect(again == found, "seek \(target)")
            }
        }
    }

    @Test func prefixRangesEndAtTheSuccessorOfThePrefix() {
        #expect(KeyRange(prefix: []) == .all)
        #expect(KeyRange(prefix: [1]) == KeyRange(lower: [1], upper: [2]))
        #expect(KeyRange(prefix: [1, 0xff]) == KeyRange(lower: [1, 0xff], upper: [2]))
        #expect(KeyRange(prefix: [0xff, 0xff]) == KeyRange(lower: [0xff, 0xff], upper: nil))
    }

    // MARK: Scans against a sorted array

    /// Few different bytes, so that prefixes, neighbours and 0xff at the end are frequent.
    private static func randomKey(
        _ counts: ClosedRange<Int>, _ random: inout SeededGenerator
    ) -> [UInt8] {
        (0..<Int.random(in: counts, using: &random)).map { _ in
            ([0, 1, 0x61, 0xfe, 0xff] as [UInt8]).randomElement(using: &random) ?? 0
        }
    }

    private static func contains(_ range: KeyRange, _ key: [UInt8]) -> Bool {
        guard !key.lexicographicallyPrecedes(range.lower) else { return false }
        return range.upper.map { key.lexicographicallyPrecedes($0) } ?? true
    }

    private static func randomRange(_ random: inout SeededGenerator) -> KeyRange {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: KeyRange(prefix: randomKey(0...3, &random))
        case 1: KeyRange(lower: randomKey(0...4, &random))
        case 2: KeyRange(upper: randomKey(0...4, &random))
        case 3:
            KeyRange(prefix: [UInt8](repeating: 0xff, count: Int.random(in: 0...3, using: &random)))
        default: KeyRange(lower: randomKey(0...4, &random), upper: randomKey(0...4, &random))
        }
    }

    @Test(arguments: [0, 1, 2, 40, 400, 3_000])
    func scansOfRandomRangesGiveWhatASortedArrayHas(count: Int) throws {
        let seed: UInt64 = 0x57e7_0002 + UInt64(count)
        var random = SeededGenerator(seed: seed)
        var keys: Set<[UInt8]> = []
        for _ in 0..<count { keys.insert(Self.randomKey(1...7, &random)) }
        try store(keys)
        let sorted = keys.sorted { $0.lexicographicallyPrecedes($1) }
            .map { KeyValue($0, $0.reversed()) }
        try environment.read { transaction in
            #expect(try transaction.entries(in: table) == sorted)
            #expect(try transaction.entriesBackwards(in: table) == sorted.reversed())
            for round in 0..<300 {
                let range = Self.randomRange(&random)
                let expected = sorted.filter { Self.contains(range, $0.key) }
                let note: Comment = "seed \(seed), round \(round), \(range)"
                #expect(try transaction.entries(in: table, range) == expected, note)
                let backwards = try transaction.entriesBackwards(in: table, range)
                #expect(backwards == expected.reversed(), note)
            }
        }
    }

    @Test func aPrefixScanFindsExactlyTheKeysWithThePrefix() throws {
        let seed: UInt64 = 0x57e7_0003
        var random = SeededGenerator(seed: seed)
        var keys: Set<[UInt8]> = []
        for _ in 0..<500 { keys.insert(Self.randomKey(1...5, &random)) }
        try store(keys)
        for round in 0..<200 {
            let prefix = Self.randomKey(0...4, &random)
            let expected = keys.filter { $0.starts(with: prefix) }
            let found = try environment.read { transaction in
                try transaction.entries(in: table, KeyRange(prefix: prefix)).map(\.key)
            }
            #expect(Set(found) == expected, "seed \(seed), round \(round), prefix \(prefix)")
        }
    }

    @Test(arguments: 1...4)
    func aScanEndsWhenItsBodyAnswersFalse(count: Int) throws {
        try store((1...4).map { [$0] })
        try environment.read { transaction in
            var seen: [[UInt8]] = []
            try transaction.scan(table) { key, _ in
                seen.append(Array(key))
                return seen.count < count
            }
            #expect(seen == (1...count).map { [UInt8($0)] })
            seen = []
            try transaction.scan(table, descending: true) { key, _ in
                seen.append(Array(key))
                return seen.count < count
            }
            #expect(seen == (0..<count).map { [UInt8(4 - $0)] })
        }
    }
}
