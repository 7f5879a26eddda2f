import StetLMDB

/// Sizes of a store that is open, and who uses it now.
public struct StoreStatistics: Sendable, Hashable {
    /// A read that is open.
    public struct Reader: Sendable, Hashable {
        /// The process that reads.
        public let processID: Int32
        /// How long the read has been open.
        ///
        /// For another process at least, counted from when this one first saw it: every 30 seconds
        /// while it saves or observes, and whenever statistics are asked for.
        public let age: Duration

        package init(processID: Int32, age: Duration) {
            self.processID = processID
            self.age = age
        }
    }

    /// Bytes of address space of the map: the file grows up to it, then the map grows, up to the
    /// size of the configuration.
    public let mapByteCount: Int
    /// Bytes of the file that have ever been used.
    public let usedByteCount: Int
    /// Reads that may be open at once, over all processes.
    public let readerLimit: Int
    /// The reads that are open now, in all processes, the oldest first.
    ///
    /// A read of a store takes moments; one that is minutes old is stuck.
    public let readers: [Reader]
    /// Pages that later commits have freed and that cannot be used again before the oldest read
    /// ends.
    public let heldBackPageCount: Int
    /// Saves in this process that wait for the writer.
    public let waitingSaveCount: Int
    /// Observers of `commits` in this process.
    public let observerCount: Int
    /// Bytes of recent commits that are kept in memory for them, at most 16 MiB.
    public let ringByteCount: Int
}

extension StoreFile {
    /// - Complexity: O(readers + entries of the free list).
    package func statistics() throws -> StoreStatistics {
        try StoreError.wrapping(path: path) {
            let statistics = try environment.statistics()
            let readers = try environment.readers()
            let heldBack = try readers.first.map {
                try environment.pageCount(heldBackBy: $0.transaction)
            }
            return StoreStatistics(
                mapByteCount: statistics.mapByteCount,
                usedByteCount: statistics.usedPageCount * statistics.pageByteCount,
                readerLimit: statistics.readerLimit,
                readers: readers.map {
                    StoreStatistics.Reader(processID: $0.processID, age: $0.age)
                },
                heldBackPageCount: heldBack ?? 0, waitingSaveCount: waitingCount,
                observerCount: feed.observerCount, ringByteCount: feed.byteCount)
        }
    }

    /// What to do about a full map: a read that holds pages back is named.
    func adviceForFullMap() -> String {
        let usual = LMDBError(.put, code: LMDBError.mapFull, path: path).advice
        guard let statistics = try? statistics(), let oldest = statistics.readers.first,
            statistics.heldBackPageCount > 0
        else { return usual }
        return "\(usual) The process \(oldest.processID) has been reading for "
            + "\(oldest.age.components.seconds) seconds and holds back "
            + "\(statistics.heldBackPageCount) free pages: end that read."
    }
}
