package import StetLMDB

/// The short ids by which the lists of an index of words or substrings name objects: ids whose
/// second half is 0, because it is random, and the first half usually differs.
///
/// If objects share a first half, the index has an entry for it with the second half of the one
/// object that is named in this way; the others keep their ids. An object whose second half is 0
/// itself is then named by the second half of that one, whose place it takes. The entry is written
/// when an object is added beside the record of another one, existing or deleted, and stays; so a
/// short id never changes, and without an entry there is one record at most.
///
/// State: belongs to one transaction; it has no lock.
package final class ShortIDs {
    private let number: Int
    private let table: Table
    private let transaction: ReadTransaction
    /// The records of the entity.
    private let records: Cursor
    /// The first half of the last record: greater ones are in no record.
    private let lastHalf: UInt64
    /// False as long as there is no first half that objects share.
    private var hasShared: Bool
    /// The last object that was added.
    private var lastAdded: ObjectID?

    /// Reads the short ids of an index in the table of indexes, whose objects are in a table of
    /// records.
    package init(
        _ number: Int, in table: Table, _ records: Table, _ transaction: borrowing ReadTransaction
    ) throws {
        self.number = number
        self.table = table
        self.transaction = transaction.shared()
        self.records = try transaction.cursor(in: records)
        lastHalf = try self.records.last().map { try RecordLayout.id(ofKey: $0.key).high } ?? 0
        let prefix = TextKey.sharedHalves(number)
        let entry = try transaction.cursor(in: table).seek(prefix)
        hasShared = entry?.key.starts(with: prefix) ?? false
    }

    /// Returns the short id of an object of the index.
    ///
    /// - Complexity: constant unless objects share first halves; then one read.
    package func short(_ id: ObjectID) throws -> ObjectID {
        exchanged(id, try unnamedLow(id.high))
    }

    /// Returns the object with a short id.
    ///
    /// - Complexity: one or two reads.
    /// - Throws: `DecodingFailure` when no object has it.
    package func id(_ short: ObjectID) throws -> ObjectID {
        if let low = try unnamedLow(short.high) { return exchanged(short, low) }
        guard short.low == 0, let id = try firstObject(short.high) else {
            throw DecodingFailure("an entry of an index of texts that names no object")
        }
        return id
    }

    /// Exchanges 0 and the second half that is left out of short ids, which is its own reverse.
    private func exchanged(_ id: ObjectID, _ unnamed: UInt64?) -> ObjectID {
        guard let unnamed else { return ObjectID(high: id.high, low: 0) }
        if id.low == 0 { return ObjectID(high: id.high, low: unnamed) }
        return id.low == unnamed ? ObjectID(high: id.high, low: 0) : id
    }

    /// Returns the second half of the object that is named by the first half alone; nil unless
    /// objects share it.
    private func unnamedLow(_ half: UInt64) throws -> UInt64? {
        guard hasShared else { return nil }
        return try TextKey.sharedHalf(number, half).withUnsafeBytes { key in
            try transaction.get(key, in: table).map { try Self.unnamedLow($0, at: key) }
        }
    }

    /// Reads the value of an entry.
    ///
    /// - Throws: `DecodingFailure` when it does not match its checksum.
    package static func unnamedLow(
        _ value: UnsafeRawBufferPointer, at key: UnsafeRawBufferPointer
    ) throws(DecodingFailure) -> UInt64 {
        var reader = ByteReader(value)
        let low: UInt64 = try reader.read()
        guard try reader.read(UInt32.self) == checksum(of: low, at: key) else {
            throw DecodingFailure("a shared half of ids does not match its checksum")
        }
        try reader.expectEnd()
        return low
    }

    private static func checksum(of low: UInt64, at key: UnsafeRawBufferPointer) -> UInt32 {
        UInt32(truncatingIfNeeded: Checksum.hash(key, seed: low))
    }

    /// Returns the first object with a first half that has a record, existing or deleted; with
    /// `id`, only if there is another one than this.
    private func firstObject(_ half: UInt64, unlessOnly id: ObjectID? = nil) throws -> ObjectID? {
        if half > lastHalf { return nil }
        let entry = try withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { key in
            ObjectID(high: half, low: 0).store(to: key.baseAddress!)
            return try records.seek(UnsafeRawBufferPointer(key))
        }
        let first = try entry.map { try RecordLayout.id(ofKey: $0.key) }
        guard let first, first.high == half else { return nil }
        if first != id { return first }
        let next = try records.next().map { try RecordLayout.id(ofKey: $0.key) }
        return next?.high == half ? first : nil
    }

    // MARK: Writing

    /// Returns the short id of an object whose texts change; call it for the objects in ascending
    /// order, before the records are written.
    package func short(
        _ id: ObjectID, isAdded: Bool, in writing: borrowing WriteTransaction
    ) throws -> ObjectID {
        var unnamed = try unnamedLow(id.high)
        if isAdded, unnamed == nil {
            var other = try firstObject(id.high, unlessOnly: id)
            if other == nil, lastAdded?.high == id.high { other = lastAdded }
            unnamed = other?.low
            if let unnamed { try share(id.high, unnamed, in: writing) }
            lastAdded = id
        }
        return exchanged(id, unnamed)
    }

    /// Writes the entry of a first half.
    private func share(
        _ half: UInt64, _ low: UInt64, in writing: borrowing WriteTransaction
    ) throws {
        var value = ByteBuffer(capacity: 12)
        value.append(low)
        try TextKey.sharedHalf(number, half).withUnsafeBytes { key in
            value.append(Self.checksum(of: low, at: key))
            try writing.put(value.bytes, for: key, in: table)
        }
        hasShared = true
    }
}

extension TextEdits {
    /// Replaces the ids of objects by their short ids, before the records are written.
    package mutating func shortenIDs(
        in table: Table, records: (EntityNumber) -> Table,
        _ transaction: borrowing WriteTransaction
    ) throws {
        let ids = try indexes.map { index, _ in
            try ShortIDs(index.number, in: table, records(index.entity), transaction.reading)
        }
        try mapIDs { index, id, isAdded in
            try ids[index].short(id, isAdded: isAdded, in: transaction)
        }
    }
}
