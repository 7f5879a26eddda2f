import StetTestSupport
import Testing

@testable import StetStore

/// Searches in texts by their bytes, beside those by characters.
struct TextPatternTests {
    private func matches(
        _ search: QueryNode.TextSearch, _ text: String, _ part: String, _ folding: TextFolding
    ) -> Bool {
        let pattern = TextPattern(search, part, folding)
        let answer = pattern.matches(text)
        let isNormalized = text.utf8.elementsEqual(text.inNormalFormC.utf8)
        var text = text
        let direct = text.withUTF8 {
            pattern.matches(UnsafeRawBufferPointer($0), isNormalized: isNormalized)
        }
        #expect(direct == answer, "\(text) \(part)")
        return direct
    }

    private func expected(
        _ search: QueryNode.TextSearch, _ text: String, _ part: String, _ folding: TextFolding
    ) -> Bool {
        let (text, part) = (Array(text.folded(folding)), Array(part.folded(folding)))
        guard text.count >= part.count else { return false }
        let starts = 0...(text.count - part.count)
        return switch search {
        case .prefix: text.starts(with: part)
        case .suffix: text.reversed().starts(with: part.reversed())
        case .anywhere: starts.contains { text[$0...].starts(with: part) }
        }
    }

    /// Pieces whose folding, normal form or boundaries differ from those of their bytes.
    private static let pieces = [
        "a", "A", "b", "B", "k", "K", "\u{212A}", "s", "S", "ſ", "ß", "ẞ", "i", "I", "İ", "ı", "e",
        "é", "E\u{301}", "É", "\u{301}", "\u{200D}", "\u{FE0F}", "ö", "Ö", "σ", "ς", "Σ", "ж",
        "Ж", "東", "が", "か\u{3099}", "한", "👩🏽‍💻", "–", ";", "\u{37E}", "`", "\u{1FEF}", "ﬁ", "f",
        "\r\n", "\n", "\r", " ", "@", "[", "{", "0", "\u{7F}", "\u{0}", "ǰ", "j", "ŉ", "n", "©",
        "database", "DataBase", "the quick brown fox jumps ",
    ]

    private static let searches: [QueryNode.TextSearch] = [.prefix, .suffix, .anywhere]
    private static let foldings: [TextFolding] = [
        [], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
    ]

    @Test func bytesAnswerAsCharactersDo() {
        var random = SeededGenerator(seed: 71)
        var foundCount = 0
        func text(_ count: Int) -> String {
            (0..<count).map { _ in Self.pieces.randomElement(using: &random)! }.joined()
        }
        for _ in 0..<20_000 {
            let part = text(Int.random(in: 0...3, using: &random))
            let rest = text(Int.random(in: 0...6, using: &random))
            let text = [rest, part + rest, rest + part, rest + part + rest]
                .randomElement(using: &random)!
            let search = Self.searches.randomElement(using: &random)!
            let folding = Self.foldings.randomElement(using: &random)!
            let found = matches(search, text, part, folding)
            foundCount += found ? 1 : 0
            let wanted = expected(search, text, part, folding)
            #expect(found == wanted, "\(search) \(text.debugDescription) \(part.debugDescription)")
        }
        #expect(foundCount > 5_000)
        #expect(foundCount < 18_000)
    }

    /// The ASCII that a scalar gives when its case is ignored is found in it.
    @Test func everyScalarThatFoldsToASCIIIsFound() {
        var found: Set<Unicode.Scalar> = []
        let scalars = (UInt32(0x80)...0x10FFFF).lazy.compactMap(Unicode.Scalar.init)
        var chunk = String.UnicodeScalarView()
        func check() {
            defer { chunk = .init() }
            let folded = String(chunk).folded(.caseInsensitive).inNormalFormC
            guard folded.utf8.contains(where: { $0 < 0x80 }) else { return }
            for scalar in chunk {
                for character in String(scalar).folded(.caseInsensitive) where character.isASCII {
                    found.insert(scalar)
                    let part = String(character)
                    #expect(matches(.anywhere, String(scalar), part, .caseInsensitive))
                }
            }
        }
        for scalar in scalars {
            chunk.append(scalar)
            if chunk.count == 64 { check() }
        }
        check()
        #expect(found.isSuperset(of: ["ß", "ſ", "\u{212A}", "ﬁ"]))
    }
}
