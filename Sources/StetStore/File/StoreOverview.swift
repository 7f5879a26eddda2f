import StetLMDB

/// The facts about a store that can be found without reading its values: sizes, the last commit,
/// the readers.
package struct StoreOverview: Hashable, Sendable {
    /// An open read of another process.
    package struct Reader: Hashable, Sendable {
        package let processID: Int32
        /// The number of transactions that were committed since it began, whose freed pages wait
        /// for its end.
        package let transactionsBehind: Int
    }

    package let storeID: ObjectID
    /// Whether the journal is shared by several machines, so that a save needs it.
    package let isNode: Bool
    package let schema: Schema
    /// The number of records of each entity, including those of deleted objects.
    package let recordCounts: [Int]
    package let revision: Revision
    /// The time in seconds since 2001; minus infinity before the first commit.
    package let time: Double
    /// The hash of the last commit, in hexadecimal digits.
    package let hash: String
    /// The number of bytes of the file that have ever been used.
    package let usedByteCount: Int
    /// The number of these bytes that can be reused, now or when the oldest read ends.
    package let freeByteCount: Int
    package let journalByteCount: Int
    /// The beginning of the journal; nil when it is complete.
    package let floor: JournalFloor?
    /// The number of commits that the journal contains.
    package var commitCount: Int { Int(revision.number - (floor?.revision ?? .zero).number) }
    package let recordsByteCount: Int
    package let membersByteCount: Int
    package let indexesByteCount: Int
    /// The bytes of large data; nil when no schema of the store has had any.
    package let largeDataByteCount: Int?
    package let readers: [Reader]
    package let readerLimit: Int
    /// The log beside the file; nil when no commit depends on one.
    package let log: StoreStatistics.Log?
}

extension StoreFile {
    /// Returns the facts about the store that can be found without reading its values.
    ///
    /// - Complexity: O(entities + readers + entries of the free list).
    package func overview() throws -> StoreOverview {
        try StoreError.wrapping(path: path) {
            let freePageCount = try environment.pageCount(heldBackBy: 0)
            let readers = try environment.readers()
            let log = try environment.log.overview().map(StoreStatistics.Log.init)
            return try environment.read { transaction in
                let head = try Head.read(in: transaction)
                let statistics = try environment.statistics()
                let page = statistics.pageByteCount
                return StoreOverview(
                    storeID: storeID, isNode: try AttachedMark.read(in: transaction),
                    schema: schema,
                    recordCounts: try projection.records.map { try transaction.count(of: $0) },
                    revision: head.revision, time: head.time, hash: head.hash.hexadecimal,
                    usedByteCount: statistics.usedPageCount * page,
                    freeByteCount: freePageCount * page,
                    journalByteCount: try transaction.pageCount(of: journal.table) * page,
                    floor: try JournalFloor.read(in: transaction),
                    recordsByteCount: try projection.records.reduce(0) {
                        $0 + (try transaction.pageCount(of: $1)) * page
                    },
                    membersByteCount: try transaction.pageCount(of: projection.members.table)
                        * page,
                    indexesByteCount: try projection.indexes.map {
                        try transaction.pageCount(of: $0) * page
                    } ?? 0,
                    largeDataByteCount: try projection.largeValues.map {
                        try transaction.pageCount(of: $0.table) * page
                    },
                    readers: readers.map {
                        StoreOverview.Reader(
                            processID: $0.processID,
                            transactionsBehind: max(transaction.number - $0.transaction, 0))
                    },
                    readerLimit: statistics.readerLimit, log: log)
            }
        }
    }
}
