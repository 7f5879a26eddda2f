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

    @Test(arguments: ["Stet", "StetStore", "StetTesting", "StetServiceLifecycle"])
    func aPublicFunctionNamesTheErrorsThatItThrows(module: String) throws {
        var count = 0
        for file in try SourceFile.all(in: "Sources/\(module)") {
            for function in file.publicThrowingFunctions {
                count += 1
                #expect(function.isDocumented, "\(file.path):\(function.line)")
            }
        }
        #expect(count > 0)
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

    /// The public functions and initialisers that throw, with whether their comment has errors;
    /// those with underscored names are for generated code.
    fileprivate var publicThrowingFunctions: [(line: Int, isDocumented: Bool)] {
        var found: [(line: Int, isDocumented: Bool)] = []
        var isDocumented = false
        for (index, line) in lines.enumerated() {
            let text = line.drop { $0 == " " }
            if text.hasPrefix("///") {
                isDocumented = isDocumented || text.contains("- Throws:")
            } else if text.hasPrefix("public "), text.contains(/\b(func [a-z]|init\b)/) {
                // The declaration without its parameters, up to the body.
                var depth = 0
                var signature = ""
                reading: for line in lines[index...] {
                    for character in line {
                        if depth == 0, character == "{" { break reading }
                        if character == ")" { depth -= 1 }
                        if depth == 0 { signature.append(character) }
                        if character == "(" { depth += 1 }
                    }
                    signature.append(" ")
                }
                if signature.contains(/\b(re)?throws\b/) {
                    found.append((index + 1, isDocumented))
                }
                isDocumented = false
            } else if !text.hasPrefix("@") {
                isDocumented = false
            }
        }
        return found
    }
}
