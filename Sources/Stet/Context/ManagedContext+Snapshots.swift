import StetStore

extension ManagedContext {
    /// All pending changes of a context at a moment: values, references, links, insertions and
    /// deletions.
    ///
    /// It retains the objects that it names. A save, a refresh, a rollback, and restoring an older
    /// snapshot void it.
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

    /// Restores the pending changes of the moment when the snapshot was taken: objects edited since
    /// get their earlier values, objects inserted since leave the context, objects deleted since
    /// exist again.
    ///
    /// The snapshot can be restored again; those taken after it are void. Nothing is read from the
    /// disk, unless other contexts have changed objects that were edited during an asynchronous
    /// save.
    ///
    /// - Precondition: the snapshot is one of this context and not void.
    /// - Complexity: O(pending changes at both moments).
    public func restore(_ snapshot: Snapshot) {
        core.checkNotSaving("restore(_:)")
        trap(unless: snapshot.core === core, "restore(_:) with a snapshot of another context")
        trap(
            unless: !snapshot.isVoid,
            "restore(_:) with a void snapshot: a save, refresh, rollback or the restore of "
                + "an older snapshot came after it; check isVoid")
        core.voidSnapshots(after: snapshot.number)
        core.rollBack(to: snapshot.capture)
    }

    /// Restores the last saved state: discards all pending changes, and leaves the failed state.
    ///
    /// - Complexity: O(pending changes); nothing is read from the disk, unless other contexts have
    ///   changed objects that were edited during an asynchronous save.
    public func rollback() {
        core.checkNotSaving("rollback()")
        trap(
            unless: core.editDepth == 0,
            "rollback() inside edit(_:_:): throw an error to roll the edit back")
        core.rollBackEverything()
    }

    /// Restores the last saved values of one object and its many-to-many members; an object that
    /// was inserted leaves the context.
    ///
    /// Does nothing when it has no pending changes.
    ///
    /// - Complexity: O(pending links).
    public func rollback<M: Model>(_ object: M) {
        core.checkNotSaving("rollback(_:)")
        guard object._$core === core else { return }
        core.pending.forgetMisuse(of: object.id)
        core.voidSnapshots()
        let isNew = object._$isNew
        let ends = core.schema.ends(ofOwner: object._$entityNumber).filter { end in
            // The links of its own relationships are rolled back with the object.
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
