public import StetStore

// Undo, redo and revert of saved commits: each is a new commit that is prepared here, on the
// caller's side, and checked as data by the writer.

extension Store {
    private var storeUndo: StoreUndo { StoreUndo(store: self) }

    /// Takes back the last commit of an author in a scope, or the last group of commits; blocks the
    /// thread until the disk has it.
    ///
    /// What the commit has changed gets the values of before: object by object and property by
    /// property, deleted objects with their ids. What others have written since is left alone where
    /// it is something else, and a conflict where it is the same. Rules and validators are asked as
    /// in a save; no normaliser, stamp or hook runs. Contexts show it when they refresh.
    ///
    /// A step that has nothing left to take back is discarded.
    ///
    /// - Parameters:
    ///   - author: whose commit it is, and who makes this one.
    ///   - scope: the part of the author's work.
    ///   - policy: what becomes of conflicts.
    ///   - id: the identity of the commit, from `makeCommitID()`, when this may be a retry.
    /// - Returns: the commit; nil when there was nothing to undo, or nothing was left of it.
    /// - Throws: `UndoConflictError`, `ValidationError`, `ConflictError` when the store moved 8
    ///   times, `StoreError`, `UnknownOutcomeError`: nothing is written and the stack stays.
    ///   `StoreError` (`.historyTrimmed`) when a commit of the step was trimmed: the stack ends
    ///   there, and `discardUndo` empties it. `StoreError` (`.erased`) when values of the step were
    ///   redacted: it is taken off the stack, and nothing else is written.
    /// - Complexity: O(changes of the step), and one durable LMDB transaction.
    @discardableResult
    public func undo(
        author: String, scope: String? = nil, policy: UndoPolicy = .fail, id: CommitID? = nil
    ) throws -> Commit? {
        let owner = UndoOwner(author: author, scope: scope)
        var work = storeUndo.work(.undo(owner), policy, id)
        return try storeUndo.takeBack(&work)
    }

    /// The same without blocking the thread.
    @discardableResult
    public nonisolated(nonsending) func undo(
        author: String, scope: String? = nil, policy: UndoPolicy = .fail, id: CommitID? = nil
    ) async throws -> Commit? {
        let owner = UndoOwner(author: author, scope: scope)
        return try await storeUndo.takeBack(storeUndo.work(.undo(owner), policy, id))
    }

    /// Takes back the last undo of an author in a scope, as long as the author has committed
    /// nothing else there; blocks the thread until the disk has it.
    ///
    /// - Returns: the commit; nil when there was nothing to redo, or nothing was left of it.
    /// - Throws: as `undo`.
    @discardableResult
    public func redo(
        author: String, scope: String? = nil, policy: UndoPolicy = .fail, id: CommitID? = nil
    ) throws -> Commit? {
        let owner = UndoOwner(author: author, scope: scope)
        var work = storeUndo.work(.redo(owner), policy, id)
        return try storeUndo.takeBack(&work)
    }

    /// The same without blocking the thread.
    @discardableResult
    public nonisolated(nonsending) func redo(
        author: String, scope: String? = nil, policy: UndoPolicy = .fail, id: CommitID? = nil
    ) async throws -> Commit? {
        let owner = UndoOwner(author: author, scope: scope)
        return try await storeUndo.takeBack(storeUndo.work(.redo(owner), policy, id))
    }

    /// Takes back any commit, whoever made it and whatever came after it; blocks the thread until
    /// the disk has it.
    ///
    /// It is an edit of `author`, who can undo it. Who may revert what is not asked here.
    ///
    /// - Returns: the commit; nil when nothing was left to take back.
    /// - Throws: as `undo`; `StoreError` (`.notFound`) when there is no such commit, `.erased` when
    ///   values of it were redacted.
    @discardableResult
    public func revert(
        _ commit: Revision, author: String? = nil, scope: String? = nil,
        policy: UndoPolicy = .fail, id: CommitID? = nil
    ) throws -> Commit? {
        var work = storeUndo.work(.revert(commit), policy, id, author: author, scope: scope)
        return try storeUndo.takeBack(&work)
    }

    /// The same without blocking the thread.
    @discardableResult
    public nonisolated(nonsending) func revert(
        _ commit: Revision, author: String? = nil, scope: String? = nil,
        policy: UndoPolicy = .fail, id: CommitID? = nil
    ) async throws -> Commit? {
        try await storeUndo.takeBack(
            storeUndo.work(.revert(commit), policy, id, author: author, scope: scope))
    }

    /// Takes the next step off a stack without undoing it: one that can never be undone again.
    ///
    /// The journal records it, as a commit without changes. Where commits of the step were trimmed
    /// all that is on the stack goes.
    ///
    /// - Returns: the commits of the step, the last one first; empty when the stack was.
    /// - Throws: `ConflictError` when the stack moved 8 times; `StoreError`; `UnknownOutcomeError`.
    @discardableResult
    public func discardUndo(author: String, scope: String? = nil) throws -> [Revision] {
        var work = storeUndo.work(.undo(UndoOwner(author: author, scope: scope)), .fail)
        work.isDiscard = true
        _ = try file.commit(&work)
        return work.subjects
    }

    // MARK: Looking

    /// What `undo` would do; nil when there is nothing to undo.
    ///
    /// - Throws: `StoreError`.
    public func previewUndo(
        author: String, scope: String? = nil, policy: UndoPolicy = .fail
    ) throws -> UndoPlan? {
        try storeUndo.plan(.undo(UndoOwner(author: author, scope: scope)), policy)
    }

    /// What `redo` would do; nil when there is nothing to redo.
    ///
    /// - Throws: `StoreError`.
    public func previewRedo(
        author: String, scope: String? = nil, policy: UndoPolicy = .fail
    ) throws -> UndoPlan? {
        try storeUndo.plan(.redo(UndoOwner(author: author, scope: scope)), policy)
    }

    /// What `revert` would do.
    ///
    /// - Throws: `StoreError` (`.notFound`) when there is no such commit; `StoreError`.
    public func previewRevert(
        _ commit: Revision, policy: UndoPolicy = .fail
    ) throws -> UndoPlan {
        guard let plan = try storeUndo.plan(.revert(commit), policy) else {
            trap("a commit that there is can be looked at")
        }
        return plan
    }

    /// What an author can undo and redo in a scope, at most `limit` steps of each; those that were
    /// trimmed are not among them.
    ///
    /// - Throws: `StoreError`.
    /// - Complexity: a read for each commit of the steps.
    public func undoStack(
        author: String, scope: String? = nil, limit: Int = 100
    ) throws -> UndoStack {
        let owner = UndoOwner(author: author, scope: scope)
        return try file.read { reader in
            let heads = try reader.heads(of: owner)
            return UndoStack(
                undo: try reader.steps(from: heads.undo, of: owner, limit),
                redo: try reader.steps(from: heads.redo, of: owner, limit))
        }
    }

    /// An identity for an undo, a redo or a revert that may have to be tried again.
    ///
    /// - Throws: `StoreError`.
    public func makeCommitID() throws -> CommitID {
        try file.makeCommitID(at: revision())
    }
}

extension StoreReader {
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
            top = step.rest
        }
        return steps
    }
}
