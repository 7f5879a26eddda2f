/// Work that becomes a commit: a save, an undo, an import.
///
/// It is prepared on the caller's side at a revision; the writer checks data only, and refuses what
/// no longer fits, so that it is prepared again.
package protocol CommitWork {
    /// True when the commit may be in the journal already.
    var isRetry: Bool { get }
    /// Prepares the change set; nil when there is nothing to write.
    ///
    /// Called once for each attempt, the first one included.
    mutating func prepare() throws -> EncodedChangeSet?
    /// Follows a store that has moved, so that the work can be prepared again.
    ///
    /// - Throws: what ends the work: a conflict, say.
    mutating func follow(_ refusal: CommitRefusal) throws
    /// The error of work that the store has overtaken each time.
    var contention: any Error { get }
}

/// Prepares work, submits it, and prepares it again while the store moves: the one loop by which
/// anything is committed.
package struct Preparation {
    /// How often work is prepared.
    package static let limit = 8

    private let file: StoreFile
    private var count = 0

    package init(_ file: StoreFile) {
        self.file = file
    }

    /// True when the work can be prepared once more.
    package var mayContinue: Bool { count < Self.limit }

    /// Prepares the work and puts it into the writer's queue; nil when there is nothing to write.
    ///
    /// - Throws: what the work throws; `contention` after the last attempt.
    package mutating func submit(_ work: inout some CommitWork) throws -> Submission? {
        guard mayContinue else { throw work.contention }
        count += 1
        guard let set = try work.prepare() else { return nil }
        return try file.submit(set, isRetry: work.isRetry)
    }

    /// The commit of a decided submission; nil when the work is to be prepared again.
    ///
    /// - Throws: what the submission failed with; what the work throws when it follows.
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
    /// - Throws: what the blocking form throws; `CancellationError`.
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
