import Foundation
import StetTestSupport
import Testing

@testable import Stet

@Model final class OraclePage {
    @Attribute(.searchable(weight: 2)) var title: String = ""
    @Attribute(.searchable) var text: String?
    init() {}
}

/// A stemmer with few rules, one of which only words with diacritics have.
private struct OracleStemmer: TextStemmer {
    let version: UInt32 = 1

    func stem(_ word: String) -> String {
        word.count > 1 && (word.hasSuffix("b") || word.hasSuffix("á"))
            ? String(word.dropLast()) : word
    }
}

extension TextLanguage {
    static let oracle = TextLanguage("oracle", stemmer: OracleStemmer())
}

@Model final class OracleLetter {
    @Attribute(.searchable(language: .oracle, weight: 2)) var title: String = ""
    @Attribute(.searchable) var text: String?
    init() {}
}

/// A model with a title, whose occurrences count twice, and a text.
private protocol OracleModel: Model, Deletable {
    var title: String { get set }
    var text: String? { get set }
    /// Whether the words of the title are stemmed.
    static var hasStems: Bool { get }
    static func values(_ snapshot: Snapshot) -> (title: String, text: String?)
    init()
}

extension OraclePage: OracleModel {
    fileprivate static let hasStems = false
    fileprivate static func values(_ page: Snapshot) -> (title: String, text: String?) {
        (page.title, page.text)
    }
}

extension OracleLetter: OracleModel {
    fileprivate static let hasStems = true
    fileprivate static func values(_ letter: Snapshot) -> (title: String, text: String?) {
        (letter.title, letter.text)
    }
}

/// Random searches, beside a matcher that knows nothing of an index.
@Suite struct TextOracleTests {
    /// The values of a page.
    private struct Plain: Equatable {
        var title: String
        var text: String?
        /// Whether the words of the title are stemmed.
        var hasStems: Bool

        var lists: [[Word]] {
            [(title, hasStems), (text ?? "", false)].map { text, hasStems in
                text.split(separator: " ").map { Word(String($0), hasStems: hasStems) }
            }
        }

        var wordCount: Int { lists[0].count + lists[1].count }

        /// Returns how often a phrase occurs in each attribute.
        func counts(_ phrase: Phrase) -> [Int] {
            zip(lists, [hasStems, false]).map { words, hasStems in
                let wanted = phrase.words.map { Word($0, hasStems: hasStems) }
                func isWanted(_ word: Word, _ offset: Int) -> Bool {
                    let isPrefix = phrase.isPrefix && offset == wanted.count - 1
                    return word.matches(wanted[offset], isPrefix: isPrefix)
                }
                if let distance = phrase.distance {
                    return Self.countNear(words, wanted.indices, wanted.count + distance, isWanted)
                }
                return words.indices.count { start in
                    start + wanted.count <= words.count
                        && wanted.indices.allSatisfy { isWanted(words[start + $0], $0) }
                }
            }
        }

        /// Returns the number of words of a phrase after which the others follow within a span.
        private static func countNear(
            _ words: [Word], _ offsets: Range<Int>, _ span: Int, _ isWanted: (Word, Int) -> Bool
        ) -> Int {
            words.indices.count { start in
                let window = words[start..<min(start + span, words.count)]
                return offsets.contains { isWanted(words[start], $0) }
                    && offsets.allSatisfy { offset in window.contains { isWanted($0, offset) } }
            }
        }

        func has(_ phrase: Phrase) -> Bool { counts(phrase) != [0, 0] }
    }

    /// A word without case and diacritics, and its stems.
    private struct Word {
        private let plain: String
        private let stems: Set<String>

        init(_ word: String, hasStems: Bool) {
            let word = word.lowercased()
            let plain = word.replacing("á", with: "a")
            let spellings = [plain, word].map { hasStems ? OracleStemmer().stem($0) : $0 }
            self.plain = plain
            stems = Set(spellings.map { $0.replacing("á", with: "a") })
        }

        func matches(_ wanted: Word, isPrefix: Bool) -> Bool {
            !stems.isDisjoint(with: wanted.stems)
                || (isPrefix && stems.contains { $0.hasPrefix(wanted.plain) })
        }
    }

    private struct Phrase {
        let words: [String]
        let isPrefix: Bool
        let isExcluded: Bool
        let distance: Int?

        var text: String {
            (isExcluded ? "-" : "") + "\"" + words.joined(separator: " ") + "\""
                + (isPrefix ? "*" : "") + (distance.map { "~\($0)" } ?? "")
        }
    }

    private struct Search {
        let phrases: [Phrase]

        var text: String { phrases.map(\.text).joined(separator: " ") }
        private var required: [Phrase] { phrases.filter { !$0.isExcluded } }

        func matches(_ page: Plain) -> Bool {
            !required.isEmpty && phrases.allSatisfy { page.has($0) != $0.isExcluded }
        }

        /// Returns the score of a page, in a store whose last commit has some pages.
        func score(_ page: Plain, _ stored: some Collection<Plain>) -> Double {
            let count = Double(stored.count)
            let average = Double(stored.reduce(0) { $0 + $1.wordCount }) / max(count, 1)
            return required.reduce(0) { score, phrase in
                let frequency = Double(stored.count { $0.has(phrase) })
                let rarity = log((count - frequency + 0.5) / (frequency + 0.5))
                let counts = page.counts(phrase)
                let occurrences = Double(counts[0]) * 2 + Double(counts[1])
                let length = 0.25 + 0.75 * Double(page.wordCount) / max(average, 1e-9)
                return score
                    + max(rarity, 1e-6) * occurrences * 2.2 / (occurrences + 1.2 * length)
            }
        }

        /// Returns the ids of the pages that match, the best one first.
        func hits(
            _ pages: [ObjectID: Plain], _ stored: [ObjectID: Plain]
        ) -> [(id: ObjectID, score: Double)] {
            pages.filter { matches($0.value) }.map { ($0.key, score($0.value, stored.values)) }
                .sorted { $0.1 == $1.1 ? $0.0 < $1.0 : $0.1 > $1.1 }
        }
    }

    private static let words = ["a", "ab", "abc", "b", "ba", "Bab", "c", "bá", "Áb"]

    private static func text(_ random: inout SeededGenerator) -> String {
        (0..<Int.random(in: 0...6, using: &random))
            .map { _ in words.randomElement(using: &random) ?? "" }.joined(separator: " ")
    }

    private static func search(_ random: inout SeededGenerator) -> Search {
        Search(
            phrases: (0..<Int.random(in: 1...3, using: &random)).map { _ in
                let picked = (0..<Int.random(in: 1...2, using: &random)).map { _ in
                    (words.randomElement(using: &random) ?? "").lowercased()
                }
                let isNear = picked.count > 1 && Int.random(in: 0..<3, using: &random) == 0
                return Phrase(
                    words: picked, isPrefix: Int.random(in: 0..<3, using: &random) == 0,
                    isExcluded: Int.random(in: 0..<4, using: &random) == 0,
                    distance: isNear ? Int.random(in: 0...3, using: &random) : nil)
            })
    }

    /// Compares the ids in order; equal scores may be rounded differently, so neighbours whose
    /// scores hardly differ may change places.
    private static func expect(
        _ found: [ObjectID], _ wanted: [(id: ObjectID, score: Double)], _ search: Search
    ) {
        #expect(Set(found) == Set(wanted.map(\.id)), "\(search.text)")
        #expect(found.count == wanted.count, "\(search.text)")
        let scores = Dictionary(uniqueKeysWithValues: wanted.map { ($0.id, $0.score) })
        let inOrder = found.compactMap { scores[$0] }
        let isSorted = zip(inOrder, inOrder.dropFirst()).allSatisfy { $0 >= $1 - 1e-9 }
        #expect(isSorted, "\(search.text): \(inOrder)")
    }

    @Test(arguments: 0..<repetitions(40)) func searchesAreThoseOfTheModel(seed: Int) throws {
        try Self.search(OraclePage.self, seed)
    }

    @Test(arguments: 0..<repetitions(40)) func searchesOfStemsAreThoseOfTheModel(
        seed: Int
    ) throws {
        try Self.search(OracleLetter.self, seed)
    }

    private static func search<M: OracleModel>(_ model: M.Type, _ seed: Int) throws {
        var random = SeededGenerator(seed: 51, stream: seed)
        let directory = TemporaryDirectory()
        let store = try Store.open(at: directory.file(), for: model)
        let contexts = (0..<2).map { store.context(author: "author \($0)") }
        var states: [Revision: [ObjectID: Plain]] = [.zero: [:]]
        for _ in 0..<25 {
            let context = try #require(contexts.randomElement(using: &random))
            try edit(model, context, &random)
            try compare(model, context, &random)
            try context.endEdits(&random)
            let last = store.fetch(model)
            let pages = try last.all().map { ($0.id, plain(model, $0)) }
            let now = Dictionary(uniqueKeysWithValues: pages)
            let reader = store.context()
            states[reader.revision] = now
            let search = search(&random)
            expect(
                try last.matching(search.text).ids(), search.hits(now, now), search)
            if let (revision, past) = states.sorted(by: { $0.key < $1.key })
                .randomElement(using: &random)
            {
                let found = try store.view(asOf: revision).fetch(model)
                    .matching(search.text).ids()
                expect(found, search.hits(past, now), search)
            }
        }
        let problems = try store.verify().problems
        #expect(problems == [])
    }

    private static func plain<M: OracleModel>(_ model: M.Type, _ page: M.Snapshot) -> Plain {
        let values = model.values(page)
        return Plain(title: values.title, text: values.text, hasStems: model.hasStems)
    }

    private static func edit<M: OracleModel>(
        _ model: M.Type, _ context: ManagedContext, _ random: inout SeededGenerator
    ) throws {
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            let pages = try context.fetch(model).all()
            switch Int.random(in: 0..<6, using: &random) {
            case 0...1:
                let page = model.init()
                page.title = text(&random)
                context.insert(page)
            case 2: if let page = pages.randomElement(using: &random) { context.delete(page) }
            case 3: pages.randomElement(using: &random)?.title = text(&random)
            case 4: pages.randomElement(using: &random)?.text = nil
            default: pages.randomElement(using: &random)?.text = text(&random)
            }
        }
    }

    /// Compares searches of a context with unsaved edits.
    private static func compare<M: OracleModel>(
        _ model: M.Type, _ context: ManagedContext, _ random: inout SeededGenerator
    ) throws {
        let pages = try context.fetch(model).all()
        let own = Dictionary(
            uniqueKeysWithValues: pages.map {
                ($0.id, Plain(title: $0.title, text: $0.text, hasStems: model.hasStems))
            })
        let stored = try context.store.fetch(model).all()
        let last = Dictionary(uniqueKeysWithValues: stored.map { ($0.id, plain(model, $0)) })
        for _ in 0..<3 {
            let search = search(&random)
            let query = context.fetch(model).matching(search.text)
            expect(try query.ids(), search.hits(own, last), search)
            #expect(try query.count() == search.hits(own, last).count, "\(search.text)")
            let few = try query.limit(2).offset(1).ids()
            #expect(try few == Array(query.ids().dropFirst().prefix(2)), "\(search.text)")
        }
    }
}
