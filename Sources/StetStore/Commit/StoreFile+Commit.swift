import StetLMDB

extension StoreFile {
    /// Commits a change set durably, together with all others that are waiting; blocks the thread
    /// until then.
    ///
    /// - Throws: `CommitRefusal` when the store has changed, `StoreError`: nothing was written.
    ///   `UnknownOutcomeError`: call `outcome(of:)` to find out.
    package func commit(_ set: EncodedChangeSet) throws -> Commit {
        try submit(set).wait()
    }

    /// Adds a change set to the writer's queue; it is committed when somebody waits for it.
    ///
    /// With `isRetry` the journal may already contain the commit, which is then not made again.
    ///
    /// - Throws: `StoreError` (`.storeClosed`).
    package func submit(_ set: EncodedChangeSet, isRetry: Bool = false) throws -> Submission {
        let submission = Submission(.commit(set, isRetry: isRetry), self)
        try writer.submit(submission)
        return submission
    }
}
