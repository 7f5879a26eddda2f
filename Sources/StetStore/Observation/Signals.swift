/// The revisions that a store moves to, for those who only want to know that it has moved.
///
/// Each element is the last commit at the moment; commits that were made since the element before
/// are one. No commit is read, decoded or kept for it. The sequence ends when the store is closed,
/// or when the task that iterates is cancelled.
public struct Signals: AsyncSequence, Sendable {
    private let file: StoreFile
    private let start: Revision

    package init(file: StoreFile, after start: Revision) {
        self.file = file
        self.start = start
    }

    /// Creates an observer of its own, which begins after the commit that was the last one when the
    /// sequence was made.
    public func makeAsyncIterator() -> Iterator {
        let observer = CommitFeed.Observer(file.feed, keepsCommits: false)
        // The thread begins to look for the commits of other processes.
        try? file.writer.attend()
        return Iterator(file: file, observer: observer, seen: start)
    }

    /// The position of one observer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let file: StoreFile
        fileprivate let observer: CommitFeed.Observer
        fileprivate var seen: Revision

        /// Returns the last revision once the store has moved, or nil when it was closed or the
        /// task cancelled.
        ///
        /// - Throws: `StoreError` (`.noThread`).
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> Revision? {
            while !Task.isCancelled {
                switch file.feed.step(after: seen) {
                case .end: return nil
                case .wait:
                    try file.writer.begin()
                    _ = await observer.wait(after: seen)
                case .deliver, .readJournal:
                    seen = file.feed.head
                    return seen
                }
            }
            return nil
        }
    }
}
