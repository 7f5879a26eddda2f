import Stet
import StetStore
import StetTestSupport
import Testing

/// Live queries in sections.
@Suite struct SectionedLiveQueryTests {
    private typealias Article = Ledger.Article
    private typealias Notebook = Ledger.Notebook

    private let desk: LedgerDesk
    private let notebooks: [ObjectID]
    private let articles: [ObjectID]
    private var store: Store { desk.store }

    init() throws {
        desk = try LedgerDesk()
        let notebooks = ["m", "n"].map { Notebook(name: $0) }
        let articles = ["a", "b", "c", "d"].enumerated().map { place, title in
            Article(title: title, notebook: place == 3 ? nil : notebooks[place % 2])
        }
        try desk.edit("a") { context in
            for article in articles { context.insert(article) }
        }
        self.notebooks = notebooks.map(\.id)
        self.articles = articles.map(\.id)
    }

    private func titles<Key>(_ update: SectionedLiveQuery<Article, Key>.Update) -> [String] {
        update.sections.map { section in
            "\(section.key.map { "\($0)" } ?? "-") "
                + update.result[section.range].map(\.title).joined()
        }
    }

    @Test("A7 sections are inserted and deleted") func sectionsAreInsertedAndDeleted() async throws
    {
        let live = store.observe(store.fetch(Article.self).sorted(by: \.title, .descending))
            .sectioned(by: \.notebook?.name)
        var iterator = live.makeAsyncIterator()
        let first = try #require(try await iterator.next())
        #expect(titles(first) == ["- d", "m ca", "n b"])
        #expect([String?]().applying(first.sectionDifference) == [nil, "m", "n"])
        try desk.edit("a", Article.self, articles[3]) { article in
            article.notebook = try article.context?.object(Notebook.self, id: notebooks[1])
        }
        let second = try #require(try await iterator.next())
        #expect(titles(second) == ["m ca", "n db"])
        #expect(
            Array(second.sectionDifference) == [
                .remove(offset: 0, element: nil, associatedWith: nil)
            ])
        #expect(second.update.updatedObjects.map(\.id) == [articles[3]])
        try desk.edit("a", Notebook.self, notebooks[0]) { $0.name = "z" }
        let third = try #require(try await iterator.next())
        #expect(titles(third) == ["n db", "z ca"])
        #expect(["m", "n"].applying(third.sectionDifference) == ["n", "z"])
        #expect(first.result.ids.applying(second.update.difference) == second.result.ids)
        #expect(live.statistics.rerunCount == 2)
    }

    @Test("A7 a section moves where it is sorted by another value") func aSectionMoves()
        async throws
    {
        var iterator = store.observe(store.fetch(Article.self).sorted(by: \.title))
            .sectioned(by: \.notebook, sortedBy: \.name).makeAsyncIterator()
        let first = try #require(try await iterator.next())
        #expect(first.sections.map(\.key) == [nil, notebooks[0], notebooks[1]])
        try desk.edit("a", Notebook.self, notebooks[0]) { $0.name = "z" }
        let second = try #require(try await iterator.next())
        #expect(second.sections.map(\.key) == [nil, notebooks[1], notebooks[0]])
        #expect(second.sections.map(\.range) == [0..<1, 1..<2, 2..<4])
        let moves = second.sectionDifference.insertions.map { change -> Int? in
            guard case .insert(_, _, let other) = change else { return nil }
            return other
        }
        try #require(moves.count == 1)
        #expect(moves[0] != nil)
    }
}
