import StetStore

extension ManagedContext {
    /// All pending changes of a context at a moment: values, references, links, insertions,
    /// deletions.
    ///
    /// It holds the objects that it names. A save, a refresh, a rollback, and restoring an older
    /// snapshot make it void.
    public struct Snapshot {
        fileprivate let core: ContextCore
        fileprivate let number: UInt64
        fileprivate let capture: PendingChanges.Capture

        /// True when `restore` no longer accepts it.
        public var isVoid: Bool { !core.isValid(snapshot: number) }
    }

    /// Captures all pending changes.
    ///
    /// - Complexity: O(pending changes).
    public func snapshot() -> Snapshot {
        Snapshot(core: core, number: core.nextSnapshot(), capture: core.pending.capture())
    }

    /// Puts the pending changes back to what they were when the snapshot was taken: what was edited
    /// since has its values back, what was inserted since is in no context again, what was deleted
    /// since is there.
    ///
    /// The snapshot can be restored again; those taken after it are void. Nothing is read from the
    /// disk, unless others have changed what was edited during an asynchronous save.
    ///
    /// - Precondition: the snapshot is one of this context and not void.
    /// - Complexity: O(pending changes now and then).
    public func restore(_ snapshot: Snapshot) {
        core.checkNotSaving("restore(_:)")
        trap(unless: snapshot.core === core, "restore(_:) with a snapshot of another context")
        trap(
            unless: !snapshot.isVoid,
            "restore(_:) with a void snapshot: a save, refresh, rollback or the restore of "
                + "an older snapshot came after it; check isVoid")
        core.voidSnapshots(after: snapshot.number)
        core.goBack(to: snapshot.capture)
    }

    /// Goes back to the last saved state: no pending changes, and out of the failed state.
    ///
    /// - Complexity: O(pending changes); nothing is read from the disk, unless others have changed
    ///   what was edited during an asynchronous save.
    public func rollback() {
        core.checkNotSaving("rollback()")
        trap(
            unless: core.editDepth == 0,
            "rollback() inside edit(_:_:): throw an error to roll the edit back")
        core.rollBackEverything()
    }

    /// Gives one object the values of the last saved state, and the members that it is linked to;
    /// an object that was inserted is in no context again.
    ///
    /// Nothing happens when it has no pending changes.
    ///
    /// - Complexity: O(pending links).
    public func rollback<M: Model>(_ object: M) {
        core.checkNotSaving("rollback(_:)")
        guard object._$core === core else { return }
        core.pending.forgetMisuse(of: object.id)
        core.voidSnapshots()
        let isNew = object._$isNew
        let ends = core.schema.ends(ofOwner: object._$entityNumber).filter { end in
            // The members of its own relationships are part of it.
            !end.isReference && (isNew || core.schema.relationship(at: end) != nil)
        }
        let id = object.id
        core.pending.rollBackLinks { key in
            ends.contains { end in
                end.link == key.link
                    && (end.source == .targets(link: key.link) ? key.source : key.target) == id
            }
        }
        core.pending.rollBack(object)
        core.catchUp()
    }
}
