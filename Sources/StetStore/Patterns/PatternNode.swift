/// The parts of a regular expression.
indirect enum PatternNode: Sendable {
    /// One character of a class.
    case one(PatternClass)
    case edge(PatternEdge)
    case sequence([PatternNode])
    case either([PatternNode])
    /// A repetition; `most` is nil for no upper bound.
    case repeated(PatternNode, least: Int, most: Int?)
}

/// A position between two characters.
enum PatternEdge: Sendable {
    case beginning, end
    case beginningOfLine, endOfLine
    /// The position between a word character and another one, or an end of the text; or any other
    /// position.
    case word(isBoundary: Bool)

    /// Returns whether the position between two characters matches; nil stands for an end of the
    /// text.
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

/// The reason why a text is not a usable regular expression, as part of a sentence.
struct PatternProblem: Error, Hashable {
    let reason: String

    init(_ reason: String) { self.reason = reason }

    /// Returns the problem of a construct that only backtracking can match.
    static func backtracking(_ what: String) -> PatternProblem {
        PatternProblem("\(what) cannot be matched in linear time")
    }
}
