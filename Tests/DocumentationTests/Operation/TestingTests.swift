import Stet
import StetTesting
import Testing

/// The code of Testing.md.
@Suite struct TestingTests {
    @Test func aNotebookIsRenamed() async throws {
        let store = try Store.inMemory(for: Notebook.self, Article.self, Tag.self)
        let (notebook, _) = try await store.edit("create") { context in
            let notebook = Notebook(name: "Swift")
            context.insert(notebook)
            return notebook
        }
        try await store.edit { try $0.object(Notebook.self, id: notebook.id)?.name = "Swift 6" }
        #expect(try store.object(Notebook.self, id: notebook.id)?.name == "Swift 6")
    }

    @Test func stampsAreOfTheClock() async throws {
        let clock = TestClock()
        let configuration = Store.Configuration(clock: clock)
        let store = try Store.inMemory(for: Notebook.self, configuration: configuration)
        clock.advance(by: .seconds(60))
        let (notebook, commit) = try await store.edit { context in
            let notebook = Notebook(name: "Swift")
            context.insert(notebook)
            return notebook
        }
        #expect(notebook.created == clock.now)
        #expect(commit?.time == clock.now)
    }

    @Test(.sequentialIDs) func anArticleIsExported() throws {
        let article = Article(title: "Macros")
        #expect(article.id.description == "00000000-0000-7000-8000-000000000001")
    }

    @Test func changesAreExpected() async throws {
        let desk = try Desk()
        let (store, id) = (desk.store, desk.article.id)

        let lines = ["update Article (title, rating, notebook)", "delete Notebook"]
        try await expectChanges(in: store, lines) {
            try await store.edit { context in
                let article = try #require(try context.object(Article.self, id: id))
                article.title = "Actors"
                article.rating = 4
                for notebook in try context.fetch(Notebook.self).all() { context.delete(notebook) }
            }
        }

        #expect(try desk.stored().notebook == nil)
    }

    @Test func aRefusalIsExpected() async throws {
        let store = try Store.inMemory(for: Notebook.self, Article.self)

        await expectRefused([.tooLong, .tooLarge]) {
            try await store.edit { context in
                let article = Article(title: "A title that is too long to be saved")
                article.rating = 9
                context.insert(article)
            }
        }
    }
}
