import Foundation
import Stet
import StetLMDB
import StetTestSupport
import Testing

/// Edits of what a client has read earlier, with to-many relationships.
@Suite struct StaleEditTests {
    private let directory = TemporaryDirectory()
    private let store: Store
    private let article: ObjectID
    private let tags: [ObjectID]

    init() throws {
        store = try Shelf.store(in: directory)
        let made = try store.edit("create", author: "ann") { context in
            let tags = ["swift", "data"].map { Shelf.Tag(name: $0) }
            let article = Shelf.Article(title: "one")
            article.notebook = Shelf.Notebook(name: "first")
            article.tags = [tags[0]]
            for tag in tags { context.insert(tag) }
            context.insert(article)
            return [article.id] + tags.map(\.id)
        }
        article = made[0]
        tags = Array(made.dropFirst())
    }

    private func edit(
        _ label: String, author: String? = nil, _ body: @Sendable (Shelf.Article) throws -> Void
    ) throws {
        let id = article
        try store.edit(label, author: author) { context in
            try body(try #require(try context.object(Shelf.Article.self, id: id)))
        }
    }

    // MARK: Conflicts with a revision

    @Test("Service 412 an object that nobody has changed since a revision is in no conflict")
    func unchanged() throws {
        try store.edit { $0.insert(Shelf.Tag(name: "new")) }
        let context = store.context()
        let object = try #require(try context.object(Shelf.Article.self, id: article))
        object.title = "mine"
        #expect(try context.conflict(of: object, since: 1) == nil)
        #expect(try context.conflict(of: object, since: 2) == nil)
        let future = try #require(throws: StoreError.self) {
            try context.conflict(of: object, since: 3)
        }
        #expect(future.code == .noSuchRevision)
        let new = Shelf.Article(title: "new")
        context.insert(new)
        #expect(try context.conflict(of: new, since: 0) == nil)
    }

    @Test("Service 412 a conflict has the three values of each property and of members")
    func threeValues() throws {
        let (swift, data) = (tags[0], tags[1])
        try edit("theirs") { article in
            article.title = "two"
            article.notebook = nil
            article.tags.append(try #require(try article.context?.object(Shelf.Tag.self, id: data)))
        }
        let context = store.context()
        let object = try #require(try context.object(Shelf.Article.self, id: article))
        let theirs = try #require(try context.conflict(of: object, since: 1))
        #expect(theirs.base == 1)
        #expect(theirs.current == 2)
        #expect(!theirs.isContested)
        #expect(theirs.properties.map(\.property) == ["title", "notebook", "tags"])
        #expect(theirs.properties.allSatisfy { $0.mine == $0.base && $0.theirs != $0.base })
        let links = theirs.properties[2]
        #expect(links.base == .list([.reference(swift)]))
        #expect(links.theirs == .list([swift, data].sorted().map { .reference($0) }))

        object.title = "three"
        object.tags = []
        let both = try #require(try context.conflict(of: object, since: 1))
        #expect(both.isContested)
        #expect(both.properties.filter(\.isContested).map(\.property) == ["title", "tags"])
        #expect(both.properties[0].mine == .string("three"))
        #expect(both.properties[2].mine == .list([]))
        // What is equal on both sides is not contested.
        object.title = "two"
        let same = try #require(try context.conflict(of: object, since: 1))
        #expect(same.properties.filter(\.isContested).map(\.property) == ["tags"])
        #expect(same.properties[0].mine == .string("one"))
        let json = try JSONEncoder().encode(both)
        #expect(try JSONDecoder().decode(Conflict.self, from: json) == both)
    }

    @Test("Service 412 a conflict that the closure of an edit throws refuses it, without a retry")
    func refusal() throws {
        try edit("theirs") { $0.title = "two" }
        let id = article
        let calls = Counter()
        let error = try #require(throws: ConflictError.self) {
            try store.edit("mine") { context in
                calls.increment()
                let object = try #require(try context.object(Shelf.Article.self, id: id))
                object.title = "three"
                if let conflict = try context.conflict(of: object, since: 1) {
                    throw ConflictError(conflict)
                }
            }
        }
        #expect(calls.value == 1)
        #expect(error.conflicts.map(\.current) == [2])
        #expect(error.problem.status == 409)
        #expect(error.errorCode == "conflict.changed")
        #expect(try store.revision() == 2)
    }

    @Test("Service 412 a conflict with a revision that was trimmed is an error")
    func trimmed() throws {
        try edit("theirs") { $0.title = "two" }
        try edit("theirs") { $0.title = "three" }
        try store.requestTrim(before: 3).confirm()
        let context = store.context()
        let object = try #require(try context.object(Shelf.Article.self, id: article))
        let error = try #require(throws: StoreError.self) {
            try context.conflict(of: object, since: 1)
        }
        #expect(error.code == .historyTrimmed)
        let conflict = try context.conflict(of: object, since: 2)
        #expect(conflict?.properties.map(\.base) == [.string("two")])
    }

    @Test("Service 412 a problem has members of the application beside its own")
    func problem() throws {
        struct Stale: Encodable {
            let problem: ProblemDetails
            let current: Revision

            func encode(to encoder: any Encoder) throws {
                try problem.encode(to: encoder)
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(current, forKey: .current)
            }

            private enum CodingKeys: String, CodingKey { case current }
        }
        let problem = ProblemDetails(status: 412, title: "Too late.", code: "stale")
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = String(
            decoding: try encoder.encode(Stale(problem: problem, current: 7)), as: UTF8.self)
        #expect(
            text == #"{"code":"stale","current":7,"detail":"Too late.","errors":[],"status":412,"#
                + #""title":"Too late.","type":"about:blank"}"#)
    }

    // MARK: Labels, reports, blame

    @Test("Service 1 the closure of an edit can set the label of its commit")
    func label() async throws {
        let id = article
        let (_, commit) = try await store.edit("change") { context in
            let object = try #require(try context.object(Shelf.Article.self, id: id))
            #expect(context.label == "change")
            context.label = "rename \(object.title)"
            object.title = "two"
            return object
        }
        #expect(commit?.label == "rename one")
        let context = store.context()
        context.label = "default"
        context.insert(Shelf.Tag(name: "a"))
        #expect(try await context.save()?.label == "default")
        context.insert(Shelf.Tag(name: "b"))
        #expect(try await context.save("named")?.label == "named")
        let edited = try context.edit { context.insert(Shelf.Tag(name: "c")) }
        #expect(edited?.label == "default")
    }

    @Test("Service 1 a blocking save has the label of its context, too")
    func labelOfABlockingSave() throws {
        let context = store.context()
        context.label = "default"
        context.insert(Shelf.Tag(name: "a"))
        #expect(try context.save()?.label == "default")
        let id = article
        try store.edit("change") { context in
            context.label = nil
            try context.object(Shelf.Article.self, id: id)?.title = "two"
        }
        #expect(try store.journal().map(\.label) == ["create", "default", nil])
    }

    @Test("Service 1 a violation of a relationship to many names it, after those of properties")
    func reports() throws {
        let id = article
        let error = try #require(throws: ValidationError.self) {
            try store.edit { context in
                let object = try #require(try context.object(Shelf.Article.self, id: id))
                context.report(
                    object, \.tags, "{property} can't contain “x”",
                    code: .init(domain: "Desk", number: 1), reason: "unknown")
                object.title = ""
            }
        }
        #expect(error.violations.map(\.property) == ["title", "tags"])
        let violation = error.violations[1]
        #expect(violation.message == "tags can't contain “x”")
        #expect(violation.object == id)
        #expect(violation.code == .init(domain: "Desk", number: 1))
        #expect(violation.operation == .update)
        #expect(error.problem.errors[1].pointer == "#/tags")
    }

    @Test("Service 3 blame finds the last change of members, and of every property by name")
    func blame() throws {
        let data = tags[1]
        try edit("tag", author: "bob") { article in
            article.tags.append(try #require(try article.context?.object(Shelf.Tag.self, id: data)))
        }
        try edit("rename", author: "eve") { $0.title = "two" }
        let members = try store.blame(Shelf.Article.self, id: article) { $0.tags }
        #expect(members?.revision == 2)
        #expect(members?.author == "bob")
        let never = try store.blame(Shelf.Article.self, id: article) { $0.sources }
        #expect(never == nil)
        let all = try store.blame(Shelf.Article.self, id: article)
        #expect(
            all.mapValues(\.revision)
                == ["title": 3, "notebook": 1, "readingList": 1, "tags": 2])
        #expect(try store.blame(Shelf.Article.self, id: ObjectID()).isEmpty)
    }

    // MARK: Earlier states and pages

    @Test("Service 3 a read shows the objects and members of an earlier revision")
    func readAsOf() throws {
        let id = article
        try edit("theirs") { article in
            article.title = "two"
            article.notebook?.name = "second"
            article.tags = []
        }
        try store.edit { context in
            context.delete(try #require(try context.object(Shelf.Article.self, id: id)))
        }
        let titles = try (1...3).map { number in
            try store.read(asOf: Revision(number)) { context in
                #expect(context.revision == Revision(number))
                let found = try context.fetch(Shelf.Article.self) { $0.title != "" }.all()
                return found.map { article in
                    "\(article.title) \(article.notebook?.name ?? "") \(article.tags.map(\.name)) "
                        + "\(article.notebook?.articles.map(\.title) ?? [])"
                }
            }
        }
        #expect(
            titles == [[#"one first ["swift"] ["one"]"#], [#"two second [] ["two"]"#], []])
        let future = try #require(throws: StoreError.self) { try store.read(asOf: 4) { _ in } }
        #expect(future.code == .noSuchRevision)
        try store.requestTrim(before: 3).confirm()
        let past = try #require(throws: StoreError.self) { try store.read(asOf: 1) { _ in } }
        #expect(past.code == .historyTrimmed)
    }

    @Test("Service 4 a page of objects holds what the query prefetches, and pages like snapshots")
    func pagesOfObjects() throws {
        try store.edit { context in
            for number in 0..<7 {
                let article = Shelf.Article(title: "a\(number)")
                article.notebook = Shelf.Notebook(name: "n\(number)")
                context.insert(article)
            }
        }
        let context = store.context()
        let query = context.fetch(Shelf.Article.self).sorted(by: \.title).prefetch(\.notebook)
        var titles: [[String]] = []
        var cursor: QueryCursor?
        repeat {
            let (objects, next) = try query.objects(3, after: cursor)
            let page = try query.page(3, after: cursor)
            #expect(page.items == objects.map(\.snapshot))
            #expect(page.next == next)
            titles.append(objects.map { "\($0.title) \($0.notebook?.name ?? "-")" })
            cursor = next
        } while cursor != nil
        #expect(
            titles == [
                ["a0 n0", "a1 n1", "a2 n2"], ["a3 n3", "a4 n4", "a5 n5"], ["a6 n6", "one first"],
            ])
    }
}

/// A count that closures of edits can increment.
private final class Counter: Sendable {
    private let count = Monitor(0)
    var value: Int { count.withLock { $0 } }
    func increment() { count.withLock { $0 += 1 } }
}
