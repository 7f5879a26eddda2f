import Foundation
import StetStore
import StetTestSupport
import Testing

struct ValueTests {
    private static let uuid = ObjectID(high: 0x0123_4567_89ab_cdef, low: 0xfedc_ba98_7654_3210).uuid

    private static let url = URL(string: "a?b#c", relativeTo: URL(string: "http://x.y/z/"))

    private static let all: [(Value, ValueType?, String)] = [
        (.null, nil, "nil"), (.bool(true), .bool, "true"), (.bool(false), .bool, "false"),
        (.int(-42), .int, "-42"), (.int(.min), .int, "-9223372036854775808"),
        (.uint(.max), .uint, "18446744073709551615"),
        (.double(1.5), .double, "1.5"), (.double(.nan), .double, "nan"),
        (.double(-0.0), .double, "-0.0"), (.double(-.infinity), .double, "-inf"),
        (.double(Double(bitPattern: 0x7ff8_0000_dead_beef)), .double, "nan(0xdeadbeef)"),
        (.float(0.1), .float, "0.1"), (.float(.signalingNaN), .float, "snan"),
        (.float(.leastNonzeroMagnitude), .float, "1e-45"),
        (.decimal(Decimal(string: "-12.50") ?? 0), .decimal, "-12.5"),
        (.decimal(.nan), .decimal, "NaN"),
        (.decimal(Decimal(sign: .minus, exponent: -3, significand: 1)), .decimal, "-0.001"),
        (.date(Date(timeIntervalSinceReferenceDate: 0)), .date, "2001-01-01T00:00:00Z"),
        (.date(Date(timeIntervalSinceReferenceDate: .nan)), .date, "nan s since 2001"),
        (.date(Date(timeIntervalSinceReferenceDate: -1e300)), .date, "-1e+300 s since 2001"),
        (.date(Date(timeIntervalSinceReferenceDate: .infinity)), .date, "inf s since 2001"),
        (.date(.distantPast), .date, "-63114076800.0 s since 2001"),
        (
            .date(Date(timeIntervalSinceReferenceDate: -63_113_904_000)), .date,
            "0001-01-01T00:00:00Z"
        ),
        (
            .date(Date(timeIntervalSinceReferenceDate: -13_222_396_800)), .date,
            "1582-01-01T00:00:00Z"
        ),
        (
            .date(Date(timeIntervalSinceReferenceDate: -0.25)), .date, "2000-12-31T23:59:59Z"
        ),
        (.date(.distantFuture), .date, "4001-01-01T00:00:00Z"),
        (
            .date(Date(timeIntervalSinceReferenceDate: 252_423_993_600)), .date,
            "252423993600.0 s since 2001"
        ),
        (
            .date(Date(timeIntervalSinceReferenceDate: 252_423_993_599)), .date,
            "9999-12-31T23:59:59Z"
        ),
        (.string("Ä \"x\""), .string, "\"Ä \"x\"\""), (.string(""), .string, "\"\""),
        (.string("\u{c4}"), .string, "\"\u{c4}\""), (.string("\0e\u{301}"), .string, "\"\0é\""),
        (.data(Data([1, 2, 3])), .data, "3 bytes"), (.data(Data()), .data, "0 bytes"),
        (.uuid(uuid), .uuid, "01234567-89ab-cdef-fedc-ba9876543210"),
        (.url(url ?? URL(filePath: "/")), .url, "http://x.y/z/a?b#c"),
        (.reference(.fixed(1)), .reference, "01900000-0000-7000-8000-000000000001"),
        (.list([]), .list, "[]"), (.list([.double(.nan), .double(1)]), .list, "[nan, 1.0]"),
        (.dictionary([:]), .dictionary, "[:]"),
        (
            .dictionary([.int(2): .string("b"), .int(1): .string("a")]), .dictionary,
            "[1: \"a\", 2: \"b\"]"
        ),
        (.codable("{\"a\":1}"), .codable, "{\"a\":1}"),
    ]

    @Test func eachValueKnowsItsTypeAndDescribesItself() {
        for (value, type, description) in Self.all {
            #expect(value.type == type, "\(value)")
            #expect(value.description == description)
        }
        #expect(
            Set(Self.all.compactMap(\.1))
                == Set(ValueType.allCases.filter { $0 == $0.widest && $0 != .embedded }))
    }

    @Test func theNumbersOfTypesOnDiskNeverChange() {
        #expect(ValueType.allCases.map(\.rawValue) == Array(1...22))
        let inline: [ValueType] = [
            .bool, .int, .double, .date, .int8, .int16, .int32, .uint, .uint8, .uint16, .uint32,
            .float,
        ]
        let tail: [ValueType] = [
            .string, .data, .uuid, .reference, .decimal, .url, .list, .dictionary, .codable,
            .embedded,
        ]
        var all: [ValueType] = []
        all += inline.prefix(4)
        all += tail.prefix(4)
        all += inline.dropFirst(4)
        all += tail.dropFirst(4)
        #expect(ValueType.allCases == all)
        #expect(ValueType.allCases.filter(\.isInline) == inline)
        #expect(ValueType.allCases.filter(\.isSixteenBytes) == [.uuid, .reference])
    }

    @Test func codableBringsEachValueBack() throws {
        let values = Self.all.map(\.0)
        let json = try JSONEncoder().encode(values)
        let back = try JSONDecoder().decode([Value].self, from: json)
        #expect(back == values)
        #expect(back.map(\.cell) == values.map(\.cell))
        let list = try PropertyListEncoder().encode(values)
        #expect(try PropertyListDecoder().decode([Value].self, from: list) == values)
    }

    /// A change is a difference of stored bytes.
    @Test func valuesAreEqualWhenTheirStoredBytesAre() {
        let nan = Double(bitPattern: 0x7ff8_0000_dead_beef)
        let equal: [(Value, Value)] = [
            (.double(.nan), .double(.nan)), (.float(.nan), .float(.nan)),
            (.decimal(.nan), .decimal(.nan)),
            (.decimal(Decimal(sign: .plus, exponent: -2, significand: 100)), .decimal(1)),
            (.list([.double(.nan)]), .list([.double(.nan)])),
        ]
        for (one, other) in equal {
            #expect(one == other, "\(one)")
            #expect(one.hashValue == other.hashValue, "\(one)")
            #expect(one.cell == other.cell)
        }
        let different: [(Value, Value)] = [
            (.double(.nan), .double(nan)), (.double(0), .double(-0.0)),
            (.float(0), .float(-0.0)), (.string("\u{e9}"), .string("e\u{301}")),
            (.int(1), .uint(1)), (.float(1), .double(1)), (.null, .int(0)),
            (.list([.string("\u{e9}")]), .list([.string("e\u{301}")])),
            (.codable("1"), .string("1")),
            (
                .date(Date(timeIntervalSinceReferenceDate: 0)),
                .date(Date(timeIntervalSinceReferenceDate: -0.0))
            ),
        ]
        for (one, other) in different { #expect(one != other, "\(one)") }
        let keys: [Value: Value] = [.string("\u{e9}"): .int(1), .string("e\u{301}"): .int(2)]
        #expect(keys.count == 2)
    }

    @Test func inlineWordsBringTheBitsOfInlineValuesBack() throws {
        let doubles = [
            0, -0.0, 1.5, .nan, .signalingNaN, .infinity, -.infinity, .leastNormalMagnitude,
        ]
        var values: [Value] = [.bool(true), .bool(false), .int(.max), .int(.min), .int(-1)]
        values += [.uint(.max), .uint(0)]
        values += doubles.map { .float(Float($0)) }
        values += doubles.map(Value.double)
        values += doubles.map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
        for value in values {
            let word = value.inlineWord
            #expect(
                word == value.cell.flatMap { if case .word(let word) = $0 { word } else { nil } })
            let back = try Value(inlineWord: word ?? 0, type: value.type ?? .int)
            #expect(back.cell == value.cell, "\(value)")
        }
        for value in [Value.null, .string("a"), .data(Data([1])), .uuid(Self.uuid)] {
            #expect(value.inlineWord == nil)
        }
    }

    /// Foundation is right about every day since the Gregorian calendar began.
    @Test func datesAreThoseOfFoundationSince1582() {
        let seed: UInt64 = 0x57e7_2601
        var random = SeededGenerator(seed: seed)
        for _ in 0..<5_000 {
            let seconds = Double.random(in: -13_197_000_000..<252_423_993_600, using: &random)
            let date = Date(timeIntervalSinceReferenceDate: seconds.rounded())
            #expect(Value.date(date).description == date.formatted(.iso8601), "seed \(seed)")
        }
    }

    @Test func aNumberWithMoreBitsThanItsTypeIsRefused() throws {
        let limits: [(ValueType, [Int])] = [
            (.int8, [-129, 128]), (.int16, [-32_769, 32_768]),
            (.int32, [-2_147_483_649, 2_147_483_648]), (.uint8, [-1, 256]),
            (.uint16, [-1, 65_536]), (.uint32, [-1, 4_294_967_296]), (.float, [-1, 1 << 32]),
        ]
        for (type, beyond) in limits {
            for number in beyond {
                let word = UInt64(bitPattern: Int64(number))
                #expect(
                    thrown(DecodingFailure.self) { try Value(inlineWord: word, type: type) } != nil,
                    "\(type) \(number)")
            }
        }
        #expect(try Value(inlineWord: UInt64(bitPattern: -128), type: .int8) == .int(-128))
        #expect(try Value(inlineWord: 255, type: .uint8) == .uint(255))
    }

    @Test func aCellOfAnotherTypeIsRefused() {
        for type in ValueType.allCases {
            let isRefused: Bool
            if type.isInline {
                isRefused = [UInt8](repeating: 0, count: 16).withUnsafeBytes { bytes in
                    thrown(DecodingFailure.self) { try Value(.bytes(bytes), type: type) } != nil
                }
            } else {
                isRefused = thrown(DecodingFailure.self) { try Value(.word(1), type: type) } != nil
            }
            #expect(isRefused, "\(type)")
        }
    }

    @Test func revisionsAreOrderedCodedAndCounted() throws {
        #expect(Revision.zero < 1)
        #expect(Revision(1) < Revision(.max))
        #expect(Revision(7).next == 8)
        #expect(Revision(7).previous == 6)
        #expect(Revision.zero.previous == nil)
        #expect("\(Revision(12))" == "12")
        let json = try JSONEncoder().encode([Revision(3), Revision(.max)])
        #expect(String(decoding: json, as: UTF8.self) == "[3,18446744073709551615]")
        #expect(try JSONDecoder().decode([Revision].self, from: json) == [3, Revision(.max)])
    }

    @Test func objectChangesSayWhatChanged() throws {
        let properties = [PropertyChange(name: "mark", old: .int(1), new: .int(2))]
        var change = ObjectChange(
            entity: "Tag", id: .fixed(1), kind: .update, properties: properties)
        #expect(change.description == "update Tag (mark: 1 → 2)")
        #expect(change["mark"] == properties[0])
        #expect(change["other"] == nil)
        change.kind = .insert
        #expect(change.description == "insert Tag (mark: 2)")
        change.kind = .delete
        #expect(change.description == "delete Tag (mark: 1)")
        let set = ChangeSet(changes: [change])
        #expect(ChangeSet().isEmpty)
        #expect(!set.isEmpty)
        #expect(set.changes(of: .delete) == [change])
        #expect(set.changes(of: .insert) == [])
        let json = try JSONEncoder().encode(set)
        #expect(try JSONDecoder().decode(ChangeSet.self, from: json) == set)
    }
}
