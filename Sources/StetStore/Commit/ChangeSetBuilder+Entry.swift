/// The body of a journal entry without the attributes of the commit, and the changes in it.
struct EncodedEntry: ~Copyable {
    /// The room before the blocks of the changes, which is enough for the attributes of most
    /// commits.
    static let attributeRoom = 256

    /// The room, then the blocks of the changes; nil where the bodies of the records are laid out
    /// that way.
    private var journal: ByteBuffer?
    /// The digests of all blocks, of which the first is that of the attributes.
    private var digests: ByteBuffer
    /// The changes; ranges count from the first change.
    private var changes: [EncodedChangeSet.Change] = []

    fileprivate init(changeCount: Int) {
        digests = ByteBuffer(capacity: (changeCount + 1) * Digest.byteCount)
        Digest.zero.append(to: &digests)
        changes.reserveCapacity(changeCount)
    }

    fileprivate mutating func append(
        _ block: ChangeSetBuilder.Block, _ item: ChangeSetBuilder.Item?, in range: Range<Int>,
        bodyHash: UInt64 = 0
    ) {
        let after = item?.bodyAfter ?? 0..<0
        changes.append(
            EncodedChangeSet.Change(
                kind: item?.kind, entity: block.entity, id: block.id, base: item?.base ?? .zero,
                bodyHash: bodyHash,
                body: item?.kind == .insert
                    ? range.upperBound - after.count..<range.upperBound : after,
                journal: range))
    }

    /// Gives every change in `journal` its salt, and digests it.
    fileprivate mutating func saltAndDigest(_ journal: UnsafeMutableRawPointer) {
        let salts = Salts(count: changes.count)
        for (index, change) in changes.enumerated() {
            let start = journal + Self.attributeRoom + change.journal.lowerBound
            salts.set(index, of: start)
            let block = UnsafeRawBufferPointer(start: start, count: change.journal.count)
            JournalChange.digest(of: block).append(to: &digests)
        }
    }

    fileprivate mutating func take(_ journal: consuming ByteBuffer) {
        self.journal = consume journal
    }

    /// Adds the attributes.
    ///
    /// `bodies` are those of the records, which are taken if they are laid out as an entry.
    fileprivate consuming func finish(
        _ attributes: CommitAttributes, _ bodies: inout ByteBuffer
    ) -> (body: ByteStorage, digest: Digest, changes: [EncodedChangeSet.Change]) {
        var block = ByteBuffer()
        attributes.append(to: &block)
        Salts(count: 1).set(0, of: block.base)
        JournalChange.digest(of: block.bytes).overwrite(&digests, at: 0)
        let digest = Digest(of: digests.bytes)
        for index in changes.indices { changes[index].move(by: block.count) }
        var journal = ByteBuffer()
        if let present = self.journal.take() { journal = present } else { swap(&journal, &bodies) }
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

    /// Sets the salt of the block that begins at an address.
    func set(_ index: Int, of start: UnsafeMutableRawPointer) {
        (start + JournalChange.saltOffset).copyMemory(
            from: bytes.baseAddress! + index * Self.byteCount, byteCount: Self.byteCount)
    }
}

extension ChangeSetBuilder {
    /// The rest of what the writer needs.
    struct Effects {
        /// The hashes of the new bodies of the records, in the order of the changes; none when the
        /// entry has them.
        fileprivate var bodyHashes: [UInt64] = []
        /// The edits of lists of members, in the order of the tree of members.
        fileprivate var members: [MemberEdit] = []
    }

    /// Collects the effect on the entries of indexes, after the items were sorted and their values
    /// are final.
    ///
    /// Encodes a large change set at the same time, on a second core, if it is to be committed.
    package mutating func collectIndexChanges(isToBeCommitted: Bool = true) throws {
        let isLarge = items.count >= limits.parallelCount
        if !isToBeCommitted || !isLarge || (try? checkLimits()) == nil {
            indexChanges = try collectedIndexChanges()
        } else {
            try encodeEntry()
        }
    }

    /// Encodes what does not depend on the attributes of the commit, and collects the index changes
    /// unless that has been done.
    private mutating func encodeEntry() throws {
        let isParallel = items.count >= limits.parallelCount
        let areEntry = areEntry
        let both = try TwoCores.run(isParallel: isParallel) {
            areEntry ? try entryOfBodies() : try encodedEntry()
        } and: {
            (try indexChanges ?? collectedIndexChanges(), try collectedEffects(isHashed: areEntry))
        }
        (indexChanges, effects) = both.other
        entry = consume both.one
    }

    /// Whether the bodies are laid out as an entry: each is that of a new object, in their order,
    /// behind the header of its change.
    private var areEntry: Bool {
        // A copied body, which has no header, may follow other bytes of a header's length.
        if laidOutEnd != bodies.buffer.count { return false }
        var end = EncodedEntry.attributeRoom
        for item in items {
            let start = end + JournalChange.headerByteCount
            if item.kind != .insert || item.after.lowerBound != start { return false }
            end = item.after.upperBound
        }
        return end == bodies.buffer.count && links.isEmpty
    }

    /// Makes an entry of the bodies where they are, and hashes them, which takes the time that
    /// `encodedEntry` needs for copies.
    private borrowing func entryOfBodies() throws -> EncodedEntry {
        var entry = EncodedEntry(changeCount: items.count)
        try forEachBlock { block in
            let item = block.item.map { items[$0] }
            let body = item?.after ?? 0..<0
            let start = body.lowerBound - EncodedEntry.attributeRoom
            entry.append(
                block, item,
                in: start - JournalChange.headerByteCount..<start + body.count,
                bodyHash: RecordHeader.bodyHash(self.body(body), of: block.id))
        }
        entry.saltAndDigest(bodies.buffer.base)
        return entry
    }

    /// Makes an entry of copies of the bodies, and of the cells that updates change.
    private borrowing func encodedEntry() throws -> EncodedEntry {
        let room = EncodedEntry.attributeRoom
        var entry = EncodedEntry(changeCount: items.count)
        var journal = ByteBuffer(
            capacity: room + bodies.buffer.count + 2 * JournalChange.headerByteCount * items.count)
        journal.count = room
        var bodies = ChangedBodies()
        try forEachBlock { block in
            let item = block.item.map { items[$0] }
            let start = journal.count
            JournalChange.appendHeader(
                item?.kind, block.entity, block.id, item?.base ?? .zero, links: links[block.links],
                to: &journal)
            if let item { try append(item, &bodies, to: &journal) }
            journal.overwrite(UInt32(journal.count - start), at: start)
            entry.append(block, item, in: start - room..<journal.count - room)
        }
        entry.saltAndDigest(journal.base)
        entry.take(journal)
        return entry
    }

    /// Appends the body of an inserted or deleted object, or the cells that an update changes.
    ///
    /// `bodies` are moved to those of the object.
    private borrowing func append(
        _ item: Item, _ bodies: inout ChangedBodies, to journal: inout ByteBuffer
    ) throws {
        try move(&bodies, to: item)
        if !bodies.hasBefore || !bodies.hasAfter {
            return journal.append(bodies.hasAfter ? bodies.after.bytes : bodies.before.bytes)
        }
        let countOffset = journal.count
        var count: UInt16 = 0
        journal.append(count)
        for index in bodies.after.entity.properties.indices {
            let slot = Slot(index)
            let old = try bodies.before.cell(slot)
            let new = try bodies.after.cell(slot)
            if Cell.areEqual(old, new) { continue }
            JournalChange.ChangedCell.append(
                slot: slot, type: bodies.after.entity.properties[slot].type, before: old,
                after: new, to: &journal)
            count += 1
        }
        journal.overwrite(count, at: countOffset)
    }

    private borrowing func collectedEffects(isHashed: Bool) throws -> Effects {
        var effects = Effects()
        effects.members = try memberEdits()
        effects.members.sort()
        if isHashed { return effects }
        effects.bodyHashes.reserveCapacity(items.count)
        try forEachBlock { block in
            let item = block.item.map { items[$0] }
            effects.bodyHashes.append(
                RecordHeader.bodyHash(body(item?.bodyAfter ?? 0..<0), of: block.id))
        }
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
        var (journal, digest, changes) = entry.finish(attributes, &bodies.buffer)
        try check("The commit has", journal.count, "bytes", limits.commitByteCount)
        for index in effects.bodyHashes.indices {
            changes[index].bodyHash = effects.bodyHashes[index]
        }
        EncodedChangeSet.keepBodies(of: &changes, in: &bodies.buffer)
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
}
