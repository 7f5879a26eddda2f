/// The net changes of one save while they are prepared: bodies of records before and after, and
/// what to do with them.
///
/// First filled, then stamped and validated, then `encoded` for the writer.
package struct NetChanges: ~Copyable {
    /// One object's change; the ranges point into the bodies.
    package struct Item {
        package let kind: ChangeKind
        package let entity: Int
        package let id: ObjectID
        /// The revision of the object's record as the context knows it; 0 when the store has none.
        package let base: Revision
        package let before: Range<Int>
        package let after: Range<Int>
        /// Where the caller keeps the object; not looked at here.
        package let position: Int

        package init(
            kind: ChangeKind, entity: Int, id: ObjectID, base: Revision, before: Range<Int>,
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

    /// The largest sizes; a test lowers them.
    package struct SizeLimits: Hashable, Sendable {
        package var attributeByteCount = Limits.attributeByteCount
        package var changesPerCommit = Limits.changesPerCommit
        package var commitByteCount = Limits.commitByteCount

        package init() {}
    }

    package var limits = SizeLimits()
    package private(set) var items: [Item] = []
    /// What becomes of the entries of indexes; nil until it is collected.
    package private(set) var indexChanges: IndexChanges?
    /// What the validators have looked up.
    package var lookups = Lookups()
    private var bodies: RecordWriter
    package let schema: Schema

    /// `expectedCount` is how many objects may come, so that room is made once.
    package init(schema: Schema, expectedCount: Int = 1) {
        self.schema = schema
        items.reserveCapacity(expectedCount)
        bodies = RecordWriter(capacity: min(max(expectedCount, 4) * 256, 64 << 20))
    }

    /// The bytes of a body.
    package func body(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bodies.buffer.bytes[range])
    }

    /// Encodes one body; its range.
    package mutating func encode(
        entity: Int, _ write: (inout RecordWriter) -> Void
    ) -> Range<Int> {
        let start = bodies.buffer.count
        bodies.begin(propertyCount: schema.entities[entity - 1].properties.count)
        write(&bodies)
        return start..<bodies.buffer.count
    }

    /// Copies a body that was encoded elsewhere; its range.
    package mutating func copy(_ body: UnsafeRawBufferPointer) -> Range<Int> {
        let start = bodies.buffer.count
        bodies.buffer.append(body)
        return start..<bodies.buffer.count
    }

    /// The values that could not be written.
    var failures: [RecordWriter.Failure] { bodies.failures }

    /// True when two bodies have the same bytes, and all values are in them.
    package func areEqual(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
        body(one).hasSameBytes(as: body(other))
            && !failures.contains { [one.lowerBound, other.lowerBound].contains($0.start) }
    }

    package mutating func append(_ item: Item) {
        items.append(item)
    }

    /// Gives a date attribute of an encoded body a value.
    package mutating func overwrite(date word: UInt64, slot: Int, in item: Item) {
        let count = schema.entities[item.entity - 1].properties.count
        let start = item.after.lowerBound
        let slots = start + RecordLayout.bitmapByteCount(count)
        bodies.buffer.overwrite(word, at: slots + slot * 8)
        let byte = start + slot / 8
        let present = bodies.buffer.base.load(fromByteOffset: byte, as: UInt8.self)
        bodies.buffer.overwrite(present & ~(1 << UInt8(slot % 8)), at: byte)
    }

    /// Brings the items into the order of the journal and the records: by entity, then by id.
    package mutating func sort() {
        // Objects inserted one after the other are in order already.
        let isSorted = zip(items, items.dropFirst()).allSatisfy { !Self.precedes($1, $0) }
        if !isSorted { items.sort(by: Self.precedes) }
    }

    /// Finds out what becomes of the entries of indexes, when the items are sorted and their values
    /// are final.
    package mutating func collectIndexChanges() throws {
        indexChanges = try collectedIndexChanges()
    }

    private static func precedes(_ one: Item, _ other: Item) -> Bool {
        one.entity != other.entity ? one.entity < other.entity : one.id < other.id
    }
}

/// One reference from a property of an object to another object.
package struct ReferenceKey: Hashable, Sendable {
    package let target: ObjectID
    package let sourceEntity: Int
    package let slot: Int
    package let source: ObjectID

    package init(target: ObjectID, sourceEntity: Int, slot: Int, source: ObjectID) {
        self.target = target
        self.sourceEntity = sourceEntity
        self.slot = slot
        self.source = source
    }
}

/// A change set as the writer takes it: data only, everything encoded and digested by the task that
/// saves.
package struct EncodedChangeSet: Sendable {
    /// One object's change, with what the writer needs to check and apply it.
    struct Change: Sendable {
        let kind: ChangeKind
        let entity: Int
        let id: ObjectID
        let base: Revision
        /// Of the record's body; what the header's checksum is made from.
        let bodyHash: UInt64
        /// The record's new body in `bodies`; empty for a delete.
        let body: Range<Int>
        /// The change in `journal`.
        let journal: Range<Int>
    }

    /// In ascending order of entity and id.
    let changes: [Change]
    let bodies: ByteStorage
    /// The body of the journal entry.
    let journal: ByteStorage
    package let bodyDigest: Digest
    let attributes: CommitAttributes
    let purpose: CommitPurpose
    /// In the order of the tree of members.
    let members: [MemberEdit]
    package let indexChanges: IndexChanges
    let lookups: Lookups
    let schema: Schema
    package let base: Revision
    package let token: UInt64
    package let time: Double

    /// The bytes that it takes in memory, about.
    var byteCount: Int { bodies.bytes.count + journal.count + indexChanges.byteCount }
}

extension NetChanges {
    /// Encodes the sorted items for the writer.
    ///
    /// `base` is the revision that the changes were prepared at, `time` that of the save in seconds
    /// since 2001. Throws `StoreError` (`.limitExceeded`).
    package consuming func encoded(
        attributes: CommitAttributes, base: Revision, token: UInt64, time: Double,
        for purpose: CommitPurpose = CommitPurpose()
    ) throws -> EncodedChangeSet {
        precondition(
            zip(items, items.dropFirst()).allSatisfy(Self.precedes),
            "a change set is sorted and changes each object once")
        try attributes.checkLimits()
        try checkLimits()
        var journal = ByteBuffer(capacity: bodies.buffer.count + 96 * items.count + 256)
        var members: [MemberEdit] = []
        var changes: [EncodedChangeSet.Change] = []
        changes.reserveCapacity(items.count)
        attributes.append(to: &journal)
        for item in items {
            let start = journal.count
            try append(item, to: &journal)
            try appendMemberEdits(of: item, to: &members)
            changes.append(
                EncodedChangeSet.Change(
                    kind: item.kind, entity: item.entity, id: item.id, base: item.base,
                    bodyHash: RecordHeader.bodyHash(body(item.after), of: item.id),
                    body: item.after, journal: start..<journal.count))
        }
        try check("The commit has", journal.count, "bytes", limits.commitByteCount)
        let digest = Self.saltAndDigest(&journal, changes)
        let indexChanges = try indexChanges ?? collectedIndexChanges()
        members.sort()
        return EncodedChangeSet(
            changes: changes, bodies: bodies.buffer.finish(), journal: journal.finish(),
            bodyDigest: digest, attributes: attributes, purpose: purpose,
            members: members, indexChanges: indexChanges, lookups: lookups, schema: schema,
            base: base, token: token,
            time: time)
    }

    private borrowing func checkLimits() throws {
        try check("The commit changes", items.count, "objects", limits.changesPerCommit)
        // First: within this limit every offset and count of a record fits its field.
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
        let entity = schema.entities[item.entity - 1]
        let body = try RecordBody(body(item.after), of: entity)
        for (slot, property) in entity.properties.enumerated() {
            guard let count = try body.cell(slot)?.byteCount, count > limits.attributeByteCount
            else { continue }
            throw StoreError(
                .limitExceeded,
                message: "\(entity.name).\(property.name) has \(count) bytes; "
                    + "the limit is \(limits.attributeByteCount).",
                advice: "Keep it in a file of its own, and its name in the store.")
        }
    }

    private borrowing func append(_ item: Item, to journal: inout ByteBuffer) throws {
        let start = journal.count
        journal.append(UInt32(0))
        journal.appendZeros(JournalChange.saltByteCount)
        journal.append(item.kind.rawValue)
        journal.append(UInt8(0))
        journal.append(UInt16(item.entity))
        journal.append(item.id)
        journal.append(item.base.number)
        switch item.kind {
        case .insert: journal.append(body(item.after))
        case .delete: journal.append(body(item.before))
        case .update: try appendCells(of: item, to: &journal)
        }
        journal.overwrite(UInt32(journal.count - start), at: start)
    }

    private borrowing func appendCells(of item: Item, to journal: inout ByteBuffer) throws {
        let entity = schema.entities[item.entity - 1]
        let before = try RecordBody(body(item.before), of: entity)
        let after = try RecordBody(body(item.after), of: entity)
        let countOffset = journal.count
        var count: UInt16 = 0
        journal.append(count)
        for slot in entity.properties.indices {
            let old = try before.cell(slot)
            let new = try after.cell(slot)
            if Cell.areEqual(old, new) { continue }
            JournalChange.ChangedCell.append(
                slot: slot, type: entity.properties[slot].type, before: old, after: new,
                to: &journal)
            count += 1
        }
        journal.overwrite(count, at: countOffset)
    }

    /// The edits of lists of members that the items come to, in the order of the tree.
    borrowing func memberEdits() throws -> [MemberEdit] {
        var edits: [MemberEdit] = []
        for item in items { try appendMemberEdits(of: item, to: &edits) }
        edits.sort()
        return edits
    }

    private borrowing func appendMemberEdits(
        of item: Item, to edits: inout [MemberEdit]
    ) throws {
        let ends = schema.ends(ofMember: item.entity)
        if ends.isEmpty { return }
        let entity = schema.entities[item.entity - 1]
        let before = item.kind == .insert ? nil : try RecordBody(body(item.before), of: entity)
        let after = item.kind == .delete ? nil : try RecordBody(body(item.after), of: entity)
        for end in ends {
            let old = try before?.reference(end.slot)
            let new = try after?.reference(end.slot)
            if old == new { continue }
            if let old {
                edits.append(MemberEdit(end.number, of: old, item.id, isAddition: false))
            }
            if let new {
                edits.append(MemberEdit(end.number, of: new, item.id, isAddition: true))
            }
        }
    }

    /// Gives every block of the body its salt, then digests the digests of all blocks.
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
