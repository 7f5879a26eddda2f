import FoundationEssentials

extension JSON {
    /// Parses a text; nil when it is not JSON.
    init?(text: String) {
        self.init(bytes: Array(text.utf8))
    }

    /// Parses the bytes of a text; nil when it is not JSON.
    ///
    /// The last of several members with the same name counts.
    init?(bytes: [UInt8]) {
        var reader = JSONReader(bytes)
        guard let value = reader.value(depth: 0), reader.isAtEnd else { return nil }
        self = value
    }
}

/// Parses JSON as RFC 8259 defines it, with exact integers.
private struct JSONReader {
    /// The greatest depth of nested arrays and objects.
    private static let depthLimit = 512

    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// True when only white space is left.
    var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return place == bytes.count
        }
    }

    private var byte: UInt8? { place < bytes.count ? bytes[place] : nil }

    private mutating func skipSpace() {
        while let byte, [0x20, 0x0a, 0x0d, 0x09].contains(byte) { place += 1 }
    }

    private mutating func take(_ sign: Unicode.Scalar) -> Bool {
        skipSpace()
        guard byte == UInt8(ascii: sign) else { return false }
        place += 1
        return true
    }

    private mutating func take(word: StaticString) -> Bool {
        let word = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard bytes[place...].starts(with: word) else { return false }
        place += word.count
        return true
    }

    mutating func value(depth: Int) -> JSON? {
        skipSpace()
        switch byte {
        case UInt8(ascii: "\""): return string().map { .string($0) }
        case UInt8(ascii: "{"): return depth < Self.depthLimit ? object(depth: depth) : nil
        case UInt8(ascii: "["): return depth < Self.depthLimit ? array(depth: depth) : nil
        case UInt8(ascii: "t"): return take(word: "true") ? .bool(true) : nil
        case UInt8(ascii: "f"): return take(word: "false") ? .bool(false) : nil
        case UInt8(ascii: "n"): return take(word: "null") ? .null : nil
        default: return number()
        }
    }

    private mutating func array(depth: Int) -> JSON? {
        place += 1
        var values: [JSON] = []
        if take("]") { return .array(values) }
        repeat {
            guard let value = value(depth: depth + 1) else { return nil }
            values.append(value)
        } while take(",")
        return take("]") ? .array(values) : nil
    }

    private mutating func object(depth: Int) -> JSON? {
        place += 1
        var members: [String: JSON] = [:]
        if take("}") { return .object(members) }
        repeat {
            skipSpace()
            guard byte == UInt8(ascii: "\""), let name = string(), take(":"),
                let value = value(depth: depth + 1)
            else { return nil }
            members[name] = value
        } while take(",")
        return take("}") ? .object(members) : nil
    }

    // MARK: Numbers

    private mutating func number() -> JSON? {
        let start = place
        if byte == UInt8(ascii: "-") { place += 1 }
        let leadsWithZero = byte == UInt8(ascii: "0")
        guard let count = digits(), count == 1 || !leadsWithZero else { return nil }
        var isInteger = true
        if byte == UInt8(ascii: ".") {
            isInteger = false
            place += 1
            guard digits() != nil else { return nil }
        }
        if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            isInteger = false
            place += 1
            if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { place += 1 }
            guard digits() != nil else { return nil }
        }
        let text = String(decoding: bytes[start..<place], as: UTF8.self)
        if isInteger, let value = Int(text) { return .integer(value) }
        if isInteger, let value = UInt64(text) { return .number(value) }
        guard let value = Double(text), value.isFinite else { return nil }
        return Int(exactly: value).map { .integer($0) } ?? .double(value)
    }

    /// Takes digits; returns their number, or nil for none.
    private mutating func digits() -> Int? {
        let start = place
        while let byte, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { place += 1 }
        return place > start ? place - start : nil
    }

    // MARK: Strings

    private mutating func string() -> String? {
        place += 1
        let start = place
        while let byte, byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
            place += 1
        }
        if byte == UInt8(ascii: "\"") {
            place += 1
            return String(validating: bytes[start..<place - 1], as: UTF8.self)
        }
        var text = Array(bytes[start..<place])
        while let byte, byte >= 0x20 {
            place += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let scalar = escape() else { return nil }
                text += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            default: text.append(byte)
            }
        }
        return nil
    }

    /// Reads the escape after a backslash.
    private mutating func escape() -> Unicode.Scalar? {
        guard let byte else { return nil }
        place += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            guard let unit = codeUnit() else { return nil }
            guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit) }
            guard take(word: "\\u"), let trail = codeUnit(), UTF16.isTrailSurrogate(trail) else {
                return nil
            }
            return Unicode.Scalar(
                0x1_0000 + UInt32(unit - 0xd800) << 10 + UInt32(trail - 0xdc00))
        default: return nil
        }
    }

    private mutating func codeUnit() -> UInt16? {
        guard place + 4 <= bytes.count else { return nil }
        let text = String(decoding: bytes[place..<place + 4], as: UTF8.self)
        guard text.allSatisfy(\.isHexDigit) else { return nil }
        place += 4
        return UInt16(text, radix: 16)
    }
}
