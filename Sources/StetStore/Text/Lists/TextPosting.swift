import StetLMDB

/// The occurrences of a word in one object, as an index contains them.
///
/// The first varint is the number of words of the object, shifted left by one bit. If that bit is
/// set, the position of the only occurrence follows, in the first attribute. Otherwise the number
/// of bytes of the positions follows, and these: in each attribute as differences, from -1 on; a 0
/// leads to the next attribute.
package struct TextPosting {
    /// The posting as it is stored; empty for a trigram.
    package let bytes: UnsafeRawBufferPointer
    /// The number of words of the object.
    package let wordCount: Int
    /// The position of the only occurrence, in the first attribute; -1 where `positions` has them.
    private let onlyPosition: Int
    private let positions: UnsafeRawBufferPointer

    /// Creates the posting of a trigram, which has no bytes.
    init() {
        bytes = UnsafeRawBufferPointer(start: nil, count: 0)
        (wordCount, onlyPosition, positions) = (0, -1, bytes)
    }

    package init(reading reader: inout ByteReader) throws(DecodingFailure) {
        let start = reader.offset
        let first = try reader.readVarint()
        wordCount = Int(first >> 1)
        let number = try reader.readVarint()
        if first & 1 == 1 {
            guard number < UInt64(UInt32.max) else { throw Self.outOfRange }
            onlyPosition = Int(number)
            positions = UnsafeRawBufferPointer(start: nil, count: 0)
        } else {
            onlyPosition = -1
            guard number <= UInt64(reader.remaining) else { throw DecodingFailure("too short") }
            positions = try reader.read(byteCount: Int(number))
        }
        bytes = UnsafeRawBufferPointer(rebasing: reader.bytes[start..<reader.offset])
    }

    private static var outOfRange: DecodingFailure {
        DecodingFailure("a position of a word that is out of range")
    }

    /// Appends the posting of a word with the attributes and positions of its occurrences, in
    /// order.
    static func append(
        wordCount: Int, _ places: some Collection<(attribute: Int, position: Int)>,
        to posting: inout [UInt8]
    ) {
        if places.count == 1, let place = places.first, place.attribute == 0 {
            posting.append(varint: UInt64(wordCount) << 1 | 1)
            posting.append(varint: UInt64(place.position))
            return
        }
        posting.append(varint: UInt64(wordCount) << 1)
        let start = posting.count
        var (attribute, last) = (0, -1)
        for place in places {
            while attribute < place.attribute {
                posting.append(0)
                (attribute, last) = (attribute + 1, -1)
            }
            posting.append(varint: UInt64(place.position - last))
            last = place.position
        }
        let byteCount = UInt64(posting.count - start)
        var place = start
        byteCount.forEachVarintByte {
            posting.insert($0, at: place)
            place += 1
        }
    }

    /// Calls `body` with the attribute and the position of each occurrence, in order.
    package func forEachPosition(
        attributeCount: Int, _ body: (_ attribute: Int, _ position: Int) -> Void
    ) throws(DecodingFailure) {
        if onlyPosition >= 0 { return body(0, onlyPosition) }
        var reader = ByteReader(positions)
        var (attribute, last) = (0, -1)
        while reader.remaining > 0 {
            let step = try reader.readVarint()
            if step == 0 {
                (attribute, last) = (attribute + 1, -1)
                guard attribute < attributeCount else {
                    throw DecodingFailure("a word in an attribute that is not searched")
                }
                continue
            }
            guard step < UInt64(UInt32.max), last < Int(UInt32.max) else { throw Self.outOfRange }
            last += Int(step)
            body(attribute, last)
        }
    }
}

extension [UInt8] {
    /// Appends a number as groups of seven bits, the lowest first; all but the last have bit 7 set.
    mutating func append(varint number: UInt64) {
        number.forEachVarintByte { append($0) }
    }
}

extension UInt64 {
    /// Calls `body` with groups of seven bits, the lowest first; all but the last have bit 7 set.
    @inline(__always)
    func forEachVarintByte(_ body: (UInt8) -> Void) {
        var rest = self
        while rest >= 0x80 {
            body(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        body(UInt8(truncatingIfNeeded: rest))
    }
}

extension ByteReader {
    mutating func readVarint() throws(DecodingFailure) -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while shift < 64 {
            let byte = try read(UInt8.self)
            number |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return number }
            shift += 7
        }
        throw DecodingFailure("a number of more than ten bytes")
    }
}
