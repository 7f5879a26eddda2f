import StetStore

/// The chunks of a journal entry, then what a commit and a history read make of them.
///
/// Control byte, by bits: 1 = blocks come as frames and are laid out in chunks, otherwise the
/// chunks themselves do; 2 = the digest of the body, 4 = the hash of the envelope stay as they are;
/// 8 = revision 1 is asked for whatever the envelope says; 16 = counts stay as they are.
enum FuzzedEntry {
    private static let isBuilt: UInt8 = 1
    private static let keepsDigest: UInt8 = 2
    private static let keepsHash: UInt8 = 4
    private static let asksForFirst: UInt8 = 8
    private static let keepsCounts: UInt8 = 16

    static func decode(_ input: inout HostileInput) throws {
        let control = input.byte()
        var values = control & isBuilt != 0 ? built(control, &input) : []
        while !input.isEmpty { values.append(input.frame()) }
        repair(&values, control)
        let number = values.first.map { $0.dropFirst(8).prefix(8).reversed() } ?? []
        let revision =
            control & asksForFirst != 0
            ? 1 : Revision(number.reduce(0) { $0 << 8 | UInt64($1) })
        let buffers = HostileBuffers(values)
        try decode(
            EntryChunks(of: revision) { number in buffers.all.element(at: number) }, buffers)
    }

    private static func decode(_ chunks: EntryChunks, _ buffers: HostileBuffers) throws {
        // A history read sees only part of the entry, and cannot rely on the checks of the whole.
        for entity in [0] + FuzzSchema.schema.entities.numbers {
            _ = try attempt { try chunks.withChange(ofEntity: entity, FuzzSchema.object, read) }
        }
        let (envelope, body) = try chunks.entry()
        try check(envelope, buffers.all[0])
        let commit = try Commit(
            envelope: envelope, body: body, history: FuzzSchema.history, store: FuzzSchema.store)
        _ = commit.description
        try checkAttributes(commit)
        try commit.validate()
        let changes = commit.changeSet.changes
        try promise(changes.count == commit.changeCount, "changes are lost")
        _ = changes.map(\.description)
        try checkChanges(commit, chunks)
    }

    /// Decodes a change as a read of the history does.
    private static func read(_ change: JournalChange, _ schemaRevision: Int) throws -> [UInt8] {
        _ = try ObjectChange(change, FuzzSchema.schema)
        return Array(change.bytes)
    }

    /// Returns the result of `body`; nil when it refuses the bytes.
    private static func attempt<Result>(_ body: () throws -> Result?) throws -> Result? {
        do { return try body() } catch is DecodingFailure { return nil }
    }

    // MARK: Encoding again

    private static func check(_ envelope: Envelope, _ value: UnsafeRawBufferPointer) throws {
        var buffer = ByteBuffer()
        envelope.append(to: &buffer)
        try promise(
            buffer.bytes.elementsEqual(value.prefix(Envelope.byteCount)),
            "another envelope: \(envelope)")
    }

    private static func checkAttributes(_ commit: Commit) throws {
        var buffer = ByteBuffer()
        var attributes = CommitAttributes(
            author: commit.author, scope: commit.scope, label: commit.label)
        attributes.migration = commit.migration
        attributes.append(to: &buffer)
        let contents = JournalChange.saltOffset + JournalChange.saltByteCount
        try promise(
            buffer.bytes.dropFirst(contents).elementsEqual(
                commit.body.bytes.prefix(buffer.count).dropFirst(contents)),
            "other attributes")
    }

    private static func checkChanges(_ commit: Commit, _ chunks: EntryChunks) throws {
        var keys: [(entity: EntityNumber, id: ObjectID)] = []
        try commit.forEachChange { change in
            keys.append((change.entity, change.id))
            let links = try change.links()
            var linkBuffer = ByteBuffer()
            LinkChange.append(links, to: &linkBuffer)
            try promise(linkBuffer.bytes.elementsEqual(change.linkBytes), "other links")
            guard change.changesRecord, change.kind == .update else { return }
            let cells = try change.changedCells()
            var buffer = ByteBuffer()
            buffer.append(UInt16(cells.count))
            for cell in cells {
                JournalChange.ChangedCell.append(
                    slot: cell.slot, type: cell.type, before: cell.before, after: cell.after,
                    to: &buffer)
            }
            try promise(buffer.bytes.elementsEqual(change.payload), "other cells")
        }
        guard zip(keys, keys.dropFirst()).allSatisfy({ $0 < $1 }) else { return }
        try commit.forEachChange { change in
            let found = try attempt {
                try chunks.withChange(ofEntity: change.entity, change.id, read)
            }
            try promise(found == Array(change.bytes), "a change of a valid entry is not found")
        }
    }

    // MARK: Making hostile bytes plausible

    /// Envelope, room in a chunk, then the contents of blocks as frames.
    private static func built(_ control: UInt8, _ input: inout HostileInput) -> [[UInt8]] {
        let envelope = input.bytes(Envelope.byteCount)
        // Smaller chunks cannot contain the header that a history read needs.
        let room = JournalChange.headerByteCount + 8 * Int(input.byte())
        var layout = EntryLayout(room: room)
        layout.chunks[0].bytes = [UInt8](block: input.frame())
        while !input.isEmpty { layout.append([UInt8](block: input.frame())) }
        var first = envelope + Array(repeating: 0, count: Envelope.byteCount - envelope.count)
        if control & keepsCounts == 0 {
            first.patch([Envelope.format, 1, first[2] & 1, 0], at: 0)
            first.patch(UInt32(layout.changeCount).littleEndianBytes, at: 4)
            first.patch([0, 0, 0, 0], at: 60)
            first.patch(UInt32(layout.chunks.count).littleEndianBytes, at: 160)
            first.patch([0, 0, 0, 0], at: 164)
            first.patch(UInt64(layout.byteCount).littleEndianBytes, at: 168)
        }
        return layout.chunks.enumerated().map { index, chunk in
            (index == 0 ? first : []) + UInt32(chunk.firstChange).littleEndianBytes
                + UInt32(chunk.changeCount).littleEndianBytes + chunk.bytes
        }
    }

    /// Gives an entry the digest of its body and the hash of its envelope.
    static func repair(_ values: inout [[UInt8]], _ control: UInt8 = 0) {
        guard let first = values.first, first.count >= Envelope.byteCount else { return }
        if control & keepsDigest == 0 {
            let body = values.enumerated().flatMap { index, value in
                value.dropFirst(index == 0 ? Envelope.byteCount + 8 : 8)
            }
            values[0].patch(digest(of: body).bytes, at: 96)
        }
        if control & keepsHash == 0 {
            let hash = Digest(values[0].prefix(Envelope.hashedByteCount))
            values[0].patch(hash.bytes, at: Envelope.hashedByteCount)
        }
    }

    private static func digest(of body: [UInt8]) -> Digest {
        body.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            var digests: [UInt8] = []
            while let count: UInt32 = try? reader.read(), count >= 4,
                let block = try? reader.read(byteCount: Int(count) - 4)
            {
                digests += Digest(of: block).bytes
            }
            return Digest(digests)
        }
    }
}

/// Blocks in chunks, as the journal cuts them, whatever the room in a chunk.
private struct EntryLayout {
    struct Chunk {
        var firstChange = 0
        var changeCount = 0
        var bytes: [UInt8] = []
    }
    let room: Int
    var chunks = [Chunk()]
    private(set) var changeCount = 0

    init(room: Int) { self.room = room }

    var byteCount: Int { chunks.reduce(0) { $0 + $1.bytes.count } }

    mutating func append(_ block: [UInt8]) {
        let last = chunks.count - 1
        if chunks[last].bytes.count + block.count <= room, last == 0 || chunks[last].changeCount > 0
        {
            chunks[last].bytes += block
            chunks[last].changeCount += 1
        } else {
            for start in stride(from: 0, to: block.count, by: room) {
                chunks.append(
                    Chunk(
                        firstChange: changeCount, changeCount: start == 0 ? 1 : 0,
                        bytes: Array(block[start..<min(start + room, block.count)])))
            }
        }
        changeCount += 1
    }
}

/// Values in memory of exactly their size, where a decoder can point to them.
private final class HostileBuffers {
    let all: [UnsafeRawBufferPointer]

    init(_ values: [[UInt8]]) {
        all = values.map { value in
            let buffer = UnsafeMutableRawBufferPointer.allocate(
                byteCount: value.count, alignment: 8)
            buffer.copyBytes(from: value)
            return UnsafeRawBufferPointer(buffer)
        }
    }

    deinit { for buffer in all { buffer.deallocate() } }
}
