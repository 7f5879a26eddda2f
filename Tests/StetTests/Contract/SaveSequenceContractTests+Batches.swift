import Foundation
import StetStore
import StetTestModels
import StetTestSupport
import Testing

@testable import Stet

/// The identity of commits, and group commit.
@MainActor extension SaveSequenceContractTests {
    @Test("`CommitID` is store id, base revision, 64 random bits; a retry is idempotent")
    func aCommitIDMakesARetryIdempotent() async throws {
        let desk = try Desk()
        let ids = try (0..<100).map { _ in try desk.context.makeCommitID() }
        #expect(Set(ids.map(\.token)).count == 100)
        #expect(Set(ids.map(\.store)).count == 1)
        #expect(Set(ids.map(\.base)) == [1])
        desk.notebook.name = "once"
        let commit = try await desk.context.save(id: ids[0])
        for number in 0..<3 { try desk.renameElsewhere("theirs \(number)") }
        let coded = try JSONDecoder().decode(CommitID.self, from: JSONEncoder().encode(ids[0]))
        desk.notebook.name = "twice"
        #expect(try await desk.context.save(id: coded) == commit)
        #expect(try desk.store.revision() == 5)
        #expect(desk.context.revision == 5)
        #expect(try Shown(desk.context) == Shown(desk.store.context()))
    }

    // MARK: Group commit

    @Test("Group commit: later members see earlier ones, a refused member has put nothing")
    func aRefusedMemberOfABatchHasPutNothing() async throws {
        let desk = try Desk()
        let store = desk.store
        await desk.holdQueue()
        // All saves are in one batch. Each renames the notebook and inserts, and every third
        // deletes.
        let id = desk.notebook.id
        var saves: [Task<Commit?, any Error>] = []
        for number in 0..<12 {
            let waiting = store.file.waitingCount
            let context = store.context(author: "\(number)")
            let notebook = try #require(try context.object(Notebook.self, id: id))
            if number % 3 == 1 { context.delete(notebook) } else { notebook.name = "\(number)" }
            context.insert(Article(title: "\(number)"))
            saves.append(Task { try await context.save("\(number)") })
            await until { store.file.waitingCount > waiting }
        }
        try await desk.release()
        var made: [String?] = []
        for save in saves {
            if let commit = try? await save.value { made.append(commit.label) }
        }
        #expect(made == ["0"])
        #expect(try desk.labels() == ["first", "plug", "0"])
        #expect(try store.context().fetch(Article.self).all().map(\.title) == ["Macros", "0"])
        #expect(try store.verify().problems == [])
    }

    @Test("MAP_FULL: the whole batch again in a larger map, or the one refused that does not fit")
    func aFullMapIsGrownOrRefuses() async throws {
        let directory = TemporaryDirectory()
        var configuration = Store.Configuration()
        configuration.mapByteCount = 4 << 20
        let store = try Store.open(
            at: directory.file(), for: Notebook.self, Article.self, configuration: configuration)
        let sizes = [1_000, 300_000, 6_000_000, 2_000, 300_000, 10]
        let saves = sizes.map { size in
            Task {
                let context = store.context()
                let article = Article(title: "\(size)")
                article.body = String(repeating: "x", count: size)
                context.insert(article)
                return try await context.save()
            }
        }
        var isSaved: [Bool] = []
        for save in saves { isSaved.append((try? await save.value) != nil) }
        #expect(isSaved == [true, true, false, true, true, true])
        #expect(try store.context().fetch(Article.self).count() == 5)
        #expect(try store.verify().problems == [])
    }
}
