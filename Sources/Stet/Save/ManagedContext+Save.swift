public import StetStore

// The save sequence, read from the top down. The step numbers are those of ARCHITECTURE.md.

extension ManagedContext {
    /// The treatment of the pending changes when a save fails.
    public struct FailureBehavior: Hashable, Sendable {
        private let keepsPending: Bool

        /// Restores the last saved state of the context.
        public static let rollback = ManagedContext.FailureBehavior(keepsPending: false)
        /// Keeps the pending changes as they were before the save, to be corrected and saved again.
        public static let keepPending = ManagedContext.FailureBehavior(keepsPending: true)

        var rollsBack: Bool { !keepsPending }
    }
}

extension ManagedContext {
    /// Saves all pending changes as one commit, durably, or none of them; blocks the thread until
    /// they are on the disk.
    ///
    /// In asynchronous code the compiler selects the asynchronous `save`, which is called with
    /// `await` and does not block the thread.
    ///
    /// A save that throws has written nothing and has not been announced to `didCommit` observers,
    /// and the context shows the last saved state (or, with `.keepPending`, its state before the
    /// save). The one exception is `UnknownOutcomeError`: then nothing is restored, and the context
    /// throws that error until it is rolled back or refreshed.
    ///
    /// - Parameters:
    ///   - label: the name of the commit, at most 1,024 bytes; defaults to the context's.
    ///   - id: the identity of the commit, from `makeCommitID()`, when the save may be a retry: if
    ///     the journal already contains the commit, it is returned, the pending changes are
    ///     discarded, and the context shows the last commit.
    ///   - onFailure: the treatment of the pending changes when the save fails.
    /// - Returns: the commit; nil when there was no net change to write.
    /// - Throws: `ValidationError` with every violation; `ConflictError`; `StoreError`;
    ///   `UnknownOutcomeError`; the error of a `willCommit` observer; the error of an earlier read
    ///   that failed inside an accessor; `DiscardedEditsError` when an asynchronous save in
    ///   progress failed and these changes were rolled back with it.
    /// - Complexity: O(pending changes), and one durable LMDB transaction.
    @discardableResult
    public func save(
        _ label: String? = nil, id: CommitID? = nil,
        onFailure: ManagedContext.FailureBehavior = .rollback
    ) throws -> Commit? {
        core.checkNotEditing()
        core.store.file.savesUnderWay.begin(id)
        defer { core.store.file.savesUnderWay.end(id) }
        try core.saves.finishInFlight()
        let start = onFailure.rollsBack ? nil : core.pending.capture()
        return try core.saves.save(label ?? self.label, id, start: start)
    }

    /// Saves all pending changes as one commit without blocking the thread: the task suspends only
    /// while it waits for the disk.
    ///
    /// During the save, the context can be read and edited on its isolation. Such edits belong to
    /// the next save, which waits for its turn: asynchronous saves of a context are made in the
    /// order of their calls. `rollback` and `restore` reach back to the moment when the save was
    /// submitted; every other call that needs the outcome waits for it. If the save fails, the
    /// later edits are rolled back, too, and `DiscardedEditsError` reports them.
    ///
    /// A task that is cancelled while its save waits for its turn, or before the writer has begun
    /// with its change set, withdraws the changes that were pending at the call and have not been
    /// edited since, and fails with `CancellationError`. After that, cancellation has no effect and
    /// the save completes.
    ///
    /// - Returns: the commit; nil when there was no net change, or when another save has included
    ///   the changes.
    /// - Throws: the errors of the blocking `save`; `CancellationError`; `DiscardedEditsError`.
    @discardableResult
    public nonisolated(nonsending) func save(
        _ label: String? = nil, id: CommitID? = nil,
        onFailure: ManagedContext.FailureBehavior = .rollback
    ) async throws -> Commit? {
        core.checkNotEditing()
        core.store.file.savesUnderWay.begin(id)
        defer { core.store.file.savesUnderWay.end(id) }
        return try await core.saves.save(label ?? self.label, id, onFailure)
    }

    /// Runs a closure, then saves all pending changes; blocks the thread until they are on the
    /// disk.
    ///
    /// When the closure or the save throws, the pending changes of the beginning are restored and
    /// the error is rethrown. An edit inside an edit neither saves nor validates; when its closure
    /// throws, it restores the changes that were pending at its own beginning.
    ///
    /// - Parameters:
    ///   - label: the name of the commit, at most 1,024 bytes; defaults to the context's.
    ///   - body: edits objects of this context.
    /// - Returns: the commit; nil for an inner edit, or when there was no net change.
    /// - Throws: the error of `body`, and the errors of `save(_:)`.
    @discardableResult
    public func edit(_ label: String? = nil, _ body: () throws -> Void) throws -> Commit? {
        core.storeCall.checkNotReading("edit(_:_:)")
        core.checkNotSaving("edit(_:_:)")
        try core.saves.finishInFlight()
        try core.checkUsable()
        let beginning = core.pending.capture()
        let number = core.nextSnapshot()
        do {
            try core.editing(body)
            // After a failed read the closure worked with nil, so its edits are discarded.
            try core.checkUsable()
        } catch {
            core.voidSnapshots(after: number)
            core.rollBack(to: beginning)
            throw error
        }
        // Only the outermost edit saves; `Store.edit` saves after its closure.
        guard core.editDepth == 0, core.storeCall != .edit else { return nil }
        return try core.saves.save(label ?? self.label, nil, start: beginning)
    }

    /// Checks the pending changes as a save would, and changes nothing.
    ///
    /// - Throws: `ValidationError` with every violation; the error of an earlier read that failed
    ///   inside an accessor.
    /// - Complexity: O(pending changes).
    public func validate() throws {
        core.checkNotSaving("validate()")
        try core.saves.finishInFlight()
        try core.checkUsable()
        let start = core.pending.capture()
        defer { core.rollBack(to: start) }
        try core.saving {
            var preparation = SavePreparation(core)
            _ = try preparation.prepare(
                store.configuration.clock(), horizon: nil, isToBeCommitted: false)
        }
    }
}
