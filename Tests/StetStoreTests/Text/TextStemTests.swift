import StetLMDB
import StetTestSupport
import Testing

@testable import StetStore

/// A stemmer that is a closure.
private struct ClosureStemmer: TextStemmer {
    var version: UInt32 = 1
    let change: @Sendable (String) -> String

    func stem(_ word: String) -> String { change(word) }
}

/// Words and phrases in the forms that an index has, with stemmers of all kinds.
struct TextStemTests {
    private static func language(
        _ name: String, version: UInt32 = 1, _ change: @escaping @Sendable (String) -> String
    ) -> TextLanguage {
        TextLanguage(name, stemmer: ClosureStemmer(version: version, change: change))
    }

    /// Without a final "s", and without a final "é", which a plain "e" is not.
    private static let plural = language("plural") { word in
        word.hasSuffix("s") || word.hasSuffix("é") ? String(word.dropLast()) : word
    }

    /// Returns the forms of all words of a text, in the order of their bytes, with their postings.
    private func forms(_ text: String, _ language: TextLanguage?) -> [String: [UInt8]] {
        var words = TextWords()
        Array(text.utf8).withUnsafeBytes { words.append($0, attribute: 0, language: language) }
        var forms: [String: [UInt8]] = [:]
        var lists = TextLists()
        var postings = TextPostings()
        words.append(to: &postings, 7, &lists)
        postings.forEach(in: lists) { list, posting in
            // After the number of the index and a 1, and before a 0.
            forms[String(decoding: list.dropFirst(3).dropLast(), as: UTF8.self)] = Array(posting)
        }
        return forms
    }

    private func ranges(_ query: String, _ text: String) -> [Substring] {
        TextQuery(query).ranges(in: text, language: Self.plural).map { text[$0] }
    }

    @Test func aWordIsIndexedByItsStem() {
        // The number of words above a bit for a single position, which follows; without the bit,
        // the number of bytes and the differences of the positions.
        #expect(forms("Dogs dog DOG", Self.plural) == ["dog": [6, 3, 1, 1, 1]])
        #expect(forms("Dogs dog", nil) == ["dogs": [5, 0], "dog": [5, 1]])
    }

    @Test func aWordWithDiacriticsHasTheStemsOfBothSpellings() {
        #expect(forms("Abé", Self.plural) == ["abe": [3, 0], "ab": [3, 0]])
        #expect(forms("abe", Self.plural) == ["abe": [3, 0]])
        #expect(forms("és", Self.plural) == ["e": [3, 0]])
        // A form of one word that equals that of another.
        #expect(forms("abé ab abé", Self.plural) == ["abe": [6, 2, 1, 2], "ab": [6, 3, 1, 1, 1]])
        // The marks may also follow their letters.
        #expect(forms("abe\u{301}", Self.plural) == forms("abé", Self.plural))
    }

    @Test func aSearchFindsStemsWithAndWithoutDiacritics() {
        let text = "abé abe ab Abés"
        #expect(ranges("abé", text) == ["abé", "abe", "ab", "Abés"])
        #expect(ranges("abe", text) == ["abé", "abe", "Abés"])
        #expect(ranges("abs", text) == ["abé", "ab"])
    }

    @Test func aBeginningIsComparedWithStems() {
        let text = "dogs doggeds dogma cats"
        #expect(ranges("dog*", text) == ["dogs", "doggeds", "dogma"])
        #expect(ranges("dogs*", text) == ["dogs"])
        #expect(ranges("doggeds*", text) == ["doggeds"])
        #expect(ranges("\"dog dogged\"*", text) == ["dogs", "doggeds"])
        #expect(ranges("ca*", text) == ["cats"])
    }

    @Test func stemsThatCannotBeIndexedAreReplacedByTheWord() {
        let wanted = ["word": [UInt8(3), 0]]
        #expect(forms("word", Self.language("empty") { _ in "" }) == wanted)
        #expect(forms("word", Self.language("zero") { _ in "a\0b" }) == wanted)
        let long = Self.language("long") { _ in String(repeating: "x", count: 255) }
        #expect(forms("word", long) == wanted)
        let longest = Self.language("longest") { _ in String(repeating: "x", count: 254) }
        #expect(forms("word", longest).keys.first?.count == 254)
        // Marks that the stemmer adds are removed again.
        #expect(forms("word", Self.language("marks") { _ in "wörd" }) == wanted)
    }

    @Test func theStemmerGetsOnlyFoldedWordsOfLimitedLength() {
        let asked = Monitor<[String]>([])
        let language = Self.language("asked") { word in
            asked.withLock { $0.append(word) }
            return word
        }
        for count in [253, 254, 255, 256, 10_000] {
            _ = forms(String(repeating: "A", count: count), language)
        }
        let counts = asked.withLock { $0.map(\.utf8.count) }
        #expect(counts == [253, 254])
        asked.withLock { $0 = [] }
        _ = forms(
            "É e\u{301}\u{302} STRASSE Straße x\(String(repeating: "\u{301}", count: 600))",
            language)
        #expect(
            asked.withLock { $0 } == ["e", "é", "e", "é\u{302}", "strasse", "strasse", "x"])
    }

    @Test func textsInTwoLanguagesAreStemmedByTheirOwn() throws {
        let other = Self.language("other") { $0.hasSuffix("n") ? String($0.dropLast()) : $0 }
        var words = TextWords()
        let languages = [Self.plural, other, nil]
        for (attribute, language) in languages.enumerated() {
            Array("dogs dogn".utf8).withUnsafeBytes {
                words.append($0, attribute: attribute, language: language)
            }
        }
        func counts(_ text: String) throws -> [Int] {
            var counts = [0, 0, 0]
            let phrase = try #require(TextQuery(text).required.first)
            words.count(IndexedPhrase(phrase, in: languages), &counts)
            return counts
        }
        #expect(try counts("dog") == [1, 1, 0])
        #expect(try counts("dogs") == [1, 1, 1])
        #expect(try counts("dogn") == [1, 1, 1])
        #expect(try counts("dogs*") == [1, 1, 1])
        #expect(try counts("\"dogs dogn\"") == [1, 1, 1])
        #expect(try counts("\"dogs dog\"~0") == [1, 1, 0])
    }

    @Test func languagesAreEqualByNameAndVersion() {
        let one = Self.language("version") { $0 }
        #expect(one == Self.language("version") { $0 + "x" })
        #expect(one != Self.language("version", version: 2) { $0 })
        #expect(one != Self.language("name") { $0 })
        // The last one is known.
        #expect(TextLanguage("version", version: 2).hasStemmer)
        #expect(!TextLanguage("version", version: 1).hasStemmer)
        #expect(TextLanguage("version", version: 1) == one)
        #expect(TextLanguage("version", version: 1).isKnownInAnotherVersion)
        #expect(!TextLanguage("never", version: 1).hasStemmer)
        #expect(!TextLanguage("never", version: 1).isKnownInAnotherVersion)
    }
}
