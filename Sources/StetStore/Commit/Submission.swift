import Metrics
import StetLMDB

/// A change set, or a change of a durable subscription, that was submitted to the writer.
///
/// State: the progress, guarded by the monitor.
package final class Submission: Sendable {
    private enum Progress {
        /// It is in the queue; the continuation belongs to a task that waits.
        case queued(CheckedContinuation<Void, Never>?)
        /// The writer has taken it.
        case taken(CheckedContinuation<Void, Never>?)
        case decided(Result<Made, any Error>)
    }

    /// The work for the writer.
    enum Work {
        /// A commit; with `isRetry` the journal may already contain it.
        case commit(EncodedChangeSet, isRetry: Bool)
        case subscription(SubscriptionUpdate)
    }

    /// The result of the work.
    enum Made {
        case commit(Commit)
        case subscription(SubscriptionRecord)

        /// The commit; nil for a change of a subscription.
        var commit: Commit? { if case .commit(let commit) = self { commit } else { nil } }
    }

    let work: Work
    /// The store, retained until the outcome is known.
    let file: StoreFile
    let submitted = ContinuousClock.now
    private let progress = Monitor(Progress.queued(nil))

    init(_ work: Work, _ file: StoreFile) {
        self.work = work
        self.file = file
    }

    /// The id of the commit that a change set may become.
    package var id: CommitID {
        guard let commitID else { trap("a change of a subscription is no commit") }
        return commitID
    }

    /// The id of the commit that a change set may become; nil for a change of a subscription.
    var commitID: CommitID? {
        guard case .commit(let set, _) = work else { return nil }
        return CommitID(store: file.storeID, base: set.base, token: set.token)
    }

    /// The approximate number of bytes in memory.
    var byteCount: Int {
        if case .commit(let set, _) = work { set.byteCount } else { 256 }
    }

    // MARK: For the writer

    /// Takes it for the writer; returns false when it was withdrawn.
    func take() -> Bool {
        progress.withLock { progress in
            guard case .queued(let waiter) = progress else { return false }
            progress = .taken(waiter)
            return true
        }
    }

    /// Sets the outcome; only the first one counts.
    func decide(_ result: Result<Made, any Error>) {
        let waiter: CheckedContinuation<Void, Never>? = progress.withLock { progress in
            switch progress {
            case .decided: return nil
            case .queued(let waiter), .taken(let waiter):
                progress = .decided(result)
                return waiter
            }
        }
        if case .commit = work {
            file.metrics.saveDuration.record(duration: submitted.duration(to: .now))
        }
        progress.notify()
        waiter?.resume()
    }

    // MARK: For the one who submitted it

    /// Whether the outcome is known.
    package var isDecided: Bool {
        progress.withLock { if case .decided = $0 { true } else { false } }
    }

    /// Returns the commit after it is durable; blocks the thread until then.
    ///
    /// - Throws: `CommitRefusal`, `StoreError`, `UnknownOutcomeError`, `CancellationError` when it
    ///   was withdrawn.
    package func wait() throws -> Commit {
        guard case .commit(let commit) = try waitForEnd() else {
            trap("a change of a subscription is no commit")
        }
        return commit
    }

    /// Returns the state of the subscription after the change is durable; blocks the thread until
    /// then.
    ///
    /// - Throws: `SubscriptionError`, `StoreError`.
    func waitForRecord() throws -> SubscriptionRecord {
        guard case .subscription(let record) = try waitForEnd() else {
            trap("a commit is no change of a subscription")
        }
        return record
    }

    private func waitForEnd() throws -> Made {
        // A known outcome is returned without committing for others.
        if !isDecided { file.writer.commitQueue() }
        return try progress.wait { progress in
            if case .decided(let result) = progress { result } else { nil }
        }.get()
    }

    /// Suspends the task until the outcome is known.
    ///
    /// When the task is cancelled, a change set that the writer has not taken is withdrawn if
    /// `isWithdrawable` is true; one that it has taken is completed.
    package nonisolated(nonsending) func decision(isWithdrawable: Bool = true) async {
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
            if isWithdrawable { withdraw() }
        }
    }

    /// Withdraws it unless the writer has taken it.
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
