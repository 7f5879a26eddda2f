import Testing

/// The doc comments of the sources, the tests, the benchmarks and the example: plain English, which
/// begins with a verb or a noun.
@Suite struct DocumentationCommentTests {
    /// Beginnings of summaries that say neither what a declaration does nor what it is.
    private static let openings = [
        "What", "Those", "The same", "Who", "Whose", "Where", "How", "Why", "That", "Of", "By",
        "In", "nil", "Nil",
    ]

    /// Phrases that a native technical writer would not use, as regular expressions.
    private static let phrases = [
        "unless said otherwise", "that is none", #"\bstands\b(?! for)"#, #"\bmeanwhile\b"#,
        #"\bputs? (\w+ )?back\b"#, #"\b(takes?|taken|taking) (\w+ )?back\b"#,
        #"\b(tells?|told)\b"#, #"\bbecomes? of\b"#, #"\bcomes? to nothing\b"#,
        #"\banswers (true|false)\b"#, #"\b(go|goes) on\b"#, "so much as", "as well as nothing",
        "one after the other", "whole or not at all", #"\bto many\b"#, #"[Cc]losing twice"#,
        #"\b(lies|lie)\b"#, #"\b(what|who|whoever) (asks?|goes|stays|comes)\b"#,
    ]

    /// The folders whose doc comments are read.
    private static let folders = [
        "Sources", "Tests", "Benchmarks/Sources", "Benchmarks/Service/Sources", "Examples/Sources",
        "Examples/Tracker/Sources", "Examples/Browse/Sources", "Examples/Markup/Sources",
    ]

    /// Every doc comment with its place.
    private static let comments = Result {
        try folders.flatMap { try SourceFile.all(in: $0) }.flatMap { file in
            file.documentation.map { ("\(file.path):\($0.line)", $0.text) }
        }
    }

    @Test(arguments: openings)
    func aSummaryBeginsWithAVerbOrANoun(opening: String) throws {
        let comments = try Self.comments.get()
        #expect(comments.count > 3_000)
        let found = comments.filter { $0.1.hasPrefix("\(opening) ") }
        #expect(found.map { "\($0.0) \($0.1.prefix(60))" } == [])
    }

    @Test(arguments: phrases)
    func aDocCommentIsWrittenAsANativeWriterWould(phrase: String) throws {
        let pattern = try Regex(phrase)
        let found = try Self.comments.get().compactMap { place, text in
            text.firstMatch(of: pattern).map { "\(place) \(text[$0.range])" }
        }
        #expect(found == [])
    }
}

extension SourceFile {
    /// The doc comments with the numbers of their first lines, each as one line of text.
    fileprivate var documentation: [(line: Int, text: String)] {
        var found: [(line: Int, text: String)] = []
        var isInside = false
        for (index, line) in lines.enumerated() {
            let text = line.drop { $0 == " " }
            let isComment = text.hasPrefix("///")
            defer { isInside = isComment }
            guard isComment else { continue }
            let words = text.dropFirst(3).drop { $0 == " " }
            if isInside {
                found[found.count - 1].text += " \(words)"
            } else {
                found.append((index + 1, String(words)))
            }
        }
        return found
    }
}
