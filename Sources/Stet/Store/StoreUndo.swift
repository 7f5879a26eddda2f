import FoundationEssentials
import StetStore

/// Undo, redo, revert and discard as the models of a store check them.
struct StoreUndo {
    let store: Store
    private var file: StoreFile { store.file }

    /// The work that takes commits back.
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

    /// Takes commits back; blocks the thread until the disk has it.
    func takeBack(_ work: inout UndoWork) throws -> Commit? {
        do {
            return Self.written(try file.commit(&work))
        } catch {
            throw refused(work, error)
        }
    }

    /// The same; only waiting for the disk suspends the task.
    nonisolated(nonsending) func takeBack(_ work: UndoWork) async throws -> Commit? {
        var work = work
        do {
            return Self.written(try await file.commit(&work))
        } catch {
            throw refused(work, error)
        }
    }

    /// A commit that changes nothing but a stack is none for those who undo.
    private static func written(_ commit: Commit?) -> Commit? {
        commit.flatMap { $0.changeCount == 0 ? nil : $0 }
    }

    /// Tells observers of work that was refused; the error that its caller is thrown.
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

    /// What a request would do; nil when there is nothing on the stack.
    func plan(_ request: UndoRequest, _ policy: UndoPolicy) throws -> UndoPlan? {
        var net = NetChanges(schema: file.schema)
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

    /// What a save with these changes would be refused for; what validators look up is noted in
    /// them.
    private func violations(
        of net: inout NetChanges, at revision: Revision
    ) throws -> [Violation] {
        if net.isEmpty { return [] }
        var check = ChangeSetCheck(
            store: store, revision: revision, horizon: revision, confirmed: [])
        return try check.violations(of: &net).inTotalOrder()
    }
}
