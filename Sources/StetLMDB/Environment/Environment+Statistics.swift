import CLMDB
import Glibc

// The statistics of an environment.

extension Environment {
    /// The sizes and positions of an open environment.
    package struct Statistics: Hashable, Sendable {
        package let mapByteCount: Int
        package let pageByteCount: Int
        /// The number of pages of the file that have ever been used.
        package let usedPageCount: Int
        /// LMDB's number of the last commit.
        package let lastTransaction: Int
        /// The number of slots of the reader table that were ever used, over all processes.
        package let readerCount: Int
        /// The greatest number of reads that may be open at once, over all processes.
        package let readerLimit: Int
    }

    /// A read that is open in any process.
    package struct Reader: Hashable, Sendable {
        struct Identity: Hashable, Sendable {
            let processID: Int32
            let thread: UInt
            let transaction: Int

            /// Creates the identity of the read in a slot; nil when no read is open in it.
            init?(_ slot: ReaderTable.Slot) {
                guard let transaction = slot.transaction else { return nil }
                processID = slot.process
                thread = slot.thread
                self.transaction = transaction
            }
        }

        package let processID: Int32
        /// LMDB's number of the commit that it reads: pages freed since then wait for its end.
        package let transaction: Int
        /// The time for which it has been open; in another process, since this process first
        /// noticed it.
        package let age: Duration
    }

    /// - Complexity: O(1).
    package func statistics() throws(LMDBError) -> Statistics {
        let use = try beginUse(.environmentStatistics)
        defer { endUse() }
        var information = MDB_envinfo()
        try check(mdb_env_info(use.handle, &information), .environmentStatistics, path)
        var statistics = MDB_stat()
        try check(mdb_env_stat(use.handle, &statistics), .environmentStatistics, path)
        return Statistics(
            mapByteCount: information.me_mapsize,
            pageByteCount: Int(statistics.ms_psize),
            usedPageCount: information.me_last_pgno + 1,
            lastTransaction: information.me_last_txnid,
            readerCount: Int(information.me_numreaders),
            readerLimit: Int(information.me_maxreaders)
        )
    }

    /// LMDB's number of a commit, which a recovery of this file can give to another one.
    package struct CommitNumber: Hashable, Sendable {
        package let transaction: Int
        /// The number of times that the file had been opened again after a failure.
        package let reopeningCount: Int

        package init(transaction: Int, reopeningCount: Int) {
            self.transaction = transaction
            self.reopeningCount = reopeningCount
        }
    }

    /// The number of times that the file was opened again after a failure.
    package var reopeningCount: Int { state.withLock { $0.reopeningCount } }

    /// Returns the number of the last commit of any process.
    ///
    /// - Complexity: O(1), without a transaction.
    package func lastCommit() throws(LMDBError) -> CommitNumber {
        let operation = LMDBError.Operation.environmentStatistics
        if isForked { throw LMDBError(operation, code: LMDBError.forked, path: path) }
        let thread = pthread_self()
        // Inside the monitor the file can be neither closed nor mapped again.
        let number: Swift.Result<CommitNumber, LMDBError> = state.wait { state in
            handle(of: state, operation, thread)?.map { handle in
                var information = MDB_envinfo()
                mdb_env_info(handle, &information)
                return CommitNumber(
                    transaction: information.me_last_txnid, reopeningCount: state.reopeningCount)
            }
        }
        return try number.get()
    }

    /// Returns the reads that are open in any process, the oldest first.
    package func readers() throws(LMDBError) -> [Reader] {
        _ = try beginUse(.checkReaders)
        defer { endUse() }
        let now = configuration.uptime()
        let own = getpid()
        let found = try log.withoutPins(
            locks.readers.slots.compactMap(Reader.Identity.init).sorted {
                $0.transaction < $1.transaction
            })
        return state.withLock { state in
            // A read that began earlier sees no later commit, so both lists have the same order.
            var begun = state.openTransactions.beginningsOfReads.sorted()[...]
            var sightings: [Reader.Identity: Duration] = [:]
            let readers = found.map { identity in
                let since: Duration
                if identity.processID == own {
                    since = begun.popFirst() ?? now
                } else {
                    since = state.sightings[identity] ?? now
                    sightings[identity] = since
                }
                return Reader(
                    processID: identity.processID, transaction: identity.transaction,
                    age: now - since)
            }
            state.sightings = sightings
            return readers
        }
    }

    /// Returns the number of pages that commits have freed and that cannot be reused while a read
    /// of transaction `oldest` is open.
    ///
    /// - Complexity: O(entries of the free list).
    package func pageCount(heldBackBy oldest: Int) throws -> Int {
        try read { transaction in
            var count = 0
            try transaction.scan(.freeList) { key, value in
                guard key.count == 8, value.count >= 8,
                    key.loadUnaligned(as: UInt.self) >= UInt(max(oldest, 0))
                else { return true }
                count += Int(clamping: value.loadUnaligned(as: UInt.self))
                return true
            }
            return count
        }
    }

    /// Frees the reader slots of processes that have died; returns their number.
    @discardableResult
    package func removeStaleReaders() throws(LMDBError) -> Int {
        _ = try beginUse(.checkReaders)
        defer { endUse() }
        return try locks.removeStaleReaders()
    }

    /// Returns the number of slots of the reader table that are taken by open and idle reads of all
    /// processes.
    package func takenSlotCount() throws(LMDBError) -> Int {
        _ = try beginUse(.checkReaders)
        defer { endUse() }
        return locks.readers.slots.count
    }

    /// Keeps reads that have ended for reuse from now on, or releases them and keeps none; ends
    /// those that closures keep open and do not use.
    ///
    /// Each takes a slot of the table that all processes share: whoever enables this must release
    /// them regularly.
    package func keepIdleReads(_ keeps: Bool) {
        state.withLock { state in
            state.keepsIdleReads = keeps
            Self.abortIdleReads(&state)
            state.openTransactions.endIdleReads()
        }
    }
}
