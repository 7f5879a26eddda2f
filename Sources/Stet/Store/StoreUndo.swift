import FoundationEssentials
import StetStore

/// Performs undo, redo, revert and discard with the checks of a store's models.
struct StoreUndo {
    let store: Store
    private var file: StoreFile { store.file }

    /// Returns the work that undoes or reverts commits.
    func work(
        _ request: UndoRequest, _ policy: UndoPolicy, _ id: CommitID? = nil,
        author: String? = nil, scope: String? = nil
    ) -> UndoWork {
        let clock = store.configuration.clock
        var work = UndoWork(
            file, request, policy, id: id, time: { clock().timeIntervalSinceReferenceDate },
            violations: { [self] in try violations(of: &$0, at: $1) })
        work.author = author
        work.scope = scope
        return work
    }

    /// Commits an undo, redo or revert; blocks the thread until it is on the disk.
    func commit(_ work: inout UndoWork) throws -> Commit? {
        do {
            return Self.written(try file.commit(&work))
        } catch {
            throw refused(work, error)
        }
    }

    /// Commits an undo, redo or revert; only waiting for the disk suspends the task.
    nonisolated(nonsending) func commit(_ work: UndoWork) async throws -> Commit? {
        var work = work
        do {
            return Self.written(try await file.commit(&work))
        } catch {
            throw refused(work, error)
        }
    }

    /// Returns a commit, or nil for one that changes only a stack, which callers do not count as
    /// one.
    private static func written(_ commit: Commit?) -> Commit? {
        commit.flatMap { $0.changeCount == 0 ? nil : $0 }
    }

    /// Reports refused work to observers; returns the error for its caller.
    private func refused(_ work: UndoWork, _ error: any Error) -> any Error {
        let error = (error as? UndoWork.Refusal).map(Self.error) ?? error
        file.refusals.report(error, of: work, clock: store.configuration.clock)
        return error
    }

    private static func error(of refusal: UndoWork.Refusal) -> any Error {
        switch refusal {
        case .conflicts(let conflicts, let commits):
            UndoConflictError(commits: commits, conflicts: conflicts)
        case .violations(let violations, let rejected):
            ValidationError(violations: violations, rejected: rejected)
        case .contention:
            ConflictError(reason: .contention, conflicts: [], rejected: ChangeSet())
        }
    }

    /// Returns the effect that a request would have; nil when the stack is empty.
    func plan(_ request: UndoRequest, _ policy: UndoPolicy) throws -> UndoPlan? {
        var net = ChangeSetBuilder(schema: file.schema)
        let prepared = try file.read { reader in
            try UndoPreparation(reader).prepare(request, policy, into: &net)
        }
        guard let prepared else {
            return nil
        }
        let inverse = prepared.inverse
        let violations =
            inverse.conflicts.isEmpty ? try violations(of: &net, at: inverse.base) : []
        return UndoPlan(
            commits: inverse.subjects, label: inverse.label, changes: try net.changeSet(),
            conflicts: inverse.conflicts, skipped: inverse.skipped, violations: violations)
    }

    /// Returns the violations for which a save with these changes would be refused; records the
    /// look-ups of validators in the changes.
    private func violations(
        of net: inout ChangeSetBuilder, at revision: Revision
    ) throws -> [Violation] {
        if net.isEmpty { return [] }
        var check = ChangeSetCheck(
            store: store, revision: revision, horizon: revision, confirmed: [])
        return try check.violations(of: &net).inTotalOrder()
    }
}
