import Foundation
import Stet
import StetTestSupport
import Testing

@testable import StetStemming

@Model final class StemmedPage {
    @Attribute(.searchable(language: .english, weight: 3)) var title: String = ""
    @Attribute(.searchable(language: .french)) var french: String = ""
    @Attribute(.searchable) var code: String = ""
    @Attribute(.indexed) var number: Int = 0

    init(_ title: String, french: String = "", code: String = "", number: Int = 0) {
        self.title = title
        self.french = french
        self.code = code
        self.number = number
    }
}

/// Searches of texts whose words have stems, as a user makes them.
@Suite struct StemmingTests {
    private let directory = TemporaryDirectory()
    private let store: Store
    private let context: ManagedContext

    init() throws {
        store = try Store.open(at: directory.file(), for: StemmedPage.self)
        context = store.context(author: "lala")
        let pages = [
            StemmedPage("Running shoes connected to runs"),
            StemmedPage("A connection of nations", french: "Les filles aimées", code: "runs"),
            StemmedPage("Runtime connections", french: "Il a aimé la France", code: "running"),
            StemmedPage("Nothing", french: "aimer", code: "connect"),
        ]
        for (number, page) in pages.enumerated() {
            page.number = number
            context.insert(page)
        }
        try context.save()
    }

    private func numbers(_ text: String) throws -> [Int] {
        let query = context.fetch(StemmedPage.self).matching(text)
        let sorted = try query.sorted(by: \.number).all().map(\.number)
        #expect(try query.all().map(\.number).sorted() == sorted)
        #expect(try query.count() == sorted.count)
        return sorted
    }

    @Test func inflectedFormsAreFound() throws {
        #expect(try numbers("connect") == [0, 1, 2, 3])
        #expect(try numbers("CONNECTING") == [0, 1, 2])
        #expect(try numbers("nation") == [1])
        #expect(try numbers("connections -running") == [1])
    }

    @Test func eachAttributeHasItsLanguage() throws {
        // In texts without a language the whole word counts.
        #expect(try numbers("run") == [0])
        #expect(try numbers("runs") == [0, 1])
        #expect(try numbers("running") == [0, 2])
        let query = context.fetch(StemmedPage.self)
        #expect(try query.matching("running", in: \.title).all().map(\.number) == [0])
        #expect(try query.matching("running", in: \.code).all().map(\.number) == [2])
        #expect(try query.matching("aimer", in: \.title).count() == 0)
    }

    @Test func diacriticsDecideEndingsButNeedNotBeTyped() throws {
        #expect(try numbers("aimé") == [1, 2, 3])
        #expect(try numbers("aimées") == [1, 2, 3])
        #expect(try numbers("aimees") == [1])
        #expect(try numbers("aime") == [1, 2, 3])
        #expect(try numbers("FILLE") == [1])
    }

    @Test func phrasesAndWordsNearEachOtherAreStemmed() throws {
        #expect(try numbers("\"run shoe\"") == [0])
        #expect(try numbers("\"shoe run\"") == [])
        #expect(try numbers("\"connect run\"~1") == [0])
        #expect(try numbers("\"connect run\"~0") == [])
        #expect(try numbers("\"fille aimer\"") == [1])
        // Not across languages: the words of a phrase are in one attribute.
        #expect(try numbers("\"nation fille\"") == [])
    }

    @Test func aBeginningFindsStemsThatBeginWithItAndItsOwnStem() throws {
        #expect(try numbers("run*") == [0, 1, 2])
        #expect(try numbers("runt*") == [2])
        // The stem of the beginning is "run": it is no beginning itself.
        #expect(try numbers("running*") == [0, 2])
        #expect(try context.fetch(StemmedPage.self).matching("runni*", in: \.title).count() == 0)
        #expect(try numbers("\"running sho\"*") == [0])
    }

    @Test func hitsAreRankedByTheOccurrencesOfStems() throws {
        let titles = try context.fetch(StemmedPage.self).matching("run", in: \.title).all()
        #expect(titles.map(\.number) == [0])
        context.insert(StemmedPage("Run", number: 4))
        context.insert(StemmedPage("Other words to run", number: 5))
        try context.save()
        #expect(
            try context.fetch(StemmedPage.self).matching("runs", in: \.title).all()
                .map(\.number) == [4, 0, 5])
    }

    @Test func pendingEditsUndoAndThePastAreSearched() throws {
        let before = context.revision
        let page = try #require(try context.fetch(StemmedPage.self) { $0.number == 3 }.first())
        page.title = "Wombats"
        page.french = "oubliées"
        #expect(try numbers("wombat oublier") == [3])
        try context.save("wombat")
        #expect(try numbers("wombat oublier") == [3])
        let past = try store.view(asOf: before).fetch(StemmedPage.self)
        #expect(try past.matching("wombat").count() == 0)
        #expect(try past.matching("aimées nothings").all().map(\.number) == [3])
        try store.undo(author: "lala")
        try context.refresh()
        #expect(try numbers("wombat") == [])
        #expect(try numbers("aimées") == [1, 2, 3])
        try store.redo(author: "lala")
        try context.refresh()
        #expect(try numbers("wombats") == [3])
        #expect(try store.verify().problems == [])
    }

    @Test func aLiveSearchFollowsCommits() throws {
        var live = store.observe(store.fetch(StemmedPage.self).matching("nation"))
            .makeAsyncIterator()
        #expect(try live.poll()?.result.map(\.number) == [1])
        context.insert(StemmedPage("Nations", number: 5))
        try context.save()
        #expect(try live.poll()?.result.map(\.number) == [5, 1])
    }

    @Test func snippetsMarkWordsWithTheStem() throws {
        let text = "A runner runs, and has run while running."
        let query = TextQuery("running")
        #expect(
            query.ranges(in: text, language: .english).map { text[$0] }
                == ["runs", "run", "running"])
        #expect(query.ranges(in: text).map { text[$0] } == ["running"])
        let snippet = query.snippet(of: text, wordCount: 3, language: .english)
        #expect(snippet.text == "…run while running.")
        #expect(snippet.ranges.map { snippet.text[$0] } == ["run", "running"])
        let near = TextQuery("\"has runs\"~1")
        #expect(
            near.ranges(in: text, language: .english).map { text[$0] } == ["runs", "has", "run"])
    }

    @Test func aRestoredAndACompactedStoreHaveTheIndex() async throws {
        let (shipped, copy) = (directory.file("shipped"), directory.file("copy.stet"))
        try FileManager.default.createDirectory(
            atPath: shipped, withIntermediateDirectories: false)
        _ = try await store.ship(to: shipped)
        context.insert(StemmedPage("Kangaroos", number: 7))
        try await context.save()
        _ = try await store.ship(to: shipped)
        _ = try await Store.restore(from: shipped, to: copy)
        try store.compact(to: directory.file("compact.stet"))
        for path in [copy, directory.file("compact.stet")] {
            let other = try Store.open(at: path, for: StemmedPage.self)
            #expect(try other.verify().problems == [])
            #expect(try other.verify().uncheckedIndexes == [])
            #expect(
                try other.fetch(StemmedPage.self).matching("kangaroo").all().map(\.number) == [7])
        }
    }

    @Test func manyThreadsSearchAtOnce() async throws {
        let texts = ["running connections", "nations", "aimées", "run"]
        let wanted = try texts.map { try store.fetch(StemmedPage.self).matching($0).ids() }
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask { [store] in
                    for round in 0..<50 {
                        let place = (task + round) % texts.count
                        let found = try? store.fetch(StemmedPage.self).matching(texts[place]).ids()
                        #expect(found == wanted[place])
                        let words = String(repeating: "connections runs ", count: 20)
                        let ranges = TextQuery("running").ranges(in: words, language: .english)
                        #expect(ranges.count == 20)
                    }
                }
            }
        }
    }
}
