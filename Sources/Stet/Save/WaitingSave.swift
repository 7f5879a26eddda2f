import StetStore
import Synchronization

/// An asynchronous save that waits for its turn.
///
/// State: belongs to the isolation of its context, but for the waiter.
final class WaitingSave {
    /// Where the changes are that were pending when it was called.
    enum Fate {
        case pending
        /// Part of the save that is on its way.
        case sent
        /// Made after that had been sent off, and taken off while it is prepared again.
        case later
        /// There are none any more: they are saved, or rolled back by hand.
        case saved
    }

    /// What was pending when it was called.
    let changes: PendingChanges.Capture?
    var fate: Fate
    /// Why it cannot begin any more.
    var failure: LaterChangesError?
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

/// An asynchronous save failed, and edits made while it was on its way were put back with it.
public struct LaterChangesError: Error, Sendable {
    /// Why the save failed.
    public let cause: any Error
    /// The net effect of the edits that were made after the save had been sent off; for a save that
    /// waited for its turn, of everything that was put back with its edits.
    public let laterChanges: ChangeSet
}

extension LaterChangesError: CustomStringConvertible {
    /// Why the save failed, and what was lost.
    public var description: String {
        let count = laterChanges.changes.count
        return
            "\(cause) Later changes of \(count) object\(count == 1 ? "" : "s") were put back, too."
    }
}
