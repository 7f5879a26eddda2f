package import StetLMDB

/// The table of entries: the one type that knows the layout of an entry in LMDB.
///
/// Key: revision and number of the chunk, big-endian. Value: in chunk 0 the envelope, then in every
/// chunk a small header and whole changes; only a change larger than a chunk is continued in the
/// next. One change of a large entry can therefore be found by binary search over its chunks.
package struct Journal: Sendable {
    package static let tableName = "journal"
    let table: Table

    /// The size of a value that fills 8 pages of 4 KiB exactly, without LMDB's header of 16 bytes.
    static let chunkByteCount = 8 * 4_096 - 16
    private static let chunkHeaderByteCount = 8

    package init(table: Table) {
        self.table = table
    }

    private static func withKey<Result>(
        _ revision: Revision, _ chunk: Int, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        let key = (revision.number.bigEndian, UInt32(chunk).bigEndian)
        return try withUnsafeBytes(of: key) { bytes in
            try body(UnsafeRawBufferPointer(rebasing: bytes[..<12]))
        }
    }

    // MARK: Writing

    /// One value of an entry: a range of bytes of the body, and the number of changes that begin in
    /// it.
    private struct Chunk {
        var range: Range<Int>
        var firstChange: Int
        var changeCount: Int
    }

    /// The content of an entry, to be laid out: the bytes of its body, and the ranges of its
    /// changes.
    struct Content {
        let body: ByteStorage
        let changes: [Range<Int>]

        init(body: ByteStorage, changes: [Range<Int>]) {
            self.body = body
            self.changes = changes
        }

        /// Finds the changes in a body.
        init(dividing body: ByteStorage) throws(DecodingFailure) {
            var reader = ByteReader(body.bytes)
            _ = try JournalChange.readBlock(&reader, minimum: 4)
            var changes: [Range<Int>] = []
            while reader.remaining > 0 {
                let start = reader.offset
                _ = try JournalChange.readBlock(&reader, minimum: 4)
                changes.append(start..<reader.offset)
            }
            self.init(body: body, changes: changes)
        }
    }

    /// Cuts a body into chunks at the borders of changes.
    private static func chunks(of content: Content) -> [Chunk] {
        let room = chunkByteCount - chunkHeaderByteCount
        let attributesEnd = content.changes.first?.lowerBound ?? content.body.count
        var chunks = [Chunk(range: 0..<attributesEnd, firstChange: 0, changeCount: 0)]
        for (index, change) in content.changes.enumerated() {
            let last = chunks.count - 1
            let taken = chunks[last].range.count + (last == 0 ? Envelope.byteCount : 0)
            if taken + change.count <= room, !isPiece(chunks[last], of: content) {
                chunks[last].range = chunks[last].range.lowerBound..<change.upperBound
                chunks[last].changeCount += 1
                continue
            }
            var start = change.lowerBound
            repeat {
                let end = min(start + room, change.upperBound)
                let isFirst = start == change.lowerBound
                chunks.append(
                    Chunk(range: start..<end, firstChange: index, changeCount: isFirst ? 1 : 0))
                start = end
            } while start < change.upperBound
        }
        return chunks
    }

    /// Returns whether a chunk is a part of a change that spans several chunks: nothing may follow
    /// it in its chunk.
    private static func isPiece(_ chunk: Chunk, of content: Content) -> Bool {
        guard chunk.firstChange < content.changes.count, chunk.range.lowerBound > 0 else {
            return false
        }
        return chunk.changeCount == 0
            || content.changes[chunk.firstChange].upperBound > chunk.range.upperBound
    }

    /// Appends an entry; returns its hash.
    func append(
        _ envelope: Envelope, _ set: EncodedChangeSet, in transaction: borrowing WriteTransaction
    ) throws -> Digest {
        let content = Content(body: set.journal, changes: set.changes.map(\.journal))
        return try put(envelope, content, appending: true, in: transaction).hash
    }

    /// Appends an entry of another journal; returns its hash.
    func append(
        _ envelope: Envelope, _ body: ByteStorage, in transaction: borrowing WriteTransaction
    ) throws -> Digest {
        let content = try Content(dividing: body)
        return try put(envelope, content, appending: true, in: transaction).hash
    }

    /// Rewrites an entry whose body has changed since; the hashed part stays the same.
    func replace(
        _ envelope: Envelope, _ content: Content, in transaction: borrowing WriteTransaction
    ) throws {
        let present = try put(envelope, content, appending: false, in: transaction).chunkCount
        for number in min(present, envelope.chunkCount)..<envelope.chunkCount {
            _ = try Self.withKey(envelope.revision, number) {
                try transaction.delete($0, in: table)
            }
        }
    }

    /// Removes an entry.
    func remove(_ envelope: Envelope, in transaction: borrowing WriteTransaction) throws {
        for number in 0..<envelope.chunkCount {
            _ = try Self.withKey(envelope.revision, number) {
                try transaction.delete($0, in: table)
            }
        }
    }

    private func put(
        _ envelope: Envelope, _ content: Content, appending: Bool,
        in transaction: borrowing WriteTransaction
    ) throws -> (hash: Digest, chunkCount: Int) {
        let chunks = Self.chunks(of: content)
        var envelope = envelope
        envelope.chunkCount = chunks.count
        envelope.bodyByteCount = content.body.count
        var prefix = ByteBuffer(capacity: Envelope.byteCount)
        let hash = envelope.append(to: &prefix)
        for (index, chunk) in chunks.enumerated() {
            let prefixByteCount = index == 0 ? prefix.count : 0
            let value = try Self.withKey(envelope.revision, index) { key in
                try transaction.reserve(
                    prefixByteCount + Self.chunkHeaderByteCount + chunk.range.count,
                    for: key, in: table, appending: appending)
            }
            if index == 0 { value.copyMemory(from: prefix.bytes) }
            value.storeBytes(
                of: UInt32(chunk.firstChange).littleEndian, toByteOffset: prefixByteCount,
                as: UInt32.self)
            value.storeBytes(
                of: UInt32(chunk.changeCount).littleEndian, toByteOffset: prefixByteCount + 4,
                as: UInt32.self)
            UnsafeMutableRawBufferPointer(
                rebasing: value[(prefixByteCount + Self.chunkHeaderByteCount)...]
            ).copyMemory(from: UnsafeRawBufferPointer(rebasing: content.body.bytes[chunk.range]))
        }
        return (hash, chunks.count)
    }

    // MARK: Reading

    func chunks(
        of revision: Revision, in transaction: borrowing ReadTransaction
    ) -> EntryChunks {
        let table = table
        let transaction = transaction.shared()
        return EntryChunks(of: revision) { number in
            let value = try Self.withKey(revision, number) { key in
                try transaction.get(key, in: table)
            }
            // Reads the floor only when the entry is missing, so that other reads cost nothing
            // more.
            if value == nil, number == 0 {
                try JournalFloor.refuse(revision, in: transaction)
            }
            return value
        }
    }

    /// Returns the revision of the last entry, or the one to which the journal was trimmed; 0 when
    /// there has been none.
    func lastRevision(in transaction: borrowing ReadTransaction) throws -> Revision {
        guard let (key, _) = try transaction.cursor(in: table).last(), key.count >= 8 else {
            return try JournalFloor.read(in: transaction)?.revision ?? .zero
        }
        return Revision(UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)))
    }

    /// Returns the envelope of an entry.
    ///
    /// - Complexity: one read.
    package func envelope(
        _ revision: Revision, in transaction: borrowing ReadTransaction
    ) throws -> Envelope {
        try chunks(of: revision, in: transaction).envelope()
    }

    /// Returns an entry with all of its bytes.
    ///
    /// - Complexity: O(bytes of the entry).
    package func entry(
        _ revision: Revision, in transaction: borrowing ReadTransaction
    ) throws -> (envelope: Envelope, body: ByteStorage) {
        try chunks(of: revision, in: transaction).entry()
    }

    /// Calls `body` with the change of one object in an entry, and the revision of the schema with
    /// which it was written; returns nil when the entry does not change it.
    ///
    /// The change's bytes are valid for `body` only.
    ///
    /// - Complexity: O(log chunks) reads.
    package func withChange<Result>(
        ofEntity entity: EntityNumber, _ id: ObjectID, at revision: Revision,
        in transaction: borrowing ReadTransaction,
        _ body: (JournalChange, _ schemaRevision: Int) throws -> Result
    ) throws -> Result? {
        try chunks(of: revision, in: transaction).withChange(ofEntity: entity, id, body)
    }
}
