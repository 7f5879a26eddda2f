import Foundation
import Stet
import StetTestModels
import StetTestSupport
import Testing

@Suite struct ChangeSetValidatorTests {
    private let directory = TemporaryDirectory()

    private func context() throws -> ManagedContext {
        var configuration = Store.Configuration()
        configuration.changeSetValidators = [
            { save in
                let inserted = save.changes.changes(of: .insert)
                if inserted.count > 2 { save.report("at most two at once", reason: "so they say") }
            },
            { save in
                for change in save.changes.changes(of: .insert) where change.entity == "Article" {
                    if save.store.all(Notebook.self).isEmpty {
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

    // MARK: Two versions at once

    @Test func eachStoreJudgesByItsOwnValidatorsAndNotWhatOthersHaveSaved() throws {
        var strict = Store.Configuration()
        strict.changeSetValidators = [
            { save in
                for change in save.changes.changes where change["title"]?.new == .string("old") {
                    save.report("the title is of the old version", on: change)
                }
            }
        ]
        let before = try Store.open(at: directory.file(), for: Notebook.self, Article.self)
        let after = try Store.open(
            at: directory.file(), for: Notebook.self, Article.self, configuration: strict)
        let old = before.context()
        let article = Article(title: "old")
        old.insert(article)
        try old.save()
        // The later version can edit an object that the earlier one has saved,
        let new = after.context()
        let same = try #require(try new.object(Article.self, id: article.id))
        same.rating = 3
        #expect(try new.save() != nil)
        // which does not write it again.
        new.insert(Article(title: "old"))
        let error = try #require(throws: ValidationError.self) { try new.save() }
        #expect(error.violations.map(\.message) == ["the title is of the old version"])
        try old.refresh()
        #expect(article.rating == 3)
        old.insert(Article(title: "old"))
        #expect(try old.save() != nil)
        #expect(try after.verify().problems == [])
    }
}
