import Foundation
import Stet
import StetTestSupport
import Testing

/// The code of GettingStarted.md.
@Suite struct GettingStartedTests {
    @Test func theFirstStepsRun() throws {
        let directory = TemporaryDirectory()
        let path = directory.file()

        let store = try Store.open(at: path, for: Notebook.self, Article.self, Tag.self)
        let context = store.context(author: "lala")

        let notebook = Notebook(name: "  Swift ")
        let article = Article(title: "Macros", notebook: notebook)
        context.insert(article)  // and the notebook, which it refers to
        let commit = try context.save("first article")
        let name = notebook.name  // "Swift": the save has trimmed it

        #expect(commit?.revision == 1)
        #expect(commit?.changeCount == 2)
        #expect(name == "Swift")
        try find(article, in: context)
        try edit(article, notebook, in: context)
        try readHistory(of: store, article)
    }

    private func find(_ article: Article, in context: ManagedContext) throws {
        let same = try context.object(Article.self, id: article.id)
        let unrated = try context.fetch(Article.self) { $0.rating == 0 }.all()
        let inNotebook = try context.fetch(Article.self) { $0.notebook?.name == "Swift" }.all()

        #expect(same === article)
        #expect(unrated == [article])
        #expect(inNotebook == [article])
    }

    private func edit(
        _ article: Article, _ notebook: Notebook, in context: ManagedContext
    ) throws {
        article.rating = 4
        try context.save("rate")

        var messages: [String] = []
        do {
            try context.edit("spoil") {
                article.rating = 9
                notebook.name = ""
            }
        } catch let error as ValidationError {
            messages = error.violations.map(\.message)
        }

        #expect(
            messages == [
                "rating can't be greater than 5", "name must be at least 1 character",
            ])
        #expect(article.rating == 4)
        #expect(notebook.name == "Swift")
        #expect(!context.hasChanges)

        context.delete(notebook)
        try context.save("delete the notebook")

        #expect(article.notebook == nil)
        #expect(notebook.isDeleted)
    }

    private func readHistory(of store: Store, _ article: Article) throws {
        var ratings: [Int] = []
        for commit in try store.journal() {
            for change in commit.changes(of: Article.self) {
                if let rating = change.new[\.rating] { ratings.append(rating) }
            }
        }
        let report = try store.verify()  // the state equals the journal

        #expect(ratings == [0, 4])
        #expect(report.isClean)
        #expect(report.commitCount == 3)
    }

    @Test func anObserverHearsOfACommit() async throws {
        let desk = try Desk()
        let store = desk.store
        let id = desk.article.id
        let commits = store.commits
        try await store.edit("rate", author: "lala") { context in
            try context.object(Article.self, id: id)?.rating = 3
        }

        var ratings: [Int] = []
        for try await commit in commits {
            for change in commit.changes(of: Article.self) where change.kind == .update {
                if let rating = change.new[\.rating] { ratings.append(rating) }
            }
            if commit.label == "rate" { break }
        }

        #expect(ratings == [3])
    }
}
