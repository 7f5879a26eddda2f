import StetLMDB
import StetStore
import StetTestSupport
import Testing

@testable import Stet

/// Members that are added and taken out while a save is on its way.
@MainActor @Suite struct MemberFlightTests {
    private typealias Article = Shelf.Article
    private typealias Tag = Shelf.Tag

    @Test(arguments: [false, true])
    func membersEditedDuringAFlightStayWithItsEnd(fails: Bool) async throws {
        let directory = TemporaryDirectory()
        let store = try Shelf.store(in: directory)
        let context = store.context()
        let tags = (0..<3).map { Tag(name: "\($0)") }
        let article = Article(title: "ARC")
        article.tags = [tags[0]]
        article.sources = [Article(title: "first")]
        context.insert(article)
        for tag in tags { context.insert(tag) }
        try await context.save()
        if fails {
            let other = store.context()
            try #require(try other.object(Article.self, id: article.id)).title = "elsewhere"
            try await other.save()
        }
        article.title = "flight"
        article.tags.append(tags[1])
        article.sources.insert(Article(title: "second"), at: 0)
        let held = HeldWriter(store.file.environment)
        let save = Task { try await context.save() }
        while context.core.saves.inFlight == nil { await Task.yield() }
        article.tags.remove(tags[0])
        article.tags.append(tags[2])
        article.sources.move(from: 0, to: 1)
        #expect(Set(article.tags) == Set(tags[1...2]))
        #expect(article.sources.map(\.title) == ["first", "second"])
        held.release()
        let outcome = await save.result
        if fails {
            #expect(throws: DiscardedEditsError.self) { try outcome.get() }
            #expect(Array(article.tags) == [tags[0]])
            #expect(article.sources.map(\.title) == ["first"])
            #expect(!context.hasChanges)
        } else {
            #expect(try outcome.get() != nil)
            #expect(Set(article.tags) == Set(tags[1...2]))
            #expect(article.sources.map(\.title) == ["first", "second"])
            try await context.save()
            let other = store.context()
            let same = try #require(try other.object(Article.self, id: article.id))
            #expect(Set(same.tags.map(\.name)) == ["1", "2"])
            #expect(same.sources.map(\.title) == ["first", "second"])
        }
        #expect(try store.verify().isClean)
    }

    /// An object with pending changes that others have moved to another owner shows its earlier
    /// owner until it has no changes.
    @Test func aListHasAnObjectThatHasCaughtUp() async throws {
        let directory = TemporaryDirectory()
        let store = try Shelf.store(in: directory)
        let context = store.context()
        let (first, second) = (Shelf.Notebook(name: "first"), Shelf.Notebook(name: "second"))
        let article = Article(title: "ARC")
        for notebook in [first, second] { context.insert(notebook) }
        first.articles.append(article)
        try await context.save()
        let other = store.context()
        let moved = try #require(try other.object(Article.self, id: article.id))
        moved.notebook = try other.object(Shelf.Notebook.self, id: second.id)
        try await other.save()
        first.name = "flight"
        let held = HeldWriter(store.file.environment)
        let save = Task { try await context.save() }
        while context.core.saves.inFlight == nil { await Task.yield() }
        article.title = "later"
        held.release()
        #expect(try await save.value != nil)
        #expect(Array(first.articles) + Array(second.articles) == [])
        #expect([first, second].map(\.articles.count) == [0, 0])
        context.rollback(article)
        #expect(article.notebook === second)
        #expect(Array(second.articles) == [article])
        #expect([first, second].map(\.articles.count) == [0, 1])
    }

    #if STET_FAULTS
        @Test func aReadThatFailedIsNotRemembered() async throws {
            let directory = TemporaryDirectory()
            let store = try Shelf.store(in: directory)
            let notebook = Shelf.Notebook(name: "first")
            let context = store.context()
            context.insert(notebook)
            notebook.articles.append(Article(title: "ARC"))
            try await context.save()
            let titles = { notebook.articles.map(\.title) }
            #expect(titles() == ["ARC"])
            context.insert(Article(title: "forgets the list"))
            context.rollback()
            store.file.environment.faults.failNext(.cursor, code: LMDBError.inputOutput)
            #expect(titles() == [])
            #expect(throws: StoreError.self) { try context.core.checkUsable() }
            try context.refresh()
            #expect(titles() == ["ARC"])
        }
    #endif
}
