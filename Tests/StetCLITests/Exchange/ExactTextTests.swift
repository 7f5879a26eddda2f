import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import StetCLI

/// Values as text and as JSON: what is written is read as the same stored bytes.
struct ExactTextTests {
    /// One value of each kind, and the odd ones.
    static let values: [(ValueType, [ValueType], Value)] = [
        (.bool, [], .bool(true)), (.int, [], .int(.min)), (.int8, [], .int(-128)),
        (.uint, [], .uint(.max)), (.uint32, [], .uint(4_000_000_000)),
        (.float, [], .float(0.1)), (.float, [], .float(-0.0)), (.float, [], .float(.nan)),
        (.float, [], .float(Float(bitPattern: 0x7fc0_0123))), (.float, [], .float(-.infinity)),
        (.float, [], .float(.leastNonzeroMagnitude)), (.double, [], .double(-0.0)),
        (.double, [], .double(.greatestFiniteMagnitude)), (.double, [], .double(.infinity)),
        (.double, [], .double(Double(bitPattern: 0xfff8_0000_0000_0123))),
        (.double, [], .double(9_007_199_254_740_994)),
        (.decimal, [], .decimal(Decimal(string: "-12345678901234567890.000000000123") ?? 0)),
        (.decimal, [], .decimal(.nan)),
        (.decimal, [], .decimal(Decimal(sign: .plus, exponent: 127, significand: 3))),
        (.decimal, [], .decimal(Decimal(sign: .minus, exponent: -128, significand: 3))),
        (.string, [], .string("a\"b\\\n\r\t\u{0}\u{1b}é e\u{301} 👩‍👩‍👧 , ")),
        (.string, [], .string("")),
        (.data, [], .data(Data([0, 255, 10]))), (.data, [], .data(Data())),
        (.uuid, [], .uuid(UUID())), (.reference, [], .reference(.fixed(3))),
        (.url, [], .url(URL(string: "https://example.org/a?b=c#d") ?? URL(fileURLWithPath: "/"))),
        (
            .url, [],
            .url(
                URL(string: "x/y", relativeTo: URL(string: "https://example.org/"))
                    ?? URL(fileURLWithPath: "/"))
        ),
        (.list, [.double], .list([.double(.nan), .double(-0.0), .double(2)])),
        (.list, [.string], .list([])),
        (
            .dictionary, [.string, .date],
            .dictionary([
                .string("é"): .date(Date(timeIntervalSinceReferenceDate: 0.1)),
                .string("e\u{301}"): .date(Date(timeIntervalSinceReferenceDate: .infinity)),
            ])
        ), (.dictionary, [.int, .data], .dictionary([.int(-1): .data(Data([7]))])),
        (.codable, [], .codable(#"{"a":[1,"x",null]}"#)), (.codable, [], .codable("\"text\"")),
        (.date, [], .date(Date(timeIntervalSinceReferenceDate: 1e-7))),
        (.date, [], .date(Date(timeIntervalSinceReferenceDate: -0.0))),
        (.date, [], .date(Date(timeIntervalSinceReferenceDate: .nan))),
        (.date, [], .date(.distantPast)), (.date, [], .date(.distantFuture)),
    ]

    @Test func everyValueIsReadAsItWasWritten() {
        for (type, elements, value) in Self.values {
            let json = JSON(text: value.exactJSON.text)
            let reader = ValueReader(of: Property(name: "value", type: type, elements: elements))
            #expect(json.flatMap { reader.value(json: $0) } == value)
            #expect(reader.value(text: value.exactText) == value)
            #expect(reader.value(json: .null) == .null)
        }
    }

    @Test func everyNumberAndDateIsReadAsItsBits() {
        var generator = SeededGenerator(seed: 10)
        for _ in 0..<20_000 {
            let bits = UInt64.random(in: .min ... .max, using: &generator)
            // A signalling NaN may become quiet in a register.
            let seconds = Double.random(in: -63_113_904_000..<252_423_993_600, using: &generator)
            let values: [(ValueType, Value)] = [
                (.double, .double(Double(bitPattern: bits))),
                (.float, .float(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))),
                (.date, .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits)))),
                (.date, .date(Date(timeIntervalSinceReferenceDate: seconds))),
                (.date, .date(Date(timeIntervalSinceReferenceDate: seconds.rounded() / 1_000))),
            ]
            for (type, value) in values {
                #expect(ValueReader(type).value(text: value.exactText) == value)
                #expect(
                    JSON(text: value.exactJSON.text).flatMap { ValueReader(type).value(json: $0) }
                        == value)
            }
            #expect(values[3].1.exactText.hasSuffix("Z"))
        }
    }

    @Test(arguments: [
        ("2026-02-28", 793_929_600.0), ("2001-01-01T00:00Z", 0), ("2001-01-01 00:00:01", 1),
        ("2000-12-31T23:59:59.75Z", -0.25), ("2001-01-01T02:30:00+02:30", 0),
        ("0001-01-01T00:00:00Z", -63_113_904_000), ("2024-02-29T00:00:00-0100", 730_861_200),
        ("1.5 s since 2001", 1.5),
    ])
    func aDateIsReadInISO8601(text: String, seconds: Double) {
        #expect(Date(exactText: text) == Date(timeIntervalSinceReferenceDate: seconds))
    }

    @Test(arguments: [
        "", "2026", "2026-13-01", "2026-02-29", "2026-01-01T", "2026-01-01T24:00Z", "2026-01-01x",
        "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Z ", "0000-01-01", "x s since 2001",
        "2026-01-01T00:00+1", "２０２６-01-01",
    ])
    func whatIsNoDateIsRefused(text: String) {
        #expect(Date(exactText: text) == nil)
    }

    @Test(arguments: [
        "", "x", "1x", "0x1", "1e", "1e99999", "1e999", "+-1", ".5", "NaN(0x1)", "inf",
    ])
    func whatIsNoNumberIsRefused(text: String) {
        #expect(Double(exactText: text) == nil)
        #expect(Float(exactText: text) == nil)
        if text != "1e999" { #expect(Decimal(exactText: text) == nil) }
    }
}
