import Glibc
import StetLMDB

/// The sizes of an open store, and its current users.
public struct StoreStatistics: Sendable, Hashable {
    /// An open read.
    public struct Reader: Sendable, Hashable {
        /// The id of the process that reads.
        public let processID: Int32
        /// The time for which the read has been open.
        ///
        /// For another process it is a lower bound, counted from the moment when this process first
        /// noticed the read; it looks every 30 seconds while it saves or observes, and whenever
        /// statistics are requested.
        public let age: Duration

        package init(processID: Int32, age: Duration) {
            self.processID = processID
            self.age = age
        }
    }

    /// A log that is beside the store's file while a process writes through it (``Durability``).
    public struct Log: Sendable, Hashable {
        /// The id of the process that writes through the log, and is the only one that can save;
        /// nil when it has died, and no save or opening has settled the log yet.
        public let ownerProcessID: Int32?
        /// The number of bytes of the log's files.
        public let byteCount: Int
        /// The number of commits since the last checkpoint began; nil for the log of another
        /// process.
        public let commitCount: Int?
        /// The time since the last checkpoint ended; nil for the log of another process.
        public let checkpointAge: Duration?

        init(_ log: Environment.LogOverview) {
            ownerProcessID = log.owner
            byteCount = log.byteCount
            commitCount = log.statistics?.commitCount
            checkpointAge = log.statistics?.age
        }
    }

    /// A node of a shared journal.
    public struct Node: Sendable, Hashable {
        /// The number of commits by which the store was behind the journal when it last asked; 0
        /// before it has asked.
        public let lag: Int
        /// The error of the store's last attempt to follow the journal by itself; nil when that
        /// has succeeded.
        public let failure: String?
    }

    /// The number of bytes of the map's address space: the file grows up to it, then the map grows,
    /// up to the size of the configuration.
    public let mapByteCount: Int
    /// The number of bytes of the file that have ever been used.
    public let usedByteCount: Int
    /// The number of reads that may be open at once, over all processes.
    public let readerLimit: Int
    /// The reads that are open now, in all processes, the oldest first.
    ///
    /// A read of a store takes moments; a read that is minutes old is stuck.
    public let readers: [Reader]
    /// The number of pages that later commits have freed and that cannot be reused before the
    /// oldest read ends.
    public let heldBackPageCount: Int
    /// The number of saves in this process that wait for the writer.
    public let waitingSaveCount: Int
    /// The number of observers of `commits` in this process.
    public let observerCount: Int
    /// The number of bytes of recent commits that are kept in memory for observers, at most 16 MiB.
    public let ringByteCount: Int
    /// The log beside the file; nil when no commit depends on one.
    public let log: Log?
    /// The state of a node; nil for a store that was opened without a shared journal.
    public let node: Node?
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
            let node = try shared.map { link in
                let head = try environment.read { try Head.read(in: $0) }
                return StoreStatistics.Node(lag: link.lag(of: head), failure: link.lastFailure)
            }
            return StoreStatistics(
                mapByteCount: statistics.mapByteCount,
                usedByteCount: statistics.usedPageCount * statistics.pageByteCount,
                readerLimit: statistics.readerLimit,
                readers: readers.map {
                    StoreStatistics.Reader(processID: $0.processID, age: $0.age)
                },
                heldBackPageCount: heldBack ?? 0, waitingSaveCount: waitingCount,
                observerCount: feed.observerCount, ringByteCount: feed.byteCount,
                log: try environment.log.overview().map(StoreStatistics.Log.init),
                node: node)
        }
    }

    /// Returns advice about a full map, which names a read that keeps pages from being reused.
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

/// The measurements by which a probe judges an open store.
package struct StoreCondition: Sendable {
    /// The reason why the store cannot be read; nil when it can.
    package let failure: StoreError?
    /// Whether the path still refers to the open files.
    package let isInPlace: Bool
    /// The process that writes through a log, if it is another one and saves do not wait for it.
    package let otherWriter: Int32?
    package let usedByteCount: Int
    /// The size that the file may reach.
    package let mapByteCount: Int
    /// The number of bytes that the file system has left; nil when that is unknown.
    package let freeByteCount: Int?
    package let readerCount: Int
    package let readerLimit: Int
    package let waitingSaveCount: Int
    /// The time for which the oldest save of this process has been waiting.
    package let longestWait: Duration
    /// The time since the last checkpoint of this process's log; nil without one.
    package let checkpointAge: Duration?
}

extension StoreCondition {
    /// Reads the head of a store, its table of readers and the size of the file system, and no
    /// object.
    ///
    /// - Complexity: O(readers).
    package init(of file: StoreFile) {
        let environment = file.environment
        var failure: StoreError?
        var statistics: Environment.Statistics?
        var readerCount = 0
        var log: Environment.LogOverview?
        var owner: Int32?
        do {
            try StoreError.wrapping(path: file.path) {
                _ = try file.read { try $0.head() }
                statistics = try environment.statistics()
                readerCount = try environment.readers().count
                log = try environment.log.overview()
                owner = try environment.log.owner()
            }
        } catch {
            failure =
                error as? StoreError
                ?? StoreError(.inputOutput, path: file.path, message: "\(error)")
        }
        let waits = environment.configuration.waitsForLogOwner
        self.init(
            failure: failure, isInPlace: file.isClosed || environment.isInPlace,
            otherWriter: waits ? nil : owner,
            usedByteCount: statistics.map { $0.usedPageCount * $0.pageByteCount } ?? 0,
            mapByteCount: max(
                environment.configuration.mapByteCount, statistics?.mapByteCount ?? 0),
            freeByteCount: Self.freeByteCount(file.path), readerCount: readerCount,
            readerLimit: statistics?.readerLimit ?? 0, waitingSaveCount: file.waitingCount,
            longestWait: file.writer.longestWait, checkpointAge: log?.statistics?.age)
    }

    private static func freeByteCount(_ path: String) -> Int? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        return Int(clamping: UInt64(status.f_bavail) &* UInt64(status.f_frsize))
    }
}
