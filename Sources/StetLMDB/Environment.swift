import CLMDB
import Glibc
import Synchronization

/// An LMDB environment: one data file, its lock file, and the memory map over it.
///
/// A process opens a file at most once (LMDB forbids more): `open` returns the environment that is
/// already open for the same file, whatever the spelling of its path.
///
/// State: `state` (pool of idle read transactions, number of open transactions, whether closed),
/// guarded by its mutex; the attachment, guarded by its own; `handle` is constant, and LMDB itself
/// serialises writers.
package final class Environment: Sendable {
    /// Sizes fixed when the environment is opened.
    package struct Configuration: Sendable {
        /// Bytes of address space for the map; the file grows only as it is used.
        ///
        /// Halved down to 1 GiB when the system refuses that much address space.
        package var mapByteCount: Int = 1 << 40
        /// Reads that may be open at once, over all processes.
        package var readerCount: Int = 510
        /// Named tables that may be open at once.
        package var tableCount: Int = 64
        /// False opens an existing file only.
        package var createsFile = true
        /// Pages that a commit wrote may still be in the page cache when it returns: for planted
        /// bugs only.
        package var skipsSync = false

        package init() {}
    }

    /// A transaction that nobody uses while it is in the pool.
    private struct IdleRead: @unchecked Sendable {  // taken out and put back under `state`'s mutex
        let handle: OpaquePointer
    }

    private struct State {
        var idleReads: [IdleRead] = []
        var openTransactionCount = 0
        var isClosed = false
    }

    private struct Attachment {
        weak var object: AnyObject?
    }

    package let path: String
    nonisolated(unsafe) let handle: OpaquePointer
    private let state = Mutex(State())
    private let attachment = Mutex(Attachment())
    /// Idle read transactions kept for reuse; each holds a slot of the reader table.
    private static let idleReadLimit = 8

    #if STET_FAULTS
        package let faults = FaultInjector()
    #endif

    init(handle: OpaquePointer, path: String) {
        self.handle = handle
        self.path = path
    }

    deinit { close() }

    /// Ends the environment: idle reads are released now, the file is closed when the last open
    /// transaction ends.
    ///
    /// Later calls throw `LMDBError.closed`. Closing twice does nothing.
    package func close() {
        let closesNow = state.withLock { state in
            guard !state.isClosed else { return false }
            state.isClosed = true
            for idle in state.idleReads { mdb_txn_abort(idle.handle) }
            state.idleReads = []
            return state.openTransactionCount == 0
        }
        if closesNow { EnvironmentRegistry.shared.close(handle) }
    }

    /// True after `close()`.
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// The object that all who opened this file share, made by the first; held weakly.
    package func attachment<Shared: AnyObject & Sendable>(
        orMake make: () throws -> Shared
    ) rethrows -> Shared {
        try attachment.withLock { attachment in
            if let present = attachment.object as? Shared { return present }
            let made = try make()
            attachment.object = made
            return made
        }
    }

    // MARK: Transactions

    func beginRead() throws(LMDBError) -> OpaquePointer {
        enum Begin { case renew(IdleRead), fresh, closed }
        let begin: Begin = state.withLock { state in
            if state.isClosed { return .closed }
            state.openTransactionCount += 1
            return state.idleReads.popLast().map(Begin.renew) ?? .fresh
        }
        do throws(LMDBError) {
            switch begin {
            case .closed: throw LMDBError(.begin, code: LMDBError.closed, path: path)
            case .renew(let idle):
                let code = mdb_txn_renew(idle.handle)
                if code != 0 { mdb_txn_abort(idle.handle) }
                try check(code, .begin, path)
                return idle.handle
            case .fresh:
                var transaction: OpaquePointer?
                var code = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
                if code == MDB_READERS_FULL {
                    // Slots of processes that died are freed only when somebody looks.
                    _ = mdb_reader_check(handle, nil)
                    code = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
                }
                try check(code, .begin, path)
                return transaction!
            }
        } catch {
            if case .closed = begin {} else { transactionEnded() }
            throw error
        }
    }

    func endRead(_ transaction: OpaquePointer) {
        let idle = IdleRead(handle: transaction)
        let isKept = state.withLock { state in
            guard !state.isClosed, state.idleReads.count < Self.idleReadLimit else { return false }
            mdb_txn_reset(idle.handle)
            state.idleReads.append(idle)
            state.openTransactionCount -= 1
            return true
        }
        if !isKept {
            mdb_txn_abort(transaction)
            transactionEnded()
        }
    }

    func beginWrite() throws(LMDBError) -> OpaquePointer {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.openTransactionCount += 1 }
            return !state.isClosed
        }
        guard isOpen else { throw LMDBError(.begin, code: LMDBError.closed, path: path) }
        var transaction: OpaquePointer?
        var code = mdb_txn_begin(handle, nil, 0, &transaction)
        #if STET_FAULTS
            let injected = faults.code(for: .begin)
            if code == 0, injected != 0 {
                mdb_txn_abort(transaction)
                code = injected
            }
        #endif
        if code != 0 { transactionEnded() }
        try check(code, .begin, path)
        return transaction!
    }

    /// Keeps the file open until `transactionEnded()`, as a transaction does.
    func beginUse(_ operation: LMDBError.Operation) throws(LMDBError) {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.openTransactionCount += 1 }
            return !state.isClosed
        }
        if !isOpen { throw LMDBError(operation, code: LMDBError.closed, path: path) }
    }

    func transactionEnded() {
        let closesNow = state.withLock { state in
            state.openTransactionCount -= 1
            return state.isClosed && state.openTransactionCount == 0
        }
        if closesNow { EnvironmentRegistry.shared.close(handle) }
    }
}

// MARK: - What the environment says about itself

extension Environment {
    /// Sizes and positions of an open environment.
    package struct Statistics: Hashable, Sendable {
        package let mapByteCount: Int
        package let pageByteCount: Int
        /// Pages of the file that have ever been used.
        package let usedPageCount: Int
        /// LMDB's number of the last commit.
        package let lastTransaction: Int
        package let readerCount: Int
    }

    /// - Complexity: O(1).
    package func statistics() throws(LMDBError) -> Statistics {
        try beginUse(.environmentStatistics)
        defer { transactionEnded() }
        var info = MDB_envinfo()
        try check(mdb_env_info(handle, &info), .environmentStatistics, path)
        var statistics = MDB_stat()
        try check(mdb_env_stat(handle, &statistics), .environmentStatistics, path)
        return Statistics(
            mapByteCount: info.me_mapsize,
            pageByteCount: Int(statistics.ms_psize),
            usedPageCount: info.me_last_pgno + 1,
            lastTransaction: info.me_last_txnid,
            readerCount: Int(info.me_numreaders)
        )
    }

    /// Frees the reader slots of processes that have died; returns how many.
    @discardableResult
    package func removeStaleReaders() throws(LMDBError) -> Int {
        try beginUse(.checkReaders)
        defer { transactionEnded() }
        var dead: Int32 = 0
        try check(mdb_reader_check(handle, &dead), .checkReaders, path)
        return Int(dead)
    }
}
