import StetLMDB
import StetStore

/// Control byte: a chunk of a list of members, an id as text, a schema, a migration, a durable
/// subscription or one of its parked deliveries.
enum FuzzedKey {
    static func decode(_ input: inout HostileInput) throws {
        let control = input.byte()
        switch control % 3 {
        case 0:
            let layout = MemberLayout(
                hasState: control & 0x10 != 0, hasPosition: control & 0x20 != 0,
                isOrdered: control & 0x40 != 0)
            try decodeMembers(layout, input.frame(), input.remainder())
        case 1 where control >= 0xC0: try decodeSubscription(input.remainder())
        case 1 where control >= 0x80: try decodeParked(input.remainder())
        case 1: try decodeID(input.remainder())
        case 2 where control >= 0x80: try decodeMigration(input.remainder())
        default: try decodeSchema(input.remainder())
        }
    }

    /// A chunk of members whose checksum is right.
    private static func decodeMembers(
        _ layout: MemberLayout, _ key: [UInt8], _ entries: [UInt8]
    ) throws {
        var value = [UInt8](repeating: 0, count: MemberChunk.headerByteCount + entries.count)
        var count = 0
        try key.withUnsafeBytes { key in
            value.withUnsafeMutableBytes { value in
                entries.withUnsafeBytes {
                    MemberChunk.store($0, count: 1, presentCount: 1, in: value, at: key)
                }
            }
            try value.withUnsafeBytes { value in
                let chunk = try MemberChunk(decoding: value, at: key, layout)
                try promise(chunk.entryCount == 1, "another count")
                var decoded = chunk.entries
                while let entry = try decoded.next() { count += entry.bytes.count }
            }
        }
        try promise(count == entries.count, "\(count) bytes of \(entries.count) were decoded")
    }

    private static func decodeID(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let id = ObjectID(text) else { throw DecodingFailure("no id") }
        try promise(id.description == text.lowercased(), "\(text) has become \(id)")
        try promise(id != .none && ObjectID(id.uuid) == id, "\(id) has become another")
    }

    private static func decodeSubscription(_ bytes: [UInt8]) throws {
        let value = sealed(bytes)
        let record = try value.withUnsafeBytes { try SubscriptionRecord(decoding: $0, "a") }
        try promise(record.encoded() == value, "a subscription has two encodings")
    }

    private static func decodeParked(_ bytes: [UInt8]) throws {
        let value = sealed(bytes)
        let parked = try value.withUnsafeBytes {
            try SubscriptionState.ParkedDelivery(decoding: $0, 1)
        }
        try promise(parked.encoded() == value, "a parked delivery has two encodings")
    }

    /// Ends with the right checksum.
    private static func sealed(_ bytes: [UInt8]) -> [UInt8] {
        bytes + bytes.withUnsafeBytes { Checksum.hash($0, seed: 0) }.littleEndianBytes
    }

    private static func decodeSchema(_ bytes: [UInt8]) throws {
        let schema = try bytes.withUnsafeBytes { try Schema(decoding: $0) }
        try promise(schema.encoded() == bytes, "a schema has two encodings")
        for (number, entity) in schema.entities.numbered {
            try promise(
                schema.number(ofEntity: entity.name) == (entity.isRemoved ? nil : number),
                "a name is not found")
            for property in entity.properties { _ = property.rules.map(\.description) }
            _ = entity.indexes.map { $0.description(in: entity) }
        }
        let same = try SchemaComparison(of: schema, with: schema)
        try promise(same.steps + same.problems == [], "a schema differs from itself")
        try compare(schema, FuzzSchema.schema)
        try compare(FuzzSchema.schema, schema)
    }

    /// Checks that the migration from one schema to another can be written and read again.
    private static func compare(_ one: Schema, _ other: Schema) throws {
        let comparison: SchemaComparison
        do {
            comparison = try SchemaComparison(of: one, with: other)
        } catch is StoreError {
            return
        }
        guard comparison.problems.isEmpty, let migration = try comparison.migration() else {
            return
        }
        let again = try migration.encoded().withUnsafeBytes { try Migration(decoding: $0) }
        try promise(again.encoded() == migration.encoded(), "another migration")
    }

    private static func decodeMigration(_ bytes: [UInt8]) throws {
        let migration = try bytes.withUnsafeBytes { try Migration(decoding: $0) }
        try promise(migration.encoded() == bytes, "a migration has two encodings")
        let history = try SchemaHistory(migration.to, [migration])
        for number in migration.from.entities.numbers {
            let upcast = try? history.upcast(ofEntity: number, from: migration.from.revision)
            guard let upcast else { continue }
            let count = RecordLayout.fixedByteCount(upcast.from.properties.count)
            let body = try [UInt8](repeating: 0, count: count).withUnsafeBytes {
                try upcast.apply(to: $0)
            }
            try body.withUnsafeBytes { _ = try RecordBody($0, of: upcast.to).cells() }
        }
    }
}
