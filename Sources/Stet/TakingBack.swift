import FoundationEssentials
import StetStore

// How commits are taken back, read from the top down: prepared at a revision, validated as a save
// is, checked by the writer, prepared again when the store has moved.

/// One undo, redo, revert or discard until it is written.
struct UndoTask {
    let request: UndoRequest
    let policy: UndoPolicy
    let id: CommitID?
    var author: String?
    var scope: String?
    var isDiscard = false
    /// Discards the step only if it can never be taken back.
    var isOfErased = false

    init(
        _ request: UndoRequest, _ policy: UndoPolicy, _ id: CommitID?, author: String? = nil,
        scope: String? = nil
    ) {
        self.request = request
        self.policy = policy
        self.id = id
        self.author = author
        self.scope = scope
    }
}

extension UndoTask {
    /// Whether a step is to be taken off its stack because values of it were redacted.
    fileprivate func popsWhenErased(_ error: StoreError) -> Bool {
        guard error.code == .erased, !isDiscard else { return false }
        if case .revert = request { return false }
        return true
    }

    /// Takes the step off, unless something else is on top by now.
    fileprivate var discardOfErased: UndoTask {
        var task = UndoTask(request, .fail, nil)
        task.isDiscard = true
        task.isOfErased = true
        return task
    }
}

extension Store {
    /// What a preparation came to.
    private enum Preparation {
        /// There is nothing to write, or it was written before.
        case done(Commit?)
        case submitted(Submission, [Revision])
    }

    /// Takes commits back; `wasWritten` is called with them.
    @discardableResult
    func takeBack(
        _ task: UndoTask, wasWritten: ([Revision]) -> Void = { _ in }
    ) throws -> Commit? {
        for _ in 0..<ManagedContext.preparationLimit {
            let preparation: Preparation
            do {
                preparation = try prepare(task)
            } catch let error as StoreError where task.popsWhenErased(error) {
                try takeBack(task.discardOfErased)
                throw error
            }
            switch preparation {
            case .done(let commit): return commit
            case .submitted(let submission, let subjects):
                guard let commit = try outcome(submission) else { continue }
                wasWritten(subjects)
                return commit.changeCount == 0 ? nil : commit
            }
        }
        throw ConflictError(reason: .contention, conflicts: [], rejected: ChangeSet())
    }

    nonisolated(nonsending) func takeBack(_ task: UndoTask) async throws -> Commit? {
        for _ in 0..<ManagedContext.preparationLimit {
            try Task.checkCancellation()
            let preparation: Preparation
            do {
                preparation = try prepare(task)
            } catch let error as StoreError where task.popsWhenErased(error) {
                _ = try await takeBack(task.discardOfErased)
                throw error
            }
            switch preparation {
            case .done(let commit): return commit
            case .submitted(let submission, _):
                await submission.decision()
                guard let commit = try outcome(submission) else { continue }
                return commit.changeCount == 0 ? nil : commit
            }
        }
        throw ConflictError(reason: .contention, conflicts: [], rejected: ChangeSet())
    }

    /// The commit; nil when the store has moved, so that it is to be prepared again.
    private func outcome(_ submission: Submission) throws -> Commit? {
        do {
            return try submission.wait()
        } catch let refusal as CommitRefusal {
            if refusal.reasons.contains(.schemaChanged) {
                throw StoreError.migratedElsewhere(path: path)
            }
            return nil
        }
    }

    private func prepare(_ task: UndoTask) throws -> Preparation {
        if let id = task.id, let commit = try file.committed(id) {
            return .done(commit.changeCount == 0 ? nil : commit)
        }
        let prepared = try file.read { reader in
            task.isDiscard
                ? try reader.prepareDiscard(task.request, onlyErased: task.isOfErased)
                : try reader.prepare(task.request, task.policy)
        }
        guard let prepared else { return .done(nil) }
        let inverse = prepared.inverse
        guard inverse.conflicts.isEmpty else {
            throw UndoConflictError(commits: inverse.subjects, conflicts: inverse.conflicts)
        }
        var net = try inverse.netChanges(file.schema)
        guard let purpose = prepared.purpose(isEmpty: net.items.isEmpty) else {
            return .done(nil)
        }
        let violations = try violations(of: &net, at: inverse.base)
        guard violations.isEmpty else {
            throw ValidationError(violations: violations, rejected: try net.changeSet())
        }
        let encoded = try net.encoded(
            attributes: prepared.attributes(author: task.author, scope: task.scope),
            base: task.id?.base ?? inverse.base,
            token: task.id?.token ?? .random(in: .min ... .max),
            time: configuration.clock().timeIntervalSinceReferenceDate, for: purpose)
        return .submitted(
            try file.submit(encoded, isRetry: task.id != nil), inverse.subjects)
    }

    /// What a request would do; nil when there is nothing on the stack.
    func plan(_ request: UndoRequest, _ policy: UndoPolicy) throws -> UndoPlan? {
        guard let prepared = try file.read({ try $0.prepare(request, policy) }) else { return nil }
        let inverse = prepared.inverse
        var net = try inverse.netChanges(file.schema)
        let violations =
            inverse.conflicts.isEmpty ? try violations(of: &net, at: inverse.base) : []
        return UndoPlan(
            commits: inverse.subjects, label: inverse.label, changes: try net.changeSet(),
            conflicts: inverse.conflicts, skipped: inverse.skipped, violations: violations)
    }

    /// What a save with these changes would be refused for; what validators look up is noted in
    /// them.
    ///
    /// Where code of the models is asked, they are made pending in a context of their own, so that
    /// they pass what a save passes.
    private func violations(
        of net: inout NetChanges, at revision: Revision
    ) throws -> [Violation] {
        if net.items.isEmpty { return [] }
        let context = ManagedContext(
            store: self, author: nil, scope: nil, revision: revision)
        guard needsObjects(net) else { return try context.violations(of: &net, revision) }
        try context.apply(try net.changeSet())
        let (violations, lookups) = try context.violationsAsTheyStand()
        net.lookups = lookups
        return violations
    }

    /// True when it takes objects to say what is wrong: for validators in code, and for what
    /// forbids a deletion.
    private func needsObjects(_ net: borrowing NetChanges) -> Bool {
        func hasValidators<M: Model>(_ type: M.Type) -> Bool { !M.validators.isEmpty }
        if !configuration.changeSetValidators.isEmpty { return true }
        var entity = 0
        for item in net.items {
            if item.kind == .delete { return true }
            if item.entity == entity { continue }
            entity = item.entity
            if let type = modelTypes[entity - 1], hasValidators(type) { return true }
        }
        return false
    }
}

extension ManagedContext {
    /// What is wrong with the pending changes without anything done to them first: step 5 of the
    /// save sequence alone.
    ///
    /// What the context cannot see yet is left to the writer.
    fileprivate func violationsAsTheyStand() throws -> (violations: [Violation], lookups: Lookups) {
        isSaving = true
        defer { isSaving = false }
        var net = netChanges()
        net.sort()
        try net.collectIndexChanges()
        let violations = try self.violations(of: &net, revision)
        try checkUsable()
        return (violations, net.lookups)
    }
}
