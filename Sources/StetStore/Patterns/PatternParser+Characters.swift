// Escapes and sets of regular expressions.

extension PatternParser {
    // MARK: Escapes

    /// Takes a scalar that stands for itself, plain or escaped; returns nil for anything else.
    mutating func literalScalar() throws(PatternProblem) -> Unicode.Scalar? {
        guard let next else { return nil }
        if next == "\\" { return try escapedScalar() }
        if ".^$[(*+?".unicodeScalars.contains(next) { return nil }
        position += 1
        return next
    }

    /// Takes an escape that represents one scalar; returns nil for another escape.
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

    /// Reads an escape, after its backslash, that is not a literal.
    mutating func escape() throws(PatternProblem) -> PatternNode {
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

    /// Returns the class of an escape; nil for other escapes.
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
    mutating func set() throws(PatternProblem) -> PatternClass {
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

    /// Takes a character with the marks after it; returns nil for an escape that represents a
    /// class.
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
    /// Returns the character that this one forms with a scalar after it; nil when the scalar begins
    /// another one.
    func joined(with scalar: Unicode.Scalar) -> Character? {
        let text = String(self) + String(Character(scalar))
        return text.count == 1 ? text.first : nil
    }
}
