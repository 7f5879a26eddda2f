import StetLMDB

/// The layout of a record's body: a bitmap of nulls, a slot of 8 bytes for each property, then the
/// tail with everything that does not fit a slot.
///
/// docs/FileFormat.md describes every byte.
@usableFromInline
package enum RecordLayout {
    /// The number of bytes before the body: format, flags, schema revision, checksum, revision of
    /// the last change.
    package static let headerByteCount = 16

    /// Returns the number of bytes of the null bitmap, padded to 8.
    @inlinable
    package static func bitmapByteCount(_ propertyCount: Int) -> Int {
        (propertyCount &+ 63) / 64 &* 8
    }

    /// Returns the number of bytes before the tail.
    @inlinable
    package static func fixedByteCount(_ propertyCount: Int) -> Int {
        bitmapByteCount(propertyCount) &+ propertyCount &* 8
    }

    /// Returns the slot of a value in the tail: the offset from the start of the body in bits 0–31,
    /// the length in bits 32–62, and in bit 63 whether a string is known to be in normal form C.
    @inlinable
    package static func tailSlot(offset: Int, byteCount: Int, isNormalized: Bool) -> UInt64 {
        UInt64(offset) | UInt64(byteCount) << 32 | (isNormalized ? 1 << 63 : 0)
    }

    /// Returns the id of the object to whose record a key leads.
    ///
    /// - Throws: `DecodingFailure` when the key is not of 16 bytes.
    @inline(__always)
    package static func id(
        ofKey key: UnsafeRawBufferPointer
    ) throws(DecodingFailure) -> ObjectID {
        guard key.count == 16 else {
            throw DecodingFailure("a record key of \(key.count) bytes")
        }
        return ObjectID(bytes: key)
    }

    @inlinable
    package static func offset(_ slot: UInt64) -> Int { Int(slot & 0xffff_ffff) }

    @inlinable
    package static func byteCount(_ slot: UInt64) -> Int { Int(slot >> 32 & 0x7fff_ffff) }
}

/// The 16 bytes before a record's body.
package struct RecordHeader: Hashable, Sendable {
    package static let format: UInt8 = 1
    private static let tombstoneFlag: UInt8 = 1

    /// True when the object has been deleted; the record then has no body.
    package var isTombstone: Bool
    /// The schema revision with which the body was written.
    package var schemaRevision: UInt16
    /// The revision of the object's last change.
    package var revision: Revision

    package init(isTombstone: Bool, schemaRevision: UInt16, revision: Revision) {
        self.isTombstone = isTombstone
        self.schemaRevision = schemaRevision
        self.revision = revision
    }

    /// Returns the hash of a body and its id, which the checksum of a record combines with the
    /// header.
    ///
    /// The task that encodes the body computes it; the writer, which alone knows the revision, only
    /// mixes in the header.
    package static func bodyHash(_ body: UnsafeRawBufferPointer, of id: ObjectID) -> UInt64 {
        Checksum.hash(body, seed: id.high ^ id.low)
    }

    package func store(bodyHash: UInt64, to pointer: UnsafeMutableRawPointer) {
        pointer.storeBytes(of: Self.format, toByteOffset: 0, as: UInt8.self)
        pointer.storeBytes(of: flags, toByteOffset: 1, as: UInt8.self)
        pointer.storeBytes(of: schemaRevision.littleEndian, toByteOffset: 2, as: UInt16.self)
        pointer.storeBytes(of: checksum(bodyHash).littleEndian, toByteOffset: 4, as: UInt32.self)
        pointer.storeBytes(of: revision.number.littleEndian, toByteOffset: 8, as: UInt64.self)
    }

    private var flags: UInt8 { isTombstone ? Self.tombstoneFlag : 0 }

    private func checksum(_ bodyHash: UInt64) -> UInt32 {
        let prefix = UInt64(Self.format) | UInt64(flags) << 8 | UInt64(schemaRevision) << 16
        return UInt32(truncatingIfNeeded: Checksum.combine(bodyHash, prefix, revision.number))
    }

    /// Reads a header.
    ///
    /// - Throws: `DecodingFailure` when it is too short or of an unknown format.
    @inline(__always)
    package init(decoding record: UnsafeRawBufferPointer) throws(DecodingFailure) {
        guard record.count >= RecordLayout.headerByteCount, let base = record.baseAddress else {
            throw DecodingFailure("a record of \(record.count) bytes")
        }
        guard base.load(as: UInt8.self) == Self.format else {
            throw DecodingFailure("a record of an unknown format")
        }
        let flags = base.load(fromByteOffset: 1, as: UInt8.self)
        guard flags & ~Self.tombstoneFlag == 0 else {
            throw DecodingFailure("a record with unknown flags")
        }
        isTombstone = flags & Self.tombstoneFlag != 0
        schemaRevision = UInt16(
            littleEndian: base.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        revision = Revision(
            UInt64(littleEndian: base.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        guard revision.number <= Revision.last.number else {
            throw DecodingFailure("a record of a revision that no store reaches")
        }
    }

    /// - Throws: `DecodingFailure` when the checksum in `record` does not match its contents.
    @inline(__always)
    package func verify(
        _ record: UnsafeRawBufferPointer, of id: ObjectID
    ) throws(DecodingFailure) {
        let stored = UInt32(littleEndian: record.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        let body = UnsafeRawBufferPointer(rebasing: record[RecordLayout.headerByteCount...])
        guard stored == checksum(Self.bodyHash(body, of: id)) else {
            throw DecodingFailure("the record of object \(id) does not match its checksum")
        }
    }
}

extension Cursor {
    /// Moves to the first record whose object has this id or a greater one; returns nil when there
    /// is none.
    func seek(_ id: ObjectID) throws -> Entry? {
        try withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { key in
            id.store(to: key.baseAddress!)
            return try seek(UnsafeRawBufferPointer(key))
        }
    }
}
