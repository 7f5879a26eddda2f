import Foundation
import Stet
import StetLMDB
import StetTestModels
import StetTestSupport
import Testing

/// Results of `store.edit` for a handler: objects as saved, their commit, and every violation.
@Suite struct ServiceEditTests {
    private let scratch: Scratch
    private var store: Store { scratch.store }

    init() throws { scratch = try Scratch() }

    // MARK: Results

    @Test func anObjectLeavesAnEditAsItWasSavedWithTheCommit() async throws {
        let (notebook, commit) = try await store.edit("create", author: "lala") { context in
            let notebook = Notebook(name: "  Swift ")
            context.insert(notebook)
            return notebook
        }
        #expect(notebook.name == "Swift")
        #expect(notebook.created == scratch.now)
        #expect(notebook == (try store.object(Notebook.self, id: notebook.id)))
        #expect(commit?.revision == 1)
        #expect(commit?.label == "create")
        #expect(commit?.author == "lala")
    }

    @Test func anEditWithoutNetChangeHasNoCommit() async throws {
        let (_, _, article) = try scratch.saved()
        let id = article.id
        let (snapshot, commit) = try await store.edit { context in
            try #require(try context.object(Article.self, id: id))
        }
        #expect(snapshot.id == id)
        #expect(commit == nil)
        #expect(try Self.renamed(store, id).commit?.revision == 2)
    }

    private static func renamed(
        _ store: Store, _ id: ObjectID
    ) throws -> (snapshot: Article.Snapshot, commit: Commit?) {
        try store.edit { context in
            let article = try #require(try context.object(Article.self, id: id))
            article.title = " Actors "
            return article
        }
    }

    @Test func aBlockingEditReturnsWhatWasSaved() throws {
        let (_, _, article) = try scratch.saved()
        let (snapshot, commit) = try Self.renamed(store, article.id)
        #expect(snapshot.title == "Actors")
        #expect(commit?.changeCount == 1)
    }

    @Test func severalObjectsLeaveInTheirOrder() async throws {
        let (notebooks, commit) = try await store.edit { context in
            let notebooks = ["b ", "a "].map { Notebook(name: $0) }
            for notebook in notebooks { context.insert(notebook) }
            return notebooks
        }
        #expect(notebooks.map(\.name) == ["b", "a"])
        #expect(commit?.changeCount == 2)
        let (none, nothing) = try await store.edit { _ in [Article]() }
        #expect(none.isEmpty)
        #expect(nothing == nil)
        #expect(try Self.articles(store).map(\.title) == ["one", "two"])
    }

    private static func articles(_ store: Store) throws -> [Article.Snapshot] {
        try store.edit { context in
            let articles = ["one ", "two "].map { Article(title: $0) }
            for article in articles { context.insert(article) }
            return articles
        }.snapshots
    }

    @Test func anObjectThatTheEditDeletesLeavesAsItWas() async throws {
        let (_, _, article) = try scratch.saved()
        let id = article.id
        let (snapshot, commit) = try await store.edit { context in
            let article = try #require(try context.object(Article.self, id: id))
            context.delete(article)
            return article
        }
        #expect(snapshot.title == "Macros")
        #expect(commit?.changeSet.changes(of: .delete).count == 1)
    }

    @Test func anEditThatReturnsAnObjectOfNoContextTraps() async throws {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            _ = try await Scratch().store.edit { _ in Article(title: "not inserted") }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("which is not in its context: insert it, "))
    }

    @Test func anEditThatIsTriedAgainReturnsWhatItSavedAtLast() async throws {
        let (_, _, article) = try scratch.saved()
        let (id, store) = (article.id, store)
        let isFirst = Monitor(true)
        let (snapshot, commit) = try await store.edit { context in
            let article = try #require(try context.object(Article.self, id: id))
            let interferes = isFirst.withLock { first in
                defer { first = false }
                return first
            }
            if interferes { try store.edit { try $0.object(Article.self, id: id)?.rating = 3 } }
            article.rating += 1
            return article
        }
        #expect(snapshot.rating == 4)
        #expect(commit?.revision == 3)
    }

    // MARK: Violations

    @Test func whatTheApplicationReportsLeavesWithWhatTheStoreFinds() async throws {
        let (_, _, article) = try scratch.saved()
        let id = article.id
        let error = await #expect(throws: ValidationError.self) {
            try await store.edit { context in
                let article = try #require(try context.object(Article.self, id: id))
                article.rating = 9
                context.report(
                    article, \.notebook, "there is no such {property}",
                    code: Violation.Code(domain: "Desk", number: 4), reason: "it was deleted")
                context.report(article, "this {entity} is closed")
                context.report(
                    Violation(
                        entity: "request", property: "state", value: .string("x"),
                        message: "{property} is unknown"))
            }
        }
        let violations = try #require(error?.violations)
        #expect(
            violations.map(\.message) == [
                "state is unknown", "rating can't be greater than 5", "there is no such notebook",
                "this Article is closed",
            ])
        #expect(violations.map(\.object) == [nil, id, id, id])
        #expect(violations.map(\.property) == ["state", "rating", "notebook", nil])
        #expect(violations.map(\.operation) == [nil, .update, .update, .update])
        #expect(violations[2].code.domain == "Desk")
        #expect(violations[2].failureReason != nil)
        #expect(violations[2].value == .reference(article.notebook?.id ?? .none))
        #expect(violations[0].code == .custom)
        #expect(violations[0].value == .string("x"))
        #expect(try store.revision() == 1)
    }

    @Test func aReportAloneRefusesAnEdit() async throws {
        await #expect(throws: ValidationError.self) {
            try await store.edit { $0.report(Violation(entity: "request", message: "empty")) }
        }
        #expect(throws: ValidationError.self) {
            try Self.reporting(store) { $0.report(Violation(entity: "request", message: "empty")) }
        }
        #expect(try store.revision() == 0)
    }

    private static func reporting(
        _ store: Store, _ body: @Sendable (ManagedContext) -> Void
    ) throws {
        try store.edit { body($0) }
    }

    @Test func aReportGoesWithThePendingChanges() throws {
        let (context, _, article) = try scratch.saved()
        let snapshot = context.snapshot()
        context.report(article, "closed")
        context.restore(snapshot)
        #expect(try context.save() == nil)
        context.report(article, "closed")
        context.rollback()
        #expect(try context.save() == nil)
        context.report(article, "closed")
        context.rollback(article)
        #expect(try context.save() == nil)
    }

    // MARK: Races

    @Test func editsThatTakeTheNextNumberAtOnceAreAllMade() async throws {
        let directory = TemporaryDirectory()
        let store = try Crates.open(directory)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await store.edit { context in
                        let keys = try context.fetch(Crates.Part.self).all().compactMap { $0.key }
                        let part = Crates.Part(name: "new")
                        part.key = "\((keys.compactMap(Int.init).max() ?? 0) + 1)"
                        context.insert(part)
                    }
                }
            }
            try await group.waitForAll()
        }
        let keys = try store.fetch(Crates.Part.self).all().compactMap(\.key).sorted()
        #expect(keys == (1...8).map(String.init))
    }
}
