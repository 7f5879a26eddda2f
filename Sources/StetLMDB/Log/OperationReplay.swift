import CLMDB

/// Applies the payloads of frames to LMDB.
struct OperationReplay {
    let transaction: OpaquePointer
    let path: String

    /// An operation of a payload.
    private struct Operation {
        let kind: OperationRecorder.Kind
        let table: Int
        let key: UnsafeRawBufferPointer
        let value: UnsafeRawBufferPointer
    }

    /// Applies the operations of a payload, in their order.
    ///
    /// - Throws: `LMDBError`: `damagedLog` for bytes that are no operations.
    func apply(_ payload: UnsafeRawBufferPointer) throws(LMDBError) {
        var rest = payload
        var tables: [MDB_dbi] = []
        while !rest.isEmpty {
            guard let operation = Self.next(&rest) else { throw damage() }
            if operation.kind == .table {
                guard operation.table == tables.count + 1 else { throw damage() }
                tables.append(try open(operation.key))
                continue
            }
            guard operation.table > 0, operation.table <= tables.count else { throw damage() }
            try apply(operation, to: tables[operation.table - 1])
        }
    }

    private func damage() -> LMDBError {
        LMDBError(
            .readLog, code: LMDBError.damagedLog, path: path,
            detail: "a frame of its log contains what is no change")
    }

    private static func next(_ rest: inout UnsafeRawBufferPointer) -> Operation? {
        guard rest.count >= OperationRecorder.headByteCount else { return nil }
        func word(_ offset: Int) -> UInt32 {
            UInt32(littleEndian: rest.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        }
        let (keyCount, valueCount) = (Int(word(4)), Int(word(8)))
        guard let kind = OperationRecorder.Kind(rawValue: word(0) & 0xFF),
            rest.count - OperationRecorder.headByteCount >= keyCount + valueCount
        else { return nil }
        let table = Int(word(0) >> 8)
        let body = rest.dropFirst(OperationRecorder.headByteCount)
        let key = UnsafeRawBufferPointer(rebasing: body.prefix(keyCount))
        let value = UnsafeRawBufferPointer(rebasing: body.dropFirst(keyCount).prefix(valueCount))
        rest = UnsafeRawBufferPointer(rebasing: body.dropFirst(keyCount + valueCount))
        return Operation(kind: kind, table: table, key: key, value: value)
    }

    private func open(_ name: UnsafeRawBufferPointer) throws(LMDBError) -> MDB_dbi {
        var table: MDB_dbi = 0
        if name.isEmpty {
            // LMDB can compare its keys only after that.
            try check(mdb_dbi_open(transaction, nil, 0, &table), .openTable, path)
            return table
        }
        let name = String(decoding: name, as: UTF8.self)
        try check(
            mdb_dbi_open(transaction, name, UInt32(MDB_CREATE), &table), .openTable, path)
        return table
    }

    private func apply(_ operation: Operation, to table: MDB_dbi) throws(LMDBError) {
        var key = MDB_val(operation.key)
        var value = MDB_val(operation.value)
        switch operation.kind {
        case .table: break
        case .put: try check(mdb_put(transaction, table, &key, &value, 0), .put, path)
        case .append:
            let flags = UInt32(MDB_APPEND)
            try check(mdb_put(transaction, table, &key, &value, flags), .put, path)
        case .delete: try check(mdb_del(transaction, table, &key, nil), .delete, path)
        case .empty: try check(mdb_drop(transaction, table, 0), .delete, path)
        }
    }
}
