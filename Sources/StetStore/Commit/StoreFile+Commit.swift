import StetLMDB

extension StoreFile {
    /// Makes a change set a commit, durably, with all others that wait at the moment; blocks the
    /// thread until then.
    ///
    /// - Throws: `CommitRefusal` when the store has moved, `StoreError`: nothing was written.
    ///   `UnknownOutcomeError`: only `outcome(of:)` can tell.
    package func commit(_ set: EncodedChangeSet) throws -> Commit {
        try submit(set).wait()
    }

    /// Puts a change set into the writer's queue; it is committed when somebody waits for it.
    ///
    /// `isRetry` says that the commit may be in the journal already; then it is not made again.
    ///
    /// - Throws: `StoreError` (`.storeClosed`).
    package func submit(_ set: EncodedChangeSet, isRetry: Bool = false) throws -> Submission {
        let submission = Submission(.commit(set, isRetry: isRetry), self)
        try writer.submit(submission)
        return submission
    }
}
