/// Parses regular expressions.
struct PatternParser {
    private struct Options {
        var ignoresCase = false
        var dotMatchesNewlines = false
        var anchorsMatchLines = false
    }

    let scalars: [Unicode.Scalar]
    var position = 0
    private var options = Options()
    var depth = 0
    static let depthLimit = 50
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

    var next: Unicode.Scalar? {
        position < scalars.count ? scalars[position] : nil
    }

    mutating func take() throws(PatternProblem) -> Unicode.Scalar {
        guard let next else { throw PatternProblem("it ends too early") }
        position += 1
        return next
    }

    /// Takes a text if it comes next; returns whether it did.
    mutating func take(_ text: String) -> Bool {
        let wanted = Array(text.unicodeScalars)
        guard scalars[position...].starts(with: wanted) else { return false }
        position += wanted.count
        return true
    }

    /// Takes everything up to a scalar, and the scalar; returns the text before it.
    mutating func take(upTo end: Unicode.Scalar) throws(PatternProblem) -> String {
        guard let place = scalars[position...].firstIndex(of: end) else {
            throw PatternProblem("'\(end)' is missing")
        }
        defer { position = place + 1 }
        return Self.text(scalars[position..<place])
    }

    static func text(_ scalars: some Sequence<Unicode.Scalar>) -> String {
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
        /// The last node if it is a character to which marks can still be added.
        var literal: Character?
        while let next, next != "|", next != ")" {
            let isEscape = next == "\\"
            if let scalar = try literalScalar() {
                var character = Character(scalar)
                // A repetition applies to an escaped mark or line feed alone, not to the character
                // it would join.
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

    func one(_ kind: PatternClass) -> PatternNode {
        .one(options.ignoresCase ? .ignoringCase(kind) : kind)
    }

    /// Reads anything that is not a literal; returns nil for a part that produces no node.
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

    /// Reads the text after `(?`; returns true for options that apply to the rest of a group.
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

    /// Reads a repetition; returns nil when there is none.
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
        // A lazy quantifier matches the same when the whole text must match.
        _ = take("?")
        return range
    }

    /// Reads `{n}`, `{n,}`, `{n,m}` or `{,m}`; any other brace is a character.
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
}
