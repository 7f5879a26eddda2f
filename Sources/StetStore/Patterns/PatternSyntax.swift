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
