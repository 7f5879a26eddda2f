import StetLMDB

/// Consecutive entries of a journal in one file: the form in which a journal is shipped.
///
/// The bytes are a header (magic, format, the id of the store, the number of entries), the envelope
/// and the body of each entry, and a SHA-256 digest of all of that. The entries are a link of the
/// journal's own hash chain.
package struct JournalSegment: Sendable {
    /// The store whose journal it is.
    package let store: ObjectID
    /// The entries, at least one, in the order of their revisions.
    package let entries: [JournalEntry]

    /// The revisions of the entries.
    package var range: ClosedRange<Revision> {
        let revisions = entries.map(\.envelope.revision)
        return (revisions.first ?? .zero)...(revisions.last ?? .zero)
    }

    private static let magic: UInt32 = 0x4753_5453
    private static let format: UInt16 = 1
    private static let headerByteCount = 32
    /// The size of the bodies from which on no further entry is added to a segment.
    static let fullByteCount = 16 << 20
    /// The size that no segment exceeds: that of the largest commit at the end of a full one, with
    /// an envelope for each entry.
    static let maximumByteCount = 16 * fullByteCount + Limits.commitByteCount

    /// Decodes a segment: its digest, the hash of each envelope, and the hash chain between them.
    ///
    /// The digests of the bodies are compared when the entries are read.
    package init(decoding bytes: UnsafeRawBufferPointer) throws(DecodingFailure) {
        guard bytes.count >= Self.headerByteCount + Digest.byteCount else {
            throw DecodingFailure("a segment of \(bytes.count) bytes")
        }
        let content = UnsafeRawBufferPointer(rebasing: bytes.dropLast(Digest.byteCount))
        let digest = Digest(UnsafeRawBufferPointer(rebasing: bytes.suffix(Digest.byteCount)))
        guard Digest(of: content) == digest else {
            throw DecodingFailure("it does not match its digest")
        }
        var reader = ByteReader(content)
        guard try reader.read(UInt32.self) == Self.magic,
            try reader.read(UInt16.self) == Self.format, try reader.read(UInt16.self) == 0
        else { throw DecodingFailure("it is no segment of this format") }
        store = try reader.readObjectID()
        let count: UInt64 = try reader.read()
        var entries: [JournalEntry] = []
        while UInt64(entries.count) < count {
            let entry = try Self.entry(from: &reader, after: entries.last)
            entries.append(entry)
        }
        guard !entries.isEmpty else { throw DecodingFailure("it has no entries") }
        try reader.expectEnd()
        self.entries = entries
    }

    private static func entry(
        from reader: inout ByteReader, after last: JournalEntry?
    ) throws(DecodingFailure) -> JournalEntry {
        let entry = try JournalEntry(decoding: &reader)
        if let last = last?.envelope, !entry.follows(last.revision, last.hash) {
            throw DecodingFailure(
                "revision \(entry.envelope.revision) does not follow \(last.revision)")
        }
        return entry
    }
}

extension JournalSegment {
    /// Creates the segment of consecutive entries, at least one.
    init(store: ObjectID, entries: [JournalEntry]) {
        self.store = store
        self.entries = entries
    }

    /// Returns the bytes of the segment.
    package func encoded() -> ByteStorage {
        var buffer = ByteBuffer(capacity: 1 << 16)
        buffer.append(Self.magic)
        buffer.append(Self.format)
        buffer.append(UInt16(0))
        buffer.append(store)
        buffer.append(UInt64(entries.count))
        for entry in entries {
            entry.append(to: &buffer)
        }
        Digest(of: buffer.bytes).append(to: &buffer)
        return buffer.finish()
    }
}
