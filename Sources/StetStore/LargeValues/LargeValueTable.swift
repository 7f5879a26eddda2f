import StetLMDB

/// The bytes of large values, in chunks, and the number of references to each value.
///
/// The bytes of a value are written before the commit that refers to them, in transactions of their
/// own, under a key that is made for them. When all are there, an entry makes them a value, which
/// is found by its digest. docs/FileFormat.md describes every byte.
package struct LargeValueTable: Sendable {
    static let name = "values"
    private static let checksumByteCount = 8

    let table: Table

    /// The first byte of a key.
    private enum Kind {
        static let unfinished: UInt8 = 0
        static let entry: UInt8 = 1
        static let chunk: UInt8 = 2
    }

    /// A value whose bytes are complete.
    struct Entry {
        let value: LargeValue
        /// The key of its chunks.
        let key: ObjectID
        /// The number of references by objects and by the journal.
        var referenceCount: Int
        /// The time at which it was written last, in seconds since 2001.
        var time: Double

        /// The number of chunks.
        var chunkCount: Int {
            (value.byteCount + LargeValue.chunkByteCount - 1) / LargeValue.chunkByteCount
        }
    }

    // MARK: Entries

    private static func key(_ digest: Digest) -> [UInt8] {
        var buffer = ByteBuffer(capacity: 40)
        buffer.append(Kind.entry)
        digest.append(to: &buffer)
        return Array(buffer.bytes)
    }

    /// Returns the entry of the value with a digest; nil when there is none.
    ///
    /// - Throws: `DecodingFailure` when it is damaged.
    func entry(_ digest: Digest, in transaction: borrowing ReadTransaction) throws -> Entry? {
        try Self.key(digest).withUnsafeBytes { key in
            try transaction.get(key, in: table).map { try Self.entry(key, $0) }
        }
    }

    /// Returns the entry of a value; nil when its bytes are not there.
    func entry(_ value: LargeValue, in transaction: borrowing ReadTransaction) throws -> Entry? {
        guard let entry = try entry(value.digest, in: transaction), entry.value == value else {
            return nil
        }
        return entry
    }

    private static func entry(
        _ key: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer
    ) throws -> Entry {
        guard key.count == 1 + Digest.byteCount else {
            throw DecodingFailure("a key of a large value of \(key.count) bytes")
        }
        let digest = Digest(UnsafeRawBufferPointer(rebasing: key[1...]))
        var reader = ByteReader(bytes)
        let chunks = try reader.readObjectID()
        let byteCount: UInt64 = try reader.read()
        let referenceCount: UInt64 = try reader.read()
        let time = Double(bitPattern: try reader.read())
        let checked = UnsafeRawBufferPointer(rebasing: bytes[..<reader.offset])
        guard try reader.read() == Checksum.hash(checked, seed: digest.words.0),
            let count = Int(exactly: byteCount), count <= LargeValue.byteCountLimit,
            let references = Int(exactly: referenceCount)
        else { throw DecodingFailure("the entry of large value \(digest.hexadecimal) is damaged") }
        try reader.expectEnd()
        return Entry(
            value: LargeValue(digest: digest, byteCount: count), key: chunks,
            referenceCount: references, time: time)
    }

    /// Writes an entry.
    func put(_ entry: Entry, in transaction: borrowing WriteTransaction) throws {
        var buffer = ByteBuffer(capacity: 48)
        buffer.append(entry.key)
        buffer.append(UInt64(entry.value.byteCount))
        buffer.append(UInt64(entry.referenceCount))
        buffer.append(entry.time.bitPattern)
        buffer.append(Checksum.hash(buffer.bytes, seed: entry.value.digest.words.0))
        try Self.key(entry.value.digest).withUnsafeBytes {
            try transaction.put(buffer.bytes, for: $0, in: table)
        }
    }

    /// Calls `body` for each entry, in the order of the digests, until it returns false.
    func forEachEntry(
        in transaction: borrowing ReadTransaction, _ body: (Entry) throws -> Bool
    ) throws {
        try transaction.scan(table, KeyRange(prefix: [Kind.entry])) { key, value in
            try body(try Self.entry(key, value))
        }
    }

    // MARK: Chunks

    private static func key(_ chunks: ObjectID, _ number: Int) -> [UInt8] {
        var key = [Kind.chunk]
        chunks.append(to: &key)
        withUnsafeBytes(of: UInt32(number).bigEndian) { key += $0 }
        return key
    }

    private static func range(_ chunks: ObjectID) -> KeyRange {
        var prefix = [Kind.chunk]
        chunks.append(to: &prefix)
        return KeyRange(prefix: prefix)
    }

    /// Writes a chunk.
    func put(
        _ bytes: UnsafeRawBufferPointer, chunk number: Int, of chunks: ObjectID,
        in transaction: borrowing WriteTransaction
    ) throws {
        try Self.key(chunks, number).withUnsafeBytes { key in
            let count = Self.checksumByteCount + bytes.count
            let value = try transaction.reserve(count, for: key, in: table)
            let checksum = Checksum.hash(bytes, seed: UInt64(number))
            value.storeBytes(of: checksum.littleEndian, as: UInt64.self)
            UnsafeMutableRawBufferPointer(rebasing: value[Self.checksumByteCount...])
                .copyMemory(from: bytes)
        }
    }

    /// Returns a chunk of a value.
    ///
    /// - Throws: `DecodingFailure` when it is missing or damaged.
    func chunk(
        _ number: Int, of entry: Entry, in transaction: borrowing ReadTransaction
    ) throws -> UnsafeRawBufferPointer {
        let start = number * LargeValue.chunkByteCount
        let count = min(entry.value.byteCount - start, LargeValue.chunkByteCount)
        let stored = try Self.key(entry.key, number).withUnsafeBytes {
            try transaction.get($0, in: table)
        }
        guard let stored, stored.count == Self.checksumByteCount + count else {
            throw damage(entry, number)
        }
        let bytes = UnsafeRawBufferPointer(rebasing: stored[Self.checksumByteCount...])
        guard
            UInt64(littleEndian: stored.loadUnaligned(as: UInt64.self))
                == Checksum.hash(bytes, seed: UInt64(number))
        else { throw damage(entry, number) }
        return bytes
    }

    private func damage(_ entry: Entry, _ number: Int) -> DecodingFailure {
        DecodingFailure(
            "chunk \(number) of large value \(entry.value.digest.hexadecimal) is missing or damaged"
        )
    }

    /// Calls `body` for the key of each chunk with the number of chunks that have it.
    func forEachKey(
        in transaction: borrowing ReadTransaction,
        _ body: (_ chunks: ObjectID, _ count: Int) throws -> Void
    ) throws {
        var current: (key: ObjectID, count: Int)?
        try transaction.scan(table, KeyRange(prefix: [Kind.chunk])) { key, _ in
            guard key.count == 21 else {
                throw DecodingFailure("a key of a chunk of \(key.count) bytes")
            }
            let chunks = ObjectID(bytes: UnsafeRawBufferPointer(rebasing: key[1..<17]))
            if let present = current, present.key == chunks {
                current = (chunks, present.count + 1)
            } else {
                if let present = current { try body(present.key, present.count) }
                current = (chunks, 1)
            }
            return true
        }
        if let present = current { try body(present.key, present.count) }
    }

    /// Removes chunks; returns true when none are left.
    func removeChunks(
        _ chunks: ObjectID, limit: Int = .max, in transaction: borrowing WriteTransaction
    ) throws -> Bool {
        try transaction.removeEntries(of: table, Self.range(chunks), limit: limit)
    }

    // MARK: Unfinished values

    private static func unfinishedKey(_ chunks: ObjectID) -> [UInt8] {
        var key = [Kind.unfinished]
        chunks.append(to: &key)
        return key
    }

    /// Notes that chunks belong to no value, yet or any more, from a time on.
    func putUnfinished(
        _ chunks: ObjectID, since time: Double, in transaction: borrowing WriteTransaction
    ) throws {
        var buffer = ByteBuffer(capacity: 8)
        buffer.append(time.bitPattern)
        try Self.unfinishedKey(chunks).withUnsafeBytes {
            try transaction.put(buffer.bytes, for: $0, in: table)
        }
    }

    /// Returns whether chunks belong to no value, yet.
    func isUnfinished(
        _ chunks: ObjectID, in transaction: borrowing ReadTransaction
    ) throws -> Bool {
        try Self.unfinishedKey(chunks).withUnsafeBytes { try transaction.get($0, in: table) } != nil
    }

    /// Forgets that chunks belong to no value.
    func removeUnfinished(
        _ chunks: ObjectID, in transaction: borrowing WriteTransaction
    ) throws {
        try Self.unfinishedKey(chunks).withUnsafeBytes {
            _ = try transaction.delete($0, in: table)
        }
    }

    /// Returns the keys of the chunks that belong to no value, with the times since when.
    func unfinished(
        in transaction: borrowing ReadTransaction
    ) throws -> [(key: ObjectID, time: Double)] {
        var found: [(key: ObjectID, time: Double)] = []
        try transaction.scan(table, KeyRange(prefix: [Kind.unfinished])) { key, value in
            guard key.count == 17 else {
                throw DecodingFailure("a key of an unfinished value of \(key.count) bytes")
            }
            var reader = ByteReader(value)
            let chunks = ObjectID(bytes: UnsafeRawBufferPointer(rebasing: key[1...]))
            found.append((chunks, Double(bitPattern: try reader.read())))
            return true
        }
        return found
    }

    // MARK: References

    /// Adds numbers of references; a value without any stays until `sweep` removes it.
    ///
    /// - Parameters:
    ///   - counts: The numbers.
    ///   - removesUnused: Whether a value without references is removed at once.
    ///   - transaction: The transaction.
    /// - Throws: `DecodingFailure` for a value whose bytes are missing, or that would have fewer
    ///   references than none.
    func change(
        _ counts: LargeValueCounts, removesUnused: Bool = false,
        in transaction: borrowing WriteTransaction
    ) throws {
        for (digest, count) in counts.counts where count != 0 {
            guard var entry = try entry(digest, in: transaction.reading),
                entry.referenceCount + count >= 0
            else {
                throw DecodingFailure("the bytes of large value \(digest.hexadecimal) are missing")
            }
            entry.referenceCount += count
            if removesUnused, entry.referenceCount == 0 {
                try removeEntry(digest, in: transaction)
                _ = try removeChunks(entry.key, in: transaction)
            } else {
                try put(entry, in: transaction)
            }
        }
    }

    /// Gives all values the numbers of references that were counted anew.
    ///
    /// - Throws: `DecodingFailure` for a value whose bytes are missing.
    func replaceCounts(
        by counts: LargeValueCounts, in transaction: borrowing WriteTransaction
    ) throws {
        var missing = counts.counts
        var entries: [Entry] = []
        try forEachEntry(in: transaction.reading) { entry in
            let count = missing.removeValue(forKey: entry.value.digest) ?? 0
            if count != entry.referenceCount {
                var entry = entry
                entry.referenceCount = count
                entries.append(entry)
            }
            return true
        }
        if let digest = missing.first(where: { $0.value != 0 })?.key {
            throw DecodingFailure("the bytes of large value \(digest.hexadecimal) are missing")
        }
        for entry in entries { try put(entry, in: transaction) }
    }

    private func removeEntry(
        _ digest: Digest, in transaction: borrowing WriteTransaction
    ) throws {
        try Self.key(digest).withUnsafeBytes { _ = try transaction.delete($0, in: table) }
    }

    /// Returns whether `sweep` would remove anything.
    func hasUnused(before time: Double, in transaction: borrowing ReadTransaction) throws -> Bool {
        try unfinished(in: transaction).contains { $0.time < time }
            || !unused(before: time, in: transaction).isEmpty
    }

    private func unused(
        before time: Double, in transaction: borrowing ReadTransaction
    ) throws -> [Entry] {
        var unused: [Entry] = []
        try forEachEntry(in: transaction) { entry in
            if entry.referenceCount == 0, entry.time < time { unused.append(entry) }
            return true
        }
        return unused
    }

    /// Removes some of what nothing refers to: values without references and unfinished ones that
    /// were written before a time.
    ///
    /// - Parameters:
    ///   - time: The time in seconds since 2001.
    ///   - limit: The number of chunks after which it ends.
    ///   - transaction: The transaction.
    /// - Returns: True when nothing is left to remove.
    /// - Throws: `LMDBError`; `DecodingFailure` for a damaged entry.
    func sweep(
        before time: Double, limit: Int = 1_024, in transaction: borrowing WriteTransaction
    ) throws -> Bool {
        for entry in try unused(before: time, in: transaction.reading) {
            try removeEntry(entry.value.digest, in: transaction)
            // Whoever stops before the chunks are removed has noted that they are to be.
            try putUnfinished(entry.key, since: -.infinity, in: transaction)
        }
        for (key, since) in try unfinished(in: transaction.reading) where since < time {
            guard try removeChunks(key, limit: limit, in: transaction) else { return false }
            try removeUnfinished(key, in: transaction)
        }
        return true
    }

    /// Returns whether a copy of the store contains an entry of the table: what is unfinished
    /// stays behind.
    func isCopied(_ key: UnsafeRawBufferPointer, unfinished: Set<ObjectID>) -> Bool {
        switch key.first {
        case Kind.unfinished?: false
        case Kind.chunk? where key.count >= 17:
            !unfinished.contains(ObjectID(bytes: UnsafeRawBufferPointer(rebasing: key[1..<17])))
        default: true
        }
    }
}
