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
    }

    /// The size limits, which a test can lower.
    package struct SizeLimits: Hashable, Sendable {
        package var attributeByteCount = Limits.attributeByteCount
        package var changesPerCommit = Limits.changesPerCommit
        package var commitByteCount = Limits.commitByteCount

        package init() {}
    }

    package var limits = SizeLimits()
    package private(set) var items: [Item] = []
    package private(set) var links: [LinkChange] = []
    /// The effect on the entries of indexes; nil until it is collected.
    package private(set) var indexChanges: IndexChanges?
    /// The look-ups of the validators.
    package var lookups = Lookups()
    /// The reasons why values could not be sealed.
    package var sealRefusals: [SealRefusal] = []
    private var bodies: RecordWriter
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

    /// The sorted items and links, grouped by object.
    var blocks: [Block] {
        var blocks: [Block] = []
        blocks.reserveCapacity(items.count)
        var next = 0
        func append(_ entity: EntityNumber, _ id: ObjectID, _ item: Int?) {
            let start = next
            while next < links.count, place(links[next]) == (entity, id) { next += 1 }
            blocks.append(Block(entity: entity, id: id, item: item, links: start..<next))
        }
        func appendLinks(before end: (EntityNumber, ObjectID)?) {
            while next < links.count, end.map({ place(links[next]) < $0 }) ?? true {
                let (entity, id) = place(links[next])
                append(entity, id, nil)
            }
        }
        for (index, item) in items.enumerated() {
            appendLinks(before: (item.entity, item.id))
            append(item.entity, item.id, index)
        }
        appendLinks(before: nil)
        return blocks
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
        if !isSorted { items.sort(by: Self.precedes) }
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

    /// Collects the effect on the entries of indexes, after the items were sorted and their values
    /// are final.
    package mutating func collectIndexChanges() throws {
        indexChanges = try collectedIndexChanges()
    }

    private static func precedes(_ one: Item, _ other: Item) -> Bool {
        one.entity != other.entity ? one.entity < other.entity : one.id < other.id
    }
}

extension ChangeSetBuilder {
    /// Encodes the sorted items for the writer.
    ///
    /// `base` is the revision that the changes are based on, `time` the time of the save in seconds
    /// since 2001.
    ///
    /// Throws `StoreError` (`.limitExceeded`).
    package consuming func encoded(
        attributes: CommitAttributes, base: Revision, token: UInt64, time: Double,
        for purpose: CommitPurpose = CommitPurpose()
    ) throws -> EncodedChangeSet {
        trap(
            unless: zip(items, items.dropFirst()).allSatisfy(Self.precedes),
            "a change set is sorted and changes each object once")
        try attributes.checkLimits()
        try checkLimits()
        try checkSeals()
        var journal = ByteBuffer(capacity: bodies.buffer.count + 96 * items.count + 256)
        var members = try memberEdits()
        var changes: [EncodedChangeSet.Change] = []
        changes.reserveCapacity(items.count)
        attributes.append(to: &journal)
        for block in blocks {
            let item = block.item.map { items[$0] }
            changes.append(try append(block, item, to: &journal))
        }
        try check("The commit has", journal.count, "bytes", limits.commitByteCount)
        let digest = Self.saltAndDigest(&journal, changes)
        let indexChanges = try indexChanges ?? collectedIndexChanges()
        members.sort()
        Self.keepBodies(of: &changes, in: &bodies.buffer)
        return EncodedChangeSet(
            changes: changes, bodies: bodies.buffer.finish(), journal: journal.finish(),
            bodyDigest: digest, attributes: attributes, purpose: purpose,
            links: links, members: members, indexChanges: indexChanges, lookups: lookups,
            schema: schema, base: base, token: token, time: time)
    }

    private borrowing func checkLimits() throws {
        try check("The commit changes", items.count, "objects", limits.changesPerCommit)
        try check("The commit changes", links.count, "links", limits.changesPerCommit)
        // Checked first: within this limit every offset and count of a record fits its field.
        try check(
            "The records of the commit have", bodies.buffer.count, "bytes", limits.commitByteCount)
        for item in items where item.after.count > limits.attributeByteCount {
            try checkAttributes(of: item)
        }
    }

    private borrowing func check(
        _ subject: String, _ count: Int, _ unit: String, _ limit: Int
    ) throws {
        if count <= limit { return }
        throw StoreError(
            .limitExceeded, message: "\(subject) \(count) \(unit); the limit is \(limit).",
            advice: "Save in several commits.")
    }

    private borrowing func checkAttributes(of item: Item) throws {
        let entity = schema.entities[item.entity]
        let body = try RecordBody(body(item.after), of: entity)
        for (slot, property) in entity.properties.slotted {
            guard let count = try body.cell(slot)?.byteCount, count > limits.attributeByteCount
            else { continue }
            throw StoreError(
                .limitExceeded,
                message: "\(entity.name).\(property.name) has \(count) bytes; "
                    + "the limit is \(limits.attributeByteCount).",
                advice: "Keep it in a file of its own, and its name in the store.")
        }
    }

    private borrowing func append(
        _ block: Block, _ item: Item?, to journal: inout ByteBuffer
    ) throws -> EncodedChangeSet.Change {
        let start = journal.count
        JournalChange.appendHeader(
            item?.kind, block.entity, block.id, item?.base ?? .zero, links: links[block.links],
            to: &journal)
        if let item {
            switch item.kind {
            case .insert: journal.append(body(item.after))
            case .delete: journal.append(body(item.before))
            case .update: try appendCells(of: item, to: &journal)
            }
        }
        journal.overwrite(UInt32(journal.count - start), at: start)
        let after = item?.kind == .delete ? 0..<0 : item?.after ?? 0..<0
        return EncodedChangeSet.Change(
            kind: item?.kind, entity: block.entity, id: block.id, base: item?.base ?? .zero,
            bodyHash: RecordHeader.bodyHash(body(after), of: block.id),
            body: item?.kind == .insert ? journal.count - after.count..<journal.count : after,
            journal: start..<journal.count)
    }

    private borrowing func appendCells(of item: Item, to journal: inout ByteBuffer) throws {
        let entity = schema.entities[item.entity]
        let before = try RecordBody(body(item.before), of: entity)
        let after = try RecordBody(body(item.after), of: entity)
        let properties = entity.properties
        let countOffset = journal.count
        var count: UInt16 = 0
        journal.append(count)
        for index in properties.indices {
            let slot = Slot(index)
            let old = try before.cell(slot)
            let new = try after.cell(slot)
            if Cell.areEqual(old, new) { continue }
            JournalChange.ChangedCell.append(
                slot: slot, type: properties[slot].type, before: old, after: new,
                to: &journal)
            count += 1
        }
        journal.overwrite(count, at: countOffset)
    }

    /// Moves the new bodies of updated records together, which are all that the writer needs.
    private static func keepBodies(
        of changes: inout [EncodedChangeSet.Change], in buffer: inout ByteBuffer
    ) {
        var updates = changes.indices.filter { changes[$0].kind == .update }
        func precedes(_ one: Int, _ other: Int) -> Bool {
            changes[one].body.lowerBound < changes[other].body.lowerBound
        }
        let isSorted = zip(updates, updates.dropFirst()).allSatisfy { precedes($0, $1) }
        if !isSorted { updates.sort(by: precedes) }
        var end = 0
        for index in updates {
            let body = changes[index].body
            trap(unless: body.lowerBound >= end, "the bodies of two records overlap")
            buffer.move(body, to: end)
            changes[index].body = end..<end + body.count
            end += body.count
        }
        buffer.count = end
    }

    /// Sets the salt of every block of the body, then digests the digests of all blocks.
    private static func saltAndDigest(
        _ journal: inout ByteBuffer, _ changes: [EncodedChangeSet.Change]
    ) -> Digest {
        let starts = [0] + changes.map(\.journal.lowerBound)
        let saltByteCount = JournalChange.saltByteCount
        let salts = UnsafeMutableRawBufferPointer.allocate(
            byteCount: starts.count * saltByteCount, alignment: 16)
        defer { salts.deallocate() }
        fillWithEntropy(salts)
        var digests = ByteBuffer(capacity: starts.count * Digest.byteCount)
        for (index, start) in starts.enumerated() {
            (journal.base + start + JournalChange.saltOffset).copyMemory(
                from: salts.baseAddress! + index * saltByteCount, byteCount: saltByteCount)
            let end = index + 1 < starts.count ? starts[index + 1] : journal.count
            let block = UnsafeRawBufferPointer(rebasing: journal.bytes[start..<end])
            JournalChange.digest(of: block).append(to: &digests)
        }
        return Digest(of: digests.bytes)
    }
}
