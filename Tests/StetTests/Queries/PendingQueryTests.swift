import Foundation
import Stet
import StetTestModels
import StetTestSupport
import Testing

/// Queries of changes that are not saved.
@Suite struct PendingQueryTests {
    private let scratch: Scratch
    private let context: ManagedContext
    private let articles: [Article]
    private let notebook = Notebook(name: "Swift")

    init() throws {
        scratch = try Scratch()
        context = scratch.store.context()
        articles = (0..<6).map { number in
            let article = Article(title: "Article \(number)")
            article.rating = number % 3
            return article
        }
        for article in articles { context.insert(article) }
        context.insert(notebook)
        try context.save()
    }

    private func titles(_ fetch: Fetch<Article>) throws -> [String] {
        try fetch.all().map(\.title)
    }

    private var good: Fetch<Article> {
        context.fetch(Article.self) { $0.rating == 2 }.sorted(by: \.title)
    }

    @Test func whatIsInsertedChangedAndDeletedIsSeenAsItIs() throws {
        #expect(try titles(good) == ["Article 2", "Article 5"])
        let added = Article(title: "Added")
        added.rating = 2
        context.insert(added)
        articles[0].rating = 2
        articles[0].title = "Z"
        articles[2].rating = 1
        context.delete(articles[5])
        #expect(try titles(good) == ["Added", "Z"])
        #expect(try good.count() == 2)
        #expect(try good.limit(1).all() == [added])
        #expect(try good.offset(1).all() == [articles[0]])
        #expect(try good.snapshots() == [added.snapshot, articles[0].snapshot])
        #expect(try context.fetch(Article.self) { $0.id == added.id }.first() === added)
        #expect(try context.fetch(Article.self) { $0.id == articles[5].id }.first() == nil)
    }

    @Test func whatIsPendingCanBeLeftOut() throws {
        articles[2].rating = 0
        context.delete(articles[5])
        let saved = good.ignoringPendingChanges
        #expect(try saved.ids() == [articles[2].id, articles[5].id])
        #expect(try saved.all() == [articles[2]])
        #expect(try saved.count() == 2)
        #expect(try saved.snapshots().map(\.rating) == [2, 2])
        #expect(articles[2].rating == 0)
        #expect(articles[5].isDeleted)
    }

    @Test func referencesLeadToPendingValues() throws {
        articles[1].notebook = notebook
        notebook.name = "Renamed"
        let found = context.fetch(Article.self) { $0.notebook?.name == "Renamed" }
        #expect(try found.all() == [articles[1]])
        #expect(
            try context.fetch(Article.self) { $0.notebook == notebook }.all() == [articles[1]])
        context.rollback()
        #expect(try found.all() == [])
    }

    @Test func aQueryDoesNotChangeWhatIsPending() throws {
        articles[3].title = "Changed"
        context.delete(articles[4])
        let before = context.changes
        _ = try context.fetch(Article.self) { $0.title.contains("a") }.sorted(by: \.rating).all()
        _ = try context.fetch(Article.self) { $0.rating > 0 }.sum(\.rating)
        #expect(context.changes == before)
        #expect(context.changes.changes.count == 2)
    }

    @Test func theRevisionOfTheContextIsSeenUntilItIsRefreshed() throws {
        let other = scratch.store.context()
        let twin = try #require(try other.object(Article.self, id: articles[0].id))
        twin.rating = 2
        other.delete(try #require(try other.object(Article.self, id: articles[2].id)))
        try other.save()
        #expect(try titles(good) == ["Article 2", "Article 5"])
        #expect(try good.count() == 2)
        try context.refresh()
        #expect(try titles(good) == ["Article 0", "Article 5"])
    }

    @Test func oneObjectIsMadeForEachID() throws {
        let fresh = scratch.store.context()
        let held = try fresh.fetch(Article.self) { $0.rating == 2 }.all()
        let again = try fresh.fetch(Article.self) { $0.title.hasPrefix("Article") }.all()
        #expect(again.count == 6)
        #expect(held.allSatisfy { one in again.contains { $0 === one } })
    }

    @Test func whatIsPrefetchedStaysInMemory() throws {
        articles[0].notebook = notebook
        try context.save()
        let fresh = scratch.store.context()
        let found = try fresh.fetch(Article.self) { $0.notebook != nil }
            .prefetch(\.notebook).all()
        weak let read = found[0].notebook
        #expect(read?.name == "Swift")
        try fresh.refresh()
        #expect(found.map(\.title) == ["Article 0"])
    }
}
