import Stet
import StetTestModels
import StetTestSupport
import Testing

/// Reads that end early, and what they leave behind.
@Suite struct DeadlineTests {
    private let store: Store

    init() throws {
        store = try Store.inMemory(for: Notebook.self, Article.self)
        try store.edit { context in
            for number in 0..<1_000 { context.insert(Article(title: "Article \(number)")) }
        }
    }

    private static var past: ContinuousClock.Instant { .now - .seconds(1) }

    private func expectEnd(_ body: () throws -> Void) throws {
        let error = #expect(throws: QueryError.self, performing: body)
        #expect(error?.code == .deadlineExceeded)
        #expect(try store.statistics().readers.isEmpty)
    }

    @Test("Service 6 every form of a query ends at its deadline, and frees its slot")
    func queriesEnd() throws {
        let snapshots = store.fetch(Article.self) { $0.rating == 0 }.deadline(Self.past)
        let objects = store.context().fetch(Article.self).deadline(Self.past)
        try expectEnd { _ = try snapshots.all() }
        try expectEnd { _ = try snapshots.count() }
        try expectEnd { _ = try snapshots.sorted(by: \.title).ids() }
        try expectEnd { _ = try snapshots.sum(\.rating) }
        try expectEnd { _ = try objects.all() }
        try expectEnd { _ = try objects.filter { $0.title.hasPrefix("B") }.all() }
    }

    @Test("Service 6 a read ends at its deadline, with its slot free while the closure still runs")
    func readsEnd() throws {
        try expectEnd {
            try store.read(deadline: Self.past) { context in
                do {
                    _ = try context.fetch(Article.self).all()
                } catch {
                    #expect(try store.statistics().readers.isEmpty)
                    throw error
                }
            }
        }
        let soon = try store.read(deadline: .now + .seconds(600)) { context in
            try context.fetch(Article.self).count()
        }
        #expect(soon == 1_000)
    }

    @Test("Service 6 cancellation ends a read at the next batch, and not one without a deadline")
    func cancellation() async throws {
        let store = store
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            #expect(throws: CancellationError.self) {
                try store.read { try $0.fetch(Article.self).all().count }
            }
            #expect(throws: CancellationError.self) {
                try store.fetch(Article.self).deadline(.now + .seconds(600)).all()
            }
            #expect(try store.statistics().readers.isEmpty)
            return try store.fetch(Article.self).all().count
        }
        #expect(try await task.value == 1_000)
    }

    @Test("Service 6 what a read looks at before its first batch is no reason to end it")
    func shortReads() throws {
        let found = try store.fetch(Article.self).limit(3).deadline(Self.past).all()
        #expect(found.count == 3)
    }
}
