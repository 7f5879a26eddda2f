/// The step from one schema of a store to the next, as data: no code of users is needed to read
/// what was written before.
///
/// Entities and indexes keep their numbers; of those of `to` that `from` does not have, entities
/// are new and empty, and indexes are to be built.
package struct Migration: Hashable, Sendable {
    package let from: Schema
    package let to: Schema
    /// By number of the entities of `to`; nil for what is new or removed.
    package let upcasts: [Upcast?]

    package init(from: Schema, to: Schema, upcasts: [Upcast?]) throws(DecodingFailure) {
        self.from = from
        self.to = to
        self.upcasts = upcasts
        guard to.revision == from.revision + 1, to.entities.count >= from.entities.count,
            upcasts.count == to.entities.count
        else { throw DecodingFailure("a migration that leads nowhere") }
        guard to.links.count >= from.links.count,
            zip(from.links, to.links).allSatisfy({ $1.isRemoved || !$0.isRemoved })
        else { throw DecodingFailure("a migration that moves links") }
        for number in to.entities.numbers {
            let (old, new) = (from.entity(numbered: number), to.entity(numbered: number))
            let isAdded = number.index >= from.entities.count
            // The number of an entity that is gone is not used again.
            guard isAdded ? new != nil : new == nil || old != nil,
                (upcasts[number] != nil) == (old != nil && new != nil)
            else { throw DecodingFailure("a migration that moves entity \(number)") }
        }
    }

    /// The numbers of the entities that are gone.
    var removedEntities: [EntityNumber] {
        from.entities.numbers.filter {
            from.entity(numbered: $0) != nil && to.entity(numbered: $0) == nil
        }
    }

    /// The ends whose lists of members are to go.
    var removedEnds: [EndNumber] {
        from.ends.map(\.number).filter { to.end(numbered: $0) == nil }
    }

    /// The ends whose lists of members get or lose an order, as the new schema has them.
    var reorderedEnds: [MemberEnd] {
        to.ends.filter { end in
            from.end(numbered: end.number).map { $0.isOrdered != end.isOrdered } ?? false
        }
    }

    /// The indexes that are to be built.
    var addedIndexes: [NumberedIndex] {
        to.indexes.filter { from.index(numbered: $0.number) == nil }
    }

    /// The indexes whose entries are to go.
    var removedIndexes: [NumberedIndex] {
        from.indexes.filter { to.index(numbered: $0.number) == nil }
    }
}

// MARK: - Bytes

extension Migration {
    private static let format: UInt8 = 1
    /// Stands for the slot of what was added.
    private static let noSlot = UInt16.max

    /// What stands in the journal; ARCHITECTURE.md describes it.
    package func encoded() -> [UInt8] {
        var buffer = ByteBuffer()
        buffer.append(Self.format)
        for bytes in [from.encoded(), to.encoded()] { Self.append(bytes, to: &buffer) }
        for case let upcast? in upcasts {
            for slot in upcast.slots { buffer.append(slot.map { UInt16($0.index) } ?? Self.noSlot) }
            Self.append(upcast.defaults, to: &buffer)
        }
        return Array(buffer.bytes)
    }

    private static func append(_ bytes: [UInt8], to buffer: inout ByteBuffer) {
        buffer.append(UInt32(bytes.count))
        bytes.withUnsafeBytes { buffer.append($0) }
    }

    /// - Throws: `DecodingFailure`, also when the bytes are well formed and lead nowhere.
    package init(decoding bytes: UnsafeRawBufferPointer) throws {
        var reader = ByteReader(bytes)
        guard try reader.read(UInt8.self) == Self.format else {
            throw DecodingFailure("a migration in an unknown format")
        }
        func readBytes() throws -> UnsafeRawBufferPointer {
            try reader.read(byteCount: Int(try reader.read(UInt32.self)))
        }
        let from = try Schema(decoding: try readBytes())
        let to = try Schema(decoding: try readBytes())
        let upcasts: [Upcast?] = try to.entities.numbered.map { number, entity in
            guard !entity.isRemoved, let old = from.entity(numbered: number) else {
                return nil
            }
            let slots = try entity.properties.map { _ in
                let slot: UInt16 = try reader.read()
                return slot == Self.noSlot ? nil : Slot(slot)
            }
            return try Upcast(
                from: old, to: entity, slots: slots, defaults: Array(try readBytes()))
        }
        try reader.expectEnd()
        try self.init(from: from, to: to, upcasts: upcasts)
    }
}
