import StetStore
import StetTestModels
import Testing

@testable import Stet

/// `context.pendingChanges`: what is pending, for forms.
@MainActor @Suite struct PendingUpdatesTests {
    private let desk: Desk

    init() throws { desk = try Desk() }

    private var context: ManagedContext { desk.context }

    /// Collects updates on the main actor until it is cancelled.
    private func observe() async -> (task: Task<Void, Never>, seen: Seen) {
        let (seen, context) = (Seen(), context)
        let task = Task { @MainActor in
            seen.hasBegun = true
            for await update in context.pendingChanges { seen.updates.append(update) }
            seen.hasEnded = true
        }
        while context.core.pendingSignal?.waiterCount ?? 0 == 0 { await Task.yield() }
        return (task, seen)
    }

    @MainActor private final class Seen {
        var updates: [ManagedContext.PendingUpdates.Update] = []
        var hasBegun = false
        var hasEnded = false

        func until(_ count: Int) async {
            while updates.count < count { await Task.yield() }
        }
    }

    @Test("A7 the edits of a turn are one update, before anything is saved")
    func theEditsOfATurnAreOneUpdate() async throws {
        let (task, seen) = await observe()
        desk.article.title = "a"
        desk.article.title = "b"
        desk.article.rating = 3
        desk.notebook.name = "other"
        await seen.until(1)
        #expect(seen.updates.count == 1)
        #expect(seen.updates[0].objects == [desk.article.id, desk.notebook.id].sorted())
        #expect(seen.updates[0].changes == context.changes)
        desk.article.rating = 4
        await seen.until(2)
        #expect(seen.updates[1].objects == [desk.article.id])
        #expect(seen.updates[1].changes.changes.count == 2)
        // Further edits of the same object are reported, too.
        for rating in 0...3 {
            desk.article.rating = rating
            await seen.until(3 + rating)
            let change = seen.updates.last?.changes.changes.first { $0.id == desk.article.id }
            #expect(change?["rating"]?.new ?? .int(0) == .int(rating))
        }
        task.cancel()
        await task.value
    }

    @Test func savesRollbacksInsertsAndDeletesAreUpdates() async throws {
        let (task, seen) = await observe()
        desk.article.rating = 2
        await seen.until(1)
        try await context.save()
        await seen.until(2)
        #expect(
            seen.updates[1]
                == ManagedContext.PendingUpdates.Update(
                    changes: ChangeSet(), objects: [desk.article.id]))
        let new = Article(title: "new")
        context.insert(new)
        await seen.until(3)
        #expect(seen.updates[2].changes.changes.map(\.kind) == [.insert])
        new.title = "other"
        await seen.until(4)
        #expect(seen.updates[3].objects == [new.id])
        context.rollback()
        await seen.until(5)
        #expect(seen.updates[4].changes.isEmpty)
        #expect(seen.updates[4].objects == [new.id])
        desk.article.rating = 1
        await seen.until(6)
        context.delete(desk.article)
        await seen.until(7)
        #expect(seen.updates[6].changes.changes.map(\.kind) == [.delete])
        task.cancel()
        await task.value
    }

    @Test func editsThatARefusedSavePutsBackAreUpdatesAndEditsAfterItAreNoticed() async throws {
        let (task, seen) = await observe()
        desk.article.rating = 1
        await seen.until(1)
        #expect(throws: ValidationError.self) {
            try context.edit {
                desk.article.title = ""
                desk.notebook.name = "other"
            }
        }
        // The earlier changes are pending again, without an update of their own.
        desk.article.rating = 2
        await seen.until(2)
        #expect(seen.updates[1].objects == [desk.article.id])
        desk.notebook.name = "after"
        await seen.until(3)
        #expect(seen.updates[2].objects == [desk.notebook.id])
        task.cancel()
        await task.value
    }

    @Test func editsThatAreTakenBackInTheSameTurnAreNoUpdate() async throws {
        let (task, seen) = await observe()
        desk.article.rating = 2
        desk.article.rating = 0
        for _ in 0..<100 { await Task.yield() }
        #expect(seen.updates.isEmpty)
        desk.article.rating = 2
        await seen.until(1)
        #expect(seen.updates.count == 1)
        task.cancel()
        await task.value
        #expect(seen.hasEnded)
        #expect(context.core.pendingSignal?.waiterCount == 0)
    }

    @Test func anObserverDoesNotKeepAContextAndEndsWithIt() async throws {
        let seen = Seen()
        var other: ManagedContext? = desk.store.context()
        var iterator = try #require(other).pendingChanges.makeAsyncIterator()
        weak let core = other?.core
        let task = Task { @MainActor in
            seen.hasBegun = true
            while let update = await iterator.next() { seen.updates.append(update) }
            seen.hasEnded = true
        }
        while !seen.hasBegun { await Task.yield() }
        other = nil
        await task.value
        #expect(seen.hasEnded)
        #expect(seen.updates.isEmpty)
        #expect(core == nil)
    }
}
