import Stet
import StetTestSupport
import Testing

/// The code of ComingFromCoreDataOrSwiftData.md that is Stet's; each task is a function.
@Suite struct ComingFromCoreDataOrSwiftDataTests {
    @Test func tasks2To4OpenInsertAndFind() throws {
        let directory = TemporaryDirectory()
        let path = directory.file()

        let store = try Store.open(at: path, for: Notebook.self, Article.self)
        let context = store.context(author: "lala")

        let notebook = Notebook(name: "Swift")
        let article = Article(title: "Macros", notebook: notebook)
        let id = article.id  // the final one
        context.insert(article)
        try context.save("first article")

        let same = try context.object(Article.self, id: id)
        let good = try context.fetch(Article.self) { $0.rating >= 3 }.all()

        #expect(same === article)
        #expect(good.isEmpty)
        #expect(article.id == id)
        #expect(try store.journal().map(\.changeCount) == [2])
    }

    @Test func task5EditsAndDeletes() throws {
        let desk = try Desk()
        let (context, article, notebook) = (desk.context, desk.article, desk.notebook)

        article.rating = 4
        context.delete(notebook)
        let commit = try context.save("tidy up")

        #expect(commit?.changeCount == 2)
        #expect(article.notebook == nil)
        #expect(notebook.isDeleted)
    }

    @Test func task6Validates() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)
        var messages: [String] = []
        article.rating = 5
        article.notebook = nil

        do {
            try context.save()
        } catch let error as ValidationError {
            for violation in error.violations { messages.append(violation.message) }
        }

        #expect(messages == ["an article rated 5 needs a notebook"])
    }

    @Test func task7PutsBack() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)
        var messages: [String] = []
        article.title = "pending"

        do {
            try context.edit("rate") { article.rating = 9 }
        } catch let error as ValidationError {
            messages = error.violations.map(\.message)
        }

        #expect(messages == ["rating can't be greater than 5"])
        #expect(article.rating == 0)
        #expect(article.title == "pending")
        #expect(article.hasChanges)
    }

    @Test func tasks8And9ObserveAndWorkInTheBackground() async throws {
        let desk = try Desk()
        let (store, id) = (desk.store, desk.article.id)
        let commits = store.commits
        var ids: [ObjectID] = []

        try await store.edit("rate", author: "lala") { context in
            try context.object(Article.self, id: id)?.rating = 4
        }

        try await store.edit("last") { context in context.insert(Article(title: "last")) }
        for try await commit in commits {
            for change in commit.changes(of: Article.self) where change.kind == .update {
                ids.append(change.id)
            }
            if commit.label == "last" { break }
        }

        #expect(ids == [id])
        #expect(try desk.stored().rating == 4)
    }

    @Test func task10ResolvesConflicts() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)
        try desk.saveElsewhere { $0.rating = 4 }
        article.title = "Mine"
        article.rating = 2

        context.mergePolicy = .mergeContextWins.merging(Article.self, \.rating, by: .max)
        try context.save("rate")

        #expect(try desk.stored().title == "Mine")
        #expect(try desk.stored().rating == 4)
    }
}
