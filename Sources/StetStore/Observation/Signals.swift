/// The revisions of a store, for observers that only need to know that it has changed.
///
/// Each element is the last commit at that moment, and stands for all commits since the previous
/// element. No commit is read, decoded or kept for it. The sequence ends when the store is closed,
/// or when the task that iterates is cancelled.
public struct Signals: AsyncSequence, Sendable {
    private let file: StoreFile
    private let start: Revision

    package init(file: StoreFile, after start: Revision) {
        self.file = file
        self.start = start
    }

    /// Creates an independent iterator, which begins after the commit that was the last one when
    /// the sequence was made.
    public func makeAsyncIterator() -> Iterator {
        let observer = CommitFeed.Observer(file.feed, keepsCommits: false)
        // Starts the thread that watches for commits of other processes.
        try? file.writer.attend()
        return Iterator(file: file, observer: observer, seen: start)
    }

    /// The position of one observer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let file: StoreFile
        fileprivate let observer: CommitFeed.Observer
        fileprivate var seen: Revision

        /// Returns the last revision once the store has changed, or nil when it was closed or the
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
