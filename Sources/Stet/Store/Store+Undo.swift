public import StetStore

// Undo, redo and revert of saved commits. Each is a new commit, prepared here by the caller and
// checked as data by the writer.

extension Store {
    private var storeUndo: StoreUndo { StoreUndo(store: self) }

    /// Undoes the last commit of an author in a scope, or the last group of commits; blocks the
    /// thread until the undo is on the disk.
    ///
    /// Each object and property that the commit has changed gets its earlier value; deleted objects
    /// get their ids back. Later changes to other properties stay; later changes to the same
    /// properties are conflicts. Rules and validators run as in a save; no normaliser, stamp or
    /// hook runs. Contexts show the result when they refresh.
    ///
    /// A step that has nothing left to undo is discarded.
    ///
    /// - Parameters:
    ///   - author: the author of the undone commit and of the new one.
    ///   - scope: the part of the author's work.
    ///   - policy: the treatment of conflicts.
    ///   - id: the identity of the commit, from `makeCommitID()`, when this may be a retry.
    /// - Returns: the commit; nil when there was nothing to undo, or nothing left to undo of the
    ///   step.
    /// - Throws: `UndoConflictError`, `ValidationError`, `ConflictError` when the store changed 8
    ///   times, `StoreError`, `UnknownOutcomeError`: nothing is written and the stack does not
    ///   change. `StoreError` (`.historyTrimmed`) when a commit of the step was trimmed: the stack
    ///   ends there, and `discardUndo` empties it. `StoreError` (`.erased`) when values of the step
    ///   were redacted: the step is removed from the stack, and nothing else is written.
    /// - Complexity: O(changes of the step), and one durable LMDB transaction.
    @discardableResult
    public func undo(
        author: String, scope: String? = nil, policy: UndoPolicy = .fail, id: CommitID? = nil
    ) throws -> Commit? {
        var work = storeUndo.work(.undo(UndoOwner(author: author, scope: scope)), policy, id)
        return try storeUndo.commit(&work)
    }

    /// Undoes the last commit or group of an author in a scope, without blocking the thread.
    ///
    /// It behaves like the blocking `undo`, and throws the same errors.
    ///
    /// - Throws: the errors of the blocking form.
    @discardableResult
    public nonisolated(nonsending) func undo(
        author: String, scope: String? = nil, policy: UndoPolicy = .fail, id: CommitID? = nil
    ) async throws -> Commit? {
        let owner = UndoOwner(author: author, scope: scope)
        return try await storeUndo.commit(storeUndo.work(.undo(owner), policy, id))
    }

    /// Redoes the last undone step of an author in a scope, as long as the author has committed
    /// nothing else there; blocks the thread until the redo is on the disk.
    ///
    /// - Returns: the commit; nil when there was nothing to redo, or nothing left to redo of the
    ///   step.
    /// - Throws: as `undo`.
    @discardableResult
    public func redo(
        author: String, scope: String? = nil, policy: UndoPolicy = .fail, id: CommitID? = nil
    ) throws -> Commit? {
        var work = storeUndo.work(.redo(UndoOwner(author: author, scope: scope)), policy, id)
        return try storeUndo.commit(&work)
    }

    /// Redoes the last undone step of an author in a scope, without blocking the thread.
    ///
    /// It behaves like the blocking `redo`, and throws the same errors.
    ///
    /// - Throws: the errors of the blocking form.
    @discardableResult
    public nonisolated(nonsending) func redo(
        author: String, scope: String? = nil, policy: UndoPolicy = .fail, id: CommitID? = nil
    ) async throws -> Commit? {
        let owner = UndoOwner(author: author, scope: scope)
        return try await storeUndo.commit(storeUndo.work(.redo(owner), policy, id))
    }

    /// Reverts any commit, regardless of its author and of later commits; blocks the thread until
    /// the revert is on the disk.
    ///
    /// The revert is an edit of `author`, who can undo it. Permission to revert a commit is not
    /// checked.
    ///
    /// - Returns: the commit; nil when nothing was left to revert.
    /// - Throws: as `undo`; `StoreError` (`.notFound`) when there is no such commit, `.erased` when
    ///   values of it were redacted.
    @discardableResult
    public func revert(
        _ commit: Revision, author: String? = nil, scope: String? = nil,
        policy: UndoPolicy = .fail, id: CommitID? = nil
    ) throws -> Commit? {
        var work = storeUndo.work(.revert(commit), policy, id, author: author, scope: scope)
        return try storeUndo.commit(&work)
    }

    /// Reverts any commit, without blocking the thread.
    ///
    /// It behaves like the blocking `revert`, and throws the same errors.
    ///
    /// - Throws: the errors of the blocking form.
    @discardableResult
    public nonisolated(nonsending) func revert(
        _ commit: Revision, author: String? = nil, scope: String? = nil,
        policy: UndoPolicy = .fail, id: CommitID? = nil
    ) async throws -> Commit? {
        try await storeUndo.commit(
            storeUndo.work(.revert(commit), policy, id, author: author, scope: scope))
    }

    /// Removes the next step from an undo stack without undoing it; for a step that can never be
    /// undone.
    ///
    /// The journal records it, as a commit without changes. When commits of the step were trimmed,
    /// the whole stack is emptied.
    ///
    /// - Returns: the commits of the step, the last one first; empty when the stack was empty.
    /// - Throws: `ConflictError` when the stack changed 8 times; `StoreError`;
    ///   `UnknownOutcomeError`.
    @discardableResult
    public func discardUndo(author: String, scope: String? = nil) throws -> [Revision] {
        var work = storeUndo.work(.undo(UndoOwner(author: author, scope: scope)), .fail)
        work.isDiscard = true
        _ = try file.commit(&work)
        return work.subjects
    }

    // MARK: Looking

    /// Returns the effect that `undo` would have; nil when there is nothing to undo.
    ///
    /// - Throws: `StoreError`.
    /// - Complexity: O(changes of the step); nothing is written.
    public func previewUndo(
        author: String, scope: String? = nil, policy: UndoPolicy = .fail
    ) throws -> UndoPlan? {
        try storeUndo.plan(.undo(UndoOwner(author: author, scope: scope)), policy)
    }

    /// Returns the effect that `redo` would have; nil when there is nothing to redo.
    ///
    /// - Throws: `StoreError`.
    /// - Complexity: O(changes of the step); nothing is written.
    public func previewRedo(
        author: String, scope: String? = nil, policy: UndoPolicy = .fail
    ) throws -> UndoPlan? {
        try storeUndo.plan(.redo(UndoOwner(author: author, scope: scope)), policy)
    }

    /// Returns the effect that `revert` would have.
    ///
    /// - Throws: `StoreError` (`.notFound`) when there is no such commit; `StoreError`.
    /// - Complexity: O(changes of the commit); nothing is written.
    public func previewRevert(
        _ commit: Revision, policy: UndoPolicy = .fail
    ) throws -> UndoPlan {
        guard let plan = try storeUndo.plan(.revert(commit), policy) else {
            trap("a revert of commit \(commit) has no plan: report this as a bug of Stet")
        }
        return plan
    }

    /// Returns the steps that an author can undo and redo in a scope, at most `limit` of each,
    /// without trimmed ones.
    ///
    /// - Throws: `StoreError`.
    /// - Complexity: a read for each commit of the steps.
    public func undoStack(
        author: String, scope: String? = nil, limit: Int = 100
    ) throws -> UndoStack {
        let owner = UndoOwner(author: author, scope: scope)
        return try file.read { try $0.undoStack(of: owner, limit) }
    }

    /// Creates an identity for an undo, a redo or a revert that may have to be retried.
    ///
    /// - Throws: `StoreError`.
    public func makeCommitID() throws -> CommitID {
        try file.makeCommitID(at: revision())
    }
}

extension StoreReader {
    fileprivate func undoStack(of owner: UndoOwner, _ limit: Int) throws -> UndoStack {
        let heads = try heads(of: owner)
        return UndoStack(
            undo: try steps(from: heads.undo, of: owner, limit),
            redo: try steps(from: heads.redo, of: owner, limit))
    }

    fileprivate func steps(
        from top: Revision, of owner: UndoOwner, _ limit: Int
    ) throws -> [UndoStack.Step] {
        var steps: [UndoStack.Step] = []
        var top = top
        while steps.count < limit {
            let step: UndoStep?
            do {
                step = try self.step(at: top, of: owner)
            } catch let error as StoreError where error.code == .historyTrimmed {
                break
            }
            guard let step else { break }
            let label = try description(of: step.top).attributes.label
            steps.append(UndoStack.Step(commits: step.revisions, label: label))
            top = step.nextTop
        }
        return steps
    }
}
