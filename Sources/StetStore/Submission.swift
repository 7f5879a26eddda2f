import Metrics
import StetLMDB

/// A change set on its way through the writer.
///
/// State: where it stands, guarded by the monitor.
package final class Submission: Sendable {
    private enum Progress {
        /// In the queue; the continuation is that of a task that waits.
        case queued(CheckedContinuation<Void, Never>?)
        /// In the hands of the writer.
        case taken(CheckedContinuation<Void, Never>?)
        case decided(Result<Commit, any Error>)
    }

    let set: EncodedChangeSet
    /// True when the journal must be asked whether the commit is there already.
    let isRetry: Bool
    /// Holds the store open until the outcome is known.
    let file: StoreFile
    private let submitted = ContinuousClock.now
    private let progress = Monitor(Progress.queued(nil))

    init(_ set: EncodedChangeSet, isRetry: Bool, _ file: StoreFile) {
        self.set = set
        self.isRetry = isRetry
        self.file = file
    }

    /// The id of the commit that it may become.
    package var id: CommitID {
        CommitID(store: file.storeID, base: set.base, token: set.token)
    }

    // MARK: For the writer

    /// Takes it out of the hands of the one who submitted it; false when it was withdrawn.
    func take() -> Bool {
        progress.withLock { progress in
            guard case .queued(let waiter) = progress else { return false }
            progress = .taken(waiter)
            return true
        }
    }

    /// Makes the outcome known; the first one stands.
    func decide(_ result: Result<Commit, any Error>) {
        let waiter: CheckedContinuation<Void, Never>? = progress.withLock { progress in
            switch progress {
            case .decided: return nil
            case .queued(let waiter), .taken(let waiter):
                progress = .decided(result)
                return waiter
            }
        }
        file.metrics.saveDuration.record(duration: submitted.duration(to: .now))
        progress.notify()
        waiter?.resume()
    }

    // MARK: For the one who submitted it

    /// Whether the outcome is known.
    package var isDecided: Bool {
        progress.withLock { if case .decided = $0 { true } else { false } }
    }

    /// The commit, when it is durable; blocks the thread until then.
    ///
    /// - Throws: `CommitRefusal`, `StoreError`, `UnknownOutcomeError`, `CancellationError` when it
    ///   was withdrawn.
    package func wait() throws -> Commit {
        // An outcome that is known is fetched without committing for others.
        if !isDecided { file.writer.commitQueue() }
        return try progress.wait { progress in
            if case .decided(let result) = progress { result } else { nil }
        }.get()
    }

    /// Suspends the task until the outcome is known.
    ///
    /// A cancelled task withdraws a change set that the writer has not taken; one that it has taken
    /// comes to its end.
    package nonisolated(nonsending) func decision() async {
        file.writer.wakeForQueue()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDecided = progress.withLock { progress in
                    switch progress {
                    case .decided: return true
                    case .queued:
                        progress = .queued(continuation)
                        return false
                    case .taken:
                        progress = .taken(continuation)
                        return false
                    }
                }
                if isDecided { continuation.resume() }
            }
        } onCancel: {
            withdraw()
        }
    }

    /// Takes it back when the writer has not taken it.
    private func withdraw() {
        let waiter: CheckedContinuation<Void, Never>?? = progress.withLock { progress in
            guard case .queued(let waiter) = progress else { return nil }
            progress = .decided(.failure(CancellationError()))
            return .some(waiter)
        }
        guard let waiter else { return }
        progress.notify()
        waiter?.resume()
    }
}
