/// The commits of a store, as they are made: every one, in order, once.
///
/// Earlier commits come from the journal, later ones as they are made by any process: one sequence,
/// without gaps and repetitions. A slow observer is served from the journal without noticing. The
/// sequence ends when the store is closed, after the observer has received the existing commits, or
/// when the task that iterates is cancelled. An observer so slow that the remaining commits are
/// only in the journal, which is then closed, gets the error `.storeClosed`.
///
/// ```swift
/// for try await commit in store.commits(after: .beginning) {
///     labels.append(commit.label)
///     if commit.label == "rate" { break }
/// }
/// ```
public struct Commits: AsyncSequence, Sendable {
    private let file: StoreFile
    package let start: FeedStart

    package init(file: StoreFile, after start: FeedStart) {
        self.file = file
        self.start = start
    }

    /// Creates an independent iterator, which begins where the sequence begins.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: FeedReader(file: file, after: start))
    }

    /// The position of one observer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var reader: FeedReader

        /// Returns the next commit, or nil when the store was closed or the task cancelled.
        ///
        /// When it throws, the position has not moved.
        ///
        /// - Throws: `StoreError` when the journal cannot be read: `.historyTrimmed`, with the
        ///   revision after which the journal begins, when the next commit was trimmed;
        ///   `.noSuchRevision` for a start beyond the last commit; `.noThread`.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Commit? {
            try await reader.next(isolation: actor)
        }
    }
}
