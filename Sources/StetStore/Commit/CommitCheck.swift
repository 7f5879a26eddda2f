import StetLMDB

/// Checks the data of a change set before the writer writes anything.
struct CommitCheck: ~Copyable {
    let set: EncodedChangeSet
    let file: StoreFile
    let transaction: ReadTransaction

    init(_ set: EncodedChangeSet, _ file: StoreFile, _ transaction: borrowing ReadTransaction) {
        self.set = set
        self.file = file
        self.transaction = transaction.shared()
    }

    /// Returns what has changed since the change set was prepared; empty when it can be written.
    func reasons(_ head: Head) throws -> [CommitRefusal.Reason] {
        guard head.schemaRevision == UInt32(set.schema.revision) else { return [.schemaChanged] }
        var reasons: [CommitRefusal.Reason] = []
        if let update = set.subscription,
            try update.refusal(after: head.revision, in: transaction) != nil
        {
            reasons.append(.subscriptionLost(name: update.name))
        }
        if let heads = try movedHeads() { reasons.append(.stackMoved(heads)) }
        if let erased = try erasedSubject() { reasons.append(.erased(erased)) }
        try checkBases(into: &reasons)
        try checkOwners(into: &reasons)
        for change in set.changes where change.kind == .delete {
            try checkReferrers(of: change, into: &reasons)
        }
        try checkLinks(into: &reasons)
        let reader = StoreReader(transaction, file)
        reasons += try reader.conflicts(with: set.indexChanges).map { .notUnique($0) }
        if !file.schema.countedRelationships.isEmpty {
            reasons += try miscounts(reader).map { .miscounted($0) }
        }
        try checkLookups(head, into: &reasons)
        if let missing = try missingLargeValue() { reasons.append(.largeValueMissing(missing)) }
        return reasons
    }

    /// Returns a large value whose bytes nobody has written; nil when all are there.
    private func missingLargeValue() throws -> LargeValue? {
        guard set.schema.hasLargeValues else { return nil }
        var missing: LargeValue?
        try set.forEachLargeChange { change in
            try LargeValueCounts.forEachValue(of: change, set.schema.entities[change.entity]) {
                value, isBefore in
                if isBefore || missing != nil { return }
                let entry = try file.projection.largeValues?.entry(value, in: transaction)
                if entry == nil { missing = value }
            }
        }
        return missing
    }

    /// Returns the tops of the author's stacks when they differ from those that the change set was
    /// prepared for.
    private func movedHeads() throws -> UndoHeads? {
        guard let owner = UndoOwner(set.attributes) else { return nil }
        let heads: UndoHeads
        switch set.purpose.cause {
        case .undo(let subject):
            heads = try owner.heads(in: transaction)
            return heads.undo == subject ? nil : heads
        case .redo(let subject):
            heads = try owner.heads(in: transaction)
            return heads.redo == subject ? nil : heads
        case .discard(let subject):
            heads = try owner.heads(in: transaction)
            return [heads.undo, heads.redo].contains(subject) ? nil : heads
        default: return nil
        }
    }

    /// Returns the commit to be undone or reverted when it has been redacted since, because the new
    /// commit would restore the values.
    private func erasedSubject() throws -> Revision? {
        guard let subject = set.purpose.cause.subject else { return nil }
        var subjects = [subject]
        do {
            switch set.purpose.cause {
            case .undo, .redo:
                guard let owner = UndoOwner(set.attributes) else { return nil }
                subjects = try file.journal.step(at: subject, of: owner, in: transaction).revisions
            case .revert: break
            case .edit, .migration, .discard, .import, .trim, .redaction: return nil
            }
            return try subjects.first {
                try file.journal.envelope($0, in: transaction).isRedacted
            }
        } catch let error as StoreError where error.code == .historyTrimmed {
            // A commit that was trimmed may have been redacted.
            return subject
        }
    }

    private func miscounts(_ reader: borrowing StoreReader) throws -> [Miscount] {
        try reader.miscounts(
            with: set.members,
            inserted: { entity in
                set.changes.filter { $0.entity == entity && $0.kind == .insert }.map(\.id)
            },
            isDeleted: { entity, id in change(of: entity, id)?.kind == .delete })
    }

    func header(_ entity: EntityNumber, _ id: ObjectID) throws -> RecordHeader? {
        let value = try file.projection.record(entity, id, in: transaction)
        return try value.map { bytes in try RecordHeader(decoding: bytes) }
    }

    private func checkBases(into reasons: inout [CommitRefusal.Reason]) throws {
        var entity: EntityNumber = 0
        var lastID: ObjectID?
        for change in set.changes where change.kind != nil {
            if change.entity != entity {
                entity = change.entity
                lastID = try Projection.lastKey(
                    of: file.projection.records[entity], in: transaction)
            }
            // An object with an id above the last record's cannot exist already.
            let isNew = lastID.map { $0 < change.id } ?? true
            let header = isNew ? nil : try header(entity, change.id)
            let revision = header?.revision ?? .zero
            let exists = header.map { !$0.isTombstone } ?? false
            if revision != change.base || exists != (change.kind != .insert) {
                reasons.append(
                    .objectChanged(
                        entity: entity, change.id, base: change.base,
                        now: exists ? revision : nil))
            }
        }
    }

    /// Checks each owner once: the edits are sorted by owner.
    private func checkOwners(into reasons: inout [CommitRefusal.Reason]) throws {
        var end: MemberEnd?
        var checked: ObjectID?
        for edit in set.members where edit.action == .put {
            if end?.number != edit.end {
                end = file.schema.end(numbered: edit.end)
                checked = nil
            }
            guard let end, end.owner > 0 else {
                throw DecodingFailure("a member without an owner")
            }
            if checked == edit.owner { continue }
            checked = edit.owner
            let isMissing: Bool
            if let kind = change(of: end.owner, edit.owner)?.kind {
                isMissing = kind == .delete
            } else {
                isMissing = try header(end.owner, edit.owner)?.isTombstone ?? true
            }
            if isMissing {
                reasons.append(.ownerMissing(MembershipKey(end, edit.owner, edit.member)))
            }
        }
    }

    private func change(of entity: EntityNumber, _ id: ObjectID) -> EncodedChangeSet.Change? {
        let index = set.changes.partitionPoint { ($0.entity, $0.id) < (entity, id) }
        guard let change = set.changes.element(at: index) else { return nil }
        return change.entity == entity && change.id == id ? change : nil
    }

    private func checkReferrers(
        of change: EncodedChangeSet.Change, into reasons: inout [CommitRefusal.Reason]
    ) throws {
        for end in file.schema.ends(ofOwner: change.entity) {
            let edits = set.members.of(change.id, at: end.number)
            try file.projection.members.forEachEntry(of: change.id, at: end, in: transaction) {
                entry in
                if !entry.isRemoved, !edits.removes(entry.id) {
                    reasons.append(.stillReferenced(MembershipKey(end, change.id, entry.id)))
                }
                return true
            }
        }
    }

    /// Adds the links whose state differs from the one for which the change set was prepared.
    private func checkLinks(into reasons: inout [CommitRefusal.Reason]) throws {
        func isNew(_ entity: EntityNumber, _ id: ObjectID) -> Bool {
            change(of: entity, id).map { $0.kind == .insert && $0.base == .zero } ?? false
        }
        for link in set.links {
            guard let ends = file.schema.ends(ofLink: link.key.link) else {
                throw DecodingFailure("a change of links that do not exist")
            }
            // An object that never had a record had no links.
            if link.previous == .zero, !link.before.isPresent,
                isNew(ends.targets.owner, link.key.source)
                    || isNew(ends.sources.owner, link.key.target)
            {
                continue
            }
            let entry = try file.projection.members.entry(
                of: link.key.source, link.key.target, at: ends.sources, in: transaction)
            if try entry?.membership ?? .absent != link.before
                || entry?.revision ?? .zero != link.previous
            {
                reasons.append(.linkChanged(link.key))
            }
        }
    }
}

/// The refusal of a change set by the writer, because its data no longer match the store.
///
/// Nothing was written.
package struct CommitRefusal: Error, Sendable {
    /// One thing that has changed since the change set was prepared.
    package enum Reason: Hashable, Sendable {
        /// The object was changed by another commit; `now` is its record's current revision, nil
        /// when it is deleted.
        case objectChanged(entity: EntityNumber, ObjectID, base: Revision, now: Revision?)
        /// An object is made a member of an owner that does not exist.
        case ownerMissing(MembershipKey)
        /// A deleted object still has a member: an object outside the change set refers to it.
        case stillReferenced(MembershipKey)
        /// A link was changed by another commit.
        case linkChanged(LinkKey)
        /// Another object has the values of a unique index.
        case notUnique(UniquenessConflict)
        /// An owner would have a number of members that its relationship does not allow.
        case miscounted(Miscount)
        /// A validator has looked up the object or, if it is nil, all objects of the entity.
        case lookupChanged(entity: EntityNumber, ObjectID?)
        /// The commit to be undone, redone or discarded is not on top of its stack.
        case stackMoved(UndoHeads)
        /// Values of the commit to be undone or reverted were redacted, or it was trimmed.
        case erased(Revision)
        /// Another process has migrated the store.
        case schemaChanged
        /// The commit is the effect of a delivery of a subscription that has moved since.
        case subscriptionLost(name: String)
        /// The store does not have the bytes of a large value.
        case largeValueMissing(LargeValue)
    }

    /// The reasons in the order of the change set.
    package let reasons: [Reason]

    /// Returns the error that ends the work when it cannot be prepared again; nil when it can.
    package func finalError(path: String) -> (any Error)? {
        for reason in reasons {
            switch reason {
            case .schemaChanged: return StoreError.migratedElsewhere(path: path)
            case .subscriptionLost(let name): return SubscriptionError.lost(name: name)
            case .largeValueMissing(let value):
                return StoreError.largeDataMissing(value, path: path)
            default: continue
            }
        }
        return nil
    }
}
