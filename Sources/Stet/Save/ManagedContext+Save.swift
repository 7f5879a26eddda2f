public import StetStore

// The save sequence, read from the top down. The step numbers are those of ARCHITECTURE.md.

/// What a save that fails does with the pending changes.
public struct FailureBehavior: Hashable, Sendable {
    private let keepsPending: Bool

    /// The context goes back to the last saved state.
    public static let rollback = FailureBehavior(keepsPending: false)
    /// The pending changes stay as they were before the save, to be mended and saved again.
    public static let keepPending = FailureBehavior(keepsPending: true)

    var rollsBack: Bool { !keepsPending }
}

extension ManagedContext {
    /// Saves all pending changes as one commit, durably, or none of them; blocks the thread until
    /// the disk has them.
    ///
    /// In asynchronous code the compiler takes the asynchronous `save`, which is written with
    /// `await`, and blocks nobody.
    ///
    /// A save that throws has written nothing, no observer has heard of it, and the context is back
    /// at the last saved state (or, with `.keepPending`, where it was before the save). The one
    /// exception is `UnknownOutcomeError`: then nothing is put back, and the context throws the
    /// same error until it is rolled back or refreshed.
    ///
    /// - Parameters:
    ///   - label: what the commit is called, at most 1,024 bytes.
    ///   - id: the identity of the commit, from `makeCommitID()`, when the save may be a retry: a
    ///     commit that is in the journal already is returned and not made again, the pending
    ///     changes are dropped, and the context shows the last commit.
    ///   - onFailure: what happens to the pending changes when the save fails.
    /// - Returns: the commit; nil when there was no net change, and so nothing to write.
    /// - Throws: `ValidationError` with every violation; `ConflictError`; `StoreError`;
    ///   `UnknownOutcomeError`; what a `willCommit` observer threw; the error that an earlier read
    ///   inside an accessor met; `LaterChangesError` when an asynchronous save that was on its way
    ///   failed and took these changes with it.
    /// - Complexity: O(pending changes), and one durable LMDB transaction.
    @discardableResult
    public func save(
        _ label: String? = nil, id: CommitID? = nil, onFailure: FailureBehavior = .rollback
    ) throws -> Commit? {
        core.checkNotEditing()
        core.store.file.savesUnderWay.begin(id)
        defer { core.store.file.savesUnderWay.end(id) }
        try core.saves.finishInFlight()
        let start = onFailure.rollsBack ? nil : core.pending.capture()
        return try core.saves.save(label, id, start: start)
    }

    /// The same without blocking the thread: only waiting for the disk suspends the task.
    ///
    /// While the save is on its way, the context can be read and edited on its isolation; such
    /// edits belong to the next save, which waits for its turn: asynchronous saves of a context are
    /// made in the order of their calls. `rollback` and `restore` reach back to the moment when the
    /// save was sent off, and everything else that needs the outcome waits for it. If the save
    /// fails, the later edits are put back, too, and are told by `LaterChangesError`.
    ///
    /// A task that is cancelled while its save waits for its turn, or while the writer has not
    /// begun with its change set, withdraws what was pending when it was called and has not been
    /// edited since: that is a failure with `CancellationError`. Later it is too late, and the save
    /// comes to its end.
    ///
    /// - Returns: the commit; nil when there was no net change, or another save has taken it along.
    /// - Throws: what the blocking `save` throws; `CancellationError`; `LaterChangesError`.
    @discardableResult
    public nonisolated(nonsending) func save(
        _ label: String? = nil, id: CommitID? = nil, onFailure: FailureBehavior = .rollback
    ) async throws -> Commit? {
        core.checkNotEditing()
        core.store.file.savesUnderWay.begin(id)
        defer { core.store.file.savesUnderWay.end(id) }
        return try await core.saves.save(label, id, onFailure)
    }

    /// Runs a closure, then saves all pending changes; blocks the thread until the disk has them.
    ///
    /// Whatever is thrown, by the closure or the save, puts back what was pending at the beginning
    /// and is rethrown. An edit inside an edit neither saves nor validates; it puts its own
    /// beginning back when its closure throws.
    ///
    /// - Parameters:
    ///   - label: what the commit is called, at most 1,024 bytes.
    ///   - body: edits objects of this context.
    /// - Returns: the commit; nil for an inner edit, or when there was no net change.
    /// - Throws: what `body` throws, and what `save(_:)` throws.
    @discardableResult
    public func edit(_ label: String? = nil, _ body: () throws -> Void) throws -> Commit? {
        core.checkNotReading("edit(_:_:)")
        core.checkNotSaving("edit(_:_:)")
        try core.saves.finishInFlight()
        try core.checkUsable()
        let beginning = core.pending.capture()
        let number = core.nextSnapshot()
        do {
            try core.editing(body)
            // What it did after a read had failed was done on nil.
            try core.checkUsable()
        } catch {
            core.voidSnapshots(after: number)
            core.goBack(to: beginning)
            throw error
        }
        // The closure of `Store.edit` saves when it has returned, with what was edited here.
        guard core.editDepth == 0, !core.isOfStoreEdit else { return nil }
        return try core.saves.save(label, nil, start: beginning)
    }

    /// Checks the pending changes as a save would, and changes nothing.
    ///
    /// - Throws: `ValidationError` with every violation; the error that an earlier read inside an
    ///   accessor met.
    /// - Complexity: O(pending changes).
    public func validate() throws {
        core.checkNotSaving("validate()")
        try core.saves.finishInFlight()
        try core.checkUsable()
        let start = core.pending.capture()
        defer { core.goBack(to: start) }
        try core.saving {
            var preparation = SavePreparation(core)
            _ = try preparation.prepare(store.configuration.clock(), horizon: nil)
        }
    }
}
