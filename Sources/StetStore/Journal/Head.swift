import StetLMDB

/// The last commit: the state that each commit advances, in one key.
package struct Head: Hashable, Sendable {
    package var revision = Revision.zero
    package var hash = Digest.zero
    /// The time in seconds since 2001.
    package var time = -Double.infinity
    package var schemaRevision: UInt32 = 1
    /// The last commit that is dated before its predecessor; 0 when there is none.
    ///
    /// It is not stored beyond 32 bits; then it is the head itself, which is a weaker promise.
    package var lastBackdated = Revision.zero

    static let key: StaticString = "head"

    init() {}

    static func read(in transaction: borrowing ReadTransaction) throws -> Head {
        guard let value = try transaction.get(Self.key, in: .unnamed) else {
            throw DecodingFailure("its head is missing")
        }
        return try Head(decoding: value)
    }

    init(decoding value: UnsafeRawBufferPointer) throws(DecodingFailure) {
        var reader = ByteReader(value)
        revision = Revision(try reader.read())
        hash = Digest(try reader.read(byteCount: Digest.byteCount))
        time = Double(bitPattern: try reader.read())
        schemaRevision = try reader.read()
        let backdated: UInt32 = try reader.read()
        lastBackdated = backdated == .max ? revision : Revision(UInt64(backdated))
        guard revision < .last, lastBackdated <= revision else {
            throw DecodingFailure("its head is not one")
        }
        try reader.expectEnd()
    }

    /// Compares the head, which has no checksum, with the last entry of the journal and the stored
    /// schema.
    ///
    /// A head that names an earlier entry would show readers an earlier state.
    ///
    /// - Throws: `DecodingFailure` when it does not match them.
    /// - Complexity: four reads.
    func verify(
        against journal: Journal, _ schema: Schema, in transaction: borrowing ReadTransaction
    ) throws {
        guard schemaRevision == UInt32(schema.revision) else {
            throw DecodingFailure("its head is of another schema")
        }
        var isOfLast = try journal.lastRevision(in: transaction) == revision
        let floor = try JournalFloor.read(in: transaction)
        if isOfLast, let floor, floor.revision >= revision {
            isOfLast = floor.revision == revision && floor.hash == hash && floor.time == time
        } else if isOfLast, revision > .zero {
            let envelope = try journal.envelope(revision, in: transaction)
            isOfLast = envelope.hash == hash && envelope.time == time
        }
        if lastBackdated.number < UInt32.max, lastBackdated > floor?.revision ?? .zero,
            let before = lastBackdated.previous
        {
            let time = try journal.envelope(lastBackdated, in: transaction).time
            let earlier =
                before > floor?.revision ?? .zero
                ? try journal.envelope(before, in: transaction).time : floor?.time
            isOfLast = isOfLast && earlier.map { time < $0 } ?? false
        }
        guard isOfLast else { throw DecodingFailure("its head is not that of its last entry") }
    }

    /// Advances to an entry that was appended.
    mutating func follow(_ envelope: Envelope, _ entryHash: Digest) {
        if envelope.time < time { lastBackdated = envelope.revision }
        revision = envelope.revision
        hash = entryHash
        time = envelope.time
    }

    func write(in transaction: borrowing WriteTransaction) throws {
        var buffer = ByteBuffer(capacity: 64)
        buffer.append(revision.number)
        hash.append(to: &buffer)
        buffer.append(time.bitPattern)
        buffer.append(schemaRevision)
        buffer.append(UInt32(clamping: lastBackdated.number))
        try transaction.put(buffer.bytes, for: Self.key, in: .unnamed)
    }
}
