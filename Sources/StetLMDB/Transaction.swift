import CLMDB
import Glibc

/// A consistent view of an environment for the length of a closure.
///
/// Every buffer that it returns points into the memory map and is valid until the closure ends (in
/// a write transaction, until the next change). Copy data that must live longer. The value is not
/// copyable, so that it cannot leave the closure unnoticed.
package struct ReadTransaction: ~Copyable {
    let handle: OpaquePointer
    /// The environment, which the code that runs the transaction retains.
    package unowned(unsafe) let environment: Environment
    /// The cursors of the write transaction, retained by the code that runs it; nil in one that
    /// only reads.
    private unowned(unsafe) let cursors: WriteCursors?

    init(handle: OpaquePointer, environment: Environment, cursors: WriteCursors? = nil) {
        self.handle = handle
        self.environment = environment
        self.cursors = cursors
    }

    /// Returns the same view, for a value that uses it and ends before the closure does.
    package borrowing func shared() -> ReadTransaction {
        ReadTransaction(handle: handle, environment: environment, cursors: cursors)
    }

    /// Returns the value of `key`; nil when there is none.
    package func get(
        _ key: UnsafeRawBufferPointer, in table: Table
    ) throws(LMDBError) -> UnsafeRawBufferPointer? {
        #if STET_FAULTS
            try check(environment.faults.code(for: .get), .get, environment.path)
        #endif
        var key = MDB_val(key)
        var value = MDB_val()
        let code =
            if let cursors {
                mdb_cursor_get(try cursors.handle(of: table, for: .get), &key, &value, MDB_SET)
            } else {
                mdb_get(handle, table.handle, &key, &value)
            }
        if code == MDB_NOTFOUND { return nil }
        try check(code, .get, environment.path)
        return UnsafeRawBufferPointer(value)
    }

    /// LMDB's number of the commit that it reads.
    package var number: Int { Int(mdb_txn_id(handle)) }

    /// Returns the number of entries of `table`.
    ///
    /// - Complexity: O(1).
    package func count(of table: Table) throws(LMDBError) -> Int {
        var statistics = MDB_stat()
        try check(mdb_stat(handle, table.handle, &statistics), .get, environment.path)
        return statistics.ms_entries
    }

    /// Returns the number of pages of `table`.
    ///
    /// - Complexity: O(1).
    package func pageCount(of table: Table) throws(LMDBError) -> Int {
        var statistics = MDB_stat()
        try check(mdb_stat(handle, table.handle, &statistics), .get, environment.path)
        return statistics.ms_branch_pages + statistics.ms_leaf_pages + statistics.ms_overflow_pages
    }

    /// Returns a cursor over `table`, which has no position yet.
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
    /// This transaction, for code that only reads.
    package let reading: ReadTransaction

    private var handle: OpaquePointer { reading.handle }
    private var environment: Environment { reading.environment }

    /// The log's record of the changes; nil when there is no log.
    private let recorder: OperationRecorder?
    private let cursors: WriteCursors

    private init(
        _ handle: OpaquePointer, _ environment: Environment, _ recorder: OperationRecorder?,
        _ cursors: WriteCursors
    ) {
        self.cursors = cursors
        reading = ReadTransaction(handle: handle, environment: environment, cursors: cursors)
        self.recorder = recorder
    }

    /// Runs `body` in a transaction of LMDB that has begun, and leaves the transaction open.
    fileprivate static func run<Result>(
        _ handle: OpaquePointer, _ environment: Environment, _ recorder: OperationRecorder?,
        _ body: (borrowing WriteTransaction) throws -> Result
    ) throws -> Result {
        let cursors = WriteCursors(transaction: handle, path: environment.path)
        // What reads in the transaction does not retain the cursors.
        return try withExtendedLifetime(cursors) {
            try body(WriteTransaction(handle, environment, recorder, cursors))
        }
    }

    /// Sets the value of `key`.
    package func put(
        _ value: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer, in table: Table
    ) throws(LMDBError) {
        try checkInjected(.put)
        recorder?.add(.put, table, key, value) { environment.name(of: table) }
        let cursor = try cursors.handle(of: table, for: .put)
        var key = MDB_val(key)
        var value = MDB_val(value)
        try check(mdb_cursor_put(cursor, &key, &value, 0), .put, environment.path)
    }

    /// Reserves `byteCount` bytes for `key`, to be filled before the next change of this
    /// transaction.
    ///
    /// With `appending`, `key` must be greater than every key of `table`; LMDB then fills pages
    /// completely, and reports `MDB_KEYEXIST` if it is not.
    package func reserve(
        _ byteCount: Int, for key: UnsafeRawBufferPointer, in table: Table, appending: Bool = false
    ) throws(LMDBError) -> UnsafeMutableRawBufferPointer {
        try checkInjected(.put)
        recorder?.settle()
        let cursor = try cursors.handle(of: table, for: .put)
        var lmdbKey = MDB_val(key)
        var value = MDB_val(mv_size: byteCount, mv_data: nil)
        let flags = appending ? MDB_RESERVE | MDB_APPEND : MDB_RESERVE
        try check(
            mdb_cursor_put(cursor, &lmdbKey, &value, UInt32(flags)), .put, environment.path)
        let reserved = UnsafeMutableRawBufferPointer(start: value.mv_data, count: value.mv_size)
        recorder?.add(appending ? .append : .put, table, key, reserving: reserved) {
            environment.name(of: table)
        }
        return reserved
    }

    /// Removes `key`; returns false when it is absent.
    @discardableResult
    package func delete(
        _ key: UnsafeRawBufferPointer, in table: Table
    ) throws(LMDBError) -> Bool {
        try checkInjected(.delete)
        recorder?.settle()
        let cursor = try cursors.handle(of: table, for: .delete)
        var lmdbKey = MDB_val(key)
        let code = mdb_cursor_get(cursor, &lmdbKey, nil, MDB_SET)
        if code == MDB_NOTFOUND { return false }
        try check(code, .delete, environment.path)
        try check(mdb_cursor_del(cursor, 0), .delete, environment.path)
        recorder?.add(.delete, table, key) { environment.name(of: table) }
        return true
    }

    /// Removes all entries of a table.
    package func empty(_ table: Table) throws(LMDBError) {
        try checkInjected(.delete)
        recorder?.add(.empty, table, UnsafeRawBufferPointer(start: nil, count: 0)) {
            environment.name(of: table)
        }
        try check(mdb_drop(handle, table.handle, 0), .delete, environment.path)
    }

    /// Opens a named table, and creates it if it is missing.
    package func table(_ name: String) throws(LMDBError) -> Table {
        let table = try Table.open(name, handle, flags: MDB_CREATE, environment.path)
        environment.state.withLock { $0.newTableNames[table.handle] = name }
        recorder?.addTable(table, name)
        return table
    }

    private func checkInjected(_ operation: LMDBError.Operation) throws(LMDBError) {
        #if STET_FAULTS
            try check(environment.faults.code(for: operation), operation, environment.path)
        #endif
    }
}

extension Environment {
    /// Returns the name of an open table, which is empty for the unnamed one; nil for a table that
    /// only a read has opened.
    fileprivate func name(of table: Table) -> String? {
        if table == .unnamed { return "" }
        return state.withLock { $0.newTableNames[table.handle] ?? $0.tableNames[table.handle] }
    }
}

extension ReadTransaction {
    /// Opens a named table; returns nil when there is none.
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

    /// The unnamed table, which exists in every environment and also lists the named ones.
    package static let unnamed = Table(handle: 1)

    /// LMDB's list of free pages: for each commit the pages that it freed.
    static let freeList = Table(handle: 0)

    /// The greatest length of a key, in bytes.
    package static let longestKeyByteCount = 511

    /// Opens tables in a new environment so that they get their previous numbers.
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
    /// - Throws: `LMDBError`, and the error of `body`.
    @_semantics("optimize.sil.specialize.generic.never")  // Swift 6.3.1 crashes where it does.
    package func read<Result>(
        _ body: (borrowing ReadTransaction) throws -> Result
    ) throws -> Result {
        #if STET_FAULTS
            faults.countRead()
        #endif
        let handle = try beginRead()
        defer { endUse(keeping: handle) }
        return try body(ReadTransaction(handle: handle, environment: self))
    }

    /// Opens tables in a separate read transaction; returns nil for each that does not exist.
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
    /// returns, the data are on the disk.
    ///
    /// When it throws, nothing was changed, with one exception: an `LMDBError` whose
    /// `isOutcomeOpen` is true means that the commit itself failed, possibly after the data were
    /// written. The file has then been reopened and synced (or cannot be: later transactions throw,
    /// too), and reads show the true state.
    ///
    /// - Throws: `LMDBError`, and the error of `body`.
    package func write<Result>(
        _ body: (borrowing WriteTransaction) throws -> Result
    ) throws -> Result {
        let handle = try beginWrite()
        let result: Result
        do {
            result = try WriteTransaction.run(handle, self, recorder, body)
        } catch {
            mdb_txn_abort(handle)
            state.withLock { $0.newTableNames = [:] }
            endWrite()
            throw error
        }
        let end = TransactionCommit(environment: self, transaction: handle, recorder: recorder)
        var failure: CommitFailure?
        do throws(CommitFailure) { try end.run() } catch { failure = error }
        state.withLock { state in
            if failure == nil { state.tableNames.merge(state.newTableNames) { $1 } }
            state.newTableNames = [:]
        }
        // The transaction counts as open until it is known whether LMDB can continue.
        endUse()
        defer { endWriting() }
        guard let failure else { return result }
        var error = failure.error
        if failure.isOutcomeOpen {
            error.isOutcomeOpen = true
            // Ignores a failure, which the look-up of the outcome reports.
            try? reopen()
        }
        throw error
    }
}

extension MDB_val {
    /// Creates a value for a key or a value to put, through whose pointers LMDB only reads.
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
