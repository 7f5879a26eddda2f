import FoundationEssentials

// The bytes in the tail of a record for decimals, URLs, lists, dictionaries and Codable values;
// docs/FileFormat.md describes them. Equal values have equal bytes.

/// The error of a value that cannot be stored, with the reason.
package struct EncodingFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

extension Value {
    /// Returns the bytes of the value in the tail; not called for inline values and `.null`.
    package func tailBytes() throws(EncodingFailure) -> [UInt8] {
        switch self {
        case .string(let text), .codable(let text): return Array(text.utf8)
        case .data(let data): return Array(data)
        case .uuid(let uuid): return withUnsafeBytes(of: uuid.uuid) { Array($0) }
        case .reference(let id): return withUnsafeBytes(of: id.uuid.uuid) { Array($0) }
        case .placed(let id, let position):
            return withUnsafeBytes(of: id.uuid.uuid) { Array($0) } + position.bytes
        case .decimal(let decimal): return decimal.storedBytes
        case .url(let url):
            guard URL(storedText: url.storedText)?.storedText == url.storedText else {
                throw EncodingFailure("is a URL that is not read back as it is")
            }
            return Array(url.storedText.utf8)
        case .list(let values): return try Self.bytes(of: values)
        case .dictionary(let values): return try Self.bytes(of: values)
        case .null, .bool, .int, .uint, .float, .double, .date:
            throw EncodingFailure("has no value that stands in the tail")
        }
    }

    private static func bytes(of values: [Value]) throws(EncodingFailure) -> [UInt8] {
        guard !values.isEmpty else { return [] }
        var bytes = [try commonType(of: values).rawValue]
        bytes.append(littleEndian: UInt32(truncatingIfNeeded: values.count))
        for value in values { value.appendElement(try value.elementBytes(), to: &bytes) }
        return bytes
    }

    private static func bytes(of values: [Value: Value]) throws(EncodingFailure) -> [UInt8] {
        guard !values.isEmpty else { return [] }
        var bytes = [
            try commonType(of: values.keys).rawValue, try commonType(of: values.values).rawValue,
        ]
        bytes.append(littleEndian: UInt32(truncatingIfNeeded: values.count))
        var entries: [(bytes: [UInt8], key: Value, value: Value)] = []
        for (key, value) in values { entries.append((try key.elementBytes(), key, value)) }
        entries.sort { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        for entry in entries {
            entry.key.appendElement(entry.bytes, to: &bytes)
            entry.value.appendElement(try entry.value.elementBytes(), to: &bytes)
        }
        return bytes
    }

    private static func commonType(
        of values: some Collection<Value>
    ) throws(EncodingFailure) -> ValueType {
        guard let type = values.first(where: { $0 != .null })?.type, type.isElement,
            !values.contains(.null)
        else { throw EncodingFailure("has an element that can't be encoded") }
        for value in values where value.type != type {
            throw EncodingFailure("has elements of several types")
        }
        return type
    }

    /// Returns the bytes of an element without their length.
    private func elementBytes() throws(EncodingFailure) -> [UInt8] {
        guard let word = inlineWord, let width = type?.elementByteCount else {
            return try tailBytes()
        }
        return withUnsafeBytes(of: word.littleEndian) { Array($0.prefix(width)) }
    }

    private func appendElement(_ element: [UInt8], to bytes: inout [UInt8]) {
        if type?.elementByteCount == nil {
            bytes.append(littleEndian: UInt32(truncatingIfNeeded: element.count))
        }
        bytes += element
    }
}

extension ValueType {
    /// The number of bytes of a list's element; nil when its bytes follow their length.
    fileprivate var elementByteCount: Int? {
        switch self {
        case .bool: 1
        case .float: 4
        case .int, .uint, .double, .date: 8
        case .uuid: 16
        default: nil
        }
    }
}

extension Value {
    /// Creates the value from its bytes in the tail.
    package init(
        tailBytes bytes: UnsafeRawBufferPointer, type: ValueType
    ) throws(DecodingFailure) {
        switch type {
        case .string: self = .string(String(decoding: bytes, as: UTF8.self))
        case .data: self = .data(Data(bytes))
        case .uuid where bytes.count == 16: self = .uuid(ObjectID(bytes: bytes).uuid)
        case .reference where bytes.count == 16: self = .reference(ObjectID(bytes: bytes))
        case .reference where bytes.count > 16:
            guard let position = ListPosition(bytes: bytes[16...]) else {
                throw DecodingFailure("a position of a member that is not one")
            }
            self = .placed(ObjectID(bytes: bytes), position)
        case .decimal: self = .decimal(try Decimal(storedBytes: bytes))
        case .url:
            guard let text = String(validating: bytes, as: UTF8.self),
                let url = URL(storedText: text), url.storedText.utf8.elementsEqual(bytes)
            else { throw DecodingFailure("a URL that is none") }
            self = .url(url)
        case .list: self = .list(try Self.list(bytes))
        case .dictionary: self = .dictionary(try Self.dictionary(bytes))
        case .codable:
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw DecodingFailure("JSON that is not UTF-8")
            }
            self = .codable(text)
        default: throw DecodingFailure("a value that is no \(type)")
        }
    }

    private static func list(_ bytes: UnsafeRawBufferPointer) throws(DecodingFailure) -> [Value] {
        if bytes.isEmpty { return [] }
        var reader = ByteReader(bytes)
        let type = try elementType(&reader)
        let count = try elementCount(&reader, smallest: type.smallestElement)
        var values: [Value] = []
        values.reserveCapacity(count)
        for _ in 0..<count { values.append(try Value(element(&reader, type), elementOf: type)) }
        try reader.expectEnd()
        return values
    }

    private static func dictionary(
        _ bytes: UnsafeRawBufferPointer
    ) throws(DecodingFailure) -> [Value: Value] {
        if bytes.isEmpty { return [:] }
        var reader = ByteReader(bytes)
        let keyType = try elementType(&reader)
        let type = try elementType(&reader)
        let count = try elementCount(
            &reader, smallest: keyType.smallestElement + type.smallestElement)
        var values: [Value: Value] = [:]
        values.reserveCapacity(count)
        var last: UnsafeRawBufferPointer?
        for _ in 0..<count {
            let key = try element(&reader, keyType)
            if let last, !last.lexicographicallyPrecedes(key) {
                throw DecodingFailure("keys of a dictionary out of order")
            }
            last = key
            values[try Value(key, elementOf: keyType)] = try Value(
                element(&reader, type), elementOf: type)
        }
        try reader.expectEnd()
        return values
    }

    private static func elementType(
        _ reader: inout ByteReader
    ) throws(DecodingFailure) -> ValueType {
        guard let type = ValueType(rawValue: try reader.read()), type.isElement,
            type == type.widest
        else { throw DecodingFailure("elements of an unknown type") }
        return type
    }

    /// Reads a number of elements, which is no more than the bytes have room for.
    private static func elementCount(
        _ reader: inout ByteReader, smallest: Int
    ) throws(DecodingFailure) -> Int {
        let count = Int(try reader.read(UInt32.self))
        guard count > 0, count <= reader.remaining / smallest else {
            throw DecodingFailure("\(count) elements in \(reader.remaining) bytes")
        }
        return count
    }

    private static func element(
        _ reader: inout ByteReader, _ type: ValueType
    ) throws(DecodingFailure) -> UnsafeRawBufferPointer {
        if let count = type.elementByteCount { return try reader.read(byteCount: count) }
        return try reader.read(byteCount: Int(try reader.read(UInt32.self)))
    }

    /// Returns the number of elements of a list or dictionary, as its bytes state it; 0 for damaged
    /// ones.
    static func elementCount(_ bytes: UnsafeRawBufferPointer, _ type: ValueType) -> Int {
        var reader = ByteReader(bytes)
        guard (try? reader.read(byteCount: type.elementTypeCount)) != nil,
            let count: UInt32 = try? reader.read()
        else { return 0 }
        return Int(count)
    }

    private init(
        _ element: UnsafeRawBufferPointer, elementOf type: ValueType
    ) throws(DecodingFailure) {
        guard type.isInline else {
            guard type != .string || String(validating: element, as: UTF8.self) != nil else {
                throw DecodingFailure("text that is not UTF-8")
            }
            try self.init(tailBytes: element, type: type)
            return
        }
        var word: UInt64 = 0
        withUnsafeMutableBytes(of: &word) { $0.copyMemory(from: element) }
        word = UInt64(littleEndian: word)
        guard type != .bool || word <= 1 else { throw DecodingFailure("a Bool that is none") }
        try self.init(inlineWord: word, type: type)
    }
}

extension ValueType {
    fileprivate var smallestElement: Int { elementByteCount ?? 4 }
}

// MARK: - Decimal

extension Decimal {
    private static let nanMark: UInt8 = 2

    /// The sign (0, 1 for negative, 2 for NaN), the exponent, and the digits as a number in as few
    /// bytes as possible, the lowest byte first.
    ///
    /// Trailing zeros of the digits are part of the exponent.
    var storedBytes: [UInt8] {
        if isNaN { return [Self.nanMark] }
        let (negative, exponent, digits) = parts
        if digits == 0 { return [0, 0] }
        var bytes = [negative ? 1 : 0, UInt8(bitPattern: Int8(exponent))]
        var rest = digits
        while rest > 0 {
            bytes.append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
        return bytes
    }

    /// The sign, exponent and digits, without trailing zeros as far as the exponent allows.
    var parts: (isNegative: Bool, exponent: Int, digits: UInt128) {
        var digits = UInt128(significand.description) ?? 0
        var exponent = self.exponent
        while digits > 0, digits % 10 == 0, exponent < Int(Int8.max) {
            digits /= 10
            exponent += 1
        }
        return (sign == .minus, exponent, digits)
    }

    init(storedBytes bytes: UnsafeRawBufferPointer) throws(DecodingFailure) {
        if bytes.elementsEqual([Self.nanMark]) {
            self = .nan
            return
        }
        guard (2...18).contains(bytes.count), bytes[0] < Self.nanMark else {
            throw DecodingFailure("a decimal of \(bytes.count) bytes")
        }
        var digits: UInt128 = 0
        for byte in bytes[2...].reversed() { digits = digits << 8 | UInt128(byte) }
        guard let significand = Decimal(string: "\(digits)") else {
            throw DecodingFailure("a decimal without digits")
        }
        self.init(
            sign: bytes[0] == 0 ? .plus : .minus, exponent: Int(Int8(bitPattern: bytes[1])),
            significand: significand)
        guard storedBytes.elementsEqual(bytes) else {
            throw DecodingFailure("a decimal that is not written in the one way there is")
        }
    }
}

// MARK: - URL

extension URL {
    /// The text of the URL, followed by a NUL, which no URL contains, and the text of its base, if
    /// it has one.
    var storedText: String {
        relativeString + (baseURL.map { "\0" + $0.absoluteString } ?? "")
    }

    init?(storedText text: String) {
        let parts = text.split(separator: "\0", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(storedRelative: String(parts[0]), base: parts.count > 1 ? String(parts[1]) : nil)
    }

    package init?(storedRelative relative: String, base: String?) {
        guard let base else {
            self.init(string: relative)
            return
        }
        guard let base = URL(string: base) else { return nil }
        self.init(string: relative, relativeTo: base)
    }
}

extension [UInt8] {
    mutating func append(littleEndian number: UInt32) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }
}
