import StetStore

extension ManagedContext {
    /// Adds an object, and every object that can be reached from it over references and is in no
    /// context yet.
    ///
    /// An object whose deletion is not saved yet is deleted no more; else nothing happens when the
    /// object is in this context already. An object of another context, and one whose deletion was
    /// saved, is not inserted, and is a violation at the next save.
    ///
    /// - Complexity: O(objects inserted).
    public func insert(_ object: some Model) {
        guard mayEdit(object) else { return }
        let position = pending.count
        var queue = insertOne(object)
        while let next = queue.popLast() { queue += insertOne(next) }
        takeHeldMembers()
        callDidInsert(from: position)
    }

    /// Inserts one object; the objects to insert after it.
    func insertOne<M: Model>(_ object: M) -> [any Model] {
        if let present = object._$state.table {
            if present.context !== self {
                note(.foreignObject, object, "belongs to another context")
            } else if object.isDeleted, object.hasChanges {
                touch(object)
                mayReferToUninserted = true
                object._$setDeleted(false)
            } else if object.isDeleted {
                note(.deletedObjectEdited, object, "was inserted after it had been deleted")
            }
            return []
        }
        guard object._$state.revision == .zero, !object.isDeleted else {
            note(.foreignObject, object, "was read by a context that is gone")
            return []
        }
        let table = table(for: M.self)
        guard table.insert(object) else {
            note(.foreignObject, object, "has the id of another object of this context")
            return []
        }
        object._$state.table = table
        object._$state.flags = [.inserted]
        register(object)
        touch(object)
        var visitor = ReferenceVisitor(mode: .all)
        object._$visitReferences(&visitor)
        for reference in visitor.references {
            referenceChanges(from: .none, to: reference.target, in: object, slot: reference.slot)
        }
        if !visitor.members.isEmpty {
            heldMembers.append((object, visitor.members))
            for held in visitor.members { visitor.targets += held.members }
        }
        // From here on the context holds the targets; one of another context is reported.
        object._$mutateReferences(.release)
        for target in visitor.targets {
            if let other = target._$context, other !== self {
                note(.foreignObject, object, "refers to an object of another context")
            }
        }
        return visitor.targets.filter { $0._$context == nil }
    }

    /// Makes the members relationships that inserted objects have brought.
    private func takeHeldMembers() {
        while let held = heldMembers.popLast() {
            for (index, members) in held.members {
                for member in members where member._$context === self {
                    append(member, to: held.owner, relationship(of: held.owner, index))
                }
            }
        }
    }

    /// Inserts what pending objects refer to and nobody has inserted.
    func insertReachable() {
        guard mayReferToUninserted else { return }
        mayReferToUninserted = false
        var index = 0
        while index < pending.count {
            let object = pending[index].object
            insertTargets(of: object)
            index += 1
        }
    }

    private func insertTargets<M: Model>(of object: M) {
        var visitor = ReferenceVisitor(mode: .uninserted)
        object._$visitReferences(&visitor)
        guard !visitor.targets.isEmpty, !object.isDeleted else { return }
        object._$mutateReferences(.release)
        for target in visitor.targets { insert(target) }
    }

    /// Marks an object as deleted, whatever its model.
    func deleteObject(_ object: some Model) {
        guard let context = object.context else { return }
        guard context === self else {
            return note(.foreignObject, object, "belongs to another context")
        }
        guard !object.isDeleted, mayEdit(object), callWillDelete(of: object), !object.isDeleted
        else { return }
        markDeleted(object)
    }

    /// Without its hook.
    func markDeleted<M: Model>(_ object: M) {
        if !object.hasChanges { register(object) }
        touch(object)
        object._$setDeleted(true)
    }

    /// The objects that refer to an object now, saved or not, in ascending order of id.
    ///
    /// - Throws: `StoreError`.
    package func referrers(of object: some Model) throws -> [any Model] {
        try referrers(of: object, mayBeStored: true).map(\.object)
    }

    /// Who refers to a target now: the stored ends of the last commit that this context sees, too,
    /// less those that were moved away, and those that are pending.
    ///
    /// An end that only an older revision has is not among them: a save needs none of those.
    func referrers(
        of target: any Model, mayBeStored: Bool
    ) throws -> [(referrer: InverseEnds.Referrer, object: any Model)] {
        try referrerEnds(of: target, mayBeStored: mayBeStored).compactMap { referrer in
            guard let object = try table(ofEntity: referrer.entity).load(referrer.source),
                !object.isDeleted, object._$refers(to: target.id, slot: referrer.slot)
            else { return nil }
            return (referrer, object)
        }
    }

    /// The ends without the objects, in ascending order of id: some of these may refer to another
    /// object by now.
    func referrerEnds(
        of target: any Model, mayBeStored: Bool
    ) throws -> [InverseEnds.Referrer] {
        var referrers = inverseEnds.added(to: target.id)
        if let flight { referrers.formUnion(flight.inverseEnds.added(to: target.id)) }
        if mayBeStored {
            let removed = inverseEnds.removed(from: target.id)
            try store.file.read { reader in
                try reader.forEachReference(
                    to: target.id, ofEntity: target._$entityNumber
                ) { key in
                    let referrer = InverseEnds.Referrer(
                        entity: key.sourceEntity, slot: key.slot, source: key.source)
                    if !removed.contains(referrer) { referrers.insert(referrer) }
                }
            }
        }
        return referrers.sorted { $0.source < $1.source }
    }
}

extension Model {
    func _$setDeleted(_ isDeleted: Bool) {
        let flags = _$state.flags
        _$show(
            flags: (isDeleted ? flags.union(.deleted) : flags.subtracting(.deleted)).rawValue)
    }

    var _$context: ManagedContext? { _$state.table?.context }

    /// True when the property in a slot refers to an object now; false where the index is ahead of
    /// this context.
    func _$refers(to target: ObjectID, slot: Int) -> Bool {
        var visitor = ReferenceVisitor(mode: .all)
        _$visitReferences(&visitor)
        return visitor.references.contains { $0.slot == slot && $0.target == target }
    }
}
