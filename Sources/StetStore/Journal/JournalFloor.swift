import StetLMDB

/// The beginning of a trimmed journal: a summary of the commits up to a revision.
///
/// The state at that revision and all later ones can still be read. The hash continues the chain of
/// the entries, and with the digest `verify` proves that the state follows from them.
package struct JournalFloor: Hashable, Sendable {
    /// The last commit that was trimmed.
    package var revision = Revision.zero
    /// The hash of that commit.
    package var hash = Digest.zero
    /// The time of that commit, in seconds since 2001.
    package var time = -Double.infinity
    /// The revision of the schema with which that commit was written.
    package var schemaRevision: UInt32
    /// The digest of the state after that commit, in the store's current schema.
    package var digest = StateDigest()
    /// The retention for which the journal was trimmed.
    package var retention = Retention.forever

    private static let key: StaticString = "floor"
    private static let format: UInt8 = 1

    init(schemaRevision: UInt32) { self.schemaRevision = schemaRevision }

    /// Returns the floor of a store; nil when its journal is complete.
    static func read(in transaction: borrowing ReadTransaction) throws -> JournalFloor? {
        guard let value = try transaction.get(key, in: .unnamed) else { return nil }
        return try JournalFloor(decoding: value)
    }

    /// Refuses a revision that was trimmed.
    static func refuse(_ revision: Revision, in transaction: borrowing ReadTransaction) throws {
        guard let floor = try read(in: transaction), revision <= floor.revision else { return }
        throw StoreError.historyTrimmed(
            revision, floor: floor.revision, path: transaction.environment.path)
    }

    package init(decoding value: UnsafeRawBufferPointer) throws(DecodingFailure) {
        var reader = ByteReader(value)
        guard try reader.read(UInt8.self) == Self.format else {
            throw DecodingFailure("where its journal begins is of an unknown format")
        }
        let kind: UInt8 = try reader.read()
        guard try reader.read(UInt16.self) == 0 else {
            throw DecodingFailure("where its journal begins is of a later format")
        }
        schemaRevision = try reader.read()
        revision = Revision(try reader.read())
        hash = Digest(try reader.read(byteCount: Digest.byteCount))
        time = Double(bitPattern: try reader.read())
        digest = StateDigest(first: try reader.read(), second: try reader.read())
        retention = try Retention(number: kind, word: try reader.read())
        let checked = UnsafeRawBufferPointer(rebasing: value[..<reader.offset])
        guard try reader.read() == Checksum.hash(checked, seed: 0) else {
            throw DecodingFailure("where its journal begins does not match its checksum")
        }
        try reader.expectEnd()
        guard revision > .zero, revision <= .last else {
            throw DecodingFailure("its journal begins at no revision")
        }
    }

    package func append(to buffer: inout ByteBuffer) {
        let start = buffer.count
        let (kind, word) = retention.encoded
        buffer.append(Self.format)
        buffer.append(kind)
        buffer.append(UInt16(0))
        buffer.append(schemaRevision)
        buffer.append(revision.number)
        hash.append(to: &buffer)
        buffer.append(time.bitPattern)
        buffer.append(digest.first)
        buffer.append(digest.second)
        buffer.append(word)
        let checked = UnsafeRawBufferPointer(rebasing: buffer.bytes[start...])
        buffer.append(Checksum.hash(checked, seed: 0))
    }

    func write(in transaction: borrowing WriteTransaction) throws {
        var buffer = ByteBuffer(capacity: 128)
        append(to: &buffer)
        try transaction.put(buffer.bytes, for: Self.key, in: .unnamed)
    }
}
