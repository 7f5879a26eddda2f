import StetStore

/// Three-way merges of pending changes with changes that others have saved, prepared before the
/// context follows the store; see `MergePolicy`.
struct ContextMerge {
    private let core: ContextCore
    /// The prepared merge of each object.
    private var applications: [() -> Void] = []
    /// The conflicts that the merge policy does not resolve.
    private(set) var conflicts: [Conflict] = []
    /// True when a conflict is that of a counter whose increments exceed its type.
    private var overflows = false
    /// The objects that others have deleted and that are inserted again.
    private var revived: Set<ObjectKey> = []
    /// The objects that others have deleted and that pending changes still refer to.
    private var missing: Set<ObjectKey> = []

    init(_ core: ContextCore) { self.core = core }

    private var policy: MergePolicy { core.settings.mergePolicy }

    /// True when there is nothing to merge.
    var isEmpty: Bool { applications.isEmpty && conflicts.isEmpty }

    /// The reason of the conflicts.
    var reason: ConflictError.Reason { overflows ? .overflow : .changed }

    /// Applies the prepared merges.
    ///
    /// - Precondition: there are no conflicts.
    func apply() {
        for apply in applications { apply() }
    }

    /// Prepares the merge of an object that others have changed, if it has pending changes.
    mutating func add(
        _ change: ChangedObject, _ reader: borrowing StoreReader, asOf head: Revision
    ) throws {
        guard let object = core.object(change.key), object.hasChanges else { return }
        try merge(object, change, reader, asOf: head)
    }

    private mutating func merge<M: Model>(
        _ object: M, _ change: ChangedObject, _ reader: borrowing StoreReader, asOf head: Revision
    ) throws {
        guard let entry = core.pending[object], let table = object._$table,
            !(object._$isNew && object._$flags.contains(.deleted))
        else { return }
        let core = core
        let theirs = try reader.withRecord(ofEntity: table.entity, object.id, asOf: head) {
            EncodedBody($0.body)
        }
        let sides: MergeSides
        do {
            sides = try MergeSides(of: object, table, base: entry.base, theirs: theirs)
        } catch is EncodingFailure {
            // A value without a stored form cannot be merged, and would be lost.
            return conflicts.append(conflict(object, change, isThere: theirs != nil))
        }
        if try sides.hasNoChangeOfMine(), !object.isInserted {
            return applications.append { core.pending.rollBack(object) }
        }
        switch (policy.rule, sides.mine, theirs) {
        case (_, nil, let theirs?) where try sides.hasNoChangeOfTheirs():
            try rebase(object, change, sides, theirs, staysDeleted: true)
        case (.storeWins, nil, _), (.storeWins, _, nil), (.custom, nil, nil),
            (.contextWins, nil, nil):
            applications.append { core.pending.rollBack(object) }
        case (.contextWins, _, nil):
            revived.insert(change.key)
            applications.append { core.pending.revive(object, change.revision) }
        case (.fail, _?, let theirs?) where try sides.isCounted():
            try rebase(object, change, sides, theirs, staysDeleted: false)
        case (.fail, _, _), (.custom, nil, _), (.custom, _, nil):
            conflicts.append(
                conflict(object, change, isThere: theirs != nil, try sides.propertyConflicts()))
        case (_, let mine, let theirs?):
            try rebase(object, change, sides, theirs, staysDeleted: mine == nil)
        }
    }

    /// Bases the pending changes of an object on the stored values.
    private mutating func rebase<M: Model>(
        _ object: M, _ change: ChangedObject, _ sides: MergeSides, _ theirs: EncodedBody,
        staysDeleted: Bool
    ) throws {
        let core = core
        let stored = try sides.table.capture(object.id, theirs, as: M.self)
        // A deleted object takes the changes of others, which show if the deletion is withdrawn.
        var merged: EncodedBody? = theirs
        if !staysDeleted { merged = try sides.merged(by: policy, core) }
        guard let merged else {
            overflows = try overflows || sides.overflows()
            return conflicts.append(
                conflict(object, change, isThere: true, try sides.propertyConflicts()))
        }
        let shown = try sides.table.capture(object.id, merged, as: M.self)
        applications.append {
            core.pending.rebase(object, onto: stored, showing: shown, change.revision)
        }
    }

    private func conflict<M: Model>(
        _ object: M, _ change: ChangedObject, isThere: Bool, _ properties: [Conflict.Property] = []
    ) -> Conflict {
        Conflict(
            entity: M._$name, object: object.id, base: object._$revision,
            current: isThere ? change.revision : nil, properties: properties)
    }
}

// MARK: - What others have deleted

extension ContextMerge {
    /// Decides about pending references and links to objects that others have deleted, after all
    /// other changes were added.
    mutating func addMissing(_ reader: borrowing StoreReader, asOf head: Revision) throws {
        for entry in core.pending.objects where !entry.object._$flags.contains(.deleted) {
            try addMissing(from: entry, entry.object, reader, asOf: head)
        }
        for (key, link) in core.pending.links where link.now.isPresent && !link.below.isPresent {
            try addMissing(key, reader, asOf: head)
        }
    }

    private mutating func addMissing<M: Model>(
        from entry: PendingObject, _ object: M, _ reader: borrowing StoreReader, asOf head: Revision
    ) throws {
        guard let table = object._$table else { return }
        let core = core
        // Skips targets that are in no context: the save inserts them.
        let held = object._$attachment.targets.map(\.slot)
        for end in table.ends where !held.contains(end.slot) {
            let owner = object._$reference(in: end.slot)
            let isMine =
                revived.contains(entry.key)
                || core.pending.placeBelow(object, entry, end).owner != owner
            let key = ObjectKey(end.owner, owner)
            guard owner != .none, isMine, try isMissing(key, reader, asOf: head) else { continue }
            let name = table.description.properties[end.slot].name
            guard try letsGo(of: key, M._$name, object.id, name) else { continue }
            applications.append {
                // The merged values may refer to a different object.
                guard object._$core === core, object._$reference(in: end.slot) == owner else {
                    return
                }
                core.pending.refer(object, end, to: .none)
            }
        }
    }

    private mutating func addMissing(
        _ key: LinkKey, _ reader: borrowing StoreReader, asOf head: Revision
    ) throws {
        guard let ends = core.schema.ends(ofLink: key.link) else { return }
        let core = core
        let (source, target) = (
            ObjectKey(ends.targets.owner, key.source), ObjectKey(ends.sources.owner, key.target)
        )
        let isVain = core.state.isDeleted(source) || core.state.isDeleted(target)
        for end in [source, target] where try isMissing(end, reader, asOf: head) {
            let entity = core.schema.entities[source.entity].name
            let name = core.schema.relationship(at: ends.targets)?.name ?? ""
            guard try isVain || letsGo(of: end, entity, key.source, name) else { continue }
            applications.append { core.pending.setLink(key, to: .absent, below: .absent) }
        }
    }

    /// Returns whether others have deleted an object that is not inserted again.
    private func isMissing(
        _ key: ObjectKey, _ reader: borrowing StoreReader, asOf head: Revision
    ) throws -> Bool {
        if revived.contains(key) || core.object(key)?.isInserted ?? false { return false }
        let last = try reader.lastChange(ofEntity: key.entity, key.id, asOf: head)
        return last?.isDeleted ?? true
    }

    /// Returns whether the policy removes a reference to a missing object; adds a conflict if not.
    private mutating func letsGo(
        of key: ObjectKey, _ entity: String, _ object: ObjectID, _ property: String
    ) throws -> Bool {
        let conflict = Conflict.Property(
            entity: entity, object: object, property: property, base: .null,
            mine: .reference(key.id), theirs: .null)
        if try policy.value(of: conflict, .contested) == .null { return true }
        guard missing.insert(key).inserted else { return false }
        conflicts.append(
            Conflict(
                entity: core.schema.entities[key.entity].name, object: key.id,
                base: core.revision, current: nil))
        return false
    }
}

extension PendingChanges {
    /// Bases the pending changes of an object on other values, at another revision.
    fileprivate func rebase<M: Model>(
        _ object: M, onto stored: AnyObject, showing merged: AnyObject, _ revision: Revision
    ) {
        let targets = object._$attachment.targets
        change(object) { entry in
            entry = PendingObject(
                object: object, base: stored, isDeletionConfirmed: entry.isDeletionConfirmed)
            object._$restore(merged)
            // Keeps the references to targets that are in no context.
            for target in targets
            where (target.object as? any Model)?.id
                == object._$reference(in: target.slot)
            {
                object._$state.setTarget(target.object, in: target.slot)
            }
            object._$state.flags.remove(.inserted)
            object._$state.revision = revision
        }
    }

    /// Inserts an object again that others have deleted.
    fileprivate func revive<M: Model>(_ object: M, _ revision: Revision) {
        change(object) { _ in
            object._$state.flags.insert(.inserted)
            object._$state.revision = revision
        }
    }
}
extension ContextCore {
    /// Returns a resolved value with a position, if it is a reference that has one: the position of
    /// a side that refers to the same object, otherwise the last position.
    func placed(
        _ value: Value, in slot: Slot, of table: _ObjectTable, like conflict: Conflict.Property
    ) throws -> Value {
        guard case .reference(let target) = value,
            table.description.properties[slot].hasPosition,
            let end = table.ends.first(where: { $0.slot == slot })
        else { return value }
        for side in [conflict.theirs, conflict.mine] {
            if case .placed(target, _) = side { return side }
        }
        return .placed(target, try positionAtEnd(of: target, at: end))
    }
}

extension MergePolicy {
    /// True when an object that both sides have moved within a list gets its pending position.
    var favorsMine: Bool {
        if case .storeWins = rule { false } else { true }
    }
}
