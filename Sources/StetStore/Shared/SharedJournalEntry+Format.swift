import StetLMDB

extension SharedJournalEntry {
    init(_ entry: JournalEntry) {
        var buffer = ByteBuffer(capacity: Envelope.byteCount + entry.body.count)
        entry.append(to: &buffer)
        self.init(
            revision: entry.envelope.revision, hash: entry.envelope.hash.bytes,
            bytes: Array(buffer.bytes))
    }

    /// Decodes the entry.
    ///
    /// - Throws: `DecodingFailure` when it is another's than the one it says it is.
    func decoded() throws -> JournalEntry {
        try bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            let entry = try JournalEntry(decoding: &reader)
            try reader.expectEnd()
            guard entry.envelope.revision == revision, entry.envelope.hash.bytes == hash else {
                throw DecodingFailure("its entry of revision \(revision) is another's")
            }
            return entry
        }
    }
}

extension Digest {
    /// The bytes of the digest.
    var bytes: [UInt8] { withUnsafeBytes(of: words) { Array($0) } }
}

extension SharedJournalHead {
    init(_ head: Head, of store: ObjectID) {
        self.init(store: store, revision: head.revision, hash: head.hash.bytes)
    }
}
