import StetLMDB

/// The net changes of one save while they are prepared: bodies of records before and after, and the
/// kinds of the changes.
///
/// They are first filled, then stamped and validated, then `encoded` for the writer.
package struct ChangeSetBuilder: ~Copyable {
    /// The change of one object; the ranges refer to the bodies.
    package struct Item {
        package let kind: ChangeKind
        package let entity: EntityNumber
        package let id: ObjectID
        /// The revision of the object's record that the context knows; 0 when the store has none.
        package let base: Revision
        package let before: Range<Int>
        package let after: Range<Int>
        /// The position of the object in the caller's list, which is not used here.
        package let position: Int

        package init(
            kind: ChangeKind, entity: EntityNumber, id: ObjectID, base: Revision,
            before: Range<Int>,
            after: Range<Int>, position: Int = 0
        ) {
            self.kind = kind
            self.entity = entity
            self.id = id
            self.base = base
            self.before = before
            self.after = after
            self.position = position
        }

        /// The body of the record after the change; empty for a deletion.
        var bodyAfter: Range<Int> { kind == .delete ? 0..<0 : after }
    }

    /// The items in order, for a loop that reads their bodies: those of a later item are
    /// prefetched, because sorting by id leaves them scattered in memory.
    struct LoadedItems: Sequence, IteratorProtocol {
        private let items: [Item]
        private let bodies: UnsafeRawBufferPointer
        private var place = 0

        fileprivate init(_ items: [Item], _ bodies: UnsafeRawBufferPointer) {
            self.items = items
            self.bodies = bodies
        }

        @inline(__always)
        mutating func next() -> Item? {
            guard place < items.count else { return nil }
            if place + 4 < items.count {
                let later = items[place + 4]
                UnsafeRawBufferPointer(rebasing: bodies[later.before]).prefetch()
                UnsafeRawBufferPointer(rebasing: bodies[later.after]).prefetch()
            }
            place += 1
            return items[place - 1]
        }
    }

    /// Limits that a test can lower.
    package struct SizeLimits: Hashable, Sendable {
        package var attributeByteCount = Limits.attributeByteCount
        package var changesPerCommit = Limits.changesPerCommit
        package var commitByteCount = Limits.commitByteCount
        /// The smallest number of changes that are encoded on two cores.
        package var parallelCount = 1_024

        package init() {}
    }

    package var limits = SizeLimits()
    package private(set) var items: [Item] = []
    package private(set) var links: [LinkChange] = []
    /// The effect on the entries of indexes; nil until it is collected.
    package internal(set) var indexChanges: IndexChanges?
    /// The entry; nil until it is encoded.
    var entry: EncodedEntry?
    var effects = Effects()
    /// The look-ups of the validators.
    package var lookups = Lookups()
    /// The reasons why values could not be sealed.
    package var sealRefusals: [SealRefusal] = []
    var bodies: RecordWriter
    /// The end of the first bodies that were encoded behind their headers and one another.
    private(set) var laidOutEnd = EncodedEntry.attributeRoom
    package let schema: Schema

    /// Creates empty net changes; `expectedCount` is the number of objects for which room is
    /// reserved.
    package init(schema: Schema, expectedCount: Int = 1) {
        self.schema = schema
        items.reserveCapacity(expectedCount)
        bodies = RecordWriter(capacity: min(max(expectedCount, 4) * 256, 64 << 20))
    }

    /// Returns the bytes of a body.
    package func body(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bodies.buffer.bytes[range])
    }

    /// Encodes one body; returns its range.
    package mutating func encode(
        entity: EntityNumber, _ write: (inout RecordWriter) -> Void
    ) -> Range<Int> {
        let start = bodies.buffer.count
        let entity = schema.entities[entity]
        bodies.begin(propertyCount: entity.properties.count, placedSlots: entity.placedSlots)
        write(&bodies)
        return start..<bodies.buffer.count
    }

    /// Encodes the body of a new object behind the header of its change, so that an entry of such
    /// changes alone needs no copy; returns the body's range.
    package mutating func encodeInsertion(
        of id: ObjectID, entity: EntityNumber, base: Revision,
        _ write: (inout RecordWriter) -> Void
    ) -> Range<Int> {
        if bodies.buffer.count == 0 { bodies.buffer.appendZeros(EncodedEntry.attributeRoom) }
        let start = bodies.buffer.count
        JournalChange.appendHeader(.insert, entity, id, base, links: [], to: &bodies.buffer)
        let body = encode(entity: entity, write)
        // A body that does not fit is refused by its limit, before the entry is used.
        bodies.buffer.overwrite(UInt32(truncatingIfNeeded: body.upperBound - start), at: start)
        if start == laidOutEnd { laidOutEnd = body.upperBound }
        return body
    }

    /// Copies a body that was encoded elsewhere; returns its range.
    package mutating func copy(_ body: UnsafeRawBufferPointer) -> Range<Int> {
        let start = bodies.buffer.count
        bodies.buffer.append(body)
        return start..<bodies.buffer.count
    }

    /// The values that could not be written.
    var failures: [RecordWriter.Failure] { bodies.failures }

    /// Returns whether two bodies have the same bytes, and all their values could be written.
    package func areEqual(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
        body(one).hasSameBytes(as: body(other))
            && !failures.contains { [one.lowerBound, other.lowerBound].contains($0.start) }
    }

    /// Returns whether two bodies of an object have the same values, except for derived attributes,
    /// and all their values could be written.
    package func areEqual(
        _ one: Range<Int>, _ other: Range<Int>, exceptDerivedOf number: EntityNumber
    ) throws -> Bool {
        if areEqual(one, other) { return true }
        let entity = schema.entities[number]
        if entity.derivedSlots.isEmpty
            || failures.contains(where: { [one.lowerBound, other.lowerBound].contains($0.start) })
        {
            return false
        }
        let one = try RecordBody(body(one), of: entity)
        let other = try RecordBody(body(other), of: entity)
        return try entity.properties.slotted.allSatisfy { slot, property in
            try property.isDerived || Cell.areEqual(one.cell(slot), other.cell(slot))
        }
    }

    package mutating func append(_ item: Item) {
        items.append(item)
    }

    /// Replaces all items, which refer to bodies that were encoded or copied.
    package mutating func replaceItems(with items: [Item]) { self.items = items }

    package mutating func append(_ link: LinkChange) {
        links.append(link)
    }

    /// True when there is nothing to write.
    package var isEmpty: Bool { items.isEmpty && links.isEmpty }

    /// The changes of one object: of its record, and of the links whose source it is.
    struct Block {
        let entity: EntityNumber
        let id: ObjectID
        /// The index of its item; nil where only links change.
        let item: Int?
        /// The indices of its links.
        let links: Range<Int>
    }

    /// The items, for a loop that reads their bodies.
    var loadedItems: LoadedItems { LoadedItems(items, bodies.buffer.bytes) }

    /// Moves bodies to those of an item.
    borrowing func move(_ bodies: inout ChangedBodies, to item: Item) throws(DecodingFailure) {
        try bodies.move(
            to: item.kind == .insert ? nil : body(item.before),
            item.kind == .delete ? nil : body(item.after), ofEntity: item.entity, in: schema)
    }

    /// Calls `body` for the sorted items and links, grouped by object.
    borrowing func forEachBlock(_ body: (Block) throws -> Void) throws {
        var next = 0
        func call(_ entity: EntityNumber, _ id: ObjectID, _ item: Int?) throws {
            let start = next
            while next < links.count, place(links[next]) == (entity, id) { next += 1 }
            try body(Block(entity: entity, id: id, item: item, links: start..<next))
        }
        func callForLinks(before end: (EntityNumber, ObjectID)?) throws {
            while next < links.count, end.map({ place(links[next]) < $0 }) ?? true {
                let (entity, id) = place(links[next])
                try call(entity, id, nil)
            }
        }
        for (index, item) in loadedItems.enumerated() {
            try callForLinks(before: (item.entity, item.id))
            try call(item.entity, item.id, index)
        }
        try callForLinks(before: nil)
    }

    /// Returns entity and id of the source of a link.
    private func place(_ link: LinkChange) -> (EntityNumber, ObjectID) {
        (schema.ends(ofLink: link.key.link)?.targets.owner ?? 0, link.key.source)
    }

    /// Sets a date attribute of an encoded body.
    package mutating func overwrite(date word: UInt64, slot: Slot, in item: Item) {
        let count = schema.entities[item.entity].properties.count
        let start = item.after.lowerBound
        let slots = start + RecordLayout.bitmapByteCount(count)
        bodies.buffer.overwrite(word, at: slots + slot.index * 8)
        let byte = start + slot.index / 8
        let present = bodies.buffer.base.load(fromByteOffset: byte, as: UInt8.self)
        bodies.buffer.overwrite(present & ~(1 << UInt8(slot.index % 8)), at: byte)
    }

    /// Sorts the items in the order of the journal and the records: by entity, then by id.
    package mutating func sort() {
        // Objects inserted in sequence are sorted already.
        let isSorted = zip(items, items.dropFirst()).allSatisfy { !Self.precedes($1, $0) }
        if !isSorted { items = items.sortedByObject() }
        let owners = links.reduce(into: [Int: EntityNumber]()) { owners, link in
            if owners[link.key.link] == nil { owners[link.key.link] = place(link).0 }
        }
        links.sort { one, other in
            if one.key.link != other.key.link {
                let (left, right) = (owners[one.key.link], owners[other.key.link])
                if let left, let right, left != right { return left < right }
            }
            return one.key < other.key
        }
    }

    static func precedes(_ one: Item, _ other: Item) -> Bool {
        one.entity != other.entity ? one.entity < other.entity : one.id < other.id
    }
}

extension ChangeSetBuilder {
    /// Returns the edits of lists of members that follow from the items: in no particular order,
    /// except that an entry is erased before it is put elsewhere.
    borrowing func memberEdits() throws -> [MemberEdit] {
        var edits: [MemberEdit] = []
        edits.reserveCapacity(expectedMemberEdits)
        var bodies = ChangedBodies()
        for item in loadedItems {
            let ends = schema.referenceEnds(ofMember: item.entity)
            if ends.isEmpty { continue }
            try move(&bodies, to: item)
            try appendMemberEdits(of: item.id, bodies, ends, to: &edits)
        }
        for link in links { try appendMemberEdits(of: link, to: &edits) }
        return edits
    }

    /// The number of edits of lists of members, unless references or positions change.
    private var expectedMemberEdits: Int {
        items.reduce(2 * links.count) { $0 + schema.referenceEnds(ofMember: $1.entity).count }
    }

    private func appendMemberEdits(
        of id: ObjectID, _ bodies: ChangedBodies, _ ends: [MemberEnd],
        to edits: inout [MemberEdit]
    ) throws {
        // A loop over the ends would copy them.
        for place in ends.indices {
            let slot = ends[place].slot
            let isOrdered = ends[place].isOrdered
            let old = bodies.hasBefore ? try bodies.before.reference(slot) : nil
            let new = bodies.hasAfter ? try bodies.after.reference(slot) : nil
            let oldPosition =
                isOrdered && bodies.hasBefore ? try bodies.before.position(slot) : nil
            let newPosition = isOrdered && bodies.hasAfter ? try bodies.after.position(slot) : nil
            if old == new, oldPosition == newPosition { continue }
            let number = ends[place].number
            if let old {
                edits.append(
                    MemberEdit(number, of: old, id, oldPosition, .erase, difference: -1))
            }
            if let new {
                edits.append(MemberEdit(number, of: new, id, newPosition, .put, difference: 1))
            }
        }
    }

    private borrowing func appendMemberEdits(
        of link: LinkChange, to edits: inout [MemberEdit]
    ) throws {
        guard let ends = schema.ends(ofLink: link.key.link) else {
            throw DecodingFailure("a change of links that do not exist")
        }
        let (targets, sources) = (ends.targets, ends.sources)
        let action: MemberEdit.Action = link.after.isPresent ? .put : .bury
        let difference: Int8 =
            (link.after.isPresent ? 1 : 0) - (link.before.isPresent ? 1 : 0)
        edits.append(
            MemberEdit(
                sources.number, of: link.key.target, link.key.source, link.after.position, action,
                difference: difference))
        // The entry of a removed member stands before those that have positions.
        let (old, new) = (link.before.position, link.after.position)
        if targets.isOrdered, old != new, link.previous > .zero || link.before.isPresent {
            edits.append(
                MemberEdit(targets.number, of: link.key.source, link.key.target, old, .erase))
        }
        edits.append(
            MemberEdit(
                targets.number, of: link.key.source, link.key.target, new, action,
                difference: difference))
    }
}

extension [ChangeSetBuilder.Item] {
    /// Returns the items in the order of the journal.
    fileprivate func sortedByObject() -> [ChangeSetBuilder.Item] {
        var keys: [UInt8] = []
        keys.reserveCapacity(count * 18)
        let parts = map { item in
            let start = keys.count
            keys.append(UInt8(item.entity.rawValue >> 8))
            keys.append(UInt8(item.entity.rawValue & 0xff))
            item.id.append(to: &keys)
            return start..<keys.count
        }
        return ByteOrder.sorted(keys, parts).map { self[$0] }
    }
}
