/// A search for words, as people type it.
///
/// ```swift
/// context.fetch(Article.self).matching("undo jour* -sqlite \"edit session\"")
/// ```
///
/// The parts of the text are separated by white space:
///
/// - `undo` requires the word; a part with several words, such as `undo-stack`, requires them side
///   by side.
/// - `jour*` requires a word that begins with this; in a text with a language, a word whose stem
///   begins with this or is that of `jour`.
/// - `"edit session"` requires the words side by side, in this order; the last one may be a
///   beginning, as in `"edit sess"*`. A quotation mark that is missing counts at the end.
/// - `"undo journal"~5` requires the words near each other: in any order, with at most 5 words
///   between them in all; without a number 10.
/// - `-sqlite` or `-"edit session"` requires that the word or the words do not occur.
///
/// Words are compared by their stems in texts with a language, and by all of their letters in
/// others. Case and diacritics make no difference, and nor do characters that are not part of
/// words. Every
/// text is a search: parts without a word are ignored, and a search that requires no word, such as
/// an empty one or `-sqlite`, finds nothing.
public struct TextQuery: Hashable, Sendable {
    /// The text as it was typed.
    public let text: String
    /// The words and phrases that must occur.
    package let required: [TextPhrase]
    /// The words and phrases that must not occur.
    package let excluded: [TextPhrase]

    /// Creates a search from any text.
    public init(_ text: String) {
        self.text = text
        var parts = TextQueryParts(text)
        var phrases: (required: [TextPhrase], excluded: [TextPhrase]) = ([], [])
        while let part = parts.next() {
            if part.phrase.wordCount == 0 { continue }
            if part.isExcluded {
                phrases.excluded.append(part.phrase)
            } else {
                phrases.required.append(part.phrase)
            }
        }
        (required, excluded) = phrases
    }
}

/// The parts of a search, one after another.
private struct TextQueryParts {
    typealias Part = (phrase: TextPhrase, isExcluded: Bool)

    private var rest: Substring

    init(_ text: String) { rest = text[...] }

    private mutating func take(_ character: Character) -> Bool {
        guard rest.first == character else { return false }
        rest.removeFirst()
        return true
    }

    mutating func next() -> Part? {
        rest = rest.drop(while: \.isWhitespace)
        if rest.isEmpty { return nil }
        let isExcluded = take("-")
        let isQuoted = take("\"")
        let end =
            rest.firstIndex { isQuoted ? $0 == "\"" : $0 == "\"" || $0.isWhitespace }
            ?? rest.endIndex
        let text = rest[..<end]
        rest = rest[end...]
        let isClosed = isQuoted && take("\"")
        let isPrefix = (isClosed && take("*")) || text.last == "*"
        let distance = isClosed && take("~") ? takeNumber() ?? Self.defaultDistance : nil
        return (TextPhrase(text, isPrefix: isPrefix, distance: distance), isExcluded)
    }

    private static let defaultDistance = 10

    /// Takes the digits that follow, as a number up to 10,000.
    private mutating func takeNumber() -> Int? {
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        rest = rest[digits.endIndex...]
        return digits.isEmpty ? nil : min(Int(digits) ?? .max, 10_000)
    }
}
