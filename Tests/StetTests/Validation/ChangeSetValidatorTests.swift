import Foundation
import Stet
import StetTestModels
import StetTestSupport
import Testing

@Suite struct ChangeSetValidatorTests {
    private let directory = TemporaryDirectory()

    private func context() throws -> ManagedContext {
        var configuration = StoreConfiguration()
        configuration.changeSetValidators = [
            { save in
                let inserted = save.changes.changes(of: .insert)
                if inserted.count > 2 { save.report("at most two at once", reason: "so they say") }
            },
            { save in
                for change in save.changes.changes(of: .insert) where change.entity == "Article" {
                    if save.store.fetch(Notebook.self).isEmpty {
                        save.report("{entity} without a notebook", on: change)
                    }
                }
            },
        ]
        return try Store.open(
            at: directory.file(), for: Notebook.self, Article.self, configuration: configuration
        ).context()
    }

    @Test func allChangesAreJudgedTogether() throws {
        let context = try context()
        let articles = (0..<3).map { Article(title: "\($0)") }
        for article in articles { context.insert(article) }
        let error = try #require(throws: ValidationError.self) {
            try context.save(onFailure: .keepPending)
        }
        #expect(
            error.violations.map(\.message) == ["at most two at once"]
                + Array(repeating: "Article without a notebook", count: 3))
        #expect(error.violations.map(\.object) == [nil] + articles.map(\.id))
        #expect(error.violations.map(\.failureReason) == ["so they say", nil, nil, nil])
        #expect(error.violations.map(\.operation) == [nil, .insert, .insert, .insert])
        context.delete(articles[1])
        context.delete(articles[2])
        context.insert(Notebook(name: "Swift"))
        #expect(try context.save() != nil)
    }

    @Test func nobodyIsAskedWhenSomethingElseIsWrong() throws {
        let context = try context()
        for _ in 0..<3 { context.insert(Article(title: "")) }
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(
            error.violations.map(\.message)
                == Array(repeating: "title must be at least 1 character", count: 3))
    }
}
