import Logging
import StetLMDB

/// Ends a batch of a store with a shared journal after a failure: writes it again behind the
/// commits of other nodes, or finds out its outcome.
struct SharedCommit {
    /// The greatest number of times that a batch is overtaken by other nodes.
    private static let limit = 100
    /// The number of times after which it asks for its turn: it needs longer for a turn than a node
    /// that has just saved, and could wait forever.
    private static let patience = 2

    let file: StoreFile
    let appending: SharedAppending
    let cause: any Error

    /// Decides the submissions of the batch, or lets `write` do so.
    ///
    /// - Parameters:
    ///   - batch: The submissions.
    ///   - results: The results of the transaction that failed.
    ///   - count: The number of times that the batch was overtaken before.
    ///   - write: A closure that writes the batch again.
    func end(
        _ batch: [Submission], _ results: [Result<Submission.Made, any Error>],
        overtaken count: Int, writing write: () -> Void
    ) {
        switch (appending, cause) {
        case (.appended, _):
            file.logger.error(
                "A commit is in the shared journal, and could not be written to this node's file.",
                metadata: ["error": "\(cause)"])
            batch.decide(results, settled)
        case (_, is SharedJournalMoved):
            follow(batch, results, overtaken: count, writing: write)
        case (_, let unknown as SharedAppendUnknown):
            batch.decide(results) { unknownOutcome(of: $0, unknown.cause) }
        case (_, let error):
            let failure = StoreError.wrapped(error, path: file.path)
            batch.decide(results) { _ in .failure(failure) }
        }
    }

    /// Applies the commits of other nodes, and writes the batch behind them.
    private func follow(
        _ batch: [Submission], _ results: [Result<Submission.Made, any Error>],
        overtaken count: Int, writing write: () -> Void
    ) {
        do {
            guard count < Self.limit else { throw StoreError.overtaken(path: file.path) }
            if count >= Self.patience {
                // The others let this node go first.
                try file.shared?.fence()
            }
            try StoreNode(file).follow()
        } catch {
            let failure = StoreError.wrapped(error, path: file.path)
            return batch.decide(results) { _ in .failure(failure) }
        }
        write()
    }

    /// Returns the outcome of a commit whose entry is in the shared journal: the node gets it from
    /// there.
    private func settled(_ submission: Submission) -> Result<Submission.Made, any Error> {
        let failure = StoreError.wrapped(cause, path: file.path)
        guard let id = submission.commitID else { return .failure(failure) }
        do {
            try StoreNode(file).follow()
            guard let commit = try file.read({ try $0.commit(with: id) }) else {
                return .failure(failure)
            }
            return .success(.commit(commit))
        } catch {
            return unknownOutcome(
                of: submission, (error as? StoreError) ?? .damaged("\(error)", path: file.path))
        }
    }

    private func unknownOutcome(
        of submission: Submission, _ cause: StoreError
    ) -> Result<Submission.Made, any Error> {
        guard let id = submission.commitID else { return .failure(cause) }
        return .failure(UnknownOutcomeError(commit: id, cause: cause))
    }
}

extension [Submission] {
    /// Decides the submissions of a failed transaction: a refused one has written nothing, whatever
    /// the outcome of the others, which `settle` returns.
    func decide(
        _ results: [Result<Submission.Made, any Error>],
        _ settle: (Submission) -> Result<Submission.Made, any Error>
    ) {
        for (submission, result) in zip(self, results) {
            if case .failure = result {
                submission.decide(result)
            } else {
                submission.decide(settle(submission))
            }
        }
    }
}

extension StoreError {
    fileprivate static func overtaken(path: String) -> StoreError {
        StoreError(
            .storeBusy, path: path,
            message: "Other nodes of the shared journal have overtaken the save every time.",
            advice: "Nothing was written; save again.")
    }
}
