import Foundation
import Stet
import Testing

private struct NotFound: Error {}

private struct Card: Equatable {
    var title: String
    var notebook: String?
}

@Model private final class Player {
    @Attribute(.unique) var number: Int
    var name: String = ""

    init(number: Int) { self.number = number }

    convenience init(line: String) {
        self.init(number: Int(line.prefix(1)) ?? 0)
        name = String(line.dropFirst(2))
    }
}

@Model final class Login {
    @Attribute(.unique) var name: String
    @Attribute(.hidden) var passwordHash: String

    init(name: String, passwordHash: String) {
        self.name = name
        self.passwordHash = passwordHash
    }
}

private struct Request {
    var title = "Actors "
    var notebook = ObjectID()
    var visibility = "nobody"
    var base: Revision = 1
}

/// The code of InAServer.md.
@Suite struct InAServerTests {
    private let user = "Mara"

    func ready(_ store: Store) throws -> (status: Int, body: Data) {
        let health = store.health()
        return (health.canSave ? 200 : 503, try JSONEncoder().encode(health))
    }

    @Test func aProbeAnswersWhetherTheStoreIsReady() throws {
        let store = try Store.inMemory(for: Notebook.self, Article.self)
        #expect(try ready(store).status == 200)
        store.close()
        let answer = try ready(store)
        #expect(answer.status == 503)
        let health = try JSONDecoder().decode(Store.Health.self, from: answer.body)
        #expect(health.problems.map(\.code) == ["storeClosed"])
        #expect(!health.canRead)
    }

    @Test func aHandlerReadsValues() throws {
        let desk = try Desk()
        let (store, id) = (desk.store, desk.article.id)

        guard let article = try store.object(Article.self, id: id) else { throw NotFound() }
        let body = try JSONEncoder().encode(article)

        #expect(try JSONDecoder().decode(Article.Snapshot.self, from: body) == article)
    }

    @Test func aHandlerReadsOneRevision() throws {
        let desk = try Desk()
        let (store, id) = (desk.store, desk.article.id)

        let card = try store.read { context in
            guard let article = try context.object(Article.self, id: id) else { throw NotFound() }
            return Card(title: article.title, notebook: article.notebook?.name)
        }

        #expect(card == Card(title: "Macros", notebook: "Swift"))
    }

    @Test func aHandlerAnswersWithWhatWasSaved() async throws {
        let desk = try Desk()
        let (store, request) = (desk.store, Request())

        let (article, commit) = try await store.edit("create", author: user) { context in
            let article = Article(title: request.title)
            context.insert(article)
            return article
        }
        let tag = commit?.revision.description

        #expect(article.title == "Actors")
        #expect(tag == "2")
        #expect(try desk.store.object(Article.self, id: article.id) == article)
    }

    private func assign(_ request: Request, to id: ObjectID, in store: Store) async throws {
        try await store.edit("assign", author: user) { context in
            guard let article = try context.object(Article.self, id: id) else { throw NotFound() }
            article.title = request.title
            article.notebook = try context.object(Notebook.self, id: request.notebook)
            if article.notebook == nil {
                context.report(article, \.notebook, "there is no such notebook")
            }
            if Visibility(rawValue: request.visibility) == nil {
                context.report(
                    Violation(
                        entity: "Article", property: "visibility",
                        value: .string(request.visibility), message: "{property} is unknown"))
            }
        }
    }

    @Test func aHandlerReportsWhatItKnows() async throws {
        let desk = try Desk()
        let error = await #expect(throws: ValidationError.self) {
            try await assign(Request(title: " "), to: desk.article.id, in: desk.store)
        }
        #expect(
            error?.violations.map(\.message) == [
                "visibility is unknown", "title must be at least 1 character",
                "there is no such notebook",
            ])
    }

    @Test func aRefusalIsAnsweredAsAProblem() async throws {
        let desk = try Desk()
        var (status, body) = (200, Data())
        do {
            try await assign(Request(title: " "), to: desk.article.id, in: desk.store)
        } catch let error as any StetError {
            status = error.problem.status  // 422 for a ValidationError
            body = try JSONEncoder().encode(error.problem)
        }
        #expect(status == 422)
        let problem = try JSONDecoder().decode(ProblemDetails.self, from: body)
        #expect(problem.errors.map(\.pointer) == ["#/visibility", "#/title", "#/notebook"])
    }

    private func rename(_ request: Request, _ id: ObjectID, in store: Store) async throws {
        try await store.edit(author: user) { context in
            guard let article = try context.object(Article.self, id: id) else { throw NotFound() }
            context.label = "rename \(article.title)"
            article.title = request.title
            if let conflict = try context.conflict(of: article, since: request.base) {
                throw ConflictError(conflict)
            }
        }
    }

    @Test func aHandlerRefusesAnEditOfWhatHasChanged() async throws {
        let desk = try Desk()
        let (store, id, request) = (desk.store, desk.article.id, Request())
        try await rename(request, id, in: store)
        #expect(try store.journal().last?.label == "rename Macros")
        let error = await #expect(throws: ConflictError.self) {
            try await rename(Request(title: "Tasks"), id, in: store)
        }
        #expect(error?.conflicts.first?.isContested == true)

        let before = try store.read(asOf: request.base) { context in
            try context.object(Article.self, id: id)?.title
        }

        #expect(before == "Macros")
    }

    private func send(
        _ store: Store, from start: FeedStart, _ send: (String) async throws -> Void
    ) async throws {
        for try await commit in store.commits(after: start) {
            let names = commit.changeSet.changes.map(\.entity).joined(separator: ",")
            try await send("id: \(commit.revision)\ndata: \(names)\n\n")
        }
    }

    @Test func aHandlerSendsEvents() async throws {
        struct Gone: Error {}
        let desk = try Desk()
        _ = try await desk.store.edit { $0.insert(Notebook(name: "Data")) }
        var events: [String] = []
        await #expect(throws: Gone.self) {
            try await send(desk.store, from: .revision(1)) { event in
                events.append(event)
                throw Gone()
            }
        }
        #expect(events == ["id: 2\ndata: Notebook\n\n"])
    }

    @Test func aHandlerInsertsOrUpdates() async throws {
        let store = try Store.inMemory(for: Player.self)
        let number = 7
        for name in ["Mara", "Ann"] {
            try await store.edit("import", author: user) { context in
                let player = try context.upsert(
                    Player.self, where: \.number, is: number, inserting: Player(number: number))
                player.name = name
            }
        }
        #expect(try store.fetch(Player.self).all().map(\.name) == ["Ann"])
    }

    @Test func aHandlerPagesThroughAList() throws {
        let desk = try Desk()
        let (store, cursor) = (desk.store, String?.none)

        let query = store.fetch(Article.self).sorted(by: \.title)
        let page = try query.page(20, after: cursor.flatMap { QueryCursor($0) })
        let next = page.next?.description  // nil on the last page

        #expect(page.items.map(\.title) == ["Macros"])
        #expect(next == nil)
    }

    @Test func aHandlerReadsUntilADeadline() throws {
        let desk = try Desk()
        let (store, word) = (desk.store, "Mac")

        let deadline = ContinuousClock.now + .seconds(2)
        let titles = try store.read(deadline: deadline) { context in
            try context.fetch(Article.self) { $0.title.contains(word) }.all().map(\.title)
        }
        let found = try store.fetch(Article.self) { $0.title.contains(word) }
            .deadline(deadline).all()

        #expect(titles == ["Macros"])
        #expect(found.map(\.title) == titles)
    }

    @Test func aHandlerInsertsAStream() async throws {
        let store = try Store.inMemory(for: Player.self)
        let lines = AsyncStream { continuation in
            for line in ["7 Mara", "8 Ann", "7 Bo"] { continuation.yield(line) }
            continuation.finish()
        }

        let policy = UniquenessPolicy<Player>.update { existing, new in existing.name = new.name }
        try await store.insert(stream: lines, author: user, onConflict: policy) { line in
            Player(line: line)
        }

        let names = try store.fetch(Player.self).sorted(by: \.number).all().map(\.name)
        #expect(names == ["Bo", "Ann"])
    }

    @Test func aHandlerAppliesTheChangesOfAClient() async throws {
        let desk = try Desk()
        let store = desk.store
        let body = Data(
            """
            {"changes": [{"entity": "Article", "id": "\(desk.article.id)", "kind": "update",
              "properties": {"title": {"old": "Macros", "new": "Plug-ins"}}}]}
            """.utf8)

        let changes = try JSONDecoder().decode(ChangeSet.self, from: body)
        try await store.edit("patch", author: user) { context in try context.apply(changes) }

        #expect(try desk.stored().title == "Plug-ins")
    }

    @Test func aHiddenValueIsNotEncoded() throws {
        let login = Login(name: "mara", passwordHash: "5f4dcc3b")
        let text = String(decoding: try JSONEncoder().encode(login.snapshot), as: UTF8.self)
        #expect(text.contains("mara"))
        #expect(!text.contains("5f4dcc3b"))
    }
}
