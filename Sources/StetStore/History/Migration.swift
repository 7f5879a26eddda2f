/// The step from one schema of a store to the next, as data: reading earlier records needs no
/// users' code.
///
/// Entities and indexes keep their numbers. Entities of `to` that `from` does not have are new and
/// empty; such indexes must be built.
package struct Migration: Hashable, Sendable {
    package let from: Schema
    package let to: Schema
    /// The upcasts by number of the entities of `to`; nil for a new or removed entity.
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
            // The number of a removed entity is never used again.
            guard isAdded ? new != nil : new == nil || old != nil,
                (upcasts[number] != nil) == (old != nil && new != nil)
            else { throw DecodingFailure("a migration that moves entity \(number)") }
        }
    }

    /// The numbers of the removed entities.
    var removedEntities: [EntityNumber] {
        from.entities.numbers.filter {
            from.entity(numbered: $0) != nil && to.entity(numbered: $0) == nil
        }
    }

    /// The ends whose lists of members are removed.
    var removedEnds: [EndNumber] {
        from.ends.map(\.number).filter { to.end(numbered: $0) == nil }
    }

    /// The ends whose lists of members get or lose an order, in the form of the new schema.
    var reorderedEnds: [MemberEnd] {
        to.ends.filter { end in
            from.end(numbered: end.number).map { $0.isOrdered != end.isOrdered } ?? false
        }
    }

    /// The indexes to be built.
    var addedIndexes: [NumberedIndex] {
        to.indexes.filter { from.index(numbered: $0.number) == nil }
    }

    /// The indexes whose entries are removed.
    var removedIndexes: [NumberedIndex] {
        from.indexes.filter { to.index(numbered: $0.number) == nil }
    }
}

// MARK: - Bytes

extension Migration {
    private static let format: UInt8 = 1
    /// The number in place of a slot for an added property.
    private static let noSlot = UInt16.max

    /// Returns the bytes in the journal, which docs/FileFormat.md describes.
    package func encoded() -> [UInt8] {
        var buffer = ByteBuffer()
        buffer.append(Self.format)
        for bytes in [from.encoded(), to.encoded()] { Self.append(bytes, to: &buffer) }
        for case let upcast? in upcasts {
            Self.append(upcast, to: &buffer)
            for (_, element) in upcast.elements.sorted(by: { $0.key < $1.key }) {
                Self.append(element, to: &buffer)
            }
        }
        return Array(buffer.bytes)
    }

    private static func append(_ upcast: Upcast, to buffer: inout ByteBuffer) {
        for slot in upcast.slots { buffer.append(slot.map { UInt16($0.index) } ?? noSlot) }
        append(upcast.defaults, to: &buffer)
    }

    private static func append(_ bytes: [UInt8], to buffer: inout ByteBuffer) {
        buffer.append(UInt32(bytes.count))
        bytes.withUnsafeBytes { buffer.append($0) }
    }

    /// - Throws: `DecodingFailure`, also for well-formed bytes whose contents are invalid.
    package init(decoding bytes: UnsafeRawBufferPointer) throws {
        var reader = ByteReader(bytes)
        guard try reader.read(UInt8.self) == Self.format else {
            throw DecodingFailure("a migration in an unknown format")
        }
        func readBytes() throws -> UnsafeRawBufferPointer {
            try reader.read(byteCount: Int(try reader.read(UInt32.self)))
        }
        func values(of entity: Entity) throws -> (slots: [Slot?], defaults: [UInt8]) {
            let slots = try entity.properties.map { _ in
                let slot: UInt16 = try reader.read()
                return slot == Self.noSlot ? nil : Slot(slot)
            }
            return (slots, Array(try readBytes()))
        }
        let from = try Schema(decoding: try readBytes())
        let to = try Schema(decoding: try readBytes())
        let upcasts: [Upcast?] = try to.entities.numbered.map { number, entity in
            guard !entity.isRemoved, let old = from.entity(numbered: number) else {
                return nil
            }
            let (slots, defaults) = try values(of: entity)
            var elements: [Slot: Upcast] = [:]
            for (slot, property) in entity.properties.slotted {
                guard let new = property.embedded?.entity, let source = slots[slot],
                    let old = old.properties.element(at: source)?.embedded?.entity
                else { continue }
                let (slots, defaults) = try values(of: new)
                elements[slot] = try Upcast(from: old, to: new, slots: slots, defaults: defaults)
            }
            return try Upcast(
                from: old, to: entity, slots: slots, defaults: defaults, elements: elements)
        }
        try reader.expectEnd()
        try self.init(from: from, to: to, upcasts: upcasts)
    }
}
