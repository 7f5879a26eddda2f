/// A large value as records and the journal contain it: the digest of its bytes, and their number.
///
/// The bytes are in a table of their own, once for all objects and revisions that have them; see
/// `LargeValueTable`.
package struct LargeValue: Hashable, Sendable {
    /// The number of bytes of the stored form.
    package static let storedByteCount = Digest.byteCount + 8

    /// The number of bytes of each chunk but the last: with its checksum and the header of LMDB it
    /// fills 16 pages of 4 KiB.
    static let chunkByteCount = 65_512
    /// The greatest number of bytes: chunks are numbered with 32 bits.
    static let byteCountLimit = chunkByteCount << 32

    /// The SHA-256 digest of the bytes.
    package let digest: Digest
    /// The number of bytes.
    package let byteCount: Int

    init(digest: Digest, byteCount: Int) {
        self.digest = digest
        self.byteCount = byteCount
    }

    /// Creates the value that consists of some bytes, without writing it anywhere.
    package init(of bytes: UnsafeRawBufferPointer) {
        self.init(digest: Digest(of: bytes), byteCount: bytes.count)
    }

    /// Creates a value from its stored form; nil for bytes that are none.
    package init?(stored bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.storedByteCount else { return nil }
        let word = bytes.loadUnaligned(fromByteOffset: Digest.byteCount, as: UInt64.self)
        guard let count = Int(exactly: UInt64(littleEndian: word)), count <= Self.byteCountLimit
        else { return nil }
        self.init(digest: Digest(bytes), byteCount: count)
    }

    /// The stored form.
    package var stored: [UInt8] {
        var buffer = ByteBuffer(capacity: Self.storedByteCount)
        digest.append(to: &buffer)
        buffer.append(UInt64(byteCount))
        return Array(buffer.bytes)
    }
}

extension LargeValue {
    /// Returns the beginning of a range of bytes, up to the end of a chunk.
    package static func part(of range: Range<Int>) -> Range<Int> {
        let size = chunkByteCount
        let end = (range.lowerBound / size + 1) * size
        return range.lowerBound..<min(end, range.upperBound)
    }
}
