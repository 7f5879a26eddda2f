import FoundationEssentials
import StetStore

extension RefusalFeed {
    /// Reports a refused save or undo to observers; the clock and the rejected changes are read
    /// only when there are observers.
    func report(
        _ error: any Error, author: String?, scope: String?, label: String?, clock: () -> Date,
        rejected: @autoclosure () -> ChangeSet
    ) {
        guard isObserved, !(error is UnknownOutcomeError) else { return }
        let violations = (error as? ValidationError)?.violations ?? []
        let known: ChangeSet? =
            switch error {
            case let error as ValidationError: error.rejected
            case let error as ConflictError: error.rejected
            default: nil
            }
        publish(
            Refusal(
                time: clock(), author: author, scope: scope, label: label,
                error: error, violations: violations, rejected: known ?? rejected()))
    }

    /// Reports a refused undo, redo or revert to observers.
    func report(_ error: any Error, of work: UndoWork, clock: () -> Date) {
        var (author, scope) = (work.author, work.scope)
        switch work.request {
        case .undo(let owner), .redo(let owner): (author, scope) = (owner.author, owner.scope)
        case .revert: break
        }
        report(
            error, author: author, scope: scope, label: nil, clock: clock, rejected: ChangeSet())
    }
}
