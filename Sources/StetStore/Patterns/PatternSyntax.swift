/// The parts of a regular expression.
indirect enum PatternNode: Sendable {
    /// A character of a class.
    case one(PatternClass)
    case edge(PatternEdge)
    case sequence([PatternNode])
    case either([PatternNode])
    /// `most` is nil where there is no end.
    case repeated(PatternNode, least: Int, most: Int?)
}

/// A place between two characters.
enum PatternEdge: Sendable {
    case beginning, end
    case beginningOfLine, endOfLine
    /// Between a word character and another one, or an end of the text; or anywhere else.
    case word(isBoundary: Bool)

    /// Whether the place between two characters is one; nil stands for an end of the text.
    func lies(between before: Character?, and after: Character?) -> Bool {
        switch self {
        case .beginning: before == nil
        case .end: after == nil
        case .beginningOfLine: before?.isNewline ?? true
        case .endOfLine: after?.isNewline ?? true
        case .word(let isBoundary): (before.isWord != after.isWord) == isBoundary
        }
    }
}

extension Character? {
    fileprivate var isWord: Bool { self.map(PatternClass.word.contains) ?? false }
}

/// Why a text is not a regular expression that can be used, in the middle of a sentence.
struct PatternProblem: Error, Hashable {
    let reason: String

    init(_ reason: String) { self.reason = reason }

    /// For what only a search that goes back can match.
    static func backtracking(_ what: String) -> PatternProblem {
        PatternProblem("\(what) cannot be matched in linear time")
    }
}

/// Reads regular expressions.
struct PatternParser {
    private struct Options {
        var ignoresCase = false
        var dotMatchesNewlines = false
        var anchorsMatchLines = false
    }

    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var options = Options()
    private var depth = 0
    private static let depthLimit = 50
    private static let repetitionLimit = 4_096

    private init(_ text: String) { scalars = Array(text.unicodeScalars) }

    /// - Throws: `PatternProblem`.
    static func parse(_ text: String) throws(PatternProblem) -> PatternNode {
        var parser = PatternParser(text)
        let node = try parser.alternatives()
        if parser.next != nil { throw PatternProblem("a group is closed that was not opened") }
        return node
    }

    // MARK: Scalars

    private var next: Unicode.Scalar? {
        position < scalars.count ? scalars[position] : nil
    }

    private mutating func take() throws(PatternProblem) -> Unicode.Scalar {
        guard let next else { throw PatternProblem("it ends too early") }
        position += 1
        return next
    }

    /// Takes a text when it comes next.
    private mutating func take(_ text: String) -> Bool {
        let wanted = Array(text.unicodeScalars)
        guard scalars[position...].starts(with: wanted) else { return false }
        position += wanted.count
        return true
    }

    /// Takes what comes before a scalar, and the scalar.
    private mutating func take(upTo end: Unicode.Scalar) throws(PatternProblem) -> String {
        guard let place = scalars[position...].firstIndex(of: end) else {
            throw PatternProblem("'\(end)' is missing")
        }
        defer { position = place + 1 }
        return Self.text(scalars[position..<place])
    }

    private static func text(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }

    // MARK: Groups

    private mutating func alternatives() throws(PatternProblem) -> PatternNode {
        depth += 1
        defer { depth -= 1 }
        if depth > Self.depthLimit { throw PatternProblem("its groups are nested too deep") }
        var nodes = [try sequence()]
        while take("|") { nodes.append(try sequence()) }
        return nodes.count == 1 ? nodes[0] : .either(nodes)
    }

    private mutating func sequence() throws(PatternProblem) -> PatternNode {
        var nodes: [PatternNode] = []
        /// Set when the last node is a character to which marks can still be added.
        var literal: Character?
        while let next, next != "|", next != ")" {
            let isEscape = next == "\\"
            if let scalar = try literalScalar() {
                var character = Character(scalar)
                // A repetition of an escaped mark or line feed is not one of what comes before it.
                if !(isEscape && repeats), let longer = literal?.joined(with: scalar) {
                    character = longer
                    nodes.removeLast()
                }
                literal = character
                nodes.append(one(.character(character)))
            } else {
                literal = nil
                guard let node = try atom() else { continue }
                nodes.append(node)
            }
            guard let (least, most) = try quantifier() else { continue }
            literal = nil
            if case .edge = nodes.last { throw PatternProblem("an anchor is repeated") }
            nodes.append(.repeated(nodes.removeLast(), least: least, most: most))
            if try quantifier() != nil { throw PatternProblem("a repetition is repeated") }
        }
        return .sequence(nodes)
    }

    private func one(_ kind: PatternClass) -> PatternNode {
        .one(options.ignoresCase ? .ignoringCase(kind) : kind)
    }

    /// Something that is no literal; nil for what stands for nothing.
    private mutating func atom() throws(PatternProblem) -> PatternNode? {
        let scalar = try take()
        switch scalar {
        case ".": return .one(options.dotMatchesNewlines ? .any : .not(.newline))
        case "^": return .edge(options.anchorsMatchLines ? .beginningOfLine : .beginning)
        case "$": return .edge(options.anchorsMatchLines ? .endOfLine : .end)
        case "[": return one(try set())
        case "(": return try group()
        case "\\": return try escape()
        default: throw PatternProblem("'\(scalar)' repeats nothing")
        }
    }

    private mutating func group() throws(PatternProblem) -> PatternNode? {
        let outer = options
        if take("?") {
            if take("#") {
                _ = try take(upTo: ")")
                return nil
            }
            if try isolatedOptions() { return nil }
        }
        let node = try alternatives()
        guard take(")") else { throw PatternProblem("a group is not closed") }
        options = outer
        return node
    }

    /// Reads what follows `(?`; true for options of the rest of a group, which end it.
    private mutating func isolatedOptions() throws(PatternProblem) -> Bool {
        for (text, what) in [
            ("=", "a look-ahead"), ("!", "a look-ahead"), ("<=", "a look-behind"),
            ("<!", "a look-behind"), (">", "an atomic group"), ("|", "a branch reset"),
            ("(", "a conditional group"), ("R", "a recursion"), ("&", "a recursion"),
            ("P>", "a recursion"), ("P=", "a back-reference"),
        ] where take(text) { throw .backtracking(what) }
        if take(":") { return false }
        for (open, close) in [("P<", ">"), ("<", ">"), ("'", "'")] as [(String, Unicode.Scalar)]
        where take(open) {
            let name = try take(upTo: close)
            guard !name.isEmpty, name.allSatisfy(PatternClass.word.contains) else {
                throw PatternProblem("a group has no name")
            }
            return false
        }
        var isOn = true
        while true {
            let scalar = try take()
            switch scalar {
            case ")": return true
            case ":": return false
            case "-": isOn = false
            case "i": options.ignoresCase = isOn
            case "s": options.dotMatchesNewlines = isOn
            case "m": options.anchorsMatchLines = isOn
            default: throw PatternProblem("the option '\(scalar)' is not supported")
            }
        }
    }

    // MARK: Repetitions

    /// Whether a repetition comes next.
    private var repeats: Bool {
        var ahead = self
        return (try? ahead.quantifier()) ?? nil != nil
    }

    /// Reads a repetition; nil where there is none.
    private mutating func quantifier() throws(PatternProblem) -> (least: Int, most: Int?)? {
        let range: (least: Int, most: Int?)
        if take("*") {
            range = (0, nil)
        } else if take("+") {
            range = (1, nil)
        } else if take("?") {
            range = (0, 1)
        } else {
            guard let counted = try countedRange() else { return nil }
            range = counted
        }
        if take("+") { throw .backtracking("a possessive repetition") }
        // A lazy one finds the same where a text is matched as a whole.
        _ = take("?")
        return range
    }

    /// Reads `{n}`, `{n,}`, `{n,m}` or `{,m}`; a brace that begins nothing of the kind is a
    /// character.
    private mutating func countedRange() throws(PatternProblem) -> (Int, Int?)? {
        guard next == "{", let end = scalars[position...].firstIndex(of: "}") else { return nil }
        let text = Self.text(scalars[(position + 1)..<end])
        let bounds = text.split(separator: ",", omittingEmptySubsequences: false)
        guard bounds.count <= 2, text.contains(where: \.isNumber),
            text.allSatisfy({ ("0"..."9").contains($0) || $0 == "," })
        else { return nil }
        position = end + 1
        func number(_ text: Substring) throws(PatternProblem) -> Int? {
            if text.isEmpty { return nil }
            guard let number = Int(text), number <= Self.repetitionLimit else {
                throw PatternProblem("it repeats more than \(Self.repetitionLimit) times")
            }
            return number
        }
        let least = try number(bounds[0]) ?? 0
        let most = bounds.count == 1 ? least : try number(bounds[1])
        if let most, most < least { throw PatternProblem("it repeats \(least) to \(most) times") }
        return (least, most)
    }

    // MARK: Escapes

    /// Takes a scalar that stands for itself, as it is or escaped; nil for everything else.
    private mutating func literalScalar() throws(PatternProblem) -> Unicode.Scalar? {
        guard let next else { return nil }
        if next == "\\" { return try escapedScalar() }
        if ".^$[(*+?".unicodeScalars.contains(next) { return nil }
        position += 1
        return next
    }

    /// Takes an escape that stands for one scalar; nil for another one.
    private mutating func escapedScalar() throws(PatternProblem) -> Unicode.Scalar? {
        guard position + 1 < scalars.count else { throw PatternProblem("it ends too early") }
        let scalar = scalars[position + 1]
        let simple: [Unicode.Scalar: Unicode.Scalar] = [
            "t": "\t", "n": "\n", "r": "\r", "f": "\u{c}", "a": "\u{7}", "e": "\u{1b}",
        ]
        if let simple = simple[scalar] {
            position += 2
            return simple
        }
        if ["x", "u", "U"].contains(scalar) {
            position += 2
            return try numberedScalar(scalar)
        }
        guard scalar.isASCII, !scalar.properties.isAlphabetic, scalar.properties.numericType == nil
        else { return nil }
        position += 2
        return scalar
    }

    private mutating func numberedScalar(
        _ kind: Unicode.Scalar
    ) throws(PatternProblem) -> Unicode.Scalar {
        var digits = ""
        if take("{") {
            digits = try take(upTo: "}")
        } else {
            let count = kind == "x" ? 2 : kind == "u" ? 4 : 8
            for _ in 0..<count { digits.unicodeScalars.append(try take()) }
        }
        guard digits.utf8.count <= 8, let number = UInt32(digits, radix: 16),
            let scalar = Unicode.Scalar(number)
        else { throw PatternProblem("'\(digits)' is not the number of a character") }
        return scalar
    }

    /// Reads an escape, after its backslash, that is no literal.
    private mutating func escape() throws(PatternProblem) -> PatternNode {
        let scalar = try take()
        switch scalar {
        case "A": return .edge(.beginning)
        case "z", "Z": return .edge(.end)
        case "b": return .edge(.word(isBoundary: true))
        case "B": return .edge(.word(isBoundary: false))
        case "X": return .one(.any)
        case "1"..."9", "k", "g": throw .backtracking("a back-reference")
        default:
            guard let kind = try escapedClass(scalar) else {
                throw PatternProblem("'\\\(scalar)' is not supported")
            }
            return one(kind)
        }
    }

    /// The class of an escape; nil for other escapes.
    private mutating func escapedClass(
        _ scalar: Unicode.Scalar
    ) throws(PatternProblem) -> PatternClass? {
        switch scalar {
        case "d": return .digit
        case "D": return .not(.digit)
        case "w": return .word
        case "W": return .not(.word)
        case "s": return .whitespace
        case "S": return .not(.whitespace)
        case "h": return .horizontalWhitespace
        case "H": return .not(.horizontalWhitespace)
        case "v", "R": return .newline
        case "V": return .not(.newline)
        case "p", "P":
            guard take("{") else { throw PatternProblem("'\\\(scalar)' needs a name in braces") }
            let name = try take(upTo: "}")
            guard let property = PatternClass(property: name) else {
                throw PatternProblem("the property '\(name)' is not supported")
            }
            return scalar == "p" ? property : .not(property)
        default: return nil
        }
    }

    // MARK: Sets

    /// Reads a set after its bracket.
    private mutating func set() throws(PatternProblem) -> PatternClass {
        depth += 1
        defer { depth -= 1 }
        if depth > Self.depthLimit { throw PatternProblem("its sets are nested too deep") }
        let isNegated = take("^")
        var kinds: [PatternClass] = []
        while !take("]") {
            for operation in ["&&", "--", "~~"] where take(operation) {
                throw PatternProblem("'\(operation)' between sets is not supported")
            }
            if take("[:") {
                kinds.append(try namedClass())
            } else if take("[") {
                kinds.append(try set())
            } else if let first = try setCharacter() {
                kinds.append(try rangeOrCharacter(first))
            } else {
                position += 1
                let scalar = try take()
                guard let kind = try escapedClass(scalar) else {
                    throw PatternProblem("'\\\(scalar)' is not supported in a set")
                }
                kinds.append(kind)
            }
        }
        if kinds.isEmpty { throw PatternProblem("a set is empty") }
        let union = kinds.count == 1 ? kinds[0] : PatternClass.union(kinds)
        return isNegated ? .not(union) : union
    }

    /// Takes a character with the marks after it; nil for an escape that stands for a class.
    private mutating func setCharacter() throws(PatternProblem) -> Character? {
        guard let first = try setScalar() else { return nil }
        var character = Character(first)
        while next != nil, next != "]", next != "[", next != "-" {
            let start = position
            guard let scalar = try setScalar() else { break }
            guard let longer = character.joined(with: scalar) else {
                position = start
                break
            }
            character = longer
        }
        return character
    }

    private mutating func setScalar() throws(PatternProblem) -> Unicode.Scalar? {
        if next == "\\" { return try escapedScalar() }
        return try take()
    }

    private mutating func rangeOrCharacter(
        _ first: Character
    ) throws(PatternProblem) -> PatternClass {
        guard next == "-", position + 1 < scalars.count,
            scalars[position + 1] != "]", scalars[position + 1] != "-"
        else { return .character(first) }
        position += 1
        guard let last = try setCharacter(), let lower = first.onlyScalar,
            let upper = last.onlyScalar, lower <= upper
        else { throw PatternProblem("a range in a set has no end, or ends before it begins") }
        return .range(lower...upper)
    }

    private mutating func namedClass() throws(PatternProblem) -> PatternClass {
        let isNegated = take("^")
        let name = try take(upTo: ":")
        guard take("]"), let kind = PatternClass(named: name) else {
            throw PatternProblem("the class '[:\(name):]' is not supported")
        }
        return isNegated ? .not(kind) : kind
    }
}

extension Character {
    /// The character that this one makes with a scalar after it; nil where that begins another.
    fileprivate func joined(with scalar: Unicode.Scalar) -> Character? {
        let text = String(self) + String(Character(scalar))
        return text.count == 1 ? text.first : nil
    }
}
