// The bytes of a journal entry: an envelope made by the writer, and a body encoded by the saving
// task. docs/FileFormat.md describes every byte.

/// The fixed part of an entry, made by the writer.
package struct Envelope: Hashable, Sendable {
    package static let format: UInt8 = 1
    package static let byteCount = 176
    /// The number of bytes that the hash covers, which precede it.
    package static let hashedByteCount = 128

    package var cause: Cause = .edit
    package var isUndoable = true
    package var changeCount = 0
    package var revision = Revision.zero
    /// The time in seconds since 2001, as `Date` counts.
    package var time = 0.0
    package var base = Revision.zero
    package var token: UInt64 = 0
    /// The entry below this one on the author's undo stack; 0 when there is none.
    package var below = Revision.zero
    /// True when that entry belongs to the same group: both are undone in one step.
    package var continuesGroup = false
    package var schemaRevision: UInt32 = 0
    package var previousHash = Digest.zero
    package var bodyDigest = Digest.zero

    // The layout of the body is not hashed, so that redaction and compaction may change it.
    package var chunkCount = 0
    package var bodyByteCount = 0
    /// True when values of the changes were redacted; see `Redaction`.
    package var isRedacted = false
    private static let redactedFlag: UInt32 = 1
    private static let undoableFlag: UInt16 = 1
    private static let groupFlag: UInt16 = 2

    package init() {}

    /// The hash in the journal's chain: hash(N) covers hash(N-1), every field and the body's
    /// digest.
    package var hash: Digest {
        var buffer = ByteBuffer(capacity: Self.hashedByteCount)
        appendHashedPart(to: &buffer)
        return Digest(of: buffer.bytes)
    }

    /// Appends the envelope, including its hash.
    @discardableResult
    package func append(to buffer: inout ByteBuffer) -> Digest {
        let start = buffer.count
        appendHashedPart(to: &buffer)
        let hash = Digest(of: UnsafeRawBufferPointer(rebasing: buffer.bytes[start...]))
        hash.append(to: &buffer)
        buffer.append(UInt32(chunkCount))
        buffer.append(isRedacted ? Self.redactedFlag : 0)
        buffer.append(UInt64(bodyByteCount))
        return hash
    }

    private func appendHashedPart(to buffer: inout ByteBuffer) {
        buffer.append(Self.format)
        buffer.append(cause.number)
        buffer.append(
            (isUndoable ? Self.undoableFlag : 0) | (continuesGroup ? Self.groupFlag : 0))
        buffer.append(UInt32(changeCount))
        buffer.append(revision.number)
        buffer.append(time.bitPattern)
        buffer.append(base.number)
        buffer.append(token)
        buffer.append(below.number)
        buffer.append((cause.subject ?? .zero).number)
        buffer.append(schemaRevision)
        buffer.append(UInt32(0))
        previousHash.append(to: &buffer)
        bodyDigest.append(to: &buffer)
    }

    /// Decodes an envelope and compares it with the hash that follows it.
    package init(decoding reader: inout ByteReader) throws(DecodingFailure) {
        let whole = try reader.read(byteCount: Self.byteCount)
        var fields = ByteReader(whole)
        guard try fields.read() == Self.format else {
            throw DecodingFailure("a journal entry of an unknown format")
        }
        let cause: UInt8 = try fields.read()
        let flags: UInt16 = try fields.read()
        isUndoable = flags & Self.undoableFlag != 0
        continuesGroup = flags & Self.groupFlag != 0
        changeCount = Int(try fields.read(UInt32.self))
        revision = Revision(try fields.read())
        time = Double(bitPattern: try fields.read())
        base = Revision(try fields.read())
        token = try fields.read()
        below = Revision(try fields.read())
        self.cause = try Cause(number: cause, subject: Revision(try fields.read()))
        schemaRevision = try fields.read()
        let reserved: UInt32 = try fields.read()
        previousHash = Digest(try fields.read(byteCount: Digest.byteCount))
        bodyDigest = Digest(try fields.read(byteCount: Digest.byteCount))
        let stored = Digest(try fields.read(byteCount: Digest.byteCount))
        let hashed = UnsafeRawBufferPointer(rebasing: whole[..<Self.hashedByteCount])
        guard stored == Digest(of: hashed) else {
            throw DecodingFailure(
                "the journal entry of revision \(revision) does not match its hash")
        }
        guard flags & ~(Self.undoableFlag | Self.groupFlag) == 0, reserved == 0 else {
            throw DecodingFailure("the journal entry of revision \(revision) is of a later format")
        }
        chunkCount = Int(try fields.read(UInt32.self))
        let layout: UInt32 = try fields.read()
        guard chunkCount > 0, layout & ~Self.redactedFlag == 0 else {
            throw DecodingFailure("the journal entry of revision \(revision) has no layout")
        }
        isRedacted = layout & Self.redactedFlag != 0
        let count: UInt64 = try fields.read()
        guard count <= UInt64(Limits.commitByteCount) else {
            throw DecodingFailure("a journal entry of \(count) bytes")
        }
        bodyByteCount = Int(count)
    }
}

extension CommitAttributes {
    private static let hasAuthor: UInt8 = 1
    private static let hasScope: UInt8 = 2
    private static let hasLabel: UInt8 = 4
    private static let hasMigration: UInt8 = 8
    private static let hasGroup: UInt8 = 16
    private static let hasSubscription: UInt8 = 32
    private static let hasRequest: UInt8 = 64

    /// Appends length, salt (16 random bytes, filled in later) and texts.
    package func append(to buffer: inout ByteBuffer) {
        let start = buffer.count
        buffer.append(UInt32(0))
        buffer.appendZeros(JournalChange.saltByteCount)
        buffer.append(
            (author == nil ? 0 : Self.hasAuthor) | (scope == nil ? 0 : Self.hasScope)
                | (label == nil ? 0 : Self.hasLabel) | (migration == nil ? 0 : Self.hasMigration)
                | (group == nil ? 0 : Self.hasGroup)
                | (subscription == nil ? 0 : Self.hasSubscription)
                | (request == nil ? 0 : Self.hasRequest))
        for text in [author, scope, label] {
            if let text { buffer.append(shortString: text) }
        }
        if let migration {
            buffer.append(UInt32(migration.count))
            migration.withUnsafeBytes { buffer.append($0) }
        }
        if let group { buffer.append(group.id) }
        if let subscription { buffer.append(shortString: subscription) }
        request?.append(to: &buffer)
        buffer.append(UInt16(metadata.count))
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            buffer.append(shortString: key)
            buffer.append(shortString: value)
        }
        buffer.overwrite(UInt32(buffer.count - start), at: start)
    }

    package init(decoding block: UnsafeRawBufferPointer) throws(DecodingFailure) {
        var reader = ByteReader(block)
        _ = try reader.read(byteCount: JournalChange.saltOffset + JournalChange.saltByteCount)
        let flags: UInt8 = try reader.read()
        if flags & Self.hasAuthor != 0 { author = try reader.readShortString() }
        if flags & Self.hasScope != 0 { scope = try reader.readShortString() }
        if flags & Self.hasLabel != 0 { label = try reader.readShortString() }
        if flags & Self.hasMigration != 0 {
            let count = Int(try reader.read(UInt32.self))
            migration = Array(try reader.read(byteCount: count))
        }
        if flags & Self.hasGroup != 0 { group = UndoGroup(try reader.readObjectID()) }
        if flags & Self.hasSubscription != 0 { subscription = try reader.readShortString() }
        if flags & Self.hasRequest != 0 { request = try JournalRequest(decoding: &reader) }
        guard flags < Self.hasRequest << 1 else {
            throw DecodingFailure("commit attributes of a later format")
        }
        for _ in 0..<(try reader.read(UInt16.self)) {
            let key = try reader.readShortString()
            guard metadata.updateValue(try reader.readShortString(), forKey: key) == nil else {
                throw DecodingFailure("commit attributes that name a key twice")
            }
        }
        try reader.expectEnd()
    }
}
