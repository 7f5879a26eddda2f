import StetStore

// Insertion and deletion.

extension PendingChanges {
    /// Inserts an object, and every object that is reachable from it and is in no context yet.
    func insert(_ object: some Model) {
        guard core.hookCalls.mayEdit(object) else { return }
        let position = objects.count
        var queue = insertOne(object)
        while let next = queue.popLast() { queue += insertOne(next) }
        placeHeldMembers()
        // Others may have become members of an inserted object, which is an edit.
        if objects.count == position + 1 {
            if object._$flags.contains(.inserted) { core.hookCalls.callDidInsert(of: object) }
            return
        }
        let inserted = objects[position...].map(\.object).filter(\.isInserted)
        for object in inserted { core.hookCalls.callDidInsert(of: object) }
    }

    /// Inserts one object; returns the objects to insert after it.
    func insertOne<M: Model>(_ object: M) -> [any Model] {
        if let present = object._$core {
            if present !== core {
                core.note(.foreignObject, object, "belongs to another context")
            } else if object._$flags.contains(.deleted), object.hasChanges {
                touch(object)
                noteUninserted()
                setDeleted(object, false)
                // A later deletion needs its own confirmation.
                confirmDeletion(at: Int(object._$pendingIndex), false)
            } else if object._$flags.contains(.deleted) {
                core.note(
                    .deletedObjectEdited, object, "was inserted after it had been deleted")
            }
            return []
        }
        guard object._$revision == .zero, !object._$flags.contains(.deleted) else {
            core.note(.foreignObject, object, "was read by a context that is gone")
            return []
        }
        let table = core.table(for: M.self)
        guard table.insert(object) else {
            core.note(
                .foreignObject, object, "has the id of another object of this context")
            return []
        }
        object._$state.table = table
        object._$state.flags = [.inserted]
        register(object)
        touch(object)
        placeReferences(of: object, table)
        return takeAttached(of: object)
    }

    /// Records the references of a new object in the lists of members.
    private func placeReferences<M: Model>(of object: M, _ table: _ObjectTable) {
        for end in table.ends {
            let owner = object._$reference(in: end.slot)
            if owner == .none { continue }
            if end.isOrdered, object._$attachment.position(in: end.slot) == nil {
                let position = core.resolving(ListPosition.first) {
                    try core.positionAtEnd(of: owner, at: end)
                }
                object._$state.setPosition(position, in: end.slot)
            }
            override(object.id, end, below: .none, from: .none, to: object._$place(in: end.slot))
        }
    }

    /// Takes over the objects that a new object has retained; returns those that are in no context
    /// yet.
    private func takeAttached<M: Model>(of object: M) -> [any Model] {
        if !object._$isAttached { return [] }
        // Most new objects refer to one object.
        if let target = object._$state.takeOnlyTarget() {
            return uninserted(target, referredToBy: object).map { [$0] } ?? []
        }
        let attachment = object._$attachment
        var found = attachment.targets.map(\.object)
        for (index, members) in attachment.members {
            hold(HeldMembers(owner: object, index: index, members: members))
            found += members
        }
        object._$state.releaseObjects()
        return found.compactMap { uninserted($0, referredToBy: object) }
    }

    /// Returns an object that a new object refers to; nil when it is in a context, which must be
    /// this one.
    private func uninserted(
        _ target: AnyObject, referredToBy object: some Model
    ) -> (any Model)? {
        guard let target = model(target) else { return nil }
        guard let other = target._$core else { return target }
        if other !== core {
            core.note(.foreignObject, object, "refers to an object of another context")
        }
        return nil
    }

    /// Returns an attached object as what it is.
    ///
    /// New objects mostly refer to objects of one class, whose conformance needs no look-up then.
    private func model(_ object: AnyObject) -> (any Model)? {
        func known<M: Model>(_ type: M.Type) -> any Model { unsafeDowncast(object, to: type) }
        if let lastTarget, type(of: object) == lastTarget { return known(lastTarget) }
        let model = object as? any Model
        lastTarget = model.map { type(of: $0) }
        return model
    }

    /// Adds the members that inserted objects have brought, in their order.
    private func placeHeldMembers() {
        while let held = takeHeldMembers() {
            let list = MemberList(core, held.owner, held.index)
            let members = held.members.compactMap { $0 as? any Model }
                .filter { $0._$core === core }
            for member in members { list.append(member) }
            list.arrange(members.map { $0.id })
        }
    }

    /// Inserts the objects that pending objects refer to and that are in no context.
    func insertReachable() {
        guard takeNoteOfUninserted() else { return }
        var index = 0
        while index < objects.count {
            let object = objects[index].object
            index += 1
            if object._$flags.contains(.deleted) { continue }
            for case let target as any Model in object._$takeTargets() { insert(target) }
        }
    }

    /// Runs the hook of an object, whatever its model, and marks it as deleted.
    func delete(_ object: some Model) {
        guard let owner = object._$core else { return }
        guard owner === core else {
            return core.note(.foreignObject, object, "belongs to another context")
        }
        guard !object._$flags.contains(.deleted), core.hookCalls.mayEdit(object),
            core.hookCalls.callWillDelete(of: object), !object._$flags.contains(.deleted)
        else { return }
        markDeleted(object)
    }

    /// Marks an object as deleted without running its hook.
    func markDeleted<M: Model>(_ object: M) {
        if !object.hasChanges { register(object) }
        touch(object)
        setDeleted(object, true)
    }

    private func setDeleted<M: Model>(_ object: M, _ isDeleted: Bool) {
        object._$setDeleted(isDeleted)
        if isDeleted {
            state.pending.deleted.insert(object._$key)
        } else {
            state.pending.deleted.remove(object._$key)
        }
    }
}
