import Stet
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// The updates of live queries: their contents, and when they come.
@Suite struct LiveQueryTests {
    private typealias Article = Ledger.Article
    private typealias Notebook = Ledger.Notebook
    private typealias Tag = Ledger.Tag

    private let desk: LedgerDesk
    private let ids: [ObjectID]
    private let notebook: ObjectID
    private var store: Store { desk.store }
    private var feed: CommitFeed { store.file.feed }

    init() throws {
        desk = try LedgerDesk()
        let notebook = Notebook(name: "n")
        let articles = ["a", "b", "c", "d"].map { Article(title: $0, notebook: notebook) }
        try desk.edit("a") { context in
            for article in articles { context.insert(article) }
        }
        ids = articles.map(\.id)
        self.notebook = notebook.id
    }

    private var byTitle: SnapshotFetch<Article> { store.fetch(Article.self).sorted(by: \.title) }

    private func title(_ id: ObjectID, _ title: String) throws {
        try desk.edit("a", Article.self, id) { $0.title = title }
    }

    private func rate(_ id: ObjectID, _ rating: Int) throws {
        try desk.edit("a", Article.self, id) { $0.rating = rating }
    }

    // MARK: Updates

    @Test("A7 the first update is the present result") func theFirstUpdateIsTheResult() async throws
    {
        var iterator = store.observe(byTitle).makeAsyncIterator()
        try title(ids[0], "z")
        let update = try #require(try await iterator.next())
        #expect(update.result.map(\.title) == ["b", "c", "d", "z"])
        #expect(update.result.ids == [ids[1], ids[2], ids[3], ids[0]])
        #expect(update.revision == 2)
        #expect(update.commits.isEmpty)
        #expect(update.updatedObjects.isEmpty)
        #expect([ObjectID]().applying(update.difference) == update.result.ids)
        #expect(update.rerunReason == "there is no result yet")
    }

    @Test func anEmptyResultIsAnUpdate() async throws {
        let query = store.fetch(Article.self) { $0.rating == 5 }
        var iterator = store.observe(query).makeAsyncIterator()
        #expect(try await iterator.next()?.result.isEmpty == true)
        #expect(try iterator.poll() == nil)
    }

    @Test func aMoveIsAssociatedAndItsObjectUpdated() async throws {
        let live = store.observe(byTitle)
        var iterator = live.makeAsyncIterator()
        _ = try await iterator.next()
        try title(ids[0], "z")
        let update = try #require(try await iterator.next())
        #expect(
            Array(update.difference) == [
                .remove(offset: 0, element: ids[0], associatedWith: 3),
                .insert(offset: 3, element: ids[0], associatedWith: 0),
            ])
        let object = try #require(update.updatedObjects.first)
        #expect(update.updatedObjects.count == 1)
        #expect(object.id == ids[0])
        #expect(object.oldIndex == 0)
        #expect(object.newIndex == 3)
        #expect(object.changes.map { $0.old[\.title] } == ["a"])
        #expect(object.changes.map { $0.new[\.title] } == ["z"])
        #expect(update.commits.map(\.revision) == [2])
        #expect(update.rerunReason == nil)
        #expect(live.statistics.incrementalStepCount == 1)
        #expect(live.statistics.rerunCount == 1)
        #expect(live.statistics.updateCount == 2)
    }

    @Test func anObjectThatKeepsItsPlaceHasNotMoved() async throws {
        var iterator = store.observe(byTitle).makeAsyncIterator()
        _ = try await iterator.next()
        try title(ids[1], "bb")
        let update = try #require(try await iterator.next())
        #expect(update.difference.isEmpty)
        #expect(update.updatedObjects.map(\.newIndex) == [1])
        #expect(update.result.map(\.title) == ["a", "bb", "c", "d"])
    }

    @Test func commitsThatASlowObserverMissesAreOneUpdate() async throws {
        let live = store.observe(byTitle)
        var iterator = live.makeAsyncIterator()
        let first = try #require(try await iterator.next())
        for number in 0..<20 { try title(ids[0], "t\(number % 7)") }
        try desk.delete("a", Article.self, ids[1])
        try desk.edit("a") { $0.insert(Article(title: "new")) }
        let update = try #require(try await iterator.next())
        #expect(update.commits.count == 22)
        #expect(update.revision == 23)
        #expect(update.result.map(\.title) == ["c", "d", "new", "t5"])
        #expect(first.result.ids.applying(update.difference) == update.result.ids)
        #expect(update.updatedObjects.map(\.changes.count) == [20])
        #expect(live.statistics.incrementalStepCount == 1)
        // Results that were delivered do not change.
        #expect(first.result.map(\.title) == ["a", "b", "c", "d"])
    }

    @Test func whatObjectsReferToIsReadAnew() async throws {
        let query = store.fetch(Article.self) { $0.notebook?.name == "n" }.sorted(by: \.title)
        let live = store.observe(query)
        var iterator = live.makeAsyncIterator()
        _ = try await iterator.next()
        try desk.edit("a", Notebook.self, notebook) { $0.colour = "red" }
        #expect(try iterator.poll() == nil)
        try title(ids[0], "z")
        #expect(try await iterator.next()?.rerunReason == nil)
        try desk.edit("a", Notebook.self, notebook) { $0.name = "other" }
        let update = try #require(try await iterator.next())
        #expect(update.result.isEmpty)
        #expect(update.rerunReason == "the query reads Notebook.name of other objects")
        #expect(live.statistics.rerunCount == 2)
    }

    @Test func aPageIsFilledWhenObjectsLeaveIt() async throws {
        try desk.edit("a") { context in
            for number in 0..<200 { context.insert(Article(title: "x\(1_000 + number)")) }
        }
        let live = store.observe(byTitle.offset(1).limit(2))
        var iterator = live.makeAsyncIterator()
        #expect(try await iterator.next()?.result.map(\.title) == ["b", "c"])
        try title(ids[0], "y")
        let update = try #require(try await iterator.next())
        #expect(update.result.map(\.title) == ["c", "d"])
        #expect(update.rerunReason == nil)
        // Deletes more objects than are kept beyond the page.
        for id in try byTitle.limit(60).ids() { try desk.delete("a", Article.self, id) }
        let last = try #require(try await iterator.next())
        #expect(last.rerunReason == "too many objects have left the page")
        #expect(last.result.ids == (try byTitle.offset(1).limit(2).ids()))
    }

    // MARK: Waiting

    @Test("A7 commits that do not concern a live query do not wake it")
    func commitsThatDoNotConcernItDoNotWake() async throws {
        let query = store.fetch(Article.self) { $0.notebook?.name == "n" }
        let updates = LiveTask(store.observe(query))
        try await store.untilObserversWait(1)
        let before = feed.counts
        try desk.edit("a") { $0.insert(Tag(name: "t")) }
        try desk.edit("a", Notebook.self, notebook) { $0.colour = "red" }
        try await store.untilObserversWait(1)
        #expect(feed.counts == before)
        #expect(updates.all.count == 1)
        try rate(ids[0], 3)
        while updates.all.count < 2 { await Task.yield() }
        try await store.untilObserversWait(1)
        #expect(feed.counts.wakes == before.wakes + 1)
        await updates.end()
        #expect(feed.observerCount == 0)
        #expect(feed.byteCount == 0)
    }

    @Test func nothingIsReadWhileNobodyAsks() async throws {
        let live = store.observe(byTitle)
        var iterator = live.makeAsyncIterator()
        _ = try await iterator.next()
        let statistics = live.statistics
        for rating in 1...4 { try rate(ids[0], rating) }
        #expect(live.statistics == statistics)
        #expect(feed.counts.wakes == 0)
        #expect(try await iterator.next()?.result.first?.rating == 4)
    }

    @Test func aTrimmedJournalLetsTheQueryRun() async throws {
        let live = store.observe(byTitle)
        var iterator = live.makeAsyncIterator()
        let first = try #require(try await iterator.next())
        for number in 0..<5 { try title(ids[0], "t\(number)") }
        try store.requestTrim(before: 5).confirm()
        feed.forgetRing()
        let update = try #require(try await iterator.next())
        #expect(update.rerunReason == "commits were trimmed before they were seen")
        #expect(update.commits.isEmpty)
        #expect(update.result.map(\.title) == ["b", "c", "d", "t4"])
        #expect(first.result.ids.applying(update.difference) == update.result.ids)
        #expect(update.updatedObjects.map(\.id) == [ids[0]])
    }

    @Test func aClosedStoreEndsIt() async throws {
        let updates = LiveTask(store.observe(byTitle))
        try await store.untilObserversWait(1)
        store.close()
        await updates.untilEnd()
        #expect(updates.all.count == 1)
        #expect(updates.error == nil)
        var late = store.observe(byTitle).makeAsyncIterator()
        #expect(try await late.next() == nil)
    }

    @Test func aCancelledTaskEndsIt() async throws {
        let updates = LiveTask(store.observe(byTitle))
        try await store.untilObserversWait(1)
        await updates.end()
        #expect(updates.all.count == 1)
        #expect(updates.error == nil)
        #expect(feed.observerCount == 0)
    }

    @Test func manyObjectsMoveAtOnce() async throws {
        try desk.edit("a") { context in
            for number in 0..<2_000 { context.insert(Article(title: "x\(10_000 + number)")) }
        }
        let live = store.observe(byTitle)
        var iterator = live.makeAsyncIterator()
        var ids = try #require(try await iterator.next()).result.ids
        for round in 0..<5 {
            try desk.edit("a") { context in
                for article in try context.fetch(Article.self).all() where article.rating == round {
                    article.title = "\(article.title.last ?? "x")\(article.title)".suffix(12) + ""
                    article.rating = (round + 1) % 5
                }
            }
            let update = try #require(try await iterator.next())
            ids = try #require(ids.applying(update.difference))
            #expect(try byTitle.ids() == ids)
            #expect(update.result.ids == ids)
            #expect(update.result.indices.allSatisfy { update.result[$0].id == ids[$0] })
        }
        #expect(live.statistics.rerunCount == 1)
        #expect(live.statistics.incrementalStepCount == 5)
    }
}

/// The updates of a live query, read by a task of its own.
final class LiveTask<M: Model>: Sendable {
    private let seen = Monitor<[QueryUpdate<M>]>([])
    private let failure = Monitor<(any Error)?>(nil)
    private let task: Monitor<Task<Void, Never>?> = Monitor(nil)

    init(_ live: LiveQuery<M>) {
        let (seen, failure) = (seen, failure)
        let reading = Task {
            do {
                for try await update in live { seen.withLock { $0.append(update) } }
            } catch {
                failure.withLock { $0 = error }
            }
        }
        task.withLock { $0 = reading }
    }

    var all: [QueryUpdate<M>] { seen.withLock { $0 } }
    var error: (any Error)? { failure.withLock { $0 } }

    /// Returns when the sequence has ended.
    func untilEnd() async { await task.withLock { $0 }?.value }

    /// Ends the observer; returns when nothing of it is left.
    func end() async {
        let reading = task.withLock { $0 }
        reading?.cancel()
        await reading?.value
    }
}
