import StetStore

// References, and the lists of members that follow them.

extension PendingChanges {
    /// Sets the target and position of an object's reference, as an edit.
    func refer<M: Model>(_ object: M, _ end: MemberEnd, to place: ReferencePlace) {
        let present = object._$place(in: end.slot)
        guard present != place, object._$willChange() else { return }
        object._$state.setTarget(nil, in: end.slot)
        object._$state.setPosition(place.position, in: end.slot)
        object._$setReference(in: end.slot, to: place.owner)
        placeChanges(object, end, from: present, to: place)
    }

    /// Records the edit of a reference in the lists of members.
    func placeChanges<M: Model>(
        _ object: M, _ end: MemberEnd, from old: ReferencePlace, to new: ReferencePlace
    ) {
        override(
            object.id, end, below: placeBelow(object, objects[Int(object._$pendingIndex)], end),
            from: old, to: new)
    }

    /// Returns the place that a reference gives the object without the pending changes.
    func placeBelow<M: Model>(
        _ object: M, _ entry: PendingObject, _ end: MemberEnd
    ) -> ReferencePlace {
        object.isInserted ? .none : M._$place(in: end.slot, of: entry.base)
    }

    func override(
        _ id: ObjectID, _ end: MemberEnd, below: ReferencePlace, from old: ReferencePlace,
        to new: ReferencePlace
    ) {
        if old.owner != .none, old.owner != new.owner, old.owner != below.owner {
            state.pending.members.set(nil, of: id, in: old.owner, at: end)
        }
        if below.owner != .none, below.owner != new.owner {
            state.pending.members.set(.absent, of: id, in: below.owner, at: end)
        }
        if new.owner != .none {
            state.pending.members.set(
                new == below ? nil : .present(new.position), of: id, in: new.owner, at: end)
        }
    }

    /// Removes, or records again, the changes of an object in the lists of members.
    func override<M: Model>(_ object: M, _ entry: PendingObject, isTaken: Bool) {
        guard let table = object._$table else { return }
        for end in table.ends {
            let below = placeBelow(object, entry, end)
            let now = object._$place(in: end.slot)
            if below == now { continue }
            override(
                object.id, end, below: below, from: isTaken ? now : below,
                to: isTaken ? below : now)
        }
        if object._$flags.contains(.deleted) {
            if isTaken {
                state.pending.deleted.remove(object._$key)
            } else {
                state.pending.deleted.insert(object._$key)
            }
        }
    }

    /// Lets the objects that refer to a pending object refer to another owner, behind the members
    /// that it has.
    func redirectReferrers(of object: some Model, to owner: ObjectID) throws {
        for (referrer, slot) in try referrersInMemory(of: object) where referrer !== object {
            try redirect(referrer, slot, to: owner)
        }
    }

    private func redirect(_ referrer: some Model, _ slot: Slot, to owner: ObjectID) throws {
        guard let end = referrer._$table?.ends.first(where: { $0.slot == slot }) else { return }
        let isPlaced = end.isOrdered && owner != .none
        let position = isPlaced ? try core.positionAtEnd(of: owner, at: end) : nil
        refer(referrer, end, to: ReferencePlace(owner: owner, position: position))
    }

    /// Returns the live objects that refer to an object, each with the slot of the reference.
    func referrersInMemory(of object: some Model) throws -> [(any Model, slot: Slot)] {
        var found: [(any Model, slot: Slot)] = []
        for end in state.schema.ends(ofOwner: object._$entityNumber) where end.isReference {
            for (id, membership) in state.pending.members.list(of: object.id, at: end)
            where membership.isPresent {
                if let member = core.object(ObjectKey(end.member, id)) {
                    found.append((member, end.slot))
                }
            }
        }
        return found
    }
}
