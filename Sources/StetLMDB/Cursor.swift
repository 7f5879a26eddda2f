import CLMDB
import Glibc

/// A position in a table that can move in both directions.
///
/// Its buffers are valid as long as those of its transaction.
package struct Cursor: ~Copyable {
    let handle: OpaquePointer
    let path: String
    #if STET_FAULTS
        let faults: FaultInjector
    #endif

    /// A key and its value.
    package typealias Entry = (key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)

    deinit { mdb_cursor_close(handle) }

    /// Moves to the first entry; returns nil when the table is empty.
    package func first() throws(LMDBError) -> Entry? { try move(MDB_FIRST) }

    /// Moves to the last entry; returns nil when the table is empty.
    package func last() throws(LMDBError) -> Entry? { try move(MDB_LAST) }

    /// Moves to the next entry; returns nil at the end.
    ///
    /// On a new cursor it equals `first()`.
    package func next() throws(LMDBError) -> Entry? { try move(MDB_NEXT) }

    /// Moves to the previous entry; returns nil at the beginning.
    ///
    /// On a new cursor it equals `last()`.
    package func previous() throws(LMDBError) -> Entry? { try move(MDB_PREV) }

    /// Moves to the first entry whose key is at least `key`; returns nil when there is none.
    package func seek(_ key: UnsafeRawBufferPointer) throws(LMDBError) -> Entry? {
        // LMDB returns an error for an empty key, before which no key sorts.
        if key.isEmpty { return try first() }
        return try move(MDB_SET_RANGE, MDB_val(key))
    }

    /// Moves to the first entry whose key is at least `key`; returns nil when there is none.
    package func seek(_ key: [UInt8]) throws(LMDBError) -> Entry? {
        if key.isEmpty { return try first() }
        noteMove()
        let (handle, path) = (handle, path)
        return try key.withUnsafeBufferPointer { (bytes) throws(LMDBError) -> Entry? in
            try Self.move(handle, MDB_SET_RANGE, MDB_val(UnsafeRawBufferPointer(bytes)), path)
        }
    }

    private func noteMove() {
        #if STET_FAULTS
            faults.noteMove()
        #endif
    }

    private func move(
        _ operation: MDB_cursor_op, _ target: MDB_val = MDB_val()
    ) throws(LMDBError) -> Entry? {
        noteMove()
        return try Self.move(handle, operation, target, path)
    }

    private static func move(
        _ handle: OpaquePointer, _ operation: MDB_cursor_op, _ target: MDB_val, _ path: String
    ) throws(LMDBError) -> Entry? {
        var key = target
        var value = MDB_val()
        let code = mdb_cursor_get(handle, &key, &value, operation)
        if code == MDB_NOTFOUND { return nil }
        try check(code, .cursor, path)
        if operation == MDB_NEXT { prefetch_next_entry(&key, &value) }
        return (UnsafeRawBufferPointer(key), UnsafeRawBufferPointer(value))
    }
}

/// The keys from `lower` up to but not including `upper`; nil means no upper bound.
package struct KeyRange: Sendable, Hashable {
    package var lower: [UInt8]
    package var upper: [UInt8]?

    package init(lower: [UInt8] = [], upper: [UInt8]? = nil) {
        self.lower = lower
        self.upper = upper
    }

    /// Every key.
    package static let all = KeyRange()

    /// Creates the range of the keys that begin with `prefix`.
    package init(prefix: [UInt8]) {
        lower = prefix
        // The successor of a prefix: increments the last byte that is not 0xff, and drops the rest.
        var successor = prefix
        while let last = successor.last {
            if last < 0xff {
                successor[successor.count - 1] = last + 1
                break
            }
            successor.removeLast()
        }
        upper = successor.isEmpty ? nil : successor
    }

    /// Returns the range of the keys that are in this range and in another one.
    package func intersection(_ other: KeyRange) -> KeyRange {
        var range = other
        if other.lower.lexicographicallyPrecedes(lower) { range.lower = lower }
        if let upper, other.upper.map(upper.lexicographicallyPrecedes) ?? true {
            range.upper = upper
        }
        return range
    }
}

extension ReadTransaction {
    /// Calls `body` for each entry of `range`, in ascending or descending order, until it returns
    /// false.
    package func scan(
        _ table: Table, _ range: KeyRange = .all, descending: Bool = false,
        _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        if descending { return try scanBackwards(table, range, body) }
        let cursor = try cursor(in: table)
        var entry = try cursor.seek(range.lower)
        while let present = entry {
            if let upper = range.upper, !present.key.precedes(upper) { return }
            guard try body(present.key, present.value) else { return }
            entry = try cursor.next()
        }
    }

    private func scanBackwards(
        _ table: Table, _ range: KeyRange,
        _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        let cursor = try cursor(in: table)
        var entry: Cursor.Entry?
        if let upper = range.upper {
            entry = try cursor.seek(upper) == nil ? try cursor.last() : try cursor.previous()
        } else {
            entry = try cursor.last()
        }
        while let present = entry {
            if present.key.precedes(range.lower) { return }
            guard try body(present.key, present.value) else { return }
            entry = try cursor.previous()
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Returns whether this key comes before another in LMDB's order: bytes are unsigned, and a
    /// prefix comes before longer keys.
    func precedes(_ other: [UInt8]) -> Bool {
        other.withUnsafeBytes { other in
            let common = Swift.min(count, other.count)
            let order = common > 0 ? memcmp(baseAddress!, other.baseAddress!, common) : 0
            return order != 0 ? order < 0 : count < other.count
        }
    }

    /// Returns whether this key begins with the bytes of a prefix, which is not empty.
    package func hasPrefix(_ prefix: UnsafeRawBufferPointer) -> Bool {
        count >= prefix.count && memcmp(baseAddress!, prefix.baseAddress!, prefix.count) == 0
    }

    /// Starts to load the first bytes, at most 512, into the cache of the processor.
    @inline(__always)
    package func prefetch() {
        prefetch_bytes(baseAddress?.assumingMemoryBound(to: CChar.self), Swift.min(count, 512))
    }
}
