import StetLMDB

/// Stands for the state of a store at a revision: the sum of 128 bits of hash for each value, each
/// object and the revision of each object's last change.
///
/// A sum can be carried forward and back by changes alone, in any order and without the rest of the
/// state, so that neither trimming nor verifying needs memory for it: the digest of the last state,
/// less the effects of the entries since, is that of the state where the journal begins. It finds
/// accidents, not attacks, like the checksums of records. Values that were taken out count as
/// nothing on both sides.
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

    /// That of one value of an object.
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

    /// That of an object's being there.
    static func existence(ofEntity entity: EntityNumber, _ id: ObjectID) -> StateDigest {
        number(1, seed(entity.rawValue, id, existence))
    }

    /// That of the revision of an object's last change; nothing when it has none.
    static func lastChange(
        _ revision: Revision, ofEntity entity: EntityNumber, _ id: ObjectID
    ) -> StateDigest {
        revision == .zero
            ? StateDigest() : number(revision.number, seed(entity.rawValue, id, lastChange))
    }

    /// The digest of a link; nothing for one that is absent, whose last change a trim forgets.
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

    /// What a change adds to the digest of the state, as the present schema tells it: nothing for
    /// an object of an entity that was removed.
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

    /// The effects of all changes of a commit.
    static func effect(of commit: Commit, _ history: SchemaHistory) throws -> StateDigest {
        var effect = StateDigest()
        try commit.forEachChange { change in
            effect += try Self.effect(
                of: change, at: commit.revision, history, from: commit.schema.revision)
        }
        return effect
    }

    /// That of an object which has a body at the moment.
    ///
    /// `unknown` are slots whose values were taken out.
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
    /// That of an object as its record shows it.
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
