import StetStore

/// An object with unsaved changes, and its values before them.
struct PendingObject {
    /// The object, which the holders of the pending changes retain.
    unowned(unsafe) let object: any Model
    /// The values before the first edit, or those at its insertion.
    var base: AnyObject
    /// The values after its own normalisers have run, so that none runs twice; nil when it has
    /// none.
    var normalized: AnyObject?
    /// True when the deletion of a protected object was confirmed.
    var isDeletionConfirmed = false

    var key: ObjectKey { object._$key }
}

/// A link whose addition, removal or move is unsaved.
struct PendingLink {
    /// The state without the pending changes.
    var below: Membership
    /// The state with the pending changes.
    var now: Membership
}

/// The members that a new object has brought with it, in their order.
struct HeldMembers {
    let owner: any Model
    /// The index of the relationship.
    let index: Int
    let members: [AnyObject]
}

extension Model {
    func _$setDeleted(_ isDeleted: Bool) {
        let flags = _$flags
        _$show(
            flags: (isDeleted ? flags.union(.deleted) : flags.subtracting(.deleted)).rawValue)
    }

    func _$setRevision(_ revision: Revision) { _$state.revision = revision }
    func _$setTarget(_ target: AnyObject?, in slot: Slot) { _$state.setTarget(target, in: slot) }

    /// Removes and returns the uninserted objects that the object refers to.
    func _$takeTargets() -> [AnyObject] {
        let targets = _$attachment.targets
        for target in targets { _$state.setTarget(nil, in: target.slot) }
        return targets.map(\.object)
    }

    func _$setPending(_ flags: _ModelState.Flags, at index: Int) {
        _$show(flags: flags.rawValue)
        _$state.pendingIndex = Int32(index)
    }

    /// Marks the object as having nothing pending.
    func _$becomeSaved() {
        _$state.flags = _$state.flags.intersection(.deleted)
        _$state.pendingIndex = -1
    }

    /// Restores the values from before the pending changes; an inserted object then leaves the
    /// context.
    func _$revert(to capture: AnyObject) {
        _$restore(capture)
        _$state.pendingIndex = -1
        if !_$flags.contains(.inserted) {
            _$show(flags: 0)
        } else if _$revision == .zero {
            _$table?.remove(id)
            _$state.table = nil
            _$show(flags: 0)
        } else {
            // Another context deleted the object, and a merge inserted it again.
            _$show(flags: _ModelState.Flags.deleted.rawValue)
        }
    }
}
