import StetLMDB

/// What can be told of a store without reading its values: sizes, the last commit, who reads.
package struct StoreOverview: Hashable, Sendable {
    /// A read of another process that is open.
    package struct Reader: Hashable, Sendable {
        package let processID: Int32
        /// Transactions that were committed since it began: their freed pages wait for its end.
        package let transactionsBehind: Int
    }

    package let storeID: ObjectID
    package let schema: Schema
    /// The number of records of each entity, those of deleted objects included.
    package let recordCounts: [Int]
    package let revision: Revision
    /// Seconds since 2001; minus infinity before the first commit.
    package let time: Double
    /// The hash of the last commit, in hexadecimal digits.
    package let hash: String
    /// Bytes of the file that have ever been used.
    package let usedByteCount: Int
    /// Those of them that are free to be used again, now or when the oldest read ends.
    package let freeByteCount: Int
    package let journalByteCount: Int
    /// Where the journal begins; nil when it is whole.
    package let floor: JournalFloor?
    /// Commits that the journal has.
    package var commitCount: Int { Int(revision.number - (floor?.revision ?? .zero).number) }
    package let recordsByteCount: Int
    package let membersByteCount: Int
    package let indexesByteCount: Int
    package let readers: [Reader]
    package let readerLimit: Int
}

extension StoreFile {
    /// What can be told of the store without reading its values.
    ///
    /// - Complexity: O(entities + readers + entries of the free list).
    package func overview() throws -> StoreOverview {
        try StoreError.wrapping(path: path) {
            let freePageCount = try environment.pageCount(heldBackBy: 0)
            let readers = try environment.readers()
            return try environment.read { transaction in
                let head = try Head.read(in: transaction)
                let statistics = try environment.statistics()
                let page = statistics.pageByteCount
                return StoreOverview(
                    storeID: storeID, schema: schema,
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
                    readers: readers.map {
                        StoreOverview.Reader(
                            processID: $0.processID,
                            transactionsBehind: max(transaction.number - $0.transaction, 0))
                    },
                    readerLimit: statistics.readerLimit)
            }
        }
    }
}
