import Foundation
import StetTestSupport
import Testing

@testable import Stet

@Model final class OraclePage {
    @Attribute(.searchable(weight: 2)) var title: String = ""
    @Attribute(.searchable) var text: String?
    init() {}
}

/// Random searches, beside a matcher that knows nothing of an index.
@Suite struct TextOracleTests {
    /// The values of a page.
    private struct Plain: Equatable {
        var title: String
        var text: String?

        var lists: [[Substring]] {
            [title, text ?? ""].map { $0.lowercased().split(separator: " ") }
        }

        var wordCount: Int { lists[0].count + lists[1].count }

        /// Returns how often a phrase occurs in each attribute.
        func counts(_ phrase: Phrase) -> [Int] {
            lists.map { words in
                if let distance = phrase.distance {
                    return Self.countNear(words, phrase, phrase.words.count + distance)
                }
                return words.indices.count { start in
                    phrase.words.indices.allSatisfy { offset in
                        guard start + offset < words.count else { return false }
                        let (word, wanted) = (words[start + offset], phrase.words[offset])
                        return phrase.isPrefix && offset == phrase.words.count - 1
                            ? word.hasPrefix(wanted) : word == wanted
                    }
                }
            }
        }

        /// Returns the number of words of a phrase after which the others follow within a span.
        private static func countNear(_ words: [Substring], _ phrase: Phrase, _ span: Int) -> Int {
            words.indices.count { start in
                let window = words[start..<min(start + span, words.count)]
                func isWanted(_ word: Substring, _ offset: Int) -> Bool {
                    phrase.isPrefix && offset == phrase.words.count - 1
                        ? word.hasPrefix(phrase.words[offset]) : word == phrase.words[offset]
                }
                return phrase.words.indices.contains { isWanted(words[start], $0) }
                    && phrase.words.indices.allSatisfy { offset in
                        window.contains { isWanted($0, offset) }
                    }
            }
        }

        func has(_ phrase: Phrase) -> Bool { counts(phrase) != [0, 0] }
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

    private static let words = ["a", "ab", "abc", "b", "ba", "Bab", "c"]

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
        var random = SeededGenerator(seed: 51, stream: seed)
        let directory = TemporaryDirectory()
        let store = try Store.open(at: directory.file(), for: OraclePage.self)
        let contexts = (0..<2).map { store.context(author: "author \($0)") }
        var states: [Revision: [ObjectID: Plain]] = [.zero: [:]]
        for _ in 0..<25 {
            let context = try #require(contexts.randomElement(using: &random))
            try Self.edit(context, &random)
            try Self.compare(context, &random)
            try context.endEdits(&random)
            let last = store.fetch(OraclePage.self)
            let pages = try last.all().map { ($0.id, Self.plain($0)) }
            let now = Dictionary(uniqueKeysWithValues: pages)
            let reader = store.context()
            states[reader.revision] = now
            let search = Self.search(&random)
            Self.expect(
                try last.matching(search.text).ids(), search.hits(now, now), search)
            if let (revision, past) = states.sorted(by: { $0.key < $1.key })
                .randomElement(using: &random)
            {
                let found = try store.view(asOf: revision).fetch(OraclePage.self)
                    .matching(search.text).ids()
                Self.expect(found, search.hits(past, now), search)
            }
        }
        let problems = try store.verify().problems
        #expect(problems == [])
    }

    private static func plain(_ page: OraclePage.Snapshot) -> Plain {
        Plain(title: page.title, text: page.text)
    }

    private static func edit(
        _ context: ManagedContext, _ random: inout SeededGenerator
    ) throws {
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            let pages = try context.fetch(OraclePage.self).all()
            switch Int.random(in: 0..<6, using: &random) {
            case 0...1:
                let page = OraclePage()
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
    private static func compare(
        _ context: ManagedContext, _ random: inout SeededGenerator
    ) throws {
        let pages = try context.fetch(OraclePage.self).all()
        let own = Dictionary(
            uniqueKeysWithValues: pages.map { ($0.id, Plain(title: $0.title, text: $0.text)) })
        let stored = try context.store.fetch(OraclePage.self).all()
        let last = Dictionary(uniqueKeysWithValues: stored.map { ($0.id, plain($0)) })
        for _ in 0..<3 {
            let search = search(&random)
            let query = context.fetch(OraclePage.self).matching(search.text)
            expect(try query.ids(), search.hits(own, last), search)
            #expect(try query.count() == search.hits(own, last).count, "\(search.text)")
            let few = try query.limit(2).offset(1).ids()
            #expect(try few == Array(query.ids().dropFirst().prefix(2)), "\(search.text)")
        }
    }
}
