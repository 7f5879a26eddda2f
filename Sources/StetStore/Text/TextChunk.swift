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
struct TextChunkWriter: ~Copyable {
    private var buffer = ByteBuffer()
    private var last = ObjectID.none

    init() { removeAll() }

    var byteCount: Int { buffer.count }
    var isEmpty: Bool { buffer.count == TextChunk.headerByteCount }

    mutating func removeAll() {
        buffer.count = TextChunk.headerByteCount
        last = .none
    }

    mutating func append(_ id: ObjectID, _ posting: UnsafeRawBufferPointer) {
        buffer.append(varint: id.high &- last.high)
        if id.high == last.high {
            buffer.append(varint: id.low &- last.low)
        } else {
            buffer.append(id.low)
        }
        last = id
        buffer.append(varint: UInt64(posting.count))
        buffer.append(posting)
    }

    /// Writes the chunk; its checksum takes the first bytes.
    func put(at key: [UInt8], in table: Table, _ transaction: borrowing WriteTransaction) throws {
        try key.withUnsafeBytes { key in
            let value = try transaction.reserve(buffer.count, for: key, in: table)
            value.copyMemory(from: buffer.bytes)
            let checksum = TextChunk.checksum(of: UnsafeRawBufferPointer(value), at: key)
            value.storeBytes(of: checksum.littleEndian, as: UInt32.self)
        }
    }
}

extension ByteBuffer {
    /// Appends a number as `Array.append(varint:)` does.
    fileprivate mutating func append(varint number: UInt64) {
        number.forEachVarintByte { append($0) }
    }
}
