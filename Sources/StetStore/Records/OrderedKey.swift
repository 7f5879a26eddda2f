// Uses the standard library's normalisation. Foundation's would add its tables to every program.
import FoundationEssentials
import Glibc
@_spi(_Unicode) import Swift

/// Bytes whose order by `memcmp`, and so in LMDB, is the order of values; the entries of an index
/// consist of them.
///
/// Nil comes before all values; -0 equals 0; all NaNs are equal and come after infinity, but a
/// `Decimal`'s before all numbers, as `Decimal` sorts it; text is compared as `String` compares it,
/// in normal form C; URLs are compared by their absolute text. No key is a prefix of another with
/// the same number of components, so that components can be concatenated.
package struct OrderedKey: Hashable, Sendable {
    /// The greatest length of a key in LMDB.
    package static let byteLimit = 511

    /// The key.
    package let bytes: [UInt8]
    /// True when the key is truncated.
    ///
    /// A truncated key only shows that its values do not come before those of a lesser key: values
    /// with equal keys must be compared themselves.
    package let isTruncated: Bool

    /// The key of nil.
    static let null: [UInt8] = [Tag.null]

    private enum Tag {
        static let null: UInt8 = 0
        static let value: UInt8 = 1
        static let end: UInt8 = 0
    }

    /// Creates the key of values, each of its property's type; nil when the type of one has no
    /// order.
    package init?(_ values: [Value], byteLimit: Int = Self.byteLimit) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(48)
        for value in values {
            guard Self.append(value, to: &bytes) else { return nil }
        }
        isTruncated = bytes.count > byteLimit
        self.bytes = isTruncated ? Array(bytes.prefix(byteLimit)) : bytes
    }

    /// Appends the key of a stored value, as `init` forms it, if possible without decoding the
    /// value.
    ///
    /// - Throws: `DecodingFailure` when the bytes are not a value of the type, or it has no order.
    static func append(
        _ cell: Cell?, _ type: ValueType, _ folding: TextFolding, to bytes: inout [UInt8]
    ) throws(DecodingFailure) {
        switch (cell, type.widest) {
        case (.word(let word)?, .int):
            bytes.append(Tag.value)
            return bytes.append(bigEndian: word ^ 1 << 63)
        case (.word(let word)?, .double), (.word(let word)?, .date):
            bytes.append(Tag.value)
            return append(Double(bitPattern: word), to: &bytes)
        case (.bytes(let text)?, .string) where folding.isEmpty && text.isASCII:
            bytes.append(Tag.value)
            return append(escaped: text, to: &bytes)
        case (.bytes(let id)?, .uuid), (.bytes(let id)?, .reference):
            // The position of a member does not affect the order of objects.
            bytes.append(Tag.value)
            return bytes.append(contentsOf: id.prefix(16))
        default: break
        }
        guard append(try Value(cell, type: type).folded(folding), to: &bytes) else {
            throw DecodingFailure("an index of a \(type), which has no order")
        }
    }

    /// Appends the key of a value; returns false when the value has no order.
    static func append(_ value: Value, to bytes: inout [UInt8]) -> Bool {
        bytes.append(value == .null ? Tag.null : Tag.value)
        switch value {
        case .null: break
        case .bool(let value): bytes.append(value ? 1 : 0)
        case .int(let value): bytes.append(bigEndian: UInt64(bitPattern: Int64(value)) ^ 1 << 63)
        case .uint(let value): bytes.append(bigEndian: value)
        case .float(let value): append(Double(value), to: &bytes)
        case .double(let value): append(value, to: &bytes)
        case .date(let value): append(value.timeIntervalSinceReferenceDate, to: &bytes)
        case .decimal(let value): append(value, to: &bytes)
        case .string(let text): append(escaped: normalized(text), to: &bytes)
        case .url(let url): append(escaped: url.absoluteString, to: &bytes)
        case .data(let data): data.withUnsafeBytes { append(escaped: $0, to: &bytes) }
        case .uuid(let uuid): withUnsafeBytes(of: uuid.uuid) { bytes.append(contentsOf: $0) }
        case .reference(let id), .placed(let id, _):
            withUnsafeBytes(of: id.uuid.uuid) { bytes.append(contentsOf: $0) }
        case .list(let values):
            for value in values where !append(value, to: &bytes) { return false }
            bytes.append(Tag.end)
        case .dictionary, .codable: return false
        }
        return true
    }

    /// Returns whether the keys of a property contain its values, except for a few that several
    /// values share.
    static func isReadable(_ property: Property) -> Bool {
        if property.seal != nil || property.hasPosition { return false }
        switch property.type.widest {
        case .bool, .int, .uint, .double, .date, .string, .uuid, .reference: return true
        default: return false
        }
    }

    /// Writes the value of a type whose key is at an offset, and moves on to the next key; returns
    /// false when several values have this key.
    static func read(
        _ key: UnsafeRawBufferPointer, at offset: inout Int, _ type: ValueType, slot: Slot,
        to writer: inout RecordWriter
    ) throws(DecodingFailure) -> Bool {
        var reader = ByteReader(UnsafeRawBufferPointer(rebasing: key[offset...]))
        defer { offset += reader.offset }
        if try reader.read(UInt8.self) == Tag.null {
            writer.writeNull(slot: slot)
            return true
        }
        switch type {
        case .string:
            let bytes = UnsafeRawBufferPointer(rebasing: reader.bytes[reader.offset...])
            var end = 0
            while end < bytes.count, bytes[end] != Tag.end, bytes[end].isOwnNormalForm { end += 1 }
            // A zero that is a part of the text has another byte behind it.
            guard end + 1 < bytes.count, bytes[end] == Tag.end, bytes[end + 1] == Tag.end else {
                return false
            }
            let text = UnsafeRawBufferPointer(rebasing: try reader.read(byteCount: end + 2)[..<end])
            writer.write(bytes: text, slot: slot, isNormalized: true)
        case .uuid, .reference:
            writer.write(id: ObjectID(bytes: try reader.read(byteCount: 16)), slot: slot)
        case .bool: writer.write(word: UInt64(try reader.read(UInt8.self)), slot: slot)
        case .uint: writer.write(word: UInt64(bigEndian: try reader.read()), slot: slot)
        case .int:
            writer.write(word: UInt64(bigEndian: try reader.read()) ^ 1 << 63, slot: slot)
        default:
            let bits = UInt64(bigEndian: try reader.read())
            let number = Double(bitPattern: bits >> 63 == 0 ? ~bits : bits & ~(1 << 63))
            if number == 0 || number.isNaN { return false }
            writer.write(word: number.bitPattern, slot: slot)
        }
        return true
    }

    /// Moves an offset in a key behind the value of a property.
    ///
    /// - Throws: `DecodingFailure` when the key ends within the value.
    package static func skip(
        _ key: UnsafeRawBufferPointer, at offset: inout Int, _ property: Property
    ) throws(DecodingFailure) {
        try skip(key, at: &offset, property.type, property.elements)
    }

    /// Moves an offset in a key behind a value of a type.
    static func skip(
        _ key: UnsafeRawBufferPointer, at offset: inout Int, _ type: ValueType,
        _ elements: [ValueType] = []
    ) throws(DecodingFailure) {
        var reader = ByteReader(UnsafeRawBufferPointer(rebasing: key[offset...]))
        try skip(&reader, type, elements)
        offset += reader.offset
    }

    private static func skip(
        _ reader: inout ByteReader, _ type: ValueType, _ elements: [ValueType]
    ) throws(DecodingFailure) {
        if try reader.read(UInt8.self) == Tag.null { return }
        switch type.widest {
        case .bool: _ = try reader.read(UInt8.self)
        case .uuid, .reference: _ = try reader.read(byteCount: 16)
        case .string, .data, .url:
            var isBehindZero = false
            while true {
                let byte: UInt8 = try reader.read()
                if isBehindZero, byte == Tag.end { return }
                isBehindZero = byte == 0
            }
        case .decimal:
            let kind: UInt8 = try reader.read()
            if kind != 1, kind != 3 { return }
            _ = try reader.read(byteCount: 2)
            while try reader.read(UInt8.self) != (kind == 1 ? ~Tag.end : Tag.end) {}
        case .list:
            while reader.remaining > 0, reader.bytes[reader.offset] != Tag.end {
                try skip(&reader, elements.first ?? .string, [])
            }
            _ = try reader.read(UInt8.self)
        default: _ = try reader.read(byteCount: 8)
        }
    }

    /// Appends a number with its sign bit inverted or, if it is negative, all bits inverted.
    private static func append(_ number: Double, to bytes: inout [UInt8]) {
        let bits = number.isNaN ? UInt64.max >> 1 : (number == 0 ? 0 : number).bitPattern
        bytes.append(bigEndian: bits >> 63 == 0 ? bits | 1 << 63 : ~bits)
    }

    /// Appends a mark for NaN, negative, 0 or positive, then the exponent of the first digit, then
    /// the digits, as 1 to 10 for 0 to 9, and an end mark; for a negative number all inverted.
    private static func append(_ decimal: Decimal, to bytes: inout [UInt8]) {
        if decimal.isNaN { return bytes.append(0) }
        let (isNegative, exponent, number) = decimal.parts
        if number == 0 { return bytes.append(2) }
        bytes.append(isNegative ? 1 : 3)
        let digits = Array(String(number).utf8)
        var end = digits.count
        // Removes trailing zeros, which numbers with the largest exponent keep.
        while digits[end - 1] == UInt8(ascii: "0") { end -= 1 }
        let place = UInt16(digits.count + exponent + 256)
        let payload =
            [UInt8(place >> 8), UInt8(truncatingIfNeeded: place)]
            + digits[..<end].map { $0 - UInt8(ascii: "0") + 1 } + [0]
        bytes += isNegative ? payload.map { ~$0 } : payload
    }

    private static func append(escaped text: consuming String, to bytes: inout [UInt8]) {
        text.withUTF8 { append(escaped: UnsafeRawBufferPointer($0), to: &bytes) }
    }

    /// Appends text with 0 escaped as 0 255, and 0 0 as the end mark.
    private static func append(escaped text: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        if let start = text.baseAddress, memchr(start, 0, text.count) != nil {
            for byte in text {
                bytes.append(byte)
                if byte == 0 { bytes.append(255) }
            }
        } else {
            bytes.append(contentsOf: text)
        }
        bytes.append(Tag.end)
        bytes.append(Tag.end)
    }

    private static func normalized(_ text: String) -> String {
        var span = text.utf8Span
        if span.checkForNFC(quickCheck: true) { return text }
        return text.inNormalFormC
    }
}

extension Value {
    /// Returns the common value of all values that a folding does not distinguish.
    func folded(_ folding: TextFolding) -> Value {
        guard !folding.isEmpty, case .string(var text) = self else { return self }
        if folding.contains(.diacriticInsensitive) {
            text = String(String.UnicodeScalarView(text._nfd.filter { !$0.isAccent }))
        }
        if folding.contains(.caseInsensitive) { text = text.uppercased().lowercased() }
        return .string(text)
    }
}

extension Unicode.Scalar {
    /// True for marks above, below and across a letter (combining classes from 200 on), and for
    /// Hebrew, Arabic and Syriac points (10 to 36).
    ///
    /// Other marks, such as the nukta, the virama or the voicing of kana, make another letter.
    fileprivate var isAccent: Bool {
        let position = properties.canonicalCombiningClass.rawValue
        return position >= 200 || (10...36).contains(position)
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian number: UInt64) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}

extension UInt8 {
    /// True for a character of ASCII that is the normal form C of no other character: all but those
    /// of the Kelvin sign, the Greek varia and the Greek question mark.
    fileprivate var isOwnNormalForm: Bool {
        self < 0x80 && self != UInt8(ascii: "K") && self != UInt8(ascii: "`")
            && self != UInt8(ascii: ";")
    }
}

extension String {
    /// The text in Unicode normal form C.
    package var inNormalFormC: String {
        utf8.allSatisfy { $0 < 0x80 } ? self : String(String.UnicodeScalarView(_nfc))
    }
}
