import Foundation
import StetStore
import StetTestSupport

/// The schemas of the stores of the campaign `privacy`: persons with a value of most types, and
/// ordered links between them.
enum MarkedSchema {
    private static let kept = [
        Property(name: "name", type: .string), Property(name: "nick", type: .string),
        Property(name: "photo", type: .data), Property(name: "address", type: .codable),
        Property(name: "tags", type: .list, elements: [.string]),
        Property(name: "traits", type: .dictionary, elements: [.string, .string]),
        Property(name: "site", type: .url), Property(name: "code", type: .uuid),
        Property(name: "number", type: .int),
        Property(name: "parts", type: .list, elements: [.embedded]).array(
            of: EmbeddedElements(
                members: [Property(name: "text", type: .string)], identity: nil)),
    ]
    private static let removed = [
        Property(name: "secret", type: .string), Property(name: "key", type: .data),
    ]
    private static let folded = EntityIndex([
        .init(slot: 0, folding: [.caseInsensitive, .diacriticInsensitive])
    ])
    private static let indexes = [
        EntityIndex([.init(slot: 0)]), folded, EntityIndex(words: [0, 1]),
        EntityIndex(substringsOf: 1),
    ]
    private static let secret: Slot = 10
    /// The slots whose values are in indexes, which refuse long ones.
    static let indexed: Set<Slot> = [0, secret]
    static let whole = schema(kept + removed, indexes + [EntityIndex([.init(slot: secret)])])
    static let reduced = schema(kept, indexes)

    static func schema(_ properties: [Property], _ indexes: [EntityIndex]) -> Schema {
        let person = Entity(
            name: "Person", properties: properties, indexes: indexes,
            relationships: [
                Relationship(
                    name: "friends", target: "Person", members: .targets(ofLinks: "Person.friends"),
                    isOrdered: true)
            ])
        let links = [
            LinkType(name: "Person.friends", source: "Person", target: "Person", isOrdered: true)
        ]
        do { return try Schema(entities: [person], links: links) } catch {
            preconditionFailure("the schema of the campaign: \(error)")
        }
    }
}

/// Values that can be recognised in the bytes of a file.
enum Marker {
    private static let textPrefix = Array("mark".utf8)
    private static let textByteCount = 12
    private static let bytesPrefix: [UInt8] = [0xe7, 0x5a, 0xc3, 0xa9]
    private static let bytesByteCount = 8

    /// Returns lowercase text, which indexes do not fold.
    static func text(_ random: inout SeededGenerator) -> String {
        "mark" + digits(&random)
    }

    private static func digits(_ random: inout SeededGenerator) -> String {
        let digits = String(random.next() as UInt64, radix: 16)
        return String((String(repeating: "0", count: 16) + digits).suffix(8))
    }

    static func bytes(_ random: inout SeededGenerator) -> [UInt8] {
        bytesPrefix + randomBytes(&random)
    }

    private static func randomBytes(_ random: inout SeededGenerator) -> [UInt8] {
        (0..<4).map { _ in UInt8.random(in: 1...255, using: &random) }
    }

    /// Returns a new value for a slot, and its marker.
    static func value(
        _ slot: Slot, _ random: inout SeededGenerator
    ) -> (value: Value, marker: [UInt8]) {
        value(slot, text: text(&random), &random) { bytes(&$0) }
    }

    /// Returns a value for a slot without a marker: among 10,000 objects, one would soon be equal
    /// to another.
    static func filler(_ slot: Slot, _ random: inout SeededGenerator) -> Value {
        value(slot, text: "fill" + digits(&random), &random) { [1, 2, 3, 4] + randomBytes(&$0) }
            .value
    }

    private static func value(
        _ slot: Slot, text: String, _ random: inout SeededGenerator,
        _ makeBytes: (inout SeededGenerator) -> [UInt8]
    ) -> (value: Value, marker: [UInt8]) {
        // Some values are so long that they take pages of their own.
        let isLong = Int.random(in: 0..<10, using: &random) == 0
        let long = text + String(repeating: "x", count: isLong ? 9_000 : 0)
        let bytes = makeBytes(&random)
        switch MarkedSchema.whole.entities[0].properties[slot].type {
        case .string:
            let isIndexed = MarkedSchema.indexed.contains(slot)
            return (.string(isIndexed ? text : long), Array(text.utf8))
        case .data: return (.data(Data(long.utf8)), Array(text.utf8))
        case .codable: return (.codable("\"\(text)\""), Array(text.utf8))
        case .list where MarkedSchema.whole.entities[0].properties[slot].name == "parts":
            return (.list([.dictionary([.string("text"): .string(long)])]), Array(text.utf8))
        case .list: return (.list([.string("a"), .string(text)]), Array(text.utf8))
        case .dictionary: return (.dictionary([.string(text): .string("b")]), Array(text.utf8))
        case .url:
            let url = URL(string: "https://\(text).example")
            return (url.map { .url($0) } ?? .null, Array(text.utf8))
        case .uuid:
            let whole = bytes + [UInt8](repeating: 1, count: 8)
            return (.uuid(whole.withUnsafeBytes { ObjectID(bytes: $0) }.uuid), bytes)
        default:
            let word = bytes.withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
            return (.int(Int(Int64(littleEndian: word))), bytes)
        }
    }

    /// Returns the markers in the bytes of a file.
    static func all(in path: String) throws -> Set<[UInt8]> {
        let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
        var found: Set<[UInt8]> = []
        for (prefix, byteCount) in [(textPrefix, textByteCount), (bytesPrefix, bytesByteCount)] {
            var next = 0
            while let start = bytes[next...].firstIndex(of: prefix[0]) {
                next = start + 1
                if bytes.count >= start + byteCount,
                    bytes[start..<start + prefix.count].elementsEqual(prefix)
                {
                    found.insert(Array(bytes[start..<start + byteCount]))
                }
            }
        }
        return found
    }
}
