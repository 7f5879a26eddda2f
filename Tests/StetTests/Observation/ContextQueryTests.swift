import StetLMDB
import StetStore
import StetTestModels
import Testing

@testable import Stet

/// `context.observe`: results with pending changes.
@MainActor @Suite struct ContextQueryTests {
    private let desk: Desk

    init() throws { desk = try Desk() }

    private var context: ManagedContext { desk.context }
    private var query: Fetch<Article> {
        context.fetch(Article.self) { $0.rating >= 3 }.sorted(by: \.title)
    }

    @MainActor private final class Seen {
        var updates: [ContextQuery<Article>.Update] = []

        func until(_ count: Int) async {
            while updates.count < count { await Task.yield() }
        }
    }

    private func saveElsewhere(_ edit: (Article) -> Void) throws {
        let other = desk.store.context(author: "other")
        edit(try #require(try other.object(Article.self, id: desk.article.id)))
        try other.save()
    }

    private func observe() -> (task: Task<Void, any Error>, seen: Seen) {
        let (seen, context, query) = (Seen(), context, query)
        let task = Task { @MainActor in
            for try await update in context.observe(query) { seen.updates.append(update) }
        }
        return (task, seen)
    }

    @Test("A7 a query of a context sees pending changes")
    func aQueryOfAContextSeesPendingChanges() async throws {
        let (task, seen) = observe()
        await seen.until(1)
        #expect(seen.updates[0].objects.isEmpty)
        desk.article.rating = 4
        let other = Article(title: "zz")
        context.insert(other)
        other.rating = 3
        await seen.until(2)
        #expect(seen.updates[1].objects.map(\.id) == [desk.article.id, other.id])
        #expect(seen.updates[1].objects.first === desk.article)
        other.title = "A"
        await seen.until(3)
        #expect(seen.updates[2].updatedObjects == [other.id])
        let before = seen.updates[1].objects.map(\.id)
        #expect(before.applying(seen.updates[2].difference) == [other.id, desk.article.id])
        #expect(seen.updates[2].difference.count == 2)
        context.rollback()
        await seen.until(4)
        #expect(seen.updates[3].objects.isEmpty)
        task.cancel()
        try await task.value
    }

    @Test func aContextThatDoesNotFollowStaysWhereItIs() async throws {
        let (task, seen) = observe()
        await seen.until(1)
        try saveElsewhere { $0.rating = 4 }
        desk.article.title = "mine"
        desk.article.rating = 3
        await seen.until(2)
        #expect(seen.updates[1].objects.map(\.rating) == [3])
        #expect(context.revision == seen.updates[1].revision)
        #expect(try context.store.revision() > context.revision)
        task.cancel()
        try await task.value
    }

    @Test("A7 a context follows the store while it is observed")
    func aContextFollowsTheStore() async throws {
        context.follows = true
        context.mergePolicy = .mergeContextWins
        let (task, seen) = observe()
        await seen.until(1)
        desk.article.title = "mine"
        try saveElsewhere { $0.rating = 4 }
        await seen.until(2)
        #expect(seen.updates[1].objects.map(\.title) == ["mine"])
        #expect(seen.updates[1].objects.map(\.rating) == [4])
        #expect(context.hasChanges)
        #expect(try context.revision == context.store.revision())
        task.cancel()
        try await task.value
        while context.store.file.feed.observerCount > 0 { await Task.yield() }
    }

    @Test func aConflictLetsTheContextStayAndIsToldOf() throws {
        context.follows = true
        var iterator = context.observe(query).makeAsyncIterator()
        #expect(try iterator.poll()?.objects.isEmpty == true)
        desk.article.rating = 3
        #expect(try iterator.poll()?.conflict == nil)
        let revision = context.revision
        try saveElsewhere { $0.rating = 4 }
        // The feed sets this when it receives a commit.
        context.follows = true
        let told = try #require(try iterator.poll())
        #expect(told.objects.map(\.rating) == [3])
        #expect(context.revision == revision)
        #expect(told.difference.isEmpty)
        #expect(told.updatedObjects.isEmpty)
        #expect(told.conflict?.conflicts.map(\.object) == [desk.article.id])
        context.follows = true
        #expect(try iterator.poll() == nil)
        context.rollback()
        let next = try #require(try iterator.poll())
        #expect(next.objects.map(\.rating) == [4])
        #expect(next.conflict == nil)
        #expect(context.revision > revision)
    }

    #if STET_FAULTS
        @Test(arguments: [LMDBError.Operation.begin, .get, .cursor], 1...8)
        func aConflictIsToldOfAfterAReadThatFailed(
            operation: LMDBError.Operation, count: Int
        ) throws {
            context.follows = true
            var iterator = context.observe(query).makeAsyncIterator()
            _ = try iterator.poll()
            desk.article.rating = 3
            _ = try iterator.poll()
            try saveElsewhere { $0.rating = 4 }
            context.follows = true
            let faults = context.store.file.environment.faults
            faults.failNext(operation, after: count, code: LMDBError.inputOutput)
            let early = (try? iterator.poll()) ?? nil
            faults.disarm()
            #expect(try (early ?? iterator.poll())?.conflict != nil)
        }
    #endif
}
