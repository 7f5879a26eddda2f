import StetLMDB

/// A digest of the state of a store at a revision: the sum of a 128-bit hash for each value, each
/// object and the revision of each object's last change.
///
/// A sum can be updated forwards and backwards by changes alone, in any order and without the rest
/// of the state, so that neither trimming nor verification needs memory for it: the digest of the
/// last state, minus the effects of the entries since, is that of the state at the beginning of the
/// journal. It detects accidents, not attacks, like the checksums of records. Redacted values count
/// as nothing on both sides.
package struct StateDigest: Hashable, Sendable {
    package private(set) var first: UInt64
    package private(set) var second: UInt64

    package init(first: UInt64 = 0, second: UInt64 = 0) {
        self.first = first
        self.second = second
    }

    package static func + (one: StateDigest, other: StateDigest) -> StateDigest {
        StateDigest(first: one.first &+ other.first, second: one.second &+ other.second)
    }

    package static func - (one: StateDigest, other: StateDigest) -> StateDigest {
        StateDigest(first: one.first &- other.first, second: one.second &- other.second)
    }

    package static func += (one: inout StateDigest, other: StateDigest) { one = one + other }
    package static func -= (one: inout StateDigest, other: StateDigest) { one = one - other }

    // MARK: Parts

    // Slots that no property has.
    private static let existence: Slot = 0xffff
    private static let lastChange: Slot = 0xfffe
    private static let linked: Slot = 0xfffd

    private static func seed(_ number: Int, _ id: ObjectID, _ slot: Slot) -> UInt64 {
        Checksum.combine(UInt64(number) << 16 | UInt64(slot.index), id.high, id.low)
    }

    /// Returns the digest of one value of an object.
    static func value(_ cell: Cell, _ slot: Slot, ofEntity entity: EntityNumber, _ id: ObjectID)
        -> StateDigest
    {
        let seed = seed(entity.rawValue, id, slot)
        switch cell {
        case .word(let word): return number(word, seed)
        case .bytes(let bytes):
            return StateDigest(
                first: Checksum.hash(bytes, seed: seed), second: Checksum.hash(bytes, seed: ~seed))
        }
    }

    private static func number(_ word: UInt64, _ seed: UInt64) -> StateDigest {
        StateDigest(
            first: Checksum.combine(seed, word, 1), second: Checksum.combine(seed, word, 2))
    }

    /// Returns the digest of an object's existence.
    static func existence(ofEntity entity: EntityNumber, _ id: ObjectID) -> StateDigest {
        number(1, seed(entity.rawValue, id, existence))
    }

    /// Returns the digest of the revision of an object's last change; zero when it has none.
    static func lastChange(
        _ revision: Revision, ofEntity entity: EntityNumber, _ id: ObjectID
    ) -> StateDigest {
        revision == .zero
            ? StateDigest() : number(revision.number, seed(entity.rawValue, id, lastChange))
    }

    /// Returns the digest of a link; zero for an absent one, whose last change a trim forgets.
    static func link(
        _ key: LinkKey, _ membership: Membership, _ revision: Revision
    ) -> StateDigest {
        guard case .present(let position) = membership else { return StateDigest() }
        let seed = Checksum.combine(
            seed(key.link, key.source, linked), key.target.high, key.target.low)
        let place = (position?.bytes ?? []).withUnsafeBytes { Checksum.hash($0, seed: seed) }
        return number(revision.number, place)
    }

    // MARK: Effects

    /// Returns the contribution of a change to the digest of the state, in the current schema; zero
    /// for an object of a removed entity.
    static func effect(
        of change: JournalChange, at revision: Revision, _ history: SchemaHistory,
        from schemaRevision: Int
    ) throws -> StateDigest {
        let (entity, id) = (change.entity, change.id)
        if history.current.entity(numbered: entity) == nil { return StateDigest() }
        var effect = StateDigest()
        for link in try change.links() {
            guard let type = history.current.link(numbered: link.key.link) else { continue }
            effect += Self.link(link.key, link.after.upcast(to: type), revision)
            effect -= Self.link(link.key, link.before.upcast(to: type), link.previous)
        }
        if !change.changesRecord { return effect }
        effect +=
            lastChange(revision, ofEntity: entity, id)
            - lastChange(change.previous, ofEntity: entity, id)
        switch change.kind {
        case .insert: effect += existence(ofEntity: entity, id)
        case .delete: effect -= existence(ofEntity: entity, id)
        case .update: break
        }
        try history.forEachCell(of: change, from: schemaRevision) { cell in
            if let before = cell.before { effect -= value(before, cell.slot, ofEntity: entity, id) }
            if let after = cell.after { effect += value(after, cell.slot, ofEntity: entity, id) }
        }
        return effect
    }

    /// Returns the contributions of all changes of a commit.
    static func effect(of commit: Commit, _ history: SchemaHistory) throws -> StateDigest {
        var effect = StateDigest()
        try commit.forEachChange { change in
            effect += try Self.effect(
                of: change, at: commit.revision, history, from: commit.schema.revision)
        }
        return effect
    }

    /// Returns the digest of an existing object with its body.
    ///
    /// `unknown` contains the slots whose values were redacted.
    static func object(
        ofEntity entity: EntityNumber, _ id: ObjectID, _ body: RecordBody, unknown: Set<Slot> = []
    ) throws -> StateDigest {
        var digest = existence(ofEntity: entity, id)
        for (slot, cell) in try body.cells().slotted where !unknown.contains(slot) {
            if let cell { digest += value(cell, slot, ofEntity: entity, id) }
        }
        return digest
    }
}

extension SchemaHistory {
    /// Returns the digest of an object according to its record.
    func digest(
        ofEntity entity: EntityNumber, _ id: ObjectID, _ record: UnsafeRawBufferPointer
    ) throws -> StateDigest {
        let header = try RecordHeader(decoding: record)
        try header.verify(record, of: id)
        let last = StateDigest.lastChange(header.revision, ofEntity: entity, id)
        if header.isTombstone { return last }
        let stored = UnsafeRawBufferPointer(rebasing: record[RecordLayout.headerByteCount...])
        return try withBody(stored, ofEntity: entity, from: Int(header.schemaRevision)) { body in
            last
                + (try StateDigest.object(
                    ofEntity: entity, id,
                    try RecordBody(body, of: current.entities[entity])))
        }
    }
}
