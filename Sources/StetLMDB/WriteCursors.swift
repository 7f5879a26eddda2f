import CLMDB

/// The cursors of a write transaction, one for each table that it has used.
///
/// A cursor stays at the last key that was read or changed. The next one, if it belongs to the same
/// page, as in a sorted series it mostly does, is found there without a search from the root. LMDB
/// moves the cursors with every change of their table, and closes them with the transaction.
///
/// State: belongs to the thread of the transaction, also where it only reads.
final class WriteCursors {
    private let transaction: OpaquePointer
    private let path: String
    /// The cursors by LMDB's number of their table.
    @exclusivity(unchecked) private var handles: [OpaquePointer?] = []

    init(transaction: OpaquePointer, path: String) {
        self.transaction = transaction
        self.path = path
    }

    /// Returns the cursor of a table, for an operation that an error names.
    @inline(__always)
    func handle(
        of table: Table, for operation: LMDBError.Operation
    ) throws(LMDBError) -> OpaquePointer {
        let place = Int(table.handle)
        if place < handles.count, let handle = handles[place] { return handle }
        return try open(table, operation)
    }

    @inline(never)
    private func open(
        _ table: Table, _ operation: LMDBError.Operation
    ) throws(LMDBError) -> OpaquePointer {
        var handle: OpaquePointer?
        try check(mdb_cursor_open(transaction, table.handle, &handle), operation, path)
        let place = Int(table.handle)
        while handles.count <= place { handles.append(nil) }
        handles[place] = handle
        return handle!
    }
}
