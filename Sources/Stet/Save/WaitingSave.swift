import StetStore
import Synchronization

/// An asynchronous save that waits for its turn.
///
/// State: belongs to the isolation of its context, except for the waiter.
final class WaitingSave {
    /// The whereabouts of the changes that were pending when the save was called.
    enum Fate {
        case pending
        /// The changes are part of the save in progress.
        case sent
        /// The changes were made after that save was submitted, and were removed while it is
        /// prepared again.
        case later
        /// The changes are saved, or were rolled back by the user.
        case saved
    }

    /// The changes that were pending when the save was called.
    let changes: PendingChanges.Capture?
    var fate: Fate
    /// The reason why it cannot begin any more.
    var failure: DiscardedEditsError?
    let waiter = Waiter()

    init(_ changes: PendingChanges.Capture?) {
        self.changes = changes
        fate = changes == nil ? .saved : .pending
    }

    /// Waits to be resumed, or cancelled.
    final class Waiter: Sendable {
        private enum State {
            case idle
            case waiting(CheckedContinuation<Void, Never>)
            case resumed
        }
        private let state = Mutex(State.idle)

        nonisolated(nonsending) func wait() async {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let isResumed = state.withLock { state in
                        if case .resumed = state { return true }
                        state = .waiting(continuation)
                        return false
                    }
                    if isResumed { continuation.resume() }
                }
            } onCancel: {
                resume()
            }
        }

        func resume() {
            let continuation = state.withLock { state -> CheckedContinuation<Void, Never>? in
                defer { state = .resumed }
                if case .waiting(let continuation) = state { return continuation }
                return nil
            }
            continuation?.resume()
        }
    }
}

/// The error of edits that were made during an asynchronous save, which failed, and were rolled
/// back with it.
public struct DiscardedEditsError: Error, Sendable {
    /// The error of the save.
    public let cause: any Error
    /// The net effect of the edits that were made after the save was submitted; for a save that
    /// waited for its turn, of everything that was rolled back with its edits.
    public let discardedChanges: ChangeSet
}

extension DiscardedEditsError: CustomStringConvertible {
    /// A sentence about the failure and the number of lost changes.
    public var description: String {
        let count = discardedChanges.changes.count
        let objects = "\(count) object\(count == 1 ? "" : "s")"
        return "\(cause) Later changes of \(objects) were rolled back, too."
    }
}
