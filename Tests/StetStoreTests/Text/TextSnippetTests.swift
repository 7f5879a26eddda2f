import StetTestSupport
import Testing

@testable import StetStore

/// The part of a text that shows why it was found.
struct TextSnippetTests {
    /// The snippet with its ranges in brackets.
    private func snippet(_ query: String, _ text: String, _ wordCount: Int) -> String {
        let snippet = TextQuery(query).snippet(of: text, wordCount: wordCount)
        var marked = ""
        var place = snippet.text.startIndex
        for range in snippet.ranges {
            marked += snippet.text[place..<range.lowerBound] + "[" + snippet.text[range] + "]"
            place = range.upperBound
        }
        return marked + snippet.text[place...]
    }

    @Test func rangesAreThoseOfTheWords() {
        let text = "Été, the ÉTÉ of an edit session; session"
        let query = TextQuery("ete \"edit session\" -the sess*")
        #expect(
            query.ranges(in: text).map { String(text[$0]) }
                == ["Été", "ÉTÉ", "edit", "session", "session"])
        #expect(TextQuery("x").ranges(in: text).isEmpty)
        #expect(TextQuery("-the").ranges(in: text).isEmpty)
        #expect(TextQuery("a").ranges(in: "").isEmpty)
        let near = TextQuery("\"edit of\"~3")
        #expect(near.ranges(in: text).map { String(text[$0]) } == ["of", "edit"])
    }

    @Test func theSnippetHasTheMostHits() {
        let text = "one, two three. four five (six) seven eight nine ten!"
        #expect(snippet("six four", text, 3) == "…[four] five ([six]…")
        #expect(snippet("six", text, 3) == "…five ([six]) seven…")
        #expect(snippet("one ten", text, 3) == "[one], two three…")
        #expect(snippet("ten", text, 3) == "…eight nine [ten]!")
        #expect(snippet("none", text, 2) == "one, two…")
        #expect(
            snippet("two", text, 20) == "one, [two] three. four five (six) seven eight nine ten!")
        #expect(snippet("two", "", 3) == "")
        #expect(snippet("a", "!?", 1) == "!?")
    }

    @Test func snippetsOfAnyTextHaveRangesOfTheirWords() {
        var random = SeededGenerator(seed: 13)
        let parts = ["ab", "é", " ", ", ", "東", "\u{301}", "x\u{0}y", "🎉", "AB "]
        for _ in 0..<2_000 {
            let text = (0..<12).map { _ in parts.randomElement(using: &random) ?? "" }.joined()
            let query = TextQuery("ab e* 東")
            let count = Int.random(in: 1...5, using: &random)
            let snippet = query.snippet(of: text, wordCount: count)
            let found = snippet.ranges.map {
                String(snippet.text[$0]).folded([.caseInsensitive, .diacriticInsensitive])
            }
            #expect(found.allSatisfy { $0 == "ab" || $0.hasPrefix("e") || $0 == "東" }, "\(text)")
            #expect(snippet.ranges.isEmpty == query.ranges(in: text).isEmpty, "\(text)")
        }
    }
}
