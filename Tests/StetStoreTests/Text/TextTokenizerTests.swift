import StetTestSupport
import Testing

@_spi(_Unicode) import Swift

@testable import StetStore

/// Words are those between Unicode's word boundaries, folded.
struct TextTokenizerTests {
    private func words(_ text: String) -> [String] {
        var words: [String] = []
        var text = text
        text.withUTF8 { bytes in
            TextTokenizer.forEachWord(in: UnsafeRawBufferPointer(bytes)) { word, _ in
                words.append(String(decoding: word, as: UTF8.self))
            }
        }
        return words
    }

    @Test func wordsEndAtUnicodeWordBoundaries() {
        #expect(words("") == [])
        #expect(words(" \t\n-- ... !? ___") == [])
        #expect(words("The quick (\"brown\") fox") == ["the", "quick", "brown", "fox"])
        #expect(words("can't 3.14 1,000 x_y a.b") == ["can't", "3.14", "1,000", "x_y", "a.b"])
        #expect(words("end. Start, 'quoted' sqlite3") == ["end", "start", "quoted", "sqlite3"])
        #expect(words("東京タワー") == ["東", "京", "タワー"])
        #expect(words("שלום, мир!") == ["שלום", "мир"])
        #expect(words("🎉 party🎉time") == ["party", "time"])
    }

    @Test func caseAndDiacriticsMakeNoDifference() {
        #expect(words("Été ÉTÉ e\u{301}te\u{301} ete") == ["ete", "ete", "ete", "ete"])
        #expect(words("Straße STRASSE") == ["strasse", "strasse"])
        #expect(words("Ångström") == words("A\u{30a}ngstro\u{308}m"))
        // A mark that makes another letter stays.
        #expect(words("か が").count == 2)
        #expect(words("か") != words("が"))
    }

    @Test func placesAreThoseOfTheBytes() {
        var text = "ab Été, cd"
        var places: [Range<Int>] = []
        text.withUTF8 { bytes in
            TextTokenizer.forEachWord(in: UnsafeRawBufferPointer(bytes)) { places.append($1) }
        }
        #expect(places == [0..<2, 3..<8, 10..<12])
    }

    @Test func aLongWordIsCutOffBetweenCharacters() {
        let limit = TextTokenizer.wordByteLimit
        #expect(
            words(String(repeating: "a", count: limit)) == [String(repeating: "a", count: limit)])
        #expect(words(String(repeating: "a", count: limit + 1))[0].utf8.count == limit)
        let wide = words(String(repeating: "я", count: 200))
        #expect(wide == [String(repeating: "я", count: limit / 2)])
    }

    @Test func asciiIsSplitAsTheStandardLibrarySplitsIt() {
        var random = SeededGenerator(seed: 7)
        let characters = Array("aZ09_.:,;'-\" (/")
        for _ in 0..<20_000 {
            let text = String((0..<12).map { _ in characters.randomElement(using: &random)! })
            var expected: [String] = []
            var start = text.startIndex
            while start < text.endIndex {
                let end = text._wordIndex(after: start)
                let word = text[start..<end].lowercased()
                if word.contains(where: { $0.isLetter || $0.isNumber }) { expected.append(word) }
                start = end
            }
            guard words(text) == expected else {
                Issue.record("\(text): \(words(text)), but \(expected)")
                return
            }
        }
    }

    @Test func theVersionNamesTheRulesAndUnicode() {
        #expect(TextTokenizer.version >> 8 == 2)
        // Unicode 15 and later.
        #expect(TextTokenizer.version & 0xff >= 15 << 2)
    }

    // MARK: Queries

    private func described(_ text: String) -> [String] {
        let query = TextQuery(text)
        func phraseText(_ phrase: TextPhrase) -> String {
            phrase.forms(in: nil).words.map { String(decoding: $0[0], as: UTF8.self) }.joined(
                separator: " ")
                + (phrase.isPrefix ? "*" : "") + (phrase.distance.map { "~\($0)" } ?? "")
        }
        return query.required.map(phraseText) + query.excluded.map { "-" + phraseText($0) }
    }

    @Test func aQueryHasWordsBeginningsPhrasesAndExclusions() {
        #expect(
            described("undo jour* -sqlite \"edit session\"")
                == ["undo", "jour*", "edit session", "-sqlite"])
        #expect(
            described("undo-stack -\"a b\" \"edit se\"* \"x y*\"")
                == ["undo stack", "edit se*", "x y*", "-a b"])
        #expect(
            described("\"a b\"~5 \"a b\"~ \"a b\"*~0x \"a\"~3 \"a b\"~99999999999999999999 a~2")
                == ["a b~5", "a b~10", "a b*~0", "x", "a", "a b~10000", "a 2"])
        #expect(described("one\"two three\"four") == ["one", "two three", "four"])
    }

    @Test func anyTextIsAQuery() {
        #expect(described("") == [])
        #expect(described(" \n") == [])
        #expect(described("- * \"\" -\"\" !?") == [])
        #expect(described("\"open quote") == ["open quote"])
        #expect(described("-") == [])
        #expect(described("--x") == ["-x"])
        #expect(described("a* * *b \"") == ["a*", "b"])
        var random = SeededGenerator(seed: 3)
        let characters = Array("a é-*\" \n'.\u{0}東")
        for _ in 0..<5_000 {
            let text = String((0..<8).map { _ in characters.randomElement(using: &random)! })
            #expect(TextQuery(text).required.allSatisfy { $0.wordCount > 0 })
        }
    }
}
