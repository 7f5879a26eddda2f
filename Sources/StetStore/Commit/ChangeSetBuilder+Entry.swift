/// The body of a journal entry without the attributes of the commit, and the changes in it.
struct EncodedEntry: ~Copyable {
    /// The room before the blocks of the changes, which is enough for the attributes of most
    /// commits.
    private static let attributeRoom = 256

    private var journal: ByteBuffer
    /// The digests of all blocks, of which the first is that of the attributes.
    private var digests = ByteBuffer()
    /// The changes, without the hashes of their bodies; ranges count from the first change.
    private var changes: [EncodedChangeSet.Change] = []

    fileprivate init(changeCount: Int, byteCount: Int) {
        journal = ByteBuffer(capacity: Self.attributeRoom + byteCount + 96 * changeCount)
        journal.count = Self.attributeRoom
        changes.reserveCapacity(changeCount)
    }

    /// The number of bytes of all changes.
    fileprivate var byteCount: Int { journal.count - Self.attributeRoom }

    /// Appends a change, whose block `write` encodes.
    fileprivate mutating func append(
        _ block: ChangeSetBuilder.Block, _ item: ChangeSetBuilder.Item?,
        _ write: (inout ByteBuffer) throws -> Void
    ) rethrows {
        let start = byteCount
        try write(&journal)
        let range = start..<byteCount
        journal.overwrite(UInt32(range.count), at: Self.attributeRoom + start)
        let after = item?.kind == .delete ? 0..<0 : item?.after ?? 0..<0
        changes.append(
            EncodedChangeSet.Change(
                kind: item?.kind, entity: block.entity, id: block.id, base: item?.base ?? .zero,
                body: item?.kind == .insert ? range.upperBound - after.count..<range.upperBound
                    : after,
                journal: range))
    }

    /// Gives every change its salt, and digests it.
    fileprivate mutating func saltAndDigest() {
        let salts = Salts(count: changes.count)
        digests = ByteBuffer(capacity: (changes.count + 1) * Digest.byteCount)
        Digest.zero.append(to: &digests)
        for (index, change) in changes.enumerated() {
            let start = Self.attributeRoom + change.journal.lowerBound
            salts.set(index, of: start, in: &journal)
            let block = journal.bytes[start..<start + change.journal.count]
            JournalChange.digest(of: UnsafeRawBufferPointer(rebasing: block)).append(to: &digests)
        }
    }

    /// Adds the attributes.
    fileprivate consuming func finish(
        _ attributes: CommitAttributes
    ) -> (body: ByteStorage, digest: Digest, changes: [EncodedChangeSet.Change]) {
        var block = ByteBuffer()
        attributes.append(to: &block)
        Salts(count: 1).set(0, of: 0, in: &block)
        JournalChange.digest(of: block.bytes).overwrite(&digests, at: 0)
        let digest = Digest(of: digests.bytes)
        for index in changes.indices { changes[index].move(by: block.count) }
        let start = Self.attributeRoom - block.count
        if start >= 0 {
            journal.overwrite(block.bytes, at: start)
            return (journal.finish(from: start), digest, changes)
        }
        block.append(UnsafeRawBufferPointer(rebasing: journal.bytes[Self.attributeRoom...]))
        return (block.finish(), digest, changes)
    }
}

/// Random bytes for the blocks of an entry, without which a digest would reveal a redacted value.
private struct Salts: ~Copyable {
    private static let byteCount = JournalChange.saltByteCount
    private let bytes: UnsafeMutableRawBufferPointer

    init(count: Int) {
        bytes = .allocate(byteCount: count * Self.byteCount, alignment: 16)
        fillWithEntropy(bytes)
    }

    deinit { bytes.deallocate() }

    /// Sets the salt of the block that begins at `start`.
    func set(_ index: Int, of start: Int, in journal: inout ByteBuffer) {
        let salt = bytes[index * Self.byteCount..<(index + 1) * Self.byteCount]
        journal.overwrite(
            UnsafeRawBufferPointer(rebasing: salt), at: start + JournalChange.saltOffset)
    }
}

extension ChangeSetBuilder {
    /// The smallest number of changes that are encoded on two cores.
    private static let parallelCount = 1_024

    /// The rest of what the writer needs.
    struct Effects {
        /// The hashes of the new bodies of the records, in the order of the changes.
        fileprivate var bodyHashes: [UInt64] = []
        /// The edits of lists of members, in the order of the tree of members.
        fileprivate var members: [MemberEdit] = []
    }

    /// Collects the effect on the entries of indexes, after the items were sorted and their values
    /// are final.
    ///
    /// Encodes a large change set at the same time, on a second core.
    package mutating func collectIndexChanges() throws {
        if items.count < Self.parallelCount || (try? checkLimits()) == nil {
            indexChanges = try collectedIndexChanges()
        } else {
            try encodeEntry()
        }
    }

    /// Encodes what does not depend on the attributes of the commit, and collects the index changes
    /// unless that has been done.
    private mutating func encodeEntry() throws {
        let isParallel = items.count >= Self.parallelCount
        let both = try TwoCores.run(isParallel: isParallel) {
            try encodedEntry()
        } and: {
            (try indexChanges ?? collectedIndexChanges(), try collectedEffects())
        }
        (indexChanges, effects) = both.other
        entry = consume both.one
    }

    private borrowing func encodedEntry() throws -> EncodedEntry {
        var entry = EncodedEntry(changeCount: items.count, byteCount: bodies.buffer.count)
        try forEachBlock { block in
            let item = block.item.map { items[$0] }
            try entry.append(block, item) { try append(block, item, to: &$0) }
        }
        entry.saltAndDigest()
        return entry
    }

    private borrowing func append(
        _ block: Block, _ item: Item?, to journal: inout ByteBuffer
    ) throws {
        JournalChange.appendHeader(
            item?.kind, block.entity, block.id, item?.base ?? .zero, links: links[block.links],
            to: &journal)
        guard let item else { return }
        switch item.kind {
        case .insert: journal.append(body(item.after))
        case .delete: journal.append(body(item.before))
        case .update: try appendCells(of: item, to: &journal)
        }
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

    private borrowing func collectedEffects() throws -> Effects {
        var effects = Effects()
        effects.bodyHashes.reserveCapacity(items.count)
        try forEachBlock { block in
            let item = block.item.map { items[$0] }
            let after = item?.kind == .delete ? 0..<0 : item?.after ?? 0..<0
            effects.bodyHashes.append(RecordHeader.bodyHash(body(after), of: block.id))
        }
        effects.members = try memberEdits()
        effects.members.sort()
        return effects
    }

    // MARK: For the writer

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
        if entry == nil { try encodeEntry() }
        guard let entry = entry.take(), let indexChanges else { trap("an entry is encoded") }
        var (journal, digest, changes) = entry.finish(attributes)
        try check("The commit has", journal.count, "bytes", limits.commitByteCount)
        for index in changes.indices { changes[index].bodyHash = effects.bodyHashes[index] }
        Self.keepBodies(of: &changes, in: &bodies.buffer)
        return EncodedChangeSet(
            changes: changes, bodies: bodies.buffer.finish(), journal: journal,
            bodyDigest: digest, attributes: attributes, purpose: purpose, links: links,
            members: effects.members, indexChanges: indexChanges, lookups: lookups,
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
}
