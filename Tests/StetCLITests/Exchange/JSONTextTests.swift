import StetStore
import StetTestSupport
import Testing

@testable import StetCLI

/// JSON as it is read: what RFC 8259 allows, and nothing else.
struct JSONTextTests {
    @Test(arguments: [
        ("null", JSON.null), (" true ", .bool(true)), ("\t[false]\r\n", .array([.bool(false)])),
        ("0", .integer(0)), ("-12", .integer(-12)), ("1.0", .integer(1)), ("1e2", .integer(100)),
        ("9223372036854775807", .integer(.max)), ("9223372036854775808", .number(1 << 63)),
        ("18446744073709551615", .number(.max)), ("18446744073709551616", .double(0x1p64)),
        ("-0.5E-1", .double(-0.05)), ("[]", .array([])), ("{ }", .object([:])),
        ("[1 , \"a\",[]]", .array([.integer(1), .string("a"), .array([])])),
        (
            #"{"a":1,"b":{"c":null},"a":2}"#,
            .object(["a": .integer(2), "b": .object(["c": .null])])
        ),
        (#""\"\\\/\b\f\n\r\t\u0041\u00e9""#, .string("\"\\/\u{8}\u{c}\n\r\tAé")),
        (#""\ud83d\ude00 é👩‍👩‍👧""#, .string("😀 é👩‍👩‍👧")), (#""\u0000""#, .string("\0")),
    ])
    func jsonIsRead(text: String, expected: JSON) {
        #expect(JSON(text: text) == expected)
    }

    @Test(arguments: [
        "", " ", "nul", "nullx", "True", "1 2", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1",
        "1e999", "NaN", "Infinity", "[1,]", "[,1]", "[1", "[1 2]", "{\"a\"}", "{\"a\":}", "{a:1}",
        "{\"a\":1,}", "{\"a\":1", "{1:1}", "\"a", "\"a\nb\"", "\"\\x\"", "\"\\u12\"",
        "\"\\u12g4\"", "\"\\u+123\"", "\"\\ud800\"", "\"\\ud800x\"", "\"\\ud800\\u0041\"",
        "\"\\udc00\"", "'a'", "\"a\"\"b\"", "]", "}", ":", "\\", "１",
    ])
    func whatIsNoJSONIsRefused(text: String) {
        #expect(JSON(text: text) == nil)
    }

    @Test func bytesThatAreNoTextAreRefused() {
        let quote = UInt8(ascii: "\"")
        #expect(JSON(bytes: [quote, 0xff, quote]) == nil)
        #expect(JSON(bytes: [quote, 0xc3, quote]) == nil)
        #expect(JSON(bytes: [quote] + Array("\\n".utf8) + [0xed, 0xa0, 0x80, quote]) == nil)
        #expect(JSON(bytes: [quote, 0xc3, 0xa9, quote]) == .string("é"))
    }

    @Test func depthIsBounded() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(JSON(text: nested(512)) != nil)
        #expect(JSON(text: nested(513)) == nil)
        #expect(JSON(text: String(repeating: "{\"a\":", count: 100_000)) == nil)
    }

    @Test func mutatedTextNeverTraps() {
        var generator = SeededGenerator(seed: 3)
        let text = Array(#"{"a":[1,-2.5e3,"\u00e9\ud83d\ude00 x\n"],"b":{"c":null,"d":true}}"#.utf8)
        var readCount = 0
        for _ in 0..<20_000 {
            var bytes = text
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                let index = Int.random(in: 0..<bytes.count, using: &generator)
                bytes[index] = UInt8.random(in: .min ... .max, using: &generator)
            }
            guard let value = JSON(bytes: bytes) else { continue }
            readCount += 1
            #expect(JSON(text: value.text) == value)
        }
        #expect(readCount > 1_000)
    }
}
