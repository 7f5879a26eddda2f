import CLMDB
import Glibc
import Synchronization

/// An LMDB environment: one data file, its lock file, and the memory map over it.
///
/// A process opens a file at most once (LMDB forbids more): `open` returns the environment that is
/// already open for the same file, whatever the spelling of its path.
///
/// State: `state` (LMDB's handle and Stet's locks, the open transactions and the idle ones kept for
/// reuse, whether it is closed, failed or reserved), guarded by its monitor; the attachment and the
/// leases, guarded by their own. LMDB itself serialises writers.
package final class Environment: Sendable {
    /// The options of an environment, which are fixed when it is opened.
    package struct Configuration: Sendable {
        /// The number of bytes of address space for the map, which is the largest size that the
        /// file can reach.
        ///
        /// The file grows only as it is used. If the system refuses that much address space, the
        /// map starts smaller, with at least 1 GiB, and grows when it is full.
        package var mapByteCount = usualMapByteCount
        /// The initial number of bytes of the map; nil means all of `mapByteCount`.
        package var initialMapByteCount: Int?
        /// The number of reads that may be open at once, over all processes.
        package var readerCount: Int = 510
        /// The number of named tables that may be open at once.
        package var tableCount: Int = 64
        /// Whether a missing file is created.
        package var createsFile = true
        /// Whether commits skip the sync, so that their pages may still be in the page cache when
        /// they return: for files that nobody needs after a power cut, or that are synced as a
        /// whole later.
        package var skipsSync = false
        /// The time at which commits become durable.
        package var durability = Durability.synced
        /// The distance of checkpoints of a log.
        package var checkpointDistance = CheckpointDistance()
        /// Whether a commit waits while another process writes the file through its log, instead of
        /// being refused.
        package var waitsForLogOwner = false
        /// Whether a file is opened whose log is missing, or that was written without syncs and not
        /// closed: the caller then verifies all of it.
        package var ignoresMissingLog = false
        /// Removes the names of the files once they are open: nobody else can open them, and the
        /// system frees them with the last descriptor, also when the process is killed.
        package var removesNames = false
        /// The monotonic clock for the ages of reads.
        package var uptime: @Sendable () -> Duration = systemUptime
        /// Receives the number of transactions that a recovery has taken from a log.
        package var recovered: @Sendable (Int) -> Void = { _ in }
        /// Called when a checkpoint begins; the result is called when it ends.
        package var checkpointBegan: @Sendable () -> @Sendable ((any Error)?) -> Void = { { _ in } }
        /// Receives the process that has had the right to write for a long time while this one
        /// waits.
        package var longWait: @Sendable (_ holder: Int32?, Duration) -> Void = { _, _ in }

        package init() {}

        /// The number of slots of the reader table: a log has two reads open.
        var slotCount: Int { readerCount + (durability.hasLog ? 2 : 0) }
    }

    struct State: @unchecked Sendable {  // reached only under its monitor
        /// LMDB's handle; nil when the file is closed, or could not be reopened after a failure.
        var handle: OpaquePointer?
        var locks: FileLocks
        var openTransactions = OpenTransactions()
        /// The unused reads that are kept for reuse; each holds a slot of the reader table.
        var idleReads: [OpaquePointer] = []
        var isClosed = false
        /// True while somebody waits for the end of all transactions, or uses the file without any.
        var isReserved = false
        /// True while another file takes the place of this one, and of its name.
        var isReplaced = false
        /// The number of times that the file was reopened after a failure, or replaced.
        var reopeningCount = 0
        /// The reason why the file could not be reopened; everything fails with it.
        var failure: LMDBError?
        /// The names of the open tables, by LMDB's number.
        var tableNames: [UInt32: String] = [:]
        /// The names of the tables that the write transaction has opened, which its end keeps or
        /// closes.
        var newTableNames: [UInt32: String] = [:]
        /// Whether the file has a mark that only its user may remove.
        var lacksLog: Bool
        /// The present way of writing.
        var writing = Writing.synced
        /// The number of threads of this process that have the right to write; LMDB lets them write
        /// in turn.
        var writerCount = 0
        /// Whether idle reads are kept, because somebody releases them regularly.
        var keepsIdleReads = false
        /// The number of reads that could have been kept if idle reads were kept.
        var lostReadCount = 0
        /// The times at which readers of other processes were first noticed.
        var sightings: [Reader.Identity: Duration] = [:]
    }

    private struct Attachment {
        weak var object: AnyObject?
    }

    package let path: String
    package let configuration: Configuration
    let state: Monitor<State>
    let pageByteCount: Int
    /// True when the file was written through a log that was missing when it was opened, or without
    /// syncs, and not closed; until that is accepted.
    package var lacksLog: Bool { state.withLock { $0.lacksLog } }
    var locks: FileLocks { state.withLock { $0.locks } }
    /// The leases that were given, some of which have ended.
    let leases = Monitor<[WeakLease]>([])
    /// The changes of the write transaction for the log; nil without a log.
    let recorder: OperationRecorder?
    private let forkGeneration = ProcessFork.generation
    private let attachment = Monitor(Attachment())
    private let wantsKeeper = Atomic(false)
    /// The number of threads that wait for the end of all reads, or have closed the environment.
    let readAwaiterCount = Atomic(0)
    private static let idleReadLimit = 8
    private static let lostReadLimit = 100

    #if STET_FAULTS
        package let faults = FaultInjector()
    #endif

    init(
        handle: OpaquePointer, path: String, locks: FileLocks, lacksLog: Bool,
        configuration: Configuration
    ) {
        self.path = path
        self.configuration = configuration
        var statistics = MDB_stat()
        mdb_env_stat(handle, &statistics)
        pageByteCount = Int(statistics.ms_psize)
        recorder = configuration.durability.hasLog ? OperationRecorder() : nil
        state = Monitor(State(handle: handle, locks: locks, lacksLog: lacksLog))
    }

    deinit { close() }

    /// Closes the environment: releases idle reads, and the file after the last open transaction.
    ///
    /// Later calls throw `LMDBError.closed`. Closing again does nothing.
    package func close() {
        if isForked { return }
        let (thread, begun) = (pthread_self(), configuration.uptime())
        let (handle, leaves) = state.withLock { state in
            state.isClosed = true
            // Never subtracted: reads that are in use are not kept afterwards.
            readAwaiterCount.add(1, ordering: .sequentiallyConsistent)
            state.openTransactions.endIdleReads()
            let handle = Self.takeHandle(&state)
            let leaves =
                state.handle != nil && !state.isReserved && state.openTransactions.hasOnlyReads
            if leaves {
                // The reads may end meanwhile, but the file must stay open until the log is left.
                state.openTransactions.add(on: thread, isRead: false, begun: begun)
            }
            return (handle, leaves)
        }
        state.notify()
        if leaves {
            log.leaveToClose()
            endUse()
        }
        if let handle { close(handle) }
    }

    /// Closes the file, after its last use.
    func close(_ handle: OpaquePointer) {
        log.leaveToClose()
        EnvironmentRegistry.shared.close(handle, locks)
    }

    /// Returns the handle of a closed environment that nobody uses any more, once.
    static func takeHandle(_ state: inout State) -> OpaquePointer? {
        guard state.isClosed, state.openTransactions.isEmpty, !state.isReserved,
            let handle = state.handle
        else { return nil }
        abortIdleReads(&state)
        state.handle = nil
        return handle
    }

    static func abortIdleReads(_ state: inout State) {
        for idle in state.idleReads { mdb_txn_abort(idle) }
        state.idleReads = []
    }

    /// True after `close()`.
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// True after the last use of a closed environment, until its file is closed.
    var isBeingClosed: Bool { state.withLock { $0.isClosed && $0.handle == nil } }

    /// True in a child process that was forked after the environment was opened.
    package var isForked: Bool { forkGeneration != ProcessFork.generation }

    /// Returns the object that all users of this file share, which the first one makes; the
    /// environment references it weakly.
    package func attachment<Shared: AnyObject & Sendable>(
        orMake make: () throws -> Shared
    ) rethrows -> Shared {
        try attachment.withLock { attachment in
            let object = try attachment.object as? Shared ?? make()
            attachment.object = object
            return object
        }
    }

    /// The attachment; nil when there is none.
    package var attached: AnyObject? { attachment.withLock { $0.object } }

    // MARK: Use

    /// The resources of a use of the environment.
    struct Use {
        let handle: OpaquePointer
        let idleRead: OpaquePointer?
        let reopeningCount: Int
    }

    /// Keeps the file open until `endUse()`, as a transaction does; waits while somebody needs the
    /// file without transactions.
    func beginUse(
        _ operation: LMDBError.Operation, isRead: Bool = false, keptBy keeper: KeptRead? = nil
    ) throws(LMDBError) -> Use {
        if isForked { throw LMDBError(operation, code: LMDBError.forked, path: path) }
        let thread = pthread_self()
        let begun = configuration.uptime()
        let use: Swift.Result<Use, LMDBError> = state.wait { state in
            handle(of: state, operation, thread)?.map { handle in
                state.openTransactions.add(on: thread, isRead: isRead, begun: begun, keptBy: keeper)
                return Use(
                    handle: handle, idleRead: isRead ? state.idleReads.popLast() : nil,
                    reopeningCount: state.reopeningCount)
            }
        }
        return try use.get()
    }

    /// Returns LMDB's handle, or the reason why there is none; nil while a thread must wait for
    /// somebody who needs the file without transactions.
    @inline(__always)
    func handle(
        of state: borrowing State, _ operation: LMDBError.Operation, _ thread: pthread_t
    ) -> Swift.Result<OpaquePointer, LMDBError>? {
        if state.isClosed {
            return .failure(LMDBError(operation, code: LMDBError.closed, path: path))
        }
        if let failure = state.failure { return .failure(failure) }
        // A thread with an open transaction does not wait, because it would wait for itself.
        if state.isReserved, !state.openTransactions.areOpen(on: thread) {
            return nil
        }
        return state.handle.map { .success($0) }
    }

    /// Ends a use that `beginUse` or a transaction began on this thread; keeps `idle` for reuse.
    func endUse(keeping idle: OpaquePointer? = nil, keptBy keeper: KeptRead? = nil) {
        let thread = pthread_self()
        let (isKept, isAwaited) = state.withLock { state in
            let isKept =
                idle != nil && !state.isClosed && !state.isReserved && state.keepsIdleReads
                && state.idleReads.count < Self.idleReadLimit
                // Leaves half of the table to open reads.
                && state.locks.readers.usedCount <= state.locks.readers.capacity / 2
            if let idle, isKept {
                mdb_txn_reset(idle)
                state.idleReads.append(idle)
            }
            if isKept { state.openTransactions.remove(on: thread, keptBy: keeper) }
            return (isKept, state.isReserved)
        }
        if isKept {
            if isAwaited { state.notify() }
            return
        }
        if let idle { mdb_txn_abort(idle) }
        let handle = state.withLock { state in
            state.openTransactions.remove(on: thread, keptBy: keeper)
            if idle != nil, !state.keepsIdleReads {
                state.lostReadCount += 1
                if state.lostReadCount == Self.lostReadLimit {
                    wantsKeeper.store(true, ordering: .relaxed)
                }
            }
            return Self.takeHandle(&state)
        }
        state.notify()
        if let handle { close(handle) }
    }

    /// Returns true once, after enough reads that keeping idle ones would be worthwhile: for a
    /// caller that can then call `keepIdleReads(_:)` regularly.
    package func takeWishForKeeper() -> Bool {
        wantsKeeper.load(ordering: .relaxed) && wantsKeeper.exchange(false, ordering: .relaxed)
    }

    // MARK: Transactions

    func beginRead(keptBy keeper: KeptRead? = nil) throws(LMDBError) -> OpaquePointer {
        while true {
            let use = try beginUse(.begin, isRead: true, keptBy: keeper)
            var transaction = use.idleRead
            let code = begin(&transaction, use.handle)
            if code == 0, let transaction { return transaction }
            endUse(keptBy: keeper)
            try recover(from: LMDBError(.begin, code: code, path: path), use)
        }
    }

    /// Renews an idle read, or begins one; frees the slots of dead processes if there is no other.
    func begin(_ transaction: inout OpaquePointer?, _ handle: OpaquePointer) -> Int32 {
        let code = NewestRead.begin(&transaction, handle)
        guard code == MDB_READERS_FULL else { return code }
        _ = try? locks.removeStaleReaders()
        return NewestRead.begin(&transaction, handle)
    }

    func beginWrite() throws(LMDBError) -> OpaquePointer {
        while true {
            try beginWriting()
            let use: Use
            do throws(LMDBError) {
                use = try beginUse(.begin)
            } catch {
                endWriting()
                throw error
            }
            do throws(LMDBError) {
                return try beginWrite(use.handle)
            } catch {
                endUse()
                defer { endWriting() }
                if error.isOutcomeOpen { try reopen() } else { try recover(from: error, use) }
            }
        }
    }

    /// Begins a write transaction on top of the last commit that was reported.
    private func beginWrite(_ handle: OpaquePointer) throws(LMDBError) -> OpaquePointer {
        var begun: OpaquePointer?
        try check(mdb_txn_begin(handle, nil, 0, &begun), .begin, path)
        guard let transaction = begun else { throw LMDBError(.begin, code: EINVAL, path: path) }
        do throws(LMDBError) {
            #if STET_FAULTS
                try check(faults.code(for: .begin), .begin, path)
            #endif
            // The file may have been replaced while this thread waited for another one.
            try locks.checkPlace(.begin)
            try AbandonedCommit.withdraw(handle, transaction, path)
            recorder?.removeAll()
            try log.prepare(transaction)
            return transaction
        } catch {
            // Aborts explicitly: otherwise the thread would end while it holds LMDB's lock, the
            // next writer would assume that it died, and LMDB would adopt the abandoned commit.
            mdb_txn_abort(transaction)
            throw error
        }
    }

    /// Ends a use that `beginWrite` began, after its transaction has ended.
    func endWrite() {
        endUse()
        endWriting()
    }

    /// Removes the cause for which a transaction could not begin; throws the error if that is
    /// impossible.
    private func recover(from error: LMDBError, _ use: Use) throws(LMDBError) {
        switch error.code {
        case MDB_MAP_RESIZED: try adoptForeignSize()
        case MDB_PANIC: try waitForReopening(after: use.reopeningCount)
        // The next attempt waits for the file that replaces this one in this environment.
        case LMDBError.moved where FileReplacement.isDone(self, since: use): break
        default: throw error
        }
    }
}

/// Reads of LMDB that show the last commit.
private enum NewestRead {
    /// Renews an idle read, or begins one.
    ///
    /// LMDB notes the number of the last commit, and then copies the meta page of that number. If
    /// two commits end in between, they overwrite that page: the copy would be newer than the
    /// number says, newer than what the next read shows, or a mixture. Then it reads once more.
    static func begin(_ transaction: inout OpaquePointer?, _ handle: OpaquePointer) -> Int32 {
        var code = beginOnce(&transaction, handle)
        var information = MDB_envinfo()
        // Each round needs two commits in between. The limit guards against damaged lock files.
        for _ in 0..<1_000 {
            guard code == 0, mdb_env_info(handle, &information) == 0,
                information.me_last_txnid > mdb_txn_id(transaction) + 1
            else { break }
            mdb_txn_reset(transaction)
            code = beginOnce(&transaction, handle)
        }
        return code
    }

    private static func beginOnce(
        _ transaction: inout OpaquePointer?, _ handle: OpaquePointer
    ) -> Int32 {
        guard let idle = transaction else {
            return mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
        }
        let code = mdb_txn_renew(idle)
        if code != 0 {
            mdb_txn_abort(idle)
            transaction = nil
        }
        return code
    }
}

/// The default size of a map in bytes of address space: 1 TiB.
///
/// Programs built with faults use 64 GiB, because tests have more stores open at once than the
/// address space can hold maps of 1 TiB; `STET_MAP_BYTES` lowers it, for thread sanitizer.
package let usualMapByteCount: Int = {
    #if STET_FAULTS
        return getenv("STET_MAP_BYTES").flatMap { Int(String(cString: $0)) } ?? 1 << 36
    #else
        return 1 << 40
    #endif
}()

/// Returns the time since some moment before the process began, to a few milliseconds.
@Sendable package func systemUptime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
