import StetStore

/// One word or sign of a predicate.
struct PredicateToken: Hashable {
    enum Kind: Hashable {
        case name(String)
        /// A name in backquotes, which is never a keyword.
        case quotedName(String)
        case text(String)
        case number(String)
        /// A sign, such as `==` or `(`.
        case sign(String)
        /// The options in brackets directly after an operator.
        case folding(TextFolding)
        case end
    }

    var kind: Kind
    /// The offset in the UTF-8 bytes of the text.
    var offset: Int

    /// The token in the form for errors.
    var description: String {
        switch kind {
        case .name(let name), .quotedName(let name): name
        case .text(let text): "\"\(text)\""
        case .number(let number): number
        case .sign(let sign): sign
        case .folding: "["
        case .end: "the end"
        }
    }
}

/// Splits the text of a predicate into tokens.
struct PredicateLexer {
    private let bytes: [UInt8]
    private var place = 0
    private var tokens: [PredicateToken] = []

    private static let pairs: Set<String> = ["==", "!=", "<=", ">=", "&&", "||", "?."]
    private static let signs = Set("<>!(){}[],.-".utf8)
    private static let foldings: [String: TextFolding] = [
        "c": .caseInsensitive, "d": .diacriticInsensitive,
        "cd": [.caseInsensitive, .diacriticInsensitive],
        "dc": [.caseInsensitive, .diacriticInsensitive],
    ]

    /// Returns the tokens of a text, including the end.
    static func tokens(of text: String) throws(PredicateMistake) -> [PredicateToken] {
        var lexer = PredicateLexer(bytes: Array(text.utf8))
        try lexer.run()
        return lexer.tokens
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private var byte: UInt8? { place < bytes.count ? bytes[place] : nil }

    private mutating func run() throws(PredicateMistake) {
        while let byte {
            let start = place
            switch byte {
            case 9, 10, 13, 32: place += 1
            case UInt8(ascii: "\""): add(.text(try quotedText()), start)
            case UInt8(ascii: "`"): add(.quotedName(try quotedName()), start)
            case UInt8(ascii: "0")...UInt8(ascii: "9"): add(.number(number()), start)
            case UInt8(ascii: "[") where folding() != nil: addFolding(start)
            case _ where Self.isLetter(byte): add(.name(name()), start)
            default: try addSign(start)
            }
        }
        add(.end, place)
    }

    private mutating func add(_ kind: PredicateToken.Kind, _ start: Int) {
        tokens.append(PredicateToken(kind: kind, offset: start))
    }

    // MARK: Words

    private static func isLetter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "_"), 0x80...:
            true
        default: false
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private func text(from start: Int) -> String {
        String(decoding: bytes[start..<place], as: UTF8.self)
    }

    private mutating func name() -> String {
        let start = place
        while let byte, Self.isLetter(byte) || Self.isDigit(byte) { place += 1 }
        return text(from: start)
    }

    /// Reads digits, with an optional fraction and exponent.
    private mutating func number() -> String {
        let start = place
        func digit(_ offset: Int) -> Bool {
            place + offset < bytes.count && Self.isDigit(bytes[place + offset])
        }
        while digit(0) { place += 1 }
        if byte == UInt8(ascii: "."), digit(1) {
            place += 1
            while digit(0) { place += 1 }
        }
        if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            let hasSign =
                place + 1 < bytes.count && [0x2b, 0x2d].contains(bytes[place + 1])
            if digit(hasSign ? 2 : 1) {
                place += hasSign ? 2 : 1
                while digit(0) { place += 1 }
            }
        }
        return text(from: start)
    }

    private mutating func quotedName() throws(PredicateMistake) -> String {
        let start = place
        place += 1
        while let byte, byte != UInt8(ascii: "`") { place += 1 }
        guard byte != nil else {
            throw PredicateMistake("the name that begins here has no ` at its end", at: start)
        }
        defer { place += 1 }
        return text(from: start + 1)
    }

    // MARK: Text

    private mutating func quotedText() throws(PredicateMistake) -> String {
        let start = place
        var text: [UInt8] = []
        place += 1
        while let byte {
            place += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): try appendEscaped(to: &text)
            default: text.append(byte)
            }
        }
        throw PredicateMistake("the text that begins here has no \" at its end", at: start)
    }

    private mutating func appendEscaped(to text: inout [UInt8]) throws(PredicateMistake) {
        let start = place - 1
        let escaped = byte
        place += 1
        switch escaped {
        case UInt8(ascii: "n"): text.append(10)
        case UInt8(ascii: "r"): text.append(13)
        case UInt8(ascii: "t"): text.append(9)
        case UInt8(ascii: "0"): text.append(0)
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): text.append(escaped ?? 0)
        case UInt8(ascii: "u"): text += String(try scalar(start)).utf8
        default:
            throw PredicateMistake(#"expected \" \\ \n \r \t \0 or \u{…}"#, at: start)
        }
    }

    private mutating func scalar(_ start: Int) throws(PredicateMistake) -> Character {
        let digits = bytes[min(place, bytes.count)...].prefix(10)
        if digits.first == UInt8(ascii: "{"), let end = digits.firstIndex(of: UInt8(ascii: "}")) {
            let number = String(decoding: digits[digits.startIndex + 1..<end], as: UTF8.self)
            if let scalar = UInt32(number, radix: 16).flatMap({ Unicode.Scalar($0) }) {
                place = end + 1
                return Character(scalar)
            }
        }
        throw PredicateMistake(#"expected the number of a character, as in \u{e9}"#, at: start)
    }

    // MARK: Signs

    /// Returns the folding and the number of its bytes; only directly after an operator, so that it
    /// cannot be a list.
    private func folding() -> (TextFolding, byteCount: Int)? {
        guard place > 0, ![9, 10, 13, 32].contains(bytes[place - 1]),
            let end = bytes[place...].prefix(4).firstIndex(of: UInt8(ascii: "]")),
            let folding = Self.foldings[
                String(decoding: bytes[place + 1..<end], as: UTF8.self)]
        else { return nil }
        return (folding, end + 1 - place)
    }

    private mutating func addFolding(_ start: Int) {
        guard let (folding, count) = folding() else { return }
        place += count
        add(.folding(folding), start)
    }

    private mutating func addSign(_ start: Int) throws(PredicateMistake) {
        let pair = String(decoding: bytes[place...].prefix(2), as: UTF8.self)
        if Self.pairs.contains(pair) {
            place += 2
            return add(.sign(pair), start)
        }
        guard let byte, Self.signs.contains(byte) else {
            let scalar = String(decoding: bytes[place...].prefix(1), as: UTF8.self)
            throw PredicateMistake("\(scalar) has no meaning here", at: start)
        }
        place += 1
        add(.sign(String(UnicodeScalar(byte))), start)
    }
}
