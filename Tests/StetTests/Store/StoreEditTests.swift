import Foundation
@testable import Stet
import StetTestModels
import StetLMDB
import StetStore
import Testing

/// `store.edit`: a fresh context, run, save, again on a conflict.
@Suite struct StoreEditTests {
    /// The id of a saved article with rating 0.
    private func saved() async throws -> (scratch: Scratch, article: ObjectID) {
        let scratch = try Scratch()
        let id = try await scratch.store.edit("new", author: "lala", scope: "desk") { context in
            let article = Article(title: "new")
            context.insert(article)
            return article.id
        }
        return (scratch, id)
    }

    @Test func anEditSavesOnceWithItsAttributes() async throws {
        let (scratch, id) = try await saved()
        let commits = try scratch.store.journal()
        #expect(commits.map(\.label) == ["new"])
        #expect(commits.map(\.author) == ["lala"])
        #expect(commits.map(\.scope) == ["desk"])
        #expect(commits.map { $0.changeSet.changes.map(\.id) } == [[id]])
    }

    @Test func whatTheClosureThrowsSavesNothing() async throws {
        struct Refusal: Error {}
        let (scratch, id) = try await saved()
        await #expect(throws: Refusal.self) {
            try await scratch.store.edit { context in
                try #require(try context.object(Article.self, id: id)).rating = 3
                throw Refusal()
            }
        }
        await #expect(throws: ValidationError.self) {
            try await scratch.store.edit { context in
                try #require(try context.object(Article.self, id: id)).rating = 9
            }
        }
        #expect(try scratch.store.revision() == 1)
    }

    @Test func aConflictRunsTheClosureAgainOnAFreshContext() async throws {
        let (scratch, id) = try await saved()
        let runs = Monitor<[ObjectIdentifier?]>([])
        let store = scratch.store
        try await store.edit { context in
            let article = try #require(try context.object(Article.self, id: id))
            let run = runs.withLock { runs in
                runs.append(nil)
                return runs.count
            }
            if run < 3 {
                let other = store.context()
                try #require(try other.object(Article.self, id: id)).rating += 1
                try other.save()
            }
            article.rating += 1
        }
        #expect(runs.withLock(\.count) == 3)
        #expect(try store.context().object(Article.self, id: id)?.rating == 3)
    }

    @Test(arguments: [0, 2]) func theLastConflictIsThrown(retries: Int) async throws {
        let (scratch, id) = try await saved()
        let store = scratch.store
        let runs = Monitor(0)
        let conflict: @Sendable (ManagedContext) throws -> Void = { context in
            let article = try #require(try context.object(Article.self, id: id))
            runs.withLock { $0 += 1 }
            let other = store.context()
            try #require(try other.object(Article.self, id: id)).body = "\(runs.withLock { $0 })"
            try other.save()
            article.title = "mine"
        }
        await #expect(throws: ConflictError.self) {
            try await store.edit(retries: retries, conflict)
        }
        #expect(runs.withLock { $0 } == retries + 1)
        #expect(throws: ConflictError.self) {
            try Self.editBlocking(store, retries, conflict)
        }
        #expect(runs.withLock { $0 } == 2 * (retries + 1))
        #expect(try store.context().object(Article.self, id: id)?.title == "new")
    }

    private static func editBlocking(
        _ store: Store, _ retries: Int, _ body: @Sendable (ManagedContext) throws -> Void
    ) throws {
        try store.edit(retries: retries, body)
    }

    @Test func aCancelledEditSavesNothing() async throws {
        let (scratch, id) = try await saved()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await scratch.store.edit { context in
                try #require(try context.object(Article.self, id: id)).rating = 3
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try scratch.store.revision() == 1)
    }

    @Test func manyTasksThatIncrementOneCounterLoseNothing() async throws {
        let (scratch, id) = try await saved()
        let store = scratch.store
        let tasks = 64
        // STET_EDITS=1000 makes 64,000 edits of it.
        let increments = ProcessInfo.processInfo.environment["STET_EDITS"].flatMap(Int.init) ?? 25
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    for _ in 0..<increments {
                        try await store.edit { context in
                            let article = try #require(try context.object(Article.self, id: id))
                            let count = Int(article.title) ?? 0
                            article.title = "\(count + 1)"
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(
            try store.context().object(Article.self, id: id)?.title == "\(tasks * increments)")
        #expect(try store.revision() == Revision(UInt64(tasks * increments + 1)))
        #expect(try store.verify().problems == [])
    }

    @Test func editsThatWaitForARepeatedOneCanBeCancelled() async throws {
        let edits = RepeatedEdits()
        try await edits.begin(true)
        let waiting = [true, false].map { isRepeated in
            Task { try await edits.begin(isRepeated) }
        }
        for task in waiting { task.cancel() }
        for task in waiting {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        edits.end()
        // No edit is left waiting, so a new one begins at once.
        try await edits.begin(true)
        edits.end()
    }
}
