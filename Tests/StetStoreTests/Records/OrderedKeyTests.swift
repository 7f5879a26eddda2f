import Foundation
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// The order of keys is the order of values.
struct OrderedKeyTests {
    private static let seed: UInt64 = 0x57e7_2600

    private func key(_ values: Value...) throws -> [UInt8] {
        try #require(OrderedKey(values)).bytes
    }

    /// Values in ascending order; those of one group have one key.
    private func expectOrder(_ groups: [[Value]]) throws {
        let keys = try groups.map { try $0.map { try key($0) } }
        for (group, keys) in zip(groups, keys) {
            #expect(keys.allSatisfy { $0 == keys[0] }, "\(group)")
        }
        for index in groups.indices.dropLast() {
            #expect(
                keys[index][0].lexicographicallyPrecedes(keys[index + 1][0]),
                "\(groups[index]) and \(groups[index + 1])")
        }
    }

    /// Random pairs: the keys compare as the values do.
    private func expectOrder<T>(
        _ values: [T], _ value: (T) -> Value, _ precedes: (T, T) -> Bool
    ) throws {
        let keys = try values.map { try key(value($0)) }
        for one in values.indices {
            for other in values.indices {
                #expect(
                    keys[one].lexicographicallyPrecedes(keys[other])
                        == precedes(values[one], values[other]),
                    "seed \(Self.seed): \(values[one]) and \(values[other])")
            }
        }
    }

    private func end(_ bytes: [UInt8], _ property: Property) throws -> Int {
        try bytes.withUnsafeBytes { bytes in
            var offset = 0
            try OrderedKey.skip(bytes, at: &offset, property)
            return offset
        }
    }

    @Test(
        arguments: [
            (.bool, .bool(true)), (.int8, .int(-1)), (.uint, .uint(7)), (.float, .float(-1.5)),
            (.double, .double(.nan)), (.date, .date(.distantPast)), (.decimal, .decimal(-1.05)),
            (.decimal, .decimal(0)), (.decimal, .decimal(.nan)), (.decimal, .decimal(30)),
            (.string, .string("a\u{0}b\u{0}")), (.string, .string("")),
            (.data, .data(Data([0, 0, 255]))),
            (.uuid, .uuid(UUID())), (.reference, .reference(.fixed(1))),
            (.list, .list([.string("a"), .string("")])), (.list, .list([])),
        ] as [(ValueType, Value)])
    func aValueOfAKeyIsPassedOver(type: ValueType, value: Value) throws {
        let property = Property(
            name: "p", type: type, elements: type == .list ? [.string] : [], isOptional: true)
        let alone = try key(value)
        #expect(try end(key(value, .int(1)), property) == alone.count)
        #expect(try end(key(.null, value), property) == 1)
        for count in alone.indices {
            #expect(throws: DecodingFailure.self) { try end(Array(alone.prefix(count)), property) }
        }
        var generator = SeededGenerator(seed: Self.seed)
        for _ in 0..<200 {
            var hostile = alone
            let place = Int.random(in: hostile.indices, using: &generator)
            hostile[place] = .random(in: 0...255, using: &generator)
            // A hostile key is passed over, or refused.
            if let end = try? end(hostile, property) { #expect(end <= hostile.count) }
        }
    }

    @Test func extremesStandWhereTheyBelong() throws {
        try expectOrder([[.null], [.bool(false)], [.bool(true)]])
        try expectOrder([
            [.null], [.int(.min)], [.int(-1)], [.int(0)], [.int(1)], [.int(.max)],
        ])
        try expectOrder([[.null], [.uint(0)], [.uint(1 << 63)], [.uint(.max)]])
        let numbers: [Double] = [
            -.infinity, -.greatestFiniteMagnitude, -1, -.leastNonzeroMagnitude,
        ]
        let doubles =
            numbers.map { [$0] } + [[-0.0, 0]] + numbers.reversed().map { [-$0] }
            + [[.nan, -Double.nan, .signalingNaN, Double(bitPattern: 0xfff8_0000_dead_beef)]]
        try expectOrder([[.null]] + doubles.map { $0.map(Value.double) })
        try expectOrder(
            [[.null]]
                + doubles.map { $0.map { .date(Date(timeIntervalSinceReferenceDate: $0)) } })
        let floats: [[Float]] = [
            [-.infinity], [-.leastNonzeroMagnitude], [-0.0, 0], [.leastNonzeroMagnitude],
            [.greatestFiniteMagnitude], [.infinity], [.nan, -.nan],
        ]
        try expectOrder([[.null]] + floats.map { $0.map(Value.float) })
    }

    @Test func decimalsAreOrderedAsTheyCompare() throws {
        let least = Decimal(sign: .plus, exponent: -128, significand: 1)
        let one = Decimal(sign: .plus, exponent: -2, significand: 100)
        try expectOrder(
            [
                [.null], [.decimal(.nan)], [.decimal(-.greatestFiniteMagnitude)], [.decimal(-100)],
                [.decimal(-99)], [.decimal(-1)], [.decimal(-least)],
                [.decimal(0), .decimal(-Decimal(0))], [.decimal(least)],
                [.decimal(Decimal(string: "0.999") ?? 0)], [.decimal(1), .decimal(one)],
                [.decimal(Decimal(string: "1.01") ?? 0)], [.decimal(2)], [.decimal(10)],
                [.decimal(.greatestFiniteMagnitude)],
            ])
        var random = SeededGenerator(seed: Self.seed)
        let decimals = (0..<120).map { _ in
            Decimal(
                sign: Bool.random(using: &random) ? .plus : .minus,
                exponent: Int.random(in: -3...3, using: &random),
                significand: Decimal(Int.random(in: 0...2_000, using: &random)))
        }
        try expectOrder(decimals, Value.decimal, <)
    }

    @Test func numbersOfAllSizesAreOrdered() throws {
        var random = SeededGenerator(seed: Self.seed)
        let bits = (0..<150).map { _ in random.next() >> UInt64.random(in: 0..<64, using: &random) }
        try expectOrder(bits, { .uint($0) }, <)
        try expectOrder(bits.map { Int(truncatingIfNeeded: $0) }, Value.int, <)
        let doubles = bits.map { Double(bitPattern: $0 ^ random.next() & 1 << 63) }
        try expectOrder(doubles.filter { !$0.isNaN }, Value.double, <)
    }

    @Test func textIsOrderedAsStringsAreAndEquivalentTextHasOneKey() throws {
        try expectOrder([
            [.null], [.string("")], [.string("\0")], [.string("\0\0")], [.string("\0a")],
            [.string("A")], [.string("a")], [.string("a\0")], [.string("a\u{1}")],
            [.string("ab")], [.string("b")], [.string("z")],
            [.string("\u{c5}"), .string("A\u{30a}"), .string("\u{212b}")],
            [.string("\u{e9}"), .string("e\u{301}")], [.string("가"), .string("\u{1100}\u{1161}")],
            [.string("😀")],
        ])
        var random = SeededGenerator(seed: Self.seed)
        let letters = ["a", "b", "\0", "e", "\u{301}", "\u{323}", "\u{1161}", "\u{1100}", "ﬁ", "😀"]
        let texts =
            RandomHistory.texts
            + (0..<150).map { _ in
                (0..<Int.random(in: 0...4, using: &random))
                    .map { _ in letters.randomElement(using: &random) ?? "" }.joined()
            }
        try expectOrder(texts, Value.string, <)
    }

    @Test func bytesUUIDsAndURLsAreOrdered() throws {
        var random = SeededGenerator(seed: Self.seed)
        let bytes: [UInt8] = [0, 1, 254, 255]
        let data: [[UInt8]] = (0..<150).map { _ in
            (0..<Int.random(in: 0...3, using: &random)).map { _ in
                bytes.randomElement(using: &random) ?? 0
            }
        }
        try expectOrder(data, { .data(Data($0)) }, { $0.lexicographicallyPrecedes($1) })
        let ids = (0..<50).map { _ in ObjectID(high: random.next(), low: random.next()) }
        try expectOrder(ids, Value.reference, <)
        try expectOrder(ids, { .uuid($0.uuid) }, <)
        let base = try #require(URL(string: "http://a/"))
        try expectOrder(
            [
                [.url(base)],
                [
                    .url(try #require(URL(string: "b", relativeTo: base))),
                    .url(try #require(URL(string: "http://a/b"))),
                ], [.url(try #require(URL(string: "http://a/b/")))],
            ])
    }

    /// Components never run into each other, and no key is the beginning of another.
    @Test func compoundsAreOrderedByTheirComponentsAndPrefixFree() throws {
        var random = SeededGenerator(seed: Self.seed)
        let texts: [String?] = [nil, "", "\0", "a", "a\0", "a\0\u{1}", "ab", "e\u{301}", "b"]
        let pairs = (0..<150).map { _ in
            Pair(
                text: texts.randomElement(using: &random) ?? nil,
                number: Bool.random(using: &random) ? nil : Int.random(in: -2...2, using: &random),
                last: texts.randomElement(using: &random) ?? nil)
        }
        let keys = try pairs.map { pair in
            try key(
                pair.text.map(Value.string) ?? .null, pair.number.map(Value.int) ?? .null,
                pair.last.map(Value.string) ?? .null)
        }
        for one in pairs.indices {
            for other in pairs.indices {
                let isLess = keys[one].lexicographicallyPrecedes(keys[other])
                #expect(isLess == (pairs[one] < pairs[other]), "seed \(Self.seed)")
                if pairs[one] != pairs[other] { #expect(!keys[other].starts(with: keys[one])) }
            }
        }
        try expectOrder([
            [.list([])], [.list([.int(1)])], [.list([.int(1), .int(0)])], [.list([.int(2)])],
        ])
    }

    private struct Pair: Comparable {
        var text: String?
        var number: Int?
        var last: String?

        static func < (one: Pair, other: Pair) -> Bool {
            if one.text != other.text { return precedes(one.text, other.text) }
            if one.number != other.number { return precedes(one.number, other.number) }
            return precedes(one.last, other.last)
        }

        /// Returns whether one value comes before another, with nil first.
        private static func precedes<T: Comparable>(_ one: T?, _ other: T?) -> Bool {
            guard let other else { return false }
            return one.map { $0 < other } ?? true
        }
    }

    @Test func aLongKeyEndsAtTheLimitAndNeverComesLater() throws {
        let long = String(repeating: "x", count: 600)
        let one = try #require(OrderedKey([.string(long + "a")]))
        let other = try #require(OrderedKey([.string(long + "b")]))
        #expect(one.isTruncated)
        #expect(one.bytes.count == OrderedKey.byteLimit)
        #expect(one == other)
        let exact = try #require(OrderedKey([.string(String(repeating: "x", count: 508))]))
        #expect(!exact.isTruncated)
        #expect(exact.bytes.count == 511)
        let above = try #require(OrderedKey([.string(String(repeating: "x", count: 509))]))
        #expect(above.isTruncated)
        #expect(above.bytes.count == 511)
        #expect(exact.bytes.lexicographicallyPrecedes(above.bytes))
        let short = try #require(OrderedKey([.int(1), .string("abc")], byteLimit: 12))
        #expect(short.isTruncated)
        #expect(short.bytes.count == 12)
    }

    @Test func whatHasNoOrderHasNoKey() {
        for value in [Value.codable("1"), .dictionary([:]), .list([.codable("1")])] {
            #expect(OrderedKey([value]) == nil, "\(value)")
        }
    }
}
