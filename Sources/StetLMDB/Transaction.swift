import CLMDB
import Glibc

/// A consistent view of an environment for the length of a closure.
///
/// Every buffer that it hands out points into the memory map and is valid until the closure ends
/// (in a write transaction: until the next change). Copy what must live longer. It can't be copied,
/// so that nothing of it leaves the closure unnoticed.
package struct ReadTransaction: ~Copyable {
    let handle: OpaquePointer
    package let environment: Environment

    init(handle: OpaquePointer, environment: Environment) {
        self.handle = handle
        self.environment = environment
    }

    /// Returns the same view, for a value that works on it and ends before the closure does.
    package borrowing func shared() -> ReadTransaction {
        ReadTransaction(handle: handle, environment: environment)
    }

    /// The value of `key`, or nil.
    package func get(
        _ key: UnsafeRawBufferPointer, in table: Table
    ) throws(LMDBError) -> UnsafeRawBufferPointer? {
        #if STET_FAULTS
            try check(environment.faults.code(for: .get), .get, environment.path)
        #endif
        var key = MDB_val(key)
        var value = MDB_val()
        let code = mdb_get(handle, table.handle, &key, &value)
        if code == MDB_NOTFOUND { return nil }
        try check(code, .get, environment.path)
        return UnsafeRawBufferPointer(value)
    }

    /// LMDB's number of the commit that it sees.
    package var number: Int { Int(mdb_txn_id(handle)) }

    /// The number of entries of `table`.
    ///
    /// - Complexity: O(1).
    package func count(of table: Table) throws(LMDBError) -> Int {
        var statistics = MDB_stat()
        try check(mdb_stat(handle, table.handle, &statistics), .get, environment.path)
        return statistics.ms_entries
    }

    /// The pages that hold `table`.
    ///
    /// - Complexity: O(1).
    package func pageCount(of table: Table) throws(LMDBError) -> Int {
        var statistics = MDB_stat()
        try check(mdb_stat(handle, table.handle, &statistics), .get, environment.path)
        return statistics.ms_branch_pages + statistics.ms_leaf_pages + statistics.ms_overflow_pages
    }

    /// A cursor over `table`, not positioned yet.
    package func cursor(in table: Table) throws(LMDBError) -> Cursor {
        #if STET_FAULTS
            try check(environment.faults.code(for: .cursor), .cursor, environment.path)
        #endif
        var cursor: OpaquePointer?
        try check(mdb_cursor_open(handle, table.handle, &cursor), .cursor, environment.path)
        #if STET_FAULTS
            return Cursor(handle: cursor!, path: environment.path, faults: environment.faults)
        #else
            return Cursor(handle: cursor!, path: environment.path)
        #endif
    }
}

/// The one transaction that may change an environment.
///
/// It reads its own changes.
package struct WriteTransaction: ~Copyable {
    /// The same transaction, for everything that only reads.
    package let reading: ReadTransaction

    private var handle: OpaquePointer { reading.handle }
    private var environment: Environment { reading.environment }

    init(handle: OpaquePointer, environment: Environment) {
        reading = ReadTransaction(handle: handle, environment: environment)
    }

    /// Sets the value of `key`.
    package func put(
        _ value: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer, in table: Table
    ) throws(LMDBError) {
        try checkInjected(.put)
        var key = MDB_val(key)
        var value = MDB_val(value)
        try check(mdb_put(handle, table.handle, &key, &value, 0), .put, environment.path)
    }

    /// Makes room for `byteCount` bytes under `key`, to be filled before the next change of this
    /// transaction.
    ///
    /// `appending` says that the caller knows that `key` is greater than every key of `table`; LMDB
    /// then packs pages full, and answers `MDB_KEYEXIST` if it is not so.
    package func reserve(
        _ byteCount: Int, for key: UnsafeRawBufferPointer, in table: Table, appending: Bool = false
    ) throws(LMDBError) -> UnsafeMutableRawBufferPointer {
        try checkInjected(.put)
        var key = MDB_val(key)
        var value = MDB_val(mv_size: byteCount, mv_data: nil)
        let flags = appending ? MDB_RESERVE | MDB_APPEND : MDB_RESERVE
        try check(
            mdb_put(handle, table.handle, &key, &value, UInt32(flags)), .put, environment.path)
        return UnsafeMutableRawBufferPointer(start: value.mv_data, count: value.mv_size)
    }

    /// Removes `key`; false when it was not there.
    @discardableResult
    package func delete(
        _ key: UnsafeRawBufferPointer, in table: Table
    ) throws(LMDBError) -> Bool {
        try checkInjected(.delete)
        var key = MDB_val(key)
        let code = mdb_del(handle, table.handle, &key, nil)
        if code == MDB_NOTFOUND { return false }
        try check(code, .delete, environment.path)
        return true
    }

    /// Removes all entries of a table.
    package func empty(_ table: Table) throws(LMDBError) {
        try checkInjected(.delete)
        try check(mdb_drop(handle, table.handle, 0), .delete, environment.path)
    }

    /// Opens a named table, creating it when it is missing.
    package func table(_ name: String) throws(LMDBError) -> Table {
        let table = try Table.open(name, handle, flags: MDB_CREATE, environment.path)
        environment.state.withLock { $0.newTableNames[table.handle] = name }
        return table
    }

    private func checkInjected(_ operation: LMDBError.Operation) throws(LMDBError) {
        #if STET_FAULTS
            try check(environment.faults.code(for: operation), operation, environment.path)
        #endif
    }
}

extension ReadTransaction {
    /// Opens a named table; nil when there is none.
    ///
    /// The handle is valid for the environment's life once this transaction has ended without an
    /// error.
    package func table(_ name: String) throws(LMDBError) -> Table? {
        do {
            return try Table.open(name, handle, flags: 0, environment.path)
        } catch {
            if error.code == MDB_NOTFOUND { return nil }
            throw error
        }
    }
}

/// A table of an environment: ordered keys (1 to 511 bytes) and their values.
package struct Table: Sendable, Hashable {
    let handle: MDB_dbi

    /// The table without a name, which exists in every environment and also lists the named ones.
    package static let unnamed = Table(handle: 1)

    /// LMDB's list of free pages: for each commit those that it freed.
    static let freeList = Table(handle: 0)

    /// The longest key in bytes.
    package static let longestKeyByteCount = 511

    /// Opens tables in a fresh environment so that they get the numbers that they had before.
    static func open(
        _ names: [UInt32: String], _ environment: OpaquePointer, _ path: String
    ) throws(LMDBError) {
        var transaction: OpaquePointer?
        try check(
            mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction), .openTable, path)
        for (number, name) in names.sorted(by: { $0.key < $1.key }) {
            var handle: MDB_dbi = 0
            let code = mdb_dbi_open(transaction, name, 0, &handle)
            guard code == 0, handle == number else {
                mdb_txn_abort(transaction)
                throw LMDBError(
                    .openTable, code: code == 0 ? MDB_BAD_DBI : code, path: path)
            }
        }
        // Only a commit keeps handles that were opened in a transaction.
        try check(mdb_txn_commit(transaction), .openTable, path)
    }

    fileprivate static func open(
        _ name: String, _ transaction: OpaquePointer, flags: Int32, _ path: String
    ) throws(LMDBError) -> Table {
        var handle: MDB_dbi = 0
        try check(mdb_dbi_open(transaction, name, UInt32(flags), &handle), .openTable, path)
        return Table(handle: handle)
    }
}

extension Environment {
    /// Runs `body` on a consistent view of the last commit.
    ///
    /// Reads never wait for the writer.
    ///
    /// - Throws: `LMDBError`, and whatever `body` throws.
    @_semantics("optimize.sil.specialize.generic.never")  // Swift 6.3.1 crashes where it does.
    package func read<Result>(
        _ body: (borrowing ReadTransaction) throws -> Result
    ) throws -> Result {
        let handle = try beginRead()
        defer { endUse(keeping: handle) }
        return try body(ReadTransaction(handle: handle, environment: self))
    }

    /// Opens tables in a read transaction of their own; nil for each that does not exist.
    package func tables(_ names: [String]) throws(LMDBError) -> [Table?] {
        let handle = try beginRead()
        defer { endUse() }
        var tables: [Table?] = []
        do {
            let transaction = ReadTransaction(handle: handle, environment: self)
            for name in names { tables.append(try transaction.table(name)) }
        } catch {
            mdb_txn_abort(handle)
            throw error
        }
        // Only a commit keeps handles that were opened in a transaction.
        try check(mdb_txn_commit(handle), .openTable, path)
        state.withLock { state in
            for case (let name, let table?) in zip(names, tables) {
                state.tableNames[table.handle] = name
            }
        }
        return tables
    }

    /// Runs `body` in the one write transaction, on this thread, and commits durably: when this
    /// returns the data are on the disk.
    ///
    /// When it throws, nothing was changed, with one exception: an `LMDBError` whose
    /// `isOutcomeOpen` is true says that the commit itself met a failure that may have come after
    /// the data were written. The file has then been opened again and synced (or cannot be: later
    /// transactions throw, too), and what can be read now is what is true.
    ///
    /// - Throws: `LMDBError`, and whatever `body` throws.
    package func write<Result>(
        _ body: (borrowing WriteTransaction) throws -> Result
    ) throws -> Result {
        let handle = try beginWrite()
        let result: Result
        do {
            result = try body(WriteTransaction(handle: handle, environment: self))
        } catch {
            mdb_txn_abort(handle)
            state.withLock { $0.newTableNames = [:] }
            endWrite()
            throw error
        }
        let code = commit(handle)
        state.withLock { state in
            if code == 0 { state.tableNames.merge(state.newTableNames) { $1 } }
            state.newTableNames = [:]
        }
        // The transaction goes on counting as open until it is known whether LMDB can go on.
        let isOutcomeOpen = code != 0 && isOutcomeOpen(after: code)
        let cause = code == 0 ? 0 : ShortWrite.cause(of: code, state.withLock { $0.handle })
        // Until the file was opened again nobody else may write.
        endUse()
        defer { endWriting() }
        guard code != 0 else { return result }
        var error = LMDBError(.commit, code: cause, path: path)
        if isOutcomeOpen {
            error.isOutcomeOpen = true
            // Whoever looks up the outcome meets the failure.
            try? reopen()
        }
        throw error
    }

    private func commit(_ handle: OpaquePointer) -> Int32 {
        #if STET_FAULTS
            let refused = faults.code(for: .commit)
            if refused != 0 {
                mdb_txn_abort(handle)
                return refused
            }
            let code = mdb_txn_commit(handle)
            return code == 0 ? faults.code(for: .reportOfCommit) : code
        #else
            return mdb_txn_commit(handle)
        #endif
    }

    /// Whether a commit that failed may be on the disk all the same.
    ///
    /// LMDB refuses every further transaction after a failed write of the meta page. After any
    /// other input or output error the system may have dropped pages that it could not write, so
    /// that nothing that the map shows can be relied on until the file is synced.
    private func isOutcomeOpen(after code: Int32) -> Bool {
        if code == EIO || code == MDB_PANIC { return true }
        // One that writes needs no slot, of which there may be none left.
        var transaction: OpaquePointer?
        let next = mdb_txn_begin(state.withLock { $0.handle }, nil, 0, &transaction)
        if next == 0 { mdb_txn_abort(transaction) }
        return next == MDB_PANIC
    }
}

extension MDB_val {
    /// LMDB only reads through the pointers of keys and of values that are put.
    @inline(__always)
    init(_ bytes: UnsafeRawBufferPointer) {
        self.init(
            mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
}

extension UnsafeRawBufferPointer {
    @inline(__always)
    init(_ value: MDB_val) {
        self.init(start: value.mv_data, count: value.mv_size)
    }
}
