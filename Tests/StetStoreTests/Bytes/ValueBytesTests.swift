import Foundation
import StetStore
import StetTestSupport
import Testing

/// Decimals, URLs, lists, dictionaries and Codable values as bytes in the tail.
struct ValueBytesTests {
    private func decode(_ bytes: [UInt8], _ type: ValueType) throws -> Value {
        try bytes.withUnsafeBytes { try Value(tailBytes: $0, type: type) }
    }

    private func url(_ text: String, base: String? = nil) throws -> Value {
        .url(try #require(URL(storedRelative: text, base: base)))
    }

    @Test func eachValueHasTheBytesThatTheFormatSays() throws {
        let values: [(Value, [UInt8])] = [
            (.decimal(0), [0, 0]), (.decimal(.nan), [2]), (.decimal(1), [0, 0, 1]),
            (.decimal(1000), [0, 3, 1]), (.decimal(-1), [1, 0, 1]),
            (.decimal(Decimal(string: "258.50") ?? 0), [0, 0xff, 0x19, 0x0a]),
            (
                .decimal(-.greatestFiniteMagnitude),
                [1, 127] + [UInt8](repeating: 0xff, count: 16)
            ),
            (try url("http://a/b"), Array("http://a/b".utf8)),
            (try url("b", base: "http://a/"), Array("b\0http://a/".utf8)),
            (.list([]), []), (.dictionary([:]), []),
            (.list([.bool(true), .bool(false)]), [1, 2, 0, 0, 0, 1, 0]),
            (.list([.int(-2)]), [2, 1, 0, 0, 0, 0xfe] + [UInt8](repeating: 0xff, count: 7)),
            (.list([.uint(3)]), [12, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]),
            (.list([.float(-0.0)]), [16, 1, 0, 0, 0, 0, 0, 0, 0x80]),
            (
                .list([.string("a"), .string("")]),
                [5, 2, 0, 0, 0, 1, 0, 0, 0, 0x61, 0, 0, 0, 0]
            ),
            (
                .dictionary([.string("b"): .bool(true), .string("aa"): .bool(false)]),
                [5, 1, 2, 0, 0, 0, 2, 0, 0, 0, 0x61, 0x61, 0, 1, 0, 0, 0, 0x62, 1]
            ),
            (.codable("[1]"), Array("[1]".utf8)),
        ]
        for (value, bytes) in values {
            #expect(try value.tailBytes() == bytes, "\(value)")
            #expect(try decode(bytes, try #require(value.type)) == value)
        }
    }

    @Test func randomValuesComeBackFromTheirBytes() throws {
        let seed: UInt64 = 0x57e7_2500
        var history = RandomHistory(seed: seed)
        for round in 0..<3_000 {
            for type in [ValueType.decimal, .url, .list, .dictionary, .codable] {
                let value = history.value(type)
                #expect(
                    try decode(try value.tailBytes(), type) == value, "seed \(seed), round \(round)"
                )
            }
        }
    }

    @Test func whatHasNoFormIsAFailure() throws {
        let values: [Value] = [
            .list([.int(1), .string("a")]), .list([.null]), .list([.list([.int(1)])]),
            .list([.reference(.fixed(1))]), .dictionary([.int(1): .null]),
            .dictionary([.int(1): .int(1), .string("a"): .int(1)]),
        ]
        for value in values {
            #expect(thrown(EncodingFailure.self) { try value.tailBytes() } != nil, "\(value)")
        }
    }

    @Test func bytesThatAreNoneOfTheTypeAreRefused() {
        let hostile: [(ValueType, [UInt8])] = [
            (.decimal, []), (.decimal, [0]), (.decimal, [2, 0]), (.decimal, [3, 0, 1]),
            (.decimal, [0, 0, 10]), (.decimal, [0, 0, 1, 0]), (.decimal, [1, 0]),
            (.decimal, [0, 1]), (.decimal, [0, 0] + [UInt8](repeating: 1, count: 17)),
            (.url, []), (.url, [0xff]), (.url, Array("a\0".utf8)), (.codable, [0xc3]),
            (.list, [2]), (.list, [2, 0, 0, 0, 0]), (.list, [8, 1, 0, 0, 0]),
            (.list, [19, 1, 0, 0, 0, 0, 0, 0, 0]), (.list, [99, 1, 0, 0, 0, 1]),
            (.list, [9, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]),
            (.list, [1, 0xff, 0xff, 0xff, 0xff, 1]), (.list, [1, 1, 0, 0, 0, 2]),
            (.list, [1, 1, 0, 0, 0, 1, 1]), (.list, [5, 1, 0, 0, 0, 9, 0, 0, 0, 0x61]),
            (.list, [5, 1, 0, 0, 0, 1, 0, 0, 0, 0xff]),
            (.dictionary, [1, 1, 2, 0, 0, 0, 1, 1, 0, 0]),
            (.dictionary, [1, 1, 2, 0, 0, 0, 1, 1, 1, 0]),
            (.dictionary, [1, 1, 0xff, 0xff, 0xff, 0xff, 1, 1]),
        ]
        for (type, bytes) in hostile {
            #expect(
                thrown(DecodingFailure.self) { try decode(bytes, type) } != nil, "\(type) \(bytes)")
        }
    }

    /// Flipped bytes of real values: read, and then written as they were, or refused.
    @Test func damagedBytesAreRefusedOrReadAsWhatTheySay() throws {
        let seed: UInt64 = 0x57e7_2501
        var history = RandomHistory(seed: seed)
        var refused = 0
        for round in 0..<4_000 {
            for type in [ValueType.decimal, .url, .list, .dictionary] {
                var bytes = try history.value(type).tailBytes()
                if bytes.isEmpty { continue }
                bytes[Int.random(in: 0..<bytes.count, using: &history.random)] = UInt8.random(
                    in: 0...255, using: &history.random)
                guard let value = try? decode(bytes, type) else {
                    refused += 1
                    continue
                }
                #expect(try value.tailBytes() == bytes, "seed \(seed), round \(round), \(type)")
            }
        }
        #expect(refused > 1_000)
    }
}
