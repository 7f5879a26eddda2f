import StetTestSupport
import Testing

@testable import StetStore

/// The trigrams of texts: those of a part of a text are always among those of the text.
struct TextTrigramsTests {
    private static let foldings: [TextFolding] = [
        [], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
    ]

    private func folded(_ text: String) -> [UInt32] {
        var text = text
        return text.withUTF8 { TextTrigrams.folded(UnsafeRawBufferPointer($0)) }
    }

    private func terms(_ text: String) -> [String] {
        TextTrigrams(of: text).trigrams.map {
            String(decoding: TextTrigrams.term($0), as: UTF8.self)
        }
    }

    @Test func trigramsAreFoldedAndOccurOnce() {
        #expect(terms("Banana") == ["ana", "ban", "nan"])
        #expect(terms("\u{c9}TE") == ["ete"])
        #expect(terms("E\u{301}te\u{301}") == ["ete"])
        #expect(terms("Stra\u{df}e") == ["ass", "ras", "sse", "str", "tra"])
        #expect(terms("stra\u{1e9e}e") == terms("STRASSE"))
        #expect(terms("a\u{0}bc") == ["abc"])
        #expect(terms("\u{6771}\u{4eac}\u{90fd}") == ["\u{6771}\u{4eac}\u{90fd}"])
        for text in ["", "a", "ab", "e\u{301}e\u{301}", "ab\u{0}"] { #expect(terms(text) == []) }
    }

    @Test func severalTextsHaveTheTrigramsOfEach() {
        var trigrams = TextTrigrams(of: "abc")
        for text in ["bcd", "abc", "x"] {
            Array(text.utf8).withUnsafeBytes { trigrams.append($0) }
        }
        #expect(trigrams.trigrams == TextTrigrams(of: "abcd").trigrams)
    }

    /// The scalars of scripts and symbols; of the many ideographs and Hangul syllables, a sample.
    private static let scalars: [Unicode.Scalar] = {
        let values = Array(UInt32(0)..<0x3400) + Array(0xa000..<0xac00) + Array(0xd7a4..<0x1_4400)
        let samples = stride(from: UInt32(0x3400), to: 0xd7a4, by: 29)
        let planes = Array(UInt32(0x1_6000)..<0x1_7000) + Array(0x1_bc00..<0x2_0000)
        return (values + samples + planes + Array(0x2_f800..<0x2_fa20)).compactMap(
            Unicode.Scalar.init)
    }()

    @Test func theFormOfAFoldedScalarIsThatOfTheScalar() {
        var different: [String] = []
        for scalar in Self.scalars {
            let text = String(scalar)
            let own = folded(text)
            for folding in Self.foldings {
                let other = text.folded(folding)
                if folded(other) != own || folded(other.inNormalFormC) != own {
                    different.append(String(scalar.value, radix: 16))
                }
            }
        }
        #expect(different == [])
    }

    @Test(arguments: 0..<repetitions(40)) func aTextHasTheTrigramsOfItsParts(seed: Int) {
        var random = SeededGenerator(seed: 61, stream: seed)
        let pieces = [
            "a", "B", "c", "e\u{301}", "\u{e9}", "\u{df}", "\u{1e9e}", "\u{130}", "i\u{307}",
            "\u{1fb3}", "\u{3b1}\u{345}\u{301}", "\u{3b1}\u{fb2}\u{345}\u{fb1}", "\u{3b9}",
            "\u{3a3}", "\u{3c2}", "\u{212b}", "\r\n", "\r", "\u{0}", "\u{d55c}", "\u{1112}",
            "\u{1161}", "\u{11ab}", "\u{915}\u{94d}\u{937}", "\u{304b}\u{3099}", "\u{fb03}",
            "\u{1F468}\u{200D}\u{1F469}", "\u{1F1E9}\u{1F1EA}", "\u{301}", "\u{149}",
        ]
        for _ in 0..<50 {
            let text = (0..<Int.random(in: 1...8, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? ""
            }.joined()
            for folding in Self.foldings {
                let characters = Array(text.folded(folding))
                let start = Int.random(in: 0...characters.count, using: &random)
                let end = Int.random(in: start...characters.count, using: &random)
                let part = String(characters[start..<end])
                let (whole, found) = (TextTrigrams(of: text), TextTrigrams(of: part))
                let isPart = Set(found.trigrams).isSubset(of: whole.trigrams)
                #expect(isPart, "\(part.debugDescription) in \(text.debugDescription)")
            }
        }
    }
}
