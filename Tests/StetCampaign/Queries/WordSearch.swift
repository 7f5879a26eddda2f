import StetStore
import StetTestSupport

/// A search for words in two forms: as the engine takes it, and as a closure over lists of words.
struct WordSearch {
    /// A part of a search.
    private enum Part {
        case word(String)
        case beginning(String)
        case phrase(String, String, isBeginning: Bool)
        case near(String, String, Int)
    }

    private static let words = ["one", "two", "three", "on", "t"]

    private let required: [Part]
    private let excluded: [Part]
    /// True if the heading is searched, and the phrase.
    private let isInHeading: Bool
    private let isInPhrase: Bool

    init(_ random: inout SeededGenerator) {
        required = (0..<random.pick([1, 1, 2])).map { _ in Self.part(&random) }
        excluded = random.chance(3) ? [Self.part(&random)] : []
        isInHeading = !random.chance(4)
        isInPhrase = !isInHeading || !random.chance(4)
    }

    private static func part(_ random: inout SeededGenerator) -> Part {
        let first = random.pick(words)
        let second = random.pick(words.filter { $0 != first })
        return switch Int.random(in: 0..<6, using: &random) {
        case 0, 1: .word(first)
        case 2: .beginning(first)
        case 3: .phrase(first, second, isBeginning: false)
        case 4: .phrase(first, second, isBeginning: true)
        default: .near(first, second, Int.random(in: 0...2, using: &random))
        }
    }

    /// Returns a text of a few words.
    static func text(_ random: inout SeededGenerator) -> String {
        (0..<random.pick([0, 1, 2, 3, 3, 6])).map { _ in
            let word = random.pick(words)
            return random.chance(4) ? word.uppercased() : word
        }.joined(separator: random.pick([" ", ", ", "\n"]))
    }

    // MARK: The engine

    private static func text(_ part: Part) -> String {
        switch part {
        case .word(let word): word
        case .beginning(let word): "\(word)*"
        case .phrase(let first, let second, let isBeginning):
            "\"\(first) \(second)\"" + (isBeginning ? "*" : "")
        case .near(let first, let second, let distance): "\"\(first) \(second)\"~\(distance)"
        }
    }

    /// The condition of the engine.
    var node: QueryNode {
        let text = required.map(Self.text) + excluded.map { "-" + Self.text($0) }
        let heading = isInHeading ? [QuerySchema.heading] : []
        let slots = heading + (isInPhrase ? [QuerySchema.phrase] : [])
        return .matching(
            .root,
            TextMatch(
                TextQuery(text.joined(separator: " ")),
                in: slots.map { TextMatch.Attribute(slot: $0) }))
    }

    // MARK: The reference

    /// Returns whether an object is found.
    func finds(heading: String, phrase: String?) -> Bool {
        let texts = (isInHeading ? [heading] : []) + (isInPhrase ? [phrase ?? ""] : [])
        let words = texts.map { text in
            text.lowercased().split { !$0.isLetter }.map(String.init)
        }
        return required.allSatisfy { part in words.contains { Self.has(part, $0) } }
            && !excluded.contains { part in words.contains { Self.has(part, $0) } }
    }

    private static func has(_ part: Part, _ words: [String]) -> Bool {
        switch part {
        case .word(let word): return words.contains(word)
        case .beginning(let word): return words.contains { $0.hasPrefix(word) }
        case .phrase(let first, let second, let isBeginning):
            return zip(words, words.dropFirst()).contains { one, other in
                one == first && (isBeginning ? other.hasPrefix(second) : other == second)
            }
        case .near(let first, let second, let distance):
            return words.indices.contains { place in
                words[place] == first
                    && words.indices.contains {
                        words[$0] == second && abs($0 - place) <= distance + 1
                    }
            }
        }
    }
}
