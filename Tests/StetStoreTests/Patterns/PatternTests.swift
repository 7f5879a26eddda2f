import StetTestSupport
import Testing

@testable import StetStore

/// The regular expressions of `.matches`.
struct PatternTests {
    private func matches(_ pattern: String, _ text: String) -> Bool {
        var text = text
        return text.withUTF8 { Pattern(pattern).matches(UnsafeRawBufferPointer($0)) }
    }

    // MARK: Time

    /// Searches that go back need more steps than there are atoms for these.
    @Test(arguments: [
        ("([a-zA-Z0-9]+[._-]?)+@example\\.com", "a"), ("(\\w+\\s?)+", "a"), ("(a*)*b", "a"),
        ("(a|aa)+", "a"), ("(a|a?)+b", "a"), ("((a?){40}){40}b", "a"), ("(.*)*(.*)*(.*)*x", "y"),
        ("(?i)(x+x+)+y", "X"),
    ])
    func noTextTakesLong(_ pattern: String, _ character: String) {
        let text = String(repeating: character, count: Pattern.textByteCount - 1) + "!"
        #expect(Pattern(pattern).problem == nil)
        #expect(!matches(pattern, text))
    }

    @Test func textOfAtMostSoManyBytesIsMatched() {
        let limit = Pattern.textByteCount
        #expect(matches("a*", String(repeating: "a", count: limit)))
        #expect(!matches("a*", String(repeating: "a", count: limit + 1)))
    }

    // MARK: Meaning

    @Test(arguments: [
        "", "a", "abc", "a|b", "|a", "a(b|c)*d", "(?:ab)+", "(?<name>a)b", "(?P<name>a)", "(?'n'a)",
        "a{2}", "a{2,}", "a{1,2}", "a{,2}", "a{", "a{x}", "a{0}", "a*?", "a+?b", "a??", "a{1,2}?",
        ".", ".*", "(?s).*", "^a$", "\\Aa\\z", "(?m)^a$\\n^b$", "[a-c]", "[^a-c]", "[]", "[a-]",
        "[-a]", "[a\\]]", "[a[bc]]", "[\\d_]", "[^\\s]", "\\d+", "\\D", "\\w+", "\\W", "\\s",
        "\\S", "\\h", "\\v", "\\R", "\\X", "\\n", "\\r\\n", "\\r\\n?", "\\x41", "\\u{e9}",
        "\\u00e9", "e\\u{301}", "\\.", "\\p{L}+", "\\p{Lu}", "\\P{L}", "\\p{Letter}", "\\p{Nd}",
        "\\p{Sc}", "[[:alpha:]]+", "[[:^alpha:]]", "[[:digit:]]", "[[:punct:]]", "(?i)abc",
        "(?i)[a-c]+", "(?i:A)b", "a(?i)B", "(a(?i)B)C", "(?-i)a", "(?#note)a", "\u{e9}",
        "[\u{e0}-\u{fc}]", "e\u{301}", "(?i)\u{e9}", "(?i)stra\u{df}e", "a)", "(", "[", "*a",
        "a**", "[z-a]", "a{2,1}", "\\", "(?<>a)", "\u{1F1E9}\u{1F1EA}", "(|a)*", "()", "(a*)*",
        "(a|b)*abb", "a\\-b", "\\-", "[+*?.(){}|^$]", "[a-z0-9]+(-[a-z0-9]+)*",
    ])
    func aPatternMeansWhatItMeansToRegex(_ pattern: String) throws {
        let expected = try? Regex(pattern)
        #expect((Pattern(pattern).problem == nil) == (expected != nil))
        guard let expected else { return }
        for text in Self.texts {
            #expect(
                matches(pattern, text) == (try expected.wholeMatch(in: text) != nil),
                "\(text.debugDescription)")
        }
    }

    private static let texts = [
        "", "a", "b", "aa", "ab", "aab", "aB", "AB", "Ab", "abc", "ABC", "abd", "acbd", "abab",
        "aabb", "babb", "a{", "a{x}", "a-b", "a\nb", "\n", "\r\n", "\r", "-", "]", "1", "12",
        "\u{bd}", "\u{663}", "_", " ", "\t", "\u{a0}", ".", "A", "\u{e9}", "e\u{301}", "E\u{301}",
        "\u{c9}", "e", "\u{fc}", "stra\u{df}e", "STRASSE", "STRA\u{1e9e}E", "\u{212a}", "K", "k",
        "\u{1F468}\u{200D}\u{1F469}", "\u{1F1E9}\u{1F1EA}", "$", "\u{20ac}", "!", "+", "ab-c1",
        "ab--c", "b\u{301}", "\u{2028}", "z",
    ]

    @Test func randomPatternsMeanWhatTheyMeanToRegex() throws {
        var random = SeededGenerator(seed: 0x9a77)
        for round in 0..<2_000 {
            let pattern = Self.pattern(2, &random)
            let expected = try Regex(pattern)
            for _ in 0..<4 {
                let text = (0..<Int.random(in: 0...4, using: &random)).map { _ in
                    Self.texts.randomElement(using: &random) ?? ""
                }.joined()
                #expect(
                    matches(pattern, text) == (try expected.wholeMatch(in: text) != nil),
                    "round \(round): \(pattern.debugDescription), \(text.debugDescription)")
            }
        }
    }

    private static func pattern(_ depth: Int, _ random: inout SeededGenerator) -> String {
        let atoms = [
            "a", "b", "ab", "\u{e9}", "e", ".", "\\d", "\\w", "\\s", "\\S", "[a-c]", "[^a-c]",
            "[\\d_-]", "[[:alpha:]]", "\\p{Lu}", "\\P{L}", "\\h", "\\v", "\\n", "\\.", "\\R", "\\X",
        ]
        let repetitions = ["*", "+", "?", "{2}", "{1,3}", "{,2}", "*?", "+?", "??", "{2,}"]
        var text = ""
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            switch Int.random(in: 0..<(depth > 0 ? 7 : 4), using: &random) {
            case 4: text += "(" + pattern(depth - 1, &random) + ")"
            case 5:
                text += "(?:" + pattern(depth - 1, &random) + "|"
                text += pattern(depth - 1, &random) + ")"
            case 6: text += "(?i:" + pattern(depth - 1, &random) + ")"
            default: text += atoms.randomElement(using: &random) ?? ""
            }
            if Int.random(in: 0..<3, using: &random) == 0 {
                text += repetitions.randomElement(using: &random) ?? ""
            }
        }
        return text
    }

    @Test(arguments: [
        ("a\\b b", "a b", true), ("a\\bb", "ab", false), ("\\bab\\b", "ab", true),
        ("a\\Bb", "ab", true), ("a\\B b", "a b", false), ("\\b", "", false), ("\\B", "", true),
        ("\\b-", "-", false), ("\u{e9}\\b-", "e\u{301}-", true),
    ])
    func aWordEndsBetweenAWordCharacterAndAnother(
        _ pattern: String, _ text: String, _ expected: Bool
    ) {
        #expect(matches(pattern, text) == expected)
    }

    // MARK: What is refused

    @Test(arguments: [
        ("(a)\\1", "a back-reference cannot be matched in linear time"),
        ("(?<x>a)\\k<x>", "a back-reference cannot be matched in linear time"),
        ("(?P<x>a)(?P=x)", "a back-reference cannot be matched in linear time"),
        ("(?=a)a", "a look-ahead cannot be matched in linear time"),
        ("(?!a)b", "a look-ahead cannot be matched in linear time"),
        ("(?<=a)b", "a look-behind cannot be matched in linear time"),
        ("(?<!a)b", "a look-behind cannot be matched in linear time"),
        ("(?>a+)b", "an atomic group cannot be matched in linear time"),
        ("a++b", "a possessive repetition cannot be matched in linear time"),
        ("(a(?R)?b)", "a recursion cannot be matched in linear time"),
        ("(", "a group is not closed"), ("a)", "a group is closed that was not opened"),
        ("[a", "it ends too early"), ("[]", "a set is empty"), ("*", "'*' repeats nothing"),
        ("a**", "a repetition is repeated"), ("^*", "an anchor is repeated"),
        ("[b-a]", "a range in a set has no end, or ends before it begins"),
        ("[a&&b]", "'&&' between sets is not supported"), ("\\y", "'\\y' is not supported"),
        ("\\p{Script=Greek}", "the property 'Script=Greek' is not supported"),
        ("(?x)a", "the option 'x' is not supported"), ("a{3,2}", "it repeats 3 to 2 times"),
        ("a{5000}", "it repeats more than 4096 times"),
        ("(a{100}){101}", "it needs more than 10000 steps"),
        ("\\x{110000}", "'110000' is not the number of a character"),
    ])
    func whatCannotBeMatchedIsNamed(_ pattern: String, _ reason: String) {
        #expect(Pattern(pattern).problem == PatternProblem(reason))
        #expect(!matches(pattern, "a"))
    }

    @Test func deepPatternsAreRefused() {
        func nested(_ count: Int, _ open: String, _ close: String) -> String {
            String(repeating: open, count: count) + "a" + String(repeating: close, count: count)
        }
        #expect(Pattern(nested(40, "(", ")")).problem == nil)
        #expect(
            Pattern(nested(500, "(", ")")).problem
                == PatternProblem("its groups are nested too deep"))
        #expect(
            Pattern(nested(500, "[", "]")).problem
                == PatternProblem("its sets are nested too deep"))
    }

    @Test func hostilePatternsAreReadToTheirEndOrRefused() {
        var random = SeededGenerator(seed: 0x4057)
        let parts = Array("ab\\(?[]){}*+|^$.,-:<>=!PkQE019{1,}(?:[[:]\\p{x\u{301}\r\n")
        for _ in 0..<5_000 {
            let text = (0..<Int.random(in: 0...24, using: &random)).map { _ in
                String(parts.randomElement(using: &random) ?? "a")
            }.joined()
            let pattern = Pattern(text)
            #expect(pattern.problem.map { !$0.reason.isEmpty } ?? true)
            _ = matches(text, "ab")
        }
    }
}
