import StetLMDB

/// A part of a list of an index of words or substrings, as one value.
///
/// Value: checksum u32, then for each object, in ascending order, its short id as the difference to
/// the one before and, in an index of words, its posting.
package struct TextChunk {
    /// The number of bytes from which a chunk is split: four chunks with their keys fill a page
    /// of 4 KiB.
    static let byteLimit = 960
    fileprivate static let headerByteCount = 4

    private var reader: ByteReader
    private let terms: TextIndex.Terms
    private var last: ObjectID?

    /// - Throws: `DecodingFailure` when the value does not match its checksum.
    package init(
        decoding value: UnsafeRawBufferPointer, at key: UnsafeRawBufferPointer,
        of terms: TextIndex.Terms
    ) throws(DecodingFailure) {
        var header = ByteReader(value)
        guard try header.read(UInt32.self) == Self.checksum(of: value, at: key) else {
            throw DecodingFailure("a list of words does not match its checksum")
        }
        self.init(entriesOf: value, terms)
    }

    /// Reads what follows the checksum, which is not tested.
    fileprivate init(entriesOf value: UnsafeRawBufferPointer, _ terms: TextIndex.Terms) {
        reader = ByteReader(UnsafeRawBufferPointer(rebasing: value[Self.headerByteCount...]))
        self.terms = terms
    }

    /// The number of bytes of the objects up to the present one.
    var offset: Int { reader.offset }

    /// Returns the bytes of objects between two offsets.
    fileprivate func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: reader.bytes[range])
    }

    /// The bytes of the objects after the present one.
    fileprivate var rest: UnsafeRawBufferPointer { bytes(reader.offset..<reader.bytes.count) }

    /// Returns the checksum, which covers the key, so that a chunk under a wrong key is found.
    fileprivate static func checksum(
        of value: UnsafeRawBufferPointer, at key: UnsafeRawBufferPointer
    ) -> UInt32 {
        let bytes = UnsafeRawBufferPointer(rebasing: value[headerByteCount...])
        return UInt32(
            truncatingIfNeeded: Checksum.hash(bytes, seed: Checksum.hash(key, seed: 0)))
    }

    /// Returns the next object and its posting; nil at the end.
    package mutating func next() throws(DecodingFailure) -> (id: ObjectID, posting: TextPosting)? {
        if reader.remaining == 0 { return nil }
        let id = try nextID()
        guard last.map({ $0 < id }) ?? true else {
            throw DecodingFailure("a list of words out of order")
        }
        last = id
        return (id, terms == .words ? try TextPosting(reading: &reader) : TextPosting())
    }

    @inline(__always)
    private mutating func nextID() throws(DecodingFailure) -> ObjectID {
        let last = last ?? .none
        var difference = try reader.readVarint()
        if difference > 0 { return ObjectID(high: try sum(last.high, difference), low: 0) }
        difference = try reader.readVarint()
        if difference > 0 {
            return ObjectID(high: last.high, low: try sum(last.low, difference))
        }
        return ObjectID(high: try sum(last.high, try reader.readVarint()), low: try reader.read())
    }

    @inline(__always)
    private func sum(_ number: UInt64, _ difference: UInt64) throws(DecodingFailure) -> UInt64 {
        let sum = number.addingReportingOverflow(difference)
        if sum.overflow { throw DecodingFailure("a list of words out of order") }
        return sum.partialValue
    }
}

/// Forms the value of a chunk.
struct TextChunkWriter: ~Copyable {
    private var buffer = ByteBuffer()
    private var last: ObjectID?

    init() { removeAll() }

    var byteCount: Int { buffer.count }
    var isEmpty: Bool { buffer.count == TextChunk.headerByteCount }

    mutating func removeAll() {
        buffer.count = TextChunk.headerByteCount
        last = nil
    }

    /// Adds an object that follows all others.
    mutating func append(_ id: ObjectID, _ posting: UnsafeRawBufferPointer) {
        Self.forEachByte(of: id, after: last) { buffer.append($0) }
        last = id
        buffer.append(posting)
    }

    @inline(__always)
    private static func forEachByte(
        of id: ObjectID, after last: ObjectID?, _ body: (UInt8) -> Void
    ) {
        let last = last ?? .none
        let difference = id.high &- last.high
        if difference > 0, id.low == 0 { return difference.forEachVarintByte(body) }
        body(0)
        if difference == 0, id.low > last.low {
            return (id.low &- last.low).forEachVarintByte(body)
        }
        body(0)
        difference.forEachVarintByte(body)
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            body(UInt8(truncatingIfNeeded: id.low >> shift))
        }
    }

    /// Adds objects that follow all others, as a chunk contains them after `last`.
    private mutating func append(_ bytes: UnsafeRawBufferPointer, upTo id: ObjectID?) {
        if bytes.isEmpty { return }
        buffer.append(bytes)
        last = id
    }

    /// Replaces the contents by those of a stored chunk with changes; returns whether all of them
    /// come after the stored objects.
    ///
    /// Unchanged objects are copied as they are. Only the object after a change is written anew,
    /// because it is stored as the difference to the one before.
    mutating func merge(
        _ stored: TextChunk?, _ changes: TextChanges, _ range: Range<Int>
    ) throws(DecodingFailure) -> Bool {
        removeAll()
        guard var chunk = stored else {
            for place in range { append(changes, place) }
            return true
        }
        var present = try chunk.next()
        // The objects that are copied next, which end before the present one.
        var copied = (start: 0, end: 0, last: ObjectID?.none)
        var isAfterChange = false
        var isAppended = true
        for place in range {
            let id = changes.id(place)
            while let (presentID, posting) = present, presentID < id {
                if isAfterChange {
                    append(presentID, posting.bytes)
                    copied.start = chunk.offset
                    isAfterChange = false
                }
                copied.end = chunk.offset
                copied.last = presentID
                present = try chunk.next()
            }
            if present != nil { isAppended = false }
            if copied.start < copied.end {
                append(chunk.bytes(copied.start..<copied.end), upTo: copied.last)
            }
            copied.start = copied.end
            if present?.id == id { present = try chunk.next() }
            append(changes, place)
            isAfterChange = true
        }
        if let (id, posting) = present {
            append(id, posting.bytes)
            append(chunk.rest, upTo: nil)
        }
        return isAppended
    }

    private mutating func append(_ changes: TextChanges, _ place: Int) {
        if let posting = changes.posting(place) { append(changes.id(place), posting) }
    }

    /// Adds the objects of another chunk, which follow all others.
    mutating func append(_ chunk: consuming TextChunk, of terms: TextIndex.Terms) throws {
        var own = contents(of: terms)
        while let (id, _) = try own.next() { last = id }
        while let (id, posting) = try chunk.next() { append(id, posting.bytes) }
    }

    /// Returns a walk through the objects.
    func contents(of terms: TextIndex.Terms) -> TextChunk {
        TextChunk(entriesOf: buffer.bytes, terms)
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
