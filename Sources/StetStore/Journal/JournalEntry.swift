import StetLMDB

/// An entry of a journal, outside of its store's file.
package struct JournalEntry: Sendable {
    package let envelope: Envelope
    package let body: ByteStorage

    package init(envelope: Envelope, body: ByteStorage) {
        self.envelope = envelope
        self.body = body
    }

    /// Reads an entry: the envelope, whose hash is checked, and as many bytes as it says.
    ///
    /// The digest of the body is compared when the entry is read.
    package init(decoding reader: inout ByteReader) throws(DecodingFailure) {
        envelope = try Envelope(decoding: &reader)
        let bytes = try reader.read(byteCount: envelope.bodyByteCount)
        guard envelope.revision > .zero, envelope.revision <= .last else {
            throw DecodingFailure("it has an entry of revision \(envelope.revision)")
        }
        var body = ByteBuffer(capacity: max(bytes.count, 1))
        body.append(bytes)
        self.body = body.finish()
    }

    package func append(to buffer: inout ByteBuffer) {
        envelope.append(to: &buffer)
        buffer.append(body.bytes)
    }

    /// Returns whether the entry follows another commit in the chain.
    package func follows(_ revision: Revision, _ hash: Digest) -> Bool {
        envelope.revision == revision.next && envelope.previousHash == hash
    }
}
