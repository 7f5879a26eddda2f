import StetLMDB

/// A part of the list of a word's postings, as one value.
///
/// Value: checksum u32, then for each object, in ascending order, its id, the number of bytes of
/// its posting, and the posting. Of an id the first half is the difference to the one before; the
/// second half is a difference, too, where the first halves are equal.
package struct TextChunk {
    /// The number of bytes from which a chunk is split: three chunks fit a page of 4 KiB.
    static let byteLimit = 1_200
    fileprivate static let headerByteCount = 4

    private var reader: ByteReader
    private var last = ObjectID.none

    /// - Throws: `DecodingFailure` when the value does not match its checksum.
    package init(
        decoding value: UnsafeRawBufferPointer, at key: UnsafeRawBufferPointer
    ) throws(DecodingFailure) {
        reader = ByteReader(value)
        guard try reader.read(UInt32.self) == Self.checksum(of: value, at: key) else {
            throw DecodingFailure("a list of words does not match its checksum")
        }
    }

    /// Returns the checksum, which covers the key, so that a chunk under a wrong key is found.
    fileprivate static func checksum(
        of value: UnsafeRawBufferPointer, at key: UnsafeRawBufferPointer
    ) -> UInt32 {
        let bytes = UnsafeRawBufferPointer(rebasing: value[headerByteCount...])
        return UInt32(
            truncatingIfNeeded: Checksum.hash(bytes, seed: Checksum.hash(key, seed: 0)))
    }

    /// Returns the next posting; nil at the end.
    package mutating func next() throws(DecodingFailure) -> (
        id: ObjectID, posting: UnsafeRawBufferPointer
    )? {
        if reader.remaining == 0 { return nil }
        let high = last.high.addingReportingOverflow(try reader.readVarint())
        let low: (partialValue: UInt64, overflow: Bool) =
            high.partialValue == last.high
            ? last.low.addingReportingOverflow(try reader.readVarint())
            : (try reader.read(), false)
        let id = ObjectID(high: high.partialValue, low: low.partialValue)
        guard !high.overflow, !low.overflow, id > last else {
            throw DecodingFailure("a list of words out of order")
        }
        last = id
        let count = try reader.readVarint()
        guard count <= UInt64(reader.remaining) else { throw DecodingFailure("too short") }
        return (id, try reader.read(byteCount: Int(count)))
    }
}

/// Forms the value of a chunk.
struct TextChunkWriter {
    private var bytes = [UInt8](repeating: 0, count: TextChunk.headerByteCount)
    private var last = ObjectID.none

    var byteCount: Int { bytes.count }
    var isEmpty: Bool { bytes.count == TextChunk.headerByteCount }

    mutating func append(_ id: ObjectID, _ posting: ArraySlice<UInt8>) {
        bytes.append(varint: id.high &- last.high)
        if id.high == last.high {
            bytes.append(varint: id.low &- last.low)
        } else {
            withUnsafeBytes(of: id.low.littleEndian) { bytes.append(contentsOf: $0) }
        }
        last = id
        bytes.append(varint: UInt64(posting.count))
        bytes += posting
    }

    func put(at key: [UInt8], in table: Table, _ transaction: borrowing WriteTransaction) throws {
        try key.withUnsafeBytes { key in
            let value = try transaction.reserve(bytes.count, for: key, in: table)
            value.copyBytes(from: bytes)
            let checksum = TextChunk.checksum(of: UnsafeRawBufferPointer(value), at: key)
            value.storeBytes(of: checksum.littleEndian, as: UInt32.self)
        }
    }
}
