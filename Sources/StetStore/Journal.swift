package import StetLMDB

/// Where entries are kept: the one place that knows how an entry lies in LMDB.
///
/// Key: revision and number of the chunk, big-endian. Value: in chunk 0 the envelope, then in every
/// chunk a small header and whole changes; only a change larger than a chunk is continued in the
/// next. So one change of a large entry is found by binary search over its chunks.
package struct Journal: Sendable {
    package static let tableName = "journal"
    let table: Table

    /// Room for a value that fills 8 pages of 4 KiB exactly, LMDB's header of 16 bytes left out.
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

    /// One value of an entry: a run of bytes of the body and how many changes begin in it.
    private struct Chunk {
        var range: Range<Int>
        var firstChange: Int
        var changeCount: Int
    }

    /// Cuts a body into chunks at the borders of changes.
    private static func chunks(of set: EncodedChangeSet) -> [Chunk] {
        let room = chunkByteCount - chunkHeaderByteCount
        let attributesEnd = set.changes.first?.journal.lowerBound ?? set.journal.count
        var chunks = [Chunk(range: 0..<attributesEnd, firstChange: 0, changeCount: 0)]
        for (index, change) in set.changes.enumerated() {
            let last = chunks.count - 1
            let taken = chunks[last].range.count + (last == 0 ? Envelope.byteCount : 0)
            if taken + change.journal.count <= room, !isPiece(chunks[last], of: set) {
                chunks[last].range = chunks[last].range.lowerBound..<change.journal.upperBound
                chunks[last].changeCount += 1
                continue
            }
            var start = change.journal.lowerBound
            repeat {
                let end = min(start + room, change.journal.upperBound)
                let isFirst = start == change.journal.lowerBound
                chunks.append(
                    Chunk(range: start..<end, firstChange: index, changeCount: isFirst ? 1 : 0))
                start = end
            } while start < change.journal.upperBound
        }
        return chunks
    }

    /// True for a part of a change that spans several chunks: nothing may follow it in its chunk.
    private static func isPiece(_ chunk: Chunk, of set: EncodedChangeSet) -> Bool {
        guard chunk.firstChange < set.changes.count, chunk.range.lowerBound > 0 else {
            return false
        }
        return chunk.changeCount == 0
            || set.changes[chunk.firstChange].journal.upperBound > chunk.range.upperBound
    }

    /// Appends an entry; its hash.
    func append(
        _ envelope: Envelope, _ set: EncodedChangeSet, in transaction: borrowing WriteTransaction
    ) throws -> Digest {
        let chunks = Self.chunks(of: set)
        var envelope = envelope
        envelope.chunkCount = chunks.count
        envelope.bodyByteCount = set.journal.count
        var prefix = ByteBuffer(capacity: Envelope.byteCount)
        let hash = envelope.append(to: &prefix)
        for (index, chunk) in chunks.enumerated() {
            let prefixByteCount = index == 0 ? prefix.count : 0
            let value = try Self.withKey(envelope.revision, index) { key in
                try transaction.reserve(
                    prefixByteCount + Self.chunkHeaderByteCount + chunk.range.count,
                    for: key, in: table, appending: true)
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
            ).copyMemory(from: UnsafeRawBufferPointer(rebasing: set.journal.bytes[chunk.range]))
        }
        return hash
    }

    // MARK: Reading

    private struct ChunkView {
        let firstChange: Int
        let changeCount: Int
        let payload: UnsafeRawBufferPointer
    }

    private func chunk(
        _ revision: Revision, _ number: Int, in transaction: borrowing ReadTransaction
    ) throws -> (Envelope?, ChunkView) {
        let found = try Self.withKey(revision, number) { key in
            try transaction.get(key, in: table)
        }
        guard let value = found else {
            throw DecodingFailure(
                "chunk \(number) of the journal entry of revision \(revision) is missing")
        }
        var reader = ByteReader(value)
        let envelope = number == 0 ? try Envelope(decoding: &reader) : nil
        let first = Int(try reader.read(UInt32.self))
        let count = Int(try reader.read(UInt32.self))
        let payload = try reader.read(byteCount: reader.remaining)
        return (envelope, ChunkView(firstChange: first, changeCount: count, payload: payload))
    }

    /// The revision of the last entry; 0 when there is none.
    func lastRevision(in transaction: borrowing ReadTransaction) throws -> Revision {
        guard let (key, _) = try transaction.cursor(in: table).last(), key.count >= 8 else {
            return .zero
        }
        return Revision(UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)))
    }

    /// The envelope of an entry.
    ///
    /// - Complexity: one read.
    package func envelope(
        _ revision: Revision, in transaction: borrowing ReadTransaction
    ) throws -> Envelope {
        let (envelope, _) = try chunk(revision, 0, in: transaction)
        guard let envelope, envelope.revision == revision else {
            throw DecodingFailure("the journal entry of revision \(revision) is another's")
        }
        return envelope
    }

    /// An entry with all of its bytes.
    ///
    /// - Complexity: O(bytes of the entry).
    package func entry(
        _ revision: Revision, in transaction: borrowing ReadTransaction
    ) throws -> (envelope: Envelope, body: ByteStorage) {
        let envelope = try envelope(revision, in: transaction)
        var buffer = ByteBuffer(capacity: min(max(envelope.bodyByteCount, 64), 1 << 20))
        var begun = 0
        for number in 0..<envelope.chunkCount {
            let view = try chunk(revision, number, in: transaction).1
            // A chunk in which no change begins goes on with the last that began.
            guard view.firstChange == (view.changeCount == 0 ? max(begun - 1, 0) : begun) else {
                throw DecodingFailure("chunk \(number) of revision \(revision) is misplaced")
            }
            begun += view.changeCount
            buffer.append(view.payload)
        }
        guard begun == envelope.changeCount else {
            throw DecodingFailure("the chunks of revision \(revision) miscount its changes")
        }
        guard buffer.count == envelope.bodyByteCount else {
            throw DecodingFailure(
                "the journal entry of revision \(revision) has \(buffer.count) bytes "
                    + "instead of \(envelope.bodyByteCount)")
        }
        return (envelope, buffer.finish())
    }

    /// The change of one object in an entry; nil when the entry does not change it.
    ///
    /// The change's bytes are valid for `body` only. - Complexity: O(log chunks) reads.
    package func withChange<Result>(
        ofEntity entity: Int, _ id: ObjectID, at revision: Revision,
        in transaction: borrowing ReadTransaction, _ body: (JournalChange) throws -> Result
    ) throws -> Result? {
        let (envelope, first) = try chunk(revision, 0, in: transaction)
        let chunkCount = envelope?.chunkCount ?? 1
        var lower = 0
        var upper = chunkCount - 1
        // The last chunk whose first change is not after the one that is looked for.
        while lower < upper {
            let middle = (lower + upper + 1) / 2
            let key = try firstKey(ofChunk: middle, revision, in: transaction)
            if (key.entity, key.id) <= (entity, id) { lower = middle } else { upper = middle - 1 }
        }
        while lower > 0, try chunk(revision, lower, in: transaction).1.changeCount == 0 {
            lower -= 1
        }
        let view = lower == 0 ? first : try chunk(revision, lower, in: transaction).1
        var reader = ByteReader(view.payload)
        if lower == 0 { _ = try JournalChange.readBlock(&reader, minimum: 4) }
        for _ in 0..<view.changeCount {
            if try isLongerThanChunk(reader) {
                let whole = try assemble(from: lower, revision, chunkCount, in: transaction)
                var wholeReader = ByteReader(whole.bytes)
                let change = try JournalChange(decoding: &wholeReader)
                return change.entity == entity && change.id == id ? try body(change) : nil
            }
            let change = try JournalChange(decoding: &reader)
            if change.entity == entity, change.id == id { return try body(change) }
        }
        return nil
    }

    private func isLongerThanChunk(_ reader: ByteReader) throws -> Bool {
        var ahead = reader
        return Int(try ahead.read(UInt32.self)) > reader.remaining
    }

    /// Entity and id of the change that begins in a chunk, or that it continues.
    private func firstKey(
        ofChunk number: Int, _ revision: Revision, in transaction: borrowing ReadTransaction
    ) throws -> (entity: Int, id: ObjectID) {
        var number = number
        var view = try chunk(revision, number, in: transaction).1
        while view.changeCount == 0, number > 1 {
            number -= 1
            view = try chunk(revision, number, in: transaction).1
        }
        var fields = ByteReader(view.payload)
        _ = try fields.read(byteCount: 22)
        return (Int(try fields.read(UInt16.self)), try fields.readObjectID())
    }

    /// The bytes of a change that begins at chunk `number` and goes on in the chunks after it.
    private func assemble(
        from number: Int, _ revision: Revision, _ chunkCount: Int,
        in transaction: borrowing ReadTransaction
    ) throws -> ByteStorage {
        var buffer = ByteBuffer()
        for next in number..<chunkCount {
            let view = try chunk(revision, next, in: transaction).1
            if next > number, view.changeCount > 0 { break }
            buffer.append(view.payload)
        }
        return buffer.finish()
    }
}
