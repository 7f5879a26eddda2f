import StetStore

/// An object with changes that are not saved, and what it was before.
struct PendingObject {
    /// Held by the pending changes, beside this.
    unowned(unsafe) let object: any Model
    /// Its values before the first edit, or when it was inserted.
    var base: AnyObject
    /// Its values when its own normalisers have run, so that none runs twice; nil when it has none.
    var normalized: AnyObject?
    /// True when a deletion of the object, which is protected, was confirmed.
    var isDeletionConfirmed = false

    var key: ObjectKey { object._$key }
}

/// A link that was added, removed or moved and not saved.
struct PendingLink {
    /// What it is without the pending changes.
    var below: Membership
    /// What it is with them.
    var now: Membership
}

/// Members that a new object has brought with it, in the order that they had.
struct HeldMembers {
    let owner: any Model
    /// The relationship that they are members of.
    let index: Int
    let members: [AnyObject]
}

extension Model {
    func _$setDeleted(_ isDeleted: Bool) {
        let flags = _$state.flags
        _$show(
            flags: (isDeleted ? flags.union(.deleted) : flags.subtracting(.deleted)).rawValue)
    }

    func _$setRevision(_ revision: Revision) { _$state.revision = revision }
    func _$setTarget(_ target: AnyObject?, in slot: Slot) { _$state.setTarget(target, in: slot) }

    /// Takes the objects in no context away that the object refers to.
    func _$takeTargets() -> [AnyObject] {
        let targets = _$attachment.targets
        for target in targets { _$state.setTarget(nil, in: target.slot) }
        return targets.map(\.object)
    }

    func _$setPending(_ flags: ModelState.Flags, at index: Int) {
        _$show(flags: flags.rawValue)
        _$state.pendingIndex = Int32(index)
    }

    /// Nothing of the object is pending any more.
    func _$becomeSaved() {
        _$state.flags = _$state.flags.intersection(.deleted)
        _$state.pendingIndex = -1
    }

    /// Brings back the values from before the pending changes; an inserted object is in no context
    /// then.
    func _$revert(to capture: AnyObject) {
        _$restore(capture)
        _$state.pendingIndex = -1
        if !_$state.flags.contains(.inserted) {
            _$show(flags: 0)
        } else if _$state.revision == .zero {
            _$state.table?.remove(id)
            _$state.table = nil
            _$show(flags: 0)
        } else {
            // Others have deleted it, and a merge has inserted it again.
            _$show(flags: ModelState.Flags.deleted.rawValue)
        }
    }
}
