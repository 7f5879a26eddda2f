import StetStore

/// Control byte: a pair of keys of the reverse index, an id as text, or a schema.
enum FuzzedKey {
    static func decode(_ input: inout HostileInput) throws {
        switch input.byte() % 3 {
        case 0: try decodeReferences(input.frame(), input.remainder())
        case 1: try decodeID(input.remainder())
        default: try decodeSchema(input.remainder())
        }
    }

    private static func decodeReferences(_ one: [UInt8], _ other: [UInt8]) throws {
        let keys = try [one, other].map { bytes in
            let key = try bytes.withUnsafeBytes { try ReferenceKey(decoding: $0) }
            var again = [UInt8](repeating: 0, count: ReferenceKey.byteCount)
            again.withUnsafeMutableBytes { key.store(to: $0.baseAddress!) }
            try promise(again == bytes, "another key: \(key)")
            return key
        }
        try promise(
            (keys[0] < keys[1]) == one.lexicographicallyPrecedes(other),
            "keys are not in the order of their bytes: \(keys)")
    }

    private static func decodeID(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let id = ObjectID(text) else { throw DecodingFailure("no id") }
        try promise(id.description == text.lowercased(), "\(text) has become \(id)")
        try promise(id != .none && ObjectID(id.uuid) == id, "\(id) has become another")
    }

    private static func decodeSchema(_ bytes: [UInt8]) throws {
        let schema = try bytes.withUnsafeBytes { try Schema(decoding: $0) }
        try promise(schema.encoded() == bytes, "a schema has two encodings")
        for (index, entity) in schema.entities.enumerated() {
            try promise(schema.number(ofEntity: entity.name) == index + 1, "a name is not found")
            for property in entity.properties { _ = property.rules.map(\.description) }
            _ = entity.indexes.map { $0.description(in: entity) }
        }
        try promise(schema.differences(from: schema) == [], "a schema differs from itself")
        _ = schema.differences(from: FuzzSchema.schema)
        _ = FuzzSchema.schema.differences(from: schema)
    }
}
