extension Environment {
    /// The time and the means by which commits become durable.
    package enum Durability: Hashable, Sendable {
        /// Commits are durable by LMDB's syncs of the data file.
        case synced
        /// Commits are durable by the sync of a log.
        case logged
        /// Commits are durable by the sync of a log, within a time after they are made.
        case relaxed(within: Duration)
        /// Commits are durable once the file is closed.
        case none

        /// True when there is a log.
        var hasLog: Bool {
            switch self {
            case .synced, .none: false
            case .logged, .relaxed: true
            }
        }
    }

    /// The present way of writing to the data file.
    enum Writing {
        /// Commits are on the disk when they return.
        case synced
        /// Commits are in the page cache; the file is marked.
        case unsynced
        /// Commits are in a log; the file is marked.
        case logged(TransactionLog)
    }

    /// The log of a file in any process.
    package struct LogOverview: Hashable, Sendable {
        /// The process that writes it; nil when it has died.
        package let owner: Int32?
        /// The number of bytes of its files.
        package let byteCount: Int
        /// The progress of a log that this process writes.
        package let statistics: LogStatistics?
    }

    /// The progress of a log.
    package struct LogStatistics: Hashable, Sendable {
        /// The number of bytes in the log since the last checkpoint began.
        package let byteCount: Int
        /// The number of commits since then.
        package let commitCount: Int
        /// The number of checkpoints that this log has made durable.
        package let checkpointCount: Int
        /// The time since the last checkpoint ended.
        package let age: Duration
    }

    /// The log, and the other commits that LMDB does not sync.
    package var log: EnvironmentLog { EnvironmentLog(environment: self) }
}

extension Environment.Writing {
    var isSynced: Bool { if case .synced = self { true } else { false } }
}
