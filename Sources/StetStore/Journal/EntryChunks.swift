/// Reads the envelope and body of one journal entry from its chunks, wherever these are stored.
package struct EntryChunks {
    private let revision: Revision
    /// Returns the value of the chunk with a number, valid as long as these chunks are used; nil
    /// when there is none.
    private let value: (Int) throws -> UnsafeRawBufferPointer?

    package init(
        of revision: Revision, value: @escaping (Int) throws -> UnsafeRawBufferPointer?
    ) {
        self.revision = revision
        self.value = value
    }

    private struct Chunk {
        let firstChange: Int
        let changeCount: Int
        let payload: UnsafeRawBufferPointer

        init(decoding reader: inout ByteReader) throws(DecodingFailure) {
            firstChange = Int(try reader.read(UInt32.self))
            changeCount = Int(try reader.read(UInt32.self))
            payload = try reader.read(byteCount: reader.remaining)
        }
    }

    private func first() throws -> (Envelope, Chunk) {
        var reader = try reader(of: 0)
        let envelope = try Envelope(decoding: &reader)
        guard envelope.revision == revision else {
            throw DecodingFailure("the journal entry of revision \(revision) is another's")
        }
        return (envelope, try Chunk(decoding: &reader))
    }

    /// Returns the chunk with a number other than the first.
    private func chunk(_ number: Int) throws -> Chunk {
        var reader = try reader(of: number)
        return try Chunk(decoding: &reader)
    }

    private func reader(of number: Int) throws -> ByteReader {
        guard let value = try value(number) else {
            throw DecodingFailure(
                "chunk \(number) of the journal entry of revision \(revision) is missing")
        }
        return ByteReader(value)
    }

    /// Returns the envelope and the rest of the first chunk.
    func firstChunk() throws -> (envelope: Envelope, payload: UnsafeRawBufferPointer) {
        let (envelope, chunk) = try first()
        return (envelope, chunk.payload)
    }

    /// Returns the envelope alone.
    ///
    /// - Complexity: one chunk.
    package func envelope() throws -> Envelope { try first().0 }

    /// Returns envelope and body.
    ///
    /// - Complexity: O(bytes of the entry).
    package func entry() throws -> (envelope: Envelope, body: ByteStorage) {
        let (envelope, first) = try first()
        var buffer = ByteBuffer(capacity: min(max(envelope.bodyByteCount, 64), 1 << 20))
        var begun = 0
        var blocks = BlockBorders()
        for number in 0..<envelope.chunkCount {
            let chunk = number == 0 ? first : try chunk(number)
            // A chunk in which no change begins continues the last change.
            guard chunk.firstChange == (chunk.changeCount == 0 ? max(begun - 1, 0) : begun) else {
                throw DecodingFailure("chunk \(number) of revision \(revision) is misplaced")
            }
            let blockCount = try blocks.advance(over: chunk.payload, isFirst: number == 0)
            guard blockCount == chunk.changeCount + (number == 0 ? 1 : 0) else {
                throw DecodingFailure(
                    "chunk \(number) of revision \(revision) miscounts its changes")
            }
            begun += chunk.changeCount
            buffer.append(chunk.payload)
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

    /// Calls `body` with the change of one object and the revision of the schema with which it was
    /// written; returns nil when the entry does not change it.
    ///
    /// The change's bytes are valid for `body` only.
    ///
    /// - Complexity: O(log chunks) reads.
    package func withChange<Result>(
        ofEntity entity: EntityNumber, _ id: ObjectID,
        _ body: (JournalChange, _ schemaRevision: Int) throws -> Result
    ) throws -> Result? {
        let (envelope, first) = try first()
        let schemaRevision = Int(envelope.schemaRevision)
        var lower = 0
        var upper = envelope.chunkCount - 1
        // Finds the last chunk whose first change is not after the wanted one.
        while lower < upper {
            let middle = (lower + upper + 1) / 2
            let key = try firstKey(ofChunk: middle)
            if (key.entity, key.id) <= (entity, id) { lower = middle } else { upper = middle - 1 }
        }
        while lower > 0, try chunk(lower).changeCount == 0 { lower -= 1 }
        let chunk = lower == 0 ? first : try chunk(lower)
        var reader = ByteReader(chunk.payload)
        if lower == 0 { _ = try JournalChange.readBlock(&reader, minimum: 4) }
        for _ in 0..<chunk.changeCount {
            if try isLongerThanChunk(reader) {
                guard lower > 0, chunk.changeCount == 1 else {
                    throw DecodingFailure("a change of revision \(revision) ends behind its chunk")
                }
                let whole = try assemble(from: lower, envelope.chunkCount)
                var wholeReader = ByteReader(whole.bytes)
                let change = try JournalChange(decoding: &wholeReader)
                return change.entity == entity && change.id == id
                    ? try body(change, schemaRevision) : nil
            }
            if try JournalChange.key(ahead: reader) == (entity, id) {
                return try body(try JournalChange(decoding: &reader), schemaRevision)
            }
            // Only the wanted change is decoded: a chunk has dozens.
            _ = try JournalChange.readBlock(&reader, minimum: JournalChange.headerByteCount)
        }
        return nil
    }

    private func isLongerThanChunk(_ reader: ByteReader) throws -> Bool {
        var ahead = reader
        return Int(try ahead.read(UInt32.self)) > reader.remaining
    }

    /// Returns entity and id of the change that begins in a chunk, or that the chunk continues.
    private func firstKey(ofChunk number: Int) throws -> (entity: EntityNumber, id: ObjectID) {
        var number = number
        var chunk = try chunk(number)
        while chunk.changeCount == 0, number > 1 {
            number -= 1
            chunk = try self.chunk(number)
        }
        return try JournalChange.key(ahead: ByteReader(chunk.payload))
    }

    /// Returns the bytes of a change that begins in chunk `number` and continues in the chunks
    /// after it.
    private func assemble(from number: Int, _ chunkCount: Int) throws -> ByteStorage {
        var buffer = ByteBuffer()
        for next in number..<chunkCount {
            let chunk = try chunk(next)
            if next > number, chunk.changeCount > 0 { break }
            buffer.append(chunk.payload)
        }
        return buffer.finish()
    }
}

/// Follows the blocks of a body from chunk to chunk: a block may be cut only where a history read,
/// which reads a few of the chunks, still finds it.
private struct BlockBorders {
    /// The number of bytes of the last block that are in later chunks.
    private var missing = 0

    /// Returns the number of blocks that begin in a chunk.
    ///
    /// - Throws: `DecodingFailure` when a block that continues in the next chunk is not alone in
    ///   its chunks.
    mutating func advance(
        over payload: UnsafeRawBufferPointer, isFirst: Bool
    ) throws(DecodingFailure) -> Int {
        if missing > 0 {
            guard !payload.isEmpty, payload.count <= missing else {
                throw DecodingFailure("a change that is continued by something else")
            }
            missing -= payload.count
            return 0
        }
        var reader = ByteReader(payload)
        var count = 0
        repeat {
            var ahead = reader
            let byteCount = Int(try ahead.read(UInt32.self))
            if byteCount <= reader.remaining {
                _ = try JournalChange.readBlock(&reader, minimum: 4)
            } else {
                guard !isFirst, count == 0, payload.count >= JournalChange.headerByteCount else {
                    throw DecodingFailure("a block that ends behind its chunk")
                }
                missing = byteCount - payload.count
                return 1
            }
            count += 1
        } while reader.remaining > 0
        return count
    }
}
