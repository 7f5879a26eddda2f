/// Prepares work, submits it, and prepares it again while the store keeps changing: the one loop
/// that commits.
package struct Preparation {
    /// The greatest number of attempts.
    package static let limit = 8

    private let file: StoreFile
    private var count = 0

    package init(_ file: StoreFile) {
        self.file = file
    }

    /// True when the work can be prepared once more.
    package var mayContinue: Bool { count < Self.limit }

    /// Prepares the work and adds it to the writer's queue; returns nil when there is nothing to
    /// write.
    ///
    /// - Throws: the error of the work; `contention` after the last attempt.
    package mutating func submit(_ work: inout some CommitWork) throws -> Submission? {
        guard mayContinue else { throw work.contention }
        count += 1
        guard let set = try work.prepare() else { return nil }
        return try file.submit(set, isRetry: work.isRetry)
    }

    /// Returns the commit of a decided submission; nil when the work must be prepared again.
    ///
    /// - Throws: the error of the submission; the error of the work when it follows the store.
    package func finish(
        _ submission: Submission, _ work: inout some CommitWork
    ) throws -> Commit? {
        do {
            return try submission.wait()
        } catch let refusal as CommitRefusal {
            if let error = refusal.finalError(path: file.path) { throw error }
            try work.follow(refusal)
            return nil
        }
    }

    /// Commits the work; blocks the thread until it is durable.
    ///
    /// - Returns: the commit; nil when there was nothing to write.
    package mutating func run(_ work: inout some CommitWork) throws -> Commit? {
        while let submission = try submit(&work) {
            if let commit = try finish(submission, &work) { return commit }
        }
        return nil
    }

    /// Commits the work; only waiting for the disk suspends the task.
    ///
    /// - Throws: the errors of the blocking form; `CancellationError`.
    package nonisolated(nonsending) mutating func run(
        _ work: inout some CommitWork
    ) async throws -> Commit? {
        try Task.checkCancellation()
        while let submission = try submit(&work) {
            await submission.decision()
            if let commit = try finish(submission, &work) { return commit }
            try Task.checkCancellation()
        }
        return nil
    }
}

/// Work that becomes a commit: a save, an undo, an import.
///
/// The caller prepares it at a revision; the writer checks only data, and refuses what no longer
/// matches the store, so that it is prepared again.
package protocol CommitWork {
    /// True when the journal may already contain the commit.
    var isRetry: Bool { get }
    /// Prepares the change set; returns nil when there is nothing to write.
    ///
    /// It is called once for each attempt, including the first.
    mutating func prepare() throws -> EncodedChangeSet?
    /// Follows a store that has changed, so that the work can be prepared again.
    ///
    /// - Throws: an error that ends the work, such as a conflict.
    mutating func follow(_ refusal: CommitRefusal) throws
    /// The error of work that was overtaken by other commits in every attempt.
    var contention: any Error { get }
}
