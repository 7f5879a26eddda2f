import CLMDB
import Glibc

/// The durability of an environment's commits beyond LMDB's own: see docs/Internals.md, "The log".
///
/// It is a view of the environment, in which the present way of writing is kept.
package struct EnvironmentLog {
    let environment: Environment

    private var path: String { environment.path }
    private var data: Int32 { environment.locks.dataDescriptor }
    private var writing: Environment.Writing { environment.state.withLock { $0.writing } }

    /// The log that this process writes; nil when it writes none.
    package var statistics: Environment.LogStatistics? {
        if case .logged(let log) = writing { log.statistics } else { nil }
    }

    /// Returns the log that any process writes, or has left; nil when the file has none.
    package func overview() throws(LMDBError) -> Environment.LogOverview? {
        let statistics = statistics
        let owner = statistics == nil ? try owner() : getpid()
        guard statistics != nil || LogMark.readFirst(data)?.kind == .logged else { return nil }
        return Environment.LogOverview(
            owner: owner, byteCount: LogFiles.byteCount(path), statistics: statistics)
    }

    /// Returns reads, the oldest first, without those that a log has open for a recovery.
    func withoutPins(
        _ readers: [Environment.Reader.Identity]
    ) throws(LMDBError) -> [Environment.Reader.Identity] {
        var readers = readers
        func remove(_ isPin: (Environment.Reader.Identity) -> Bool) {
            if let place = readers.firstIndex(where: isPin) { readers.remove(at: place) }
        }
        if case .logged(let log) = writing {
            for pinned in log.pinnedTransactions {
                remove { $0.processID == getpid() && $0.transaction == pinned }
            }
        } else if let owner = try owner() {
            remove { $0.processID == owner }
        }
        return readers
    }

    /// The process that writes the file through its log, or without syncs; nil when there is none,
    /// or it is this one.
    package func owner() throws(LMDBError) -> Int32? { try environment.locks.holder(of: .logging) }

    /// Makes all commits of this process durable.
    ///
    /// - Throws: `LMDBError`: whether they are durable is unknown.
    package func sync() throws(LMDBError) {
        if environment.isForked { throw LMDBError(.commit, code: LMDBError.forked, path: path) }
        switch writing {
        case .synced: break
        case .logged(let log): try log.sync()
        case .unsynced:
            let use = try environment.beginUse(.commit)
            defer { environment.endUse() }
            do throws(LMDBError) {
                try check(mdb_env_sync(use.handle, 1), .commit, path)
            } catch {
                // A later sync would not write the pages that this one could not write.
                environment.state.withLock { $0.failure = error }
                throw error
            }
        }
    }

    /// Ends writing through the log, so that the file alone contains every commit, durably; the
    /// next commit begins again.
    ///
    /// - Parameter erasing: Whether the log is overwritten first.
    /// - Throws: `LMDBError`.
    package func leave(erasing: Bool) throws(LMDBError) {
        guard environment.state.withLock({ !$0.writing.isSynced }) else { return }
        let transaction = try environment.beginWrite()
        defer {
            mdb_txn_abort(transaction)
            environment.endWrite()
        }
        try leave(transaction, erasing: erasing)
    }

    /// Makes the file durable as it is, without the log that it lacks, and removes its mark.
    ///
    /// - Throws: `LMDBError`.
    package func acceptMissing() throws(LMDBError) {
        let transaction = try environment.beginWrite()
        defer {
            mdb_txn_abort(transaction)
            environment.endWrite()
        }
        try settleMarked()
        environment.state.withLock { $0.lacksLog = false }
    }

    /// Makes room in a map that is full, by letting it grow, or by ending the log, which keeps
    /// pages from being reused; returns false when neither is possible.
    package func makeRoom() throws(LMDBError) -> Bool {
        if try environment.grow() { return true }
        guard let statistics,
            statistics.commitCount + statistics.checkpointCount > 0
        else {
            return false
        }
        try leave(erasing: false)
        return true
    }

    /// Acquires the right to write through a log, if this process needs it; returns false while
    /// another process has it and this one may wait.
    ///
    /// The caller has the right to write.
    func takeRight(_ locks: FileLocks) throws(LMDBError) -> Bool {
        let configuration = environment.configuration
        if locks.isLogOwner { return true }
        if configuration.durability == .synced {
            // A file without a name belongs to this process.
            if configuration.removesNames || LogMark.readFirst(locks.dataDescriptor) == nil {
                return true
            }
        }
        if try locks.take(.logging) { return true }
        if configuration.waitsForLogOwner { return false }
        let owner = try locks.holder(of: .logging)
        throw LMDBError(
            .begin, code: LMDBError.owned, path: path,
            detail: "process \(owner.map(String.init) ?? "?") writes it through its log")
    }

    // MARK: Under LMDB's writer lock

    /// Prepares a write transaction that has just begun: removes the mark of a process that has
    /// died, and begins a checkpoint that is due.
    func prepare(_ transaction: OpaquePointer) throws(LMDBError) {
        switch writing {
        case .synced:
            guard environment.locks.isLogOwner else { return }
            if !environment.lacksLog, LogMark.read(data) != nil { try settleMarked() }
            if environment.configuration.durability == .synced {
                environment.locks.release(.logging)
            }
        case .unsynced: break
        case .logged(let log):
            switch log.failure {
            case nil: break
            // LMDB's pages are whole: it can be left.
            case .log: return try leave(transaction)
            case .pages(var error):
                error.isOutcomeOpen = true
                throw error
            }
            let lastPage = Self.lastPage(transaction)
            guard log.isCheckpointDue(lastPage: lastPage) else { return }
            // Without a slot for its read, no checkpoint can begin, and the log would grow.
            guard let (pin, metaPages) = try checkpoint(transaction) else {
                return try leave(transaction)
            }
            log.beginCheckpoint(metaPages, pin: pin, lastPage: lastPage)
        }
    }

    /// Makes durable what a process that has died has written through a log, or without syncs.
    ///
    /// Others have the file open: what they see is in the page cache.
    ///
    /// - Throws: `LMDBError`: only a recovery from the log can write again what may be lost.
    private func settleMarked() throws(LMDBError) {
        do throws(LMDBError) {
            try removeMark()
        } catch {
            var error = error
            error.isOutcomeOpen = true
            throw error
        }
        LogFiles.remove(path)
    }

    private static func lastPage(_ transaction: OpaquePointer) -> Int {
        var information = MDB_envinfo()
        mdb_env_info(mdb_txn_env(transaction), &information)
        return information.me_last_pgno
    }

    /// Returns a read of the last commit, and the first bytes of the meta pages that lead to it;
    /// nil when no slot of the reader table is free.
    private func checkpoint(
        _ transaction: OpaquePointer
    ) throws(LMDBError) -> (pin: OpaquePointer, metaPages: [[UInt8]])? {
        var begun: OpaquePointer?
        let code = environment.begin(&begun, mdb_txn_env(transaction))
        if code == MDB_READERS_FULL { return nil }
        try check(code, .begin, path)
        guard let pin = begun else { throw LMDBError(.begin, code: EINVAL, path: path) }
        var metaPages: [[UInt8]] = []
        for page in 0..<Format.metaPageCount {
            var bytes = [UInt8](repeating: 0, count: Format.metaByteCount)
            let count = pread(data, &bytes, bytes.count, page * environment.pageByteCount)
            metaPages.append(count == bytes.count ? bytes : [])
        }
        let newest = metaPages.enumerated().compactMap { MetaPage($1, $0)?.transaction }
        guard mdb_txn_id(pin) == mdb_txn_id(transaction) - 1,
            newest.count == metaPages.count, newest.max() == UInt64(mdb_txn_id(pin))
        else {
            mdb_txn_abort(pin)
            throw LMDBError(.begin, code: LMDBError.corrupted, path: path)
        }
        return (pin, metaPages)
    }

    private func syncData() throws(LMDBError) {
        try check(fdatasync(data) == 0 ? 0 : errno, .commit, path)
    }

    /// Writes or removes the mark of the data file, durably.
    private func write(_ mark: LogMark?) throws(LMDBError) {
        try LogMark.write(mark, data, pageByteCount: environment.pageByteCount, path)
    }

    // MARK: Entering

    /// Begins a log that continues LMDB's last commit, and marks the file; returns nil, and begins
    /// none, when no slot of the reader table is free.
    func enter(_ transaction: OpaquePointer) throws(LMDBError) -> TransactionLog? {
        guard let (pin, metaPages) = try checkpoint(transaction) else { return nil }
        let mark = LogMark(kind: .logged, number: .random(in: 1...UInt64.max))
        do throws(LMDBError) {
            // A mark whose removal has failed may only be gone from the page cache.
            try write(nil)
            let files = try LogFiles.create(path, like: environment.locks.dataFile)
            let slot = LogSlot(
                generation: 1, transaction: UInt64(mdb_txn_id(pin)), sequence: 0, chain: 0,
                sectorByteCount: LogFiles.sectorByteCount(data),
                metaPages: metaPages)
            let log = CommitLog(files: files, continuing: slot, seed: mark.number)
            try log.writeSlot(slot)
            try FileSystem.syncDirectory(of: path)
            try enter(mark, transaction)
            var delay: Duration?
            if case .relaxed(let within) = environment.configuration.durability { delay = within }
            let made = TransactionLog(
                files, log, pin: pin, lastPage: Self.lastPage(transaction),
                data: data, delay: delay, environment)
            environment.state.withLock { $0.writing = .logged(made) }
            return made
        } catch {
            mdb_txn_abort(pin)
            throw error
        }
    }

    /// Marks the file, durably, and lets LMDB commit without syncs.
    private func enter(_ mark: LogMark, _ transaction: OpaquePointer) throws(LMDBError) {
        do throws(LMDBError) {
            try write(mark)
        } catch {
            // A mark that remains would undo what is committed without its log.
            do throws(LMDBError) {
                try write(nil)
            } catch {
                environment.state.withLock { $0.failure = error }
            }
            throw error
        }
        mdb_env_set_flags(mdb_txn_env(transaction), UInt32(MDB_NOSYNC), 1)
    }

    /// Marks the file for commits without syncs.
    func enterUnsynced(_ transaction: OpaquePointer) throws(LMDBError) {
        try enter(LogMark(kind: .unsynced, number: 0), transaction)
        environment.state.withLock { $0.writing = .unsynced }
    }

    // MARK: Leaving

    /// Makes every commit durable in the data file alone, and removes the mark and the log.
    ///
    /// - Throws: `LMDBError`: the file may still be marked, and continues to be written as before.
    func leave(_ transaction: OpaquePointer, erasing: Bool = false) throws(LMDBError) {
        let writing = writing
        if writing.isSynced { return }
        if case .logged(let log) = writing {
            log.waitForCheckpoint()
            if case .pages(var error) = log.failure {
                error.isOutcomeOpen = true
                throw error
            }
        }
        do throws(LMDBError) {
            try removeMark()
        } catch {
            try fail(writing, error)
        }
        mdb_env_set_flags(mdb_txn_env(transaction), UInt32(MDB_NOSYNC), 0)
        environment.state.withLock { $0.writing = .synced }
        guard case .logged(let log) = writing else { return }
        log.end()
        defer { LogFiles.remove(path) }
        if erasing { try log.erase() }
    }

    /// Ends the threads and reads of a log before LMDB's handle is closed; the file stays marked.
    func abandon() {
        if case .logged(let log) = takeWriting().writing { log.end() }
    }

    /// Returns the present way of writing, which then is LMDB's own, and whether the environment
    /// works.
    private func takeWriting() -> (writing: Environment.Writing, works: Bool) {
        environment.state.withLock { state in
            defer { state.writing = .synced }
            return (state.writing, state.failure == nil)
        }
    }

    /// Makes the data file durable as it is, and removes its mark; if that fails, the mark remains.
    private func removeMark() throws(LMDBError) {
        let mark = LogMark.read(data)
        do throws(LMDBError) {
            try syncData()
            try write(nil)
            try checkInjected(.leaveLog)
        } catch {
            // Otherwise others would find none, whatever the disk has.
            if let mark { try? write(mark) }
            throw error
        }
    }

    /// Prevents a second attempt, which would take for written what the first could not write.
    private func fail(
        _ writing: Environment.Writing, _ error: LMDBError
    ) throws(LMDBError) -> Never {
        var error = error
        if case .logged(let log) = writing {
            log.fail(.pages(error))
            error.isOutcomeOpen = true
        } else {
            environment.state.withLock { $0.failure = error }
        }
        throw error
    }

    private func checkInjected(_ operation: LMDBError.Operation) throws(LMDBError) {
        #if STET_FAULTS
            try check(environment.faults.code(for: operation), operation, path)
        #endif
    }

    /// Makes every commit durable in the data file alone before it is closed, when nobody writes
    /// any more; what fails is left to the next recovery.
    func leaveToClose() {
        let (writing, works) = takeWriting()
        if writing.isSynced { return }
        guard case .logged(let log) = writing else {
            if works { try? removeMark() }
            return
        }
        log.end()
        if case .pages = log.failure { return }
        guard works, (try? removeMark()) != nil else { return }
        LogFiles.remove(path)
    }
}
