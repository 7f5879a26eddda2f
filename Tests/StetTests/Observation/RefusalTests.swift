import Foundation
import Stet
import StetLMDB
import StetStore
import StetTestModels
import Testing

/// `store.refusals`: saves that came to nothing, for an audit.
@Suite struct RefusalTests {
    @Test("A7 saves that are refused are told of with violations, author and label")
    func refusedSavesAreToldOf() async throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        var refusals = scratch.store.refusals.makeAsyncIterator()
        notebook.name = ""
        let error = await #expect(throws: ValidationError.self) { try await context.save("rename") }
        let refusal = try #require(await refusals.next())
        #expect(refusal.author == "lala")
        #expect(refusal.label == "rename")
        #expect(refusal.scope == nil)
        #expect(refusal.violations == error?.violations)
        #expect(!refusal.violations.isEmpty)
        #expect(refusal.rejected == error?.rejected)
        #expect(refusal.missedCount == 0)
        #expect(refusal.time == scratch.now)

        // A conflict in an asynchronous save.
        let other = scratch.store.context(author: "other", scope: "import")
        let theirs = try #require(try other.object(Article.self, id: article.id))
        article.rating = 1
        try await context.save()
        theirs.rating = 2
        await #expect(throws: ConflictError.self) { try await other.save("late") }
        let conflict = try #require(await refusals.next())
        #expect(conflict.error is ConflictError)
        #expect(conflict.violations.isEmpty)
        #expect(conflict.author == "other")
        #expect(conflict.scope == "import")
        #expect(conflict.label == "late")
        #expect(conflict.rejected.changes.map(\.id) == [article.id])
    }

    @Test func aCommitIsNoRefusal() async throws {
        let scratch = try Scratch()
        let (context, notebook, _) = try scratch.saved()
        var refusals = scratch.store.refusals.makeAsyncIterator()
        notebook.name = "good"
        try await context.save("good")
        notebook.name = ""
        #expect(throws: ValidationError.self) { try context.edit("bad") { notebook.name = "" } }
        #expect(await refusals.next()?.label == "bad")
    }

    /// An article whose editors are overtaken by another commit, and the number of their attempts.
    private struct ContestedArticle: Sendable {
        let scratch: Scratch
        let id: ObjectID
        let attempts = Monitor(0)

        var store: Store { scratch.store }

        init() throws {
            scratch = try Scratch()
            let (context, _, article) = try scratch.saved()
            article.body = ""
            try context.save()
            id = article.id
        }

        /// Appends "y", after another commit has appended "x" unless it is an `nth` attempt.
        func edit(_ context: ManagedContext, succeedsAt nth: Int) throws {
            let number = attempts.withLock { count in
                count += 1
                return count
            }
            let mine = try #require(try context.object(Article.self, id: id))
            if number % nth != 0 {
                let other = store.context()
                try #require(try other.object(Article.self, id: id)).body? += "x"
                try other.save()
            }
            mine.body? += "y"
        }

        func editBlocking() throws {
            try store.edit("blocking") { try edit($0, succeedsAt: 3) }
        }
    }

    @Test func anEditThatIsRepeatedIsNoRefusal() async throws {
        let article = try ContestedArticle()
        var refusals = article.store.refusals.makeAsyncIterator()
        try article.editBlocking()
        try await article.store.edit("asynchronous") { try article.edit($0, succeedsAt: 3) }
        #expect(article.attempts.withLock { $0 } == 6)
        #expect(try article.store.object(Article.self, id: article.id)?.body == "xxyxxy")
        await #expect(throws: ValidationError.self) {
            try await article.store.edit("bad") { $0.insert(Article(title: "")) }
        }
        #expect(await refusals.next()?.label == "bad")
    }

    @Test func theLastAttemptOfAnEditIsARefusal() async throws {
        let article = try ContestedArticle()
        var refusals = article.store.refusals.makeAsyncIterator()
        await #expect(throws: ConflictError.self) {
            try await article.store.edit("never", retries: 2) {
                try article.edit($0, succeedsAt: .max)
            }
        }
        #expect(article.attempts.withLock { $0 } == 3)
        await #expect(throws: ValidationError.self) {
            try await article.store.edit("bad") { $0.insert(Article(title: "")) }
        }
        #expect(await refusals.next()?.label == "never")
        #expect(await refusals.next()?.label == "bad")
    }

    @Test func anUndoThatIsRefusedIsToldOf() async throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        article.rating = 1
        try await context.save()
        let other = scratch.store.context(author: "other")
        try #require(try other.object(Article.self, id: article.id)).rating = 2
        try await other.save()
        var refusals = scratch.store.refusals.makeAsyncIterator()
        await #expect(throws: UndoConflictError.self) {
            try await scratch.store.undo(author: "lala")
        }
        let refusal = try #require(await refusals.next())
        #expect(refusal.error is UndoConflictError)
        #expect(refusal.author == "lala")
    }

    @Test @MainActor
    func aSaveThatWaitsAndIsRolledBackWithAnotherOneIsToldOf() async throws {
        let desk = try Desk()
        var refusals = desk.store.refusals.makeAsyncIterator()
        try desk.renameElsewhere()
        desk.notebook.name = "flight"
        desk.hold()
        let first = await desk.send("first")
        desk.article.rating = 3
        let second = await desk.queue("second")
        try await desk.release()
        #expect(await failure(of: first) is DiscardedEditsError)
        #expect(await failure(of: second) is DiscardedEditsError)
        let cause = try #require(await refusals.next())
        #expect(cause.label == "first")
        #expect(cause.error is ConflictError)
        let effect = try #require(await refusals.next())
        #expect(effect.label == "second")
        #expect(effect.author == "lala")
        #expect(effect.error is DiscardedEditsError)
        #expect(effect.violations.isEmpty)
        #expect(effect.rejected.changes.map(\.id) == [desk.article.id])
    }

    @Test @MainActor func aSaveThatIsCancelledWhileItWaitsIsToldOf() async throws {
        let desk = try Desk()
        var refusals = desk.store.refusals.makeAsyncIterator()
        desk.notebook.name = "flight"
        desk.hold()
        let first = await desk.send("first")
        desk.article.rating = 3
        let second = await desk.queue("second")
        second.cancel()
        #expect(await failure(of: second) is CancellationError)
        let refusal = try #require(await refusals.next())
        #expect(refusal.label == "second")
        #expect(refusal.error is CancellationError)
        try await desk.release()
        #expect(try await first.value?.label == "first")
        #expect(desk.article.rating == 0)
    }

    @Test func aSlowObserverIsToldHowManyItHasMissed() async throws {
        let scratch = try Scratch()
        let (context, notebook, _) = try scratch.saved()
        var refusals = scratch.store.refusals.makeAsyncIterator()
        for number in 0..<RefusalFeed.limit + 5 {
            notebook.name = ""
            await #expect(throws: ValidationError.self) { try await context.save("\(number)") }
        }
        let first = try #require(await refusals.next())
        #expect(first.label == "5")
        #expect(first.missedCount == 5)
        let second = try #require(await refusals.next())
        #expect(second.label == "6")
        #expect(second.missedCount == 0)
    }

    @Test func observersEndWhenTheyAreCancelledAndWhenTheStoreIsClosed() async throws {
        let scratch = try Scratch()
        let store = scratch.store
        func observe() -> Task<Int, Never> {
            let refusals = store.refusals
            return Task {
                var count = 0
                for await _ in refusals { count += 1 }
                return count
            }
        }
        let (cancelled, open) = (observe(), observe())
        while store.file.refusals.waiterCount < 2 { await Task.yield() }
        cancelled.cancel()
        #expect(await cancelled.value == 0)
        #expect(store.file.refusals.waiterCount == 1)
        store.close()
        #expect(await open.value == 0)
        #expect(store.file.refusals.waiterCount == 0)
        #expect(!store.file.refusals.isObserved)
    }
}
