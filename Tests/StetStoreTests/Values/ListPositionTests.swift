import Foundation
import StetLMDB
import Testing

@testable import StetStore

/// The one form that a position has, wherever bytes or text of one come from.
struct ListPositionTests {
    private static let whole: [UInt8] = [128, 0, 0, 0, 0, 0, 0, 1]

    /// Not positions: none, too short, the least whole number, with a zero behind, too long.
    static let refused: [[UInt8]] = [
        [], Array(whole.dropLast()), [UInt8](repeating: 0, count: 8),
        [UInt8](repeating: 0, count: 9), whole + [0], whole + [1, 0], whole + [0, 0, 0],
        whole + [UInt8](repeating: 1, count: ListPosition.byteLimit - 7),
    ]

    static let accepted: [[UInt8]] = [
        whole, [UInt8](repeating: 0, count: 8) + [1], whole + [0, 1],
        whole + [UInt8](repeating: 255, count: ListPosition.byteLimit - 8),
    ]

    @Test func bytesAndTextAreReadInOneForm() throws {
        for bytes in Self.accepted {
            let position = try #require(ListPosition(bytes: bytes))
            #expect(position.bytes == bytes)
            #expect(ListPosition(description: position.description) == position)
            let json = try JSONEncoder().encode([position])
            #expect(try JSONDecoder().decode([ListPosition].self, from: json) == [position])
        }
        for bytes in Self.refused {
            let text = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            #expect(ListPosition(bytes: bytes) == nil, "\(bytes)")
            #expect(ListPosition(description: text) == nil, "\(bytes)")
            let json = Data("[\"\(text)\"]".utf8)
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode([ListPosition].self, from: json)
            }
        }
        for text in [
            "8000000000000001F", "800000000000000G", "8000000000000001 ", "80000000000000AB",
        ] {
            #expect(ListPosition(description: text) == nil)
        }
    }

    @Test func thereIsAPositionBeforeAfterAndBetweenAny() throws {
        let all = try Self.accepted.map { try #require(ListPosition(bytes: $0)) }.sorted()
        for position in all {
            let after = try #require(ListPosition.between(position, nil))
            #expect(after > position)
            // Only a position that uses all its bytes has no predecessor.
            if let before = ListPosition.between(nil, position) { #expect(before < position) }
        }
        for (one, other) in zip(all, all.dropFirst()) {
            guard let middle = ListPosition.between(one, other) else { continue }
            #expect(one < middle)
            #expect(middle < other)
            #expect(ListPosition(bytes: middle.bytes) == middle)
        }
    }

    // MARK: Decoders

    @Test(arguments: refused)
    func aRecordWithAnotherFormIsDamaged(_ bytes: [UInt8]) throws {
        let entity = Entity(
            name: "A",
            properties: [
                Property(
                    name: "owner", type: .reference, isOptional: true, target: "A",
                    hasPosition: true)
            ])
        let cell = ObjectID.fixed(1).bytes + bytes
        let body = cell.withUnsafeBytes { cell in
            var writer = RecordWriter()
            writer.begin(propertyCount: 1)
            writer.write(bytes: cell, slot: 0)
            return Array(writer.buffer.bytes)
        }
        try body.withUnsafeBytes { body in
            let record = try RecordBody(body, of: entity)
            #expect(throws: DecodingFailure.self) { try record.position(0) }
            if !bytes.isEmpty {
                #expect(throws: DecodingFailure.self) { try record.value(0) }
            }
        }
    }

    @Test(arguments: refused)
    func aChangedLinkWithAnotherFormIsDamaged(_ bytes: [UInt8]) throws {
        let key = LinkKey(link: 1, source: .fixed(1), target: .fixed(2))
        let position = try #require(ListPosition(bytes: Self.whole))
        var buffer = ByteBuffer(capacity: 64)
        LinkChange.append(
            [LinkChange(key, before: .absent, after: .present(position), previous: .zero)],
            to: &buffer)
        let valid = Array(buffer.bytes)
        #expect(
            try valid.withUnsafeBytes { try LinkChange.decode($0, from: .fixed(1)).count } == 1)
        // The position and its byte count come last.
        let hostile = [UInt8](valid.dropLast(9)) + [UInt8(bytes.count)] + bytes
        #expect(throws: DecodingFailure.self) {
            try hostile.withUnsafeBytes { try LinkChange.decode($0, from: .fixed(1)) }
        }
    }

    @Test(arguments: refused)
    func aMemberWithAnotherFormIsDamaged(_ bytes: [UInt8]) {
        let layout = MemberLayout(hasState: false, hasPosition: true, isOrdered: true)
        let hostile = ObjectID.fixed(1).bytes + [UInt8(bytes.count)] + bytes
        hostile.withUnsafeBytes { bytes in
            var entries = MemberEntries(bytes, layout)
            #expect(throws: DecodingFailure.self) { try entries.next()?.membership }
        }
    }
}
