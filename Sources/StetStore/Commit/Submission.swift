import Metrics
import StetLMDB

/// A change set, or a change of a durable subscription, on its way through the writer.
///
/// State: where it stands, guarded by the monitor.
package final class Submission: Sendable {
    private enum Progress {
        /// In the queue; the continuation is that of a task that waits.
        case queued(CheckedContinuation<Void, Never>?)
        /// In the hands of the writer.
        case taken(CheckedContinuation<Void, Never>?)
        case decided(Result<Made, any Error>)
    }

    /// The work that the writer is asked to do.
    enum Work {
        /// With `isRetry` the journal must be asked whether the commit is there already.
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
    /// Holds the store open until the outcome is known.
    let file: StoreFile
    private let submitted = ContinuousClock.now
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

    /// The bytes that it takes in memory, about.
    var byteCount: Int {
        if case .commit(let set, _) = work { set.byteCount } else { 256 }
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

    /// The commit, when it is durable; blocks the thread until then.
    ///
    /// - Throws: `CommitRefusal`, `StoreError`, `UnknownOutcomeError`, `CancellationError` when it
    ///   was withdrawn.
    package func wait() throws -> Commit {
        guard case .commit(let commit) = try waitForEnd() else {
            trap("a change of a subscription is no commit")
        }
        return commit
    }

    /// The state of the subscription after the change, when it is durable; blocks the thread until
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
        // An outcome that is known is fetched without committing for others.
        if !isDecided { file.writer.commitQueue() }
        return try progress.wait { progress in
            if case .decided(let result) = progress { result } else { nil }
        }.get()
    }

    /// Suspends the task until the outcome is known.
    ///
    /// A cancelled task withdraws a change set that the writer has not taken, where that is wanted;
    /// one that it has taken comes to its end.
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
