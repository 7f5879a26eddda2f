import Stet
import StetLMDB
import StetStore
import StetTestModels
import StetTestSupport
import Testing

/// Live queries on a store that other processes write to.
@Suite struct LiveQueryProcessesTests {
    @Test("A7 a live query follows the commits of other processes")
    func aLiveQueryFollowsOtherProcesses() async throws {
        let directory = TemporaryDirectory()
        let path = directory.file()
        let store = try Store.open(at: path, for: Notebook.self, Article.self)
        let articles = store.fetch(Article.self) { $0.notebook?.name != nil }
            .sorted(by: \.rating, .descending).then(by: \.title)
        let notebooks = LiveTask(store.observe(store.fetch(Notebook.self).sorted(by: \.name)))
        let updates = LiveTask(store.observe(articles))
        while updates.all.isEmpty || notebooks.all.isEmpty { await Task.yield() }
        let children = try (0..<2).map { number in
            try RunningChild(["random", path, "300", "\(7 + number)"])
        }
        for child in children {
            #expect(child.lines() == [])
            #expect(child.status() == 0)
        }
        #expect(try store.revision() == 600)
        try await check(updates, articles)
        try await check(notebooks, store.fetch(Notebook.self).sorted(by: \.name))
        await updates.end()
        await notebooks.end()
    }

    @Test func aValueThatAnotherProcessHasRedactedIsNotTakenForTheOneBefore() throws {
        let directory = TemporaryDirectory()
        let path = directory.file()
        let store = try Store.open(at: path, for: Notebook.self, Article.self)
        let context = store.context()
        let article = Article(title: "m", notebook: nil)
        context.insert(article)
        try context.save()
        let live = store.observe(store.fetch(Article.self) { $0.title > "k" }).count
        var counts = live.makeAsyncIterator()
        #expect(try counts.poll()?.value == 1)
        article.title = "a"
        try context.save()
        // The ring of this process still contains the original commit.
        #expect(try RunningChild(["redact", path, "\(article.id)"]).status() == 0)
        #expect(try counts.poll()?.value == 0)
        #expect(live.statistics.rerunCounts["values were redacted"] == 1)
    }

    @Test("A7 a feed delivers no value that another process has redacted")
    func aFeedDeliversNoValueThatAnotherProcessHasRedacted() async throws {
        let directory = TemporaryDirectory()
        let path = directory.file()
        let store = try Store.open(at: path, for: Notebook.self, Article.self)
        let context = store.context()
        let article = Article(title: "secret", notebook: nil)
        context.insert(article)
        try await context.save()
        var changes = store.changes(of: Article.self).makeAsyncIterator()
        article.title = "public"
        try await context.save()
        // This process has the commit as it was.
        #expect(try RunningChild(["redact", path, "\(article.id)"]).status() == 0)
        let event = try #require(try await changes.next())
        #expect(event.revision == 2)
        #expect(event.commit.isRedacted)
        #expect(event.changes[0].old[\.title] == nil)
        #expect(event.changes[0].new[\.title] == "public")
        #expect(event.commit.changeSet.changes[0]["title"]?.redacted.old == true)
    }

    @Test("A7 a migration by another process ends every sequence of observers with an error")
    func aMigrationEndsEverySequence() async throws {
        let directory = TemporaryDirectory()
        let path = directory.file()
        let store = try Store.open(at: path, for: Notebook.self, Article.self)
        let context = store.context()
        let notebook = Notebook(name: "early")
        context.insert(notebook)
        try await context.save()
        let notebooks = store.fetch(Notebook.self).sorted(by: \.name)
        let mailer = try store.subscribe("mailer", to: store.commits)
        let endings = [
            ending(of: store.commits), ending(of: store.changes(of: Notebook.self)),
            ending(of: store.changes(of: Notebook.self) { $0.name == "early" }),
            ending(of: store.observe(notebooks)), ending(of: store.observe(notebooks).count),
            ending(of: store.observe(Notebook.self, id: notebook.id)),
            ending(of: mailer.deliveries),
        ]
        while store.file.feed.waiterCount < endings.count { await Task.yield() }
        let child = try RunningChild(["migrate", path])
        try #require(child.lines() == ["migrating", "migrated 2"])
        for ending in endings {
            #expect((await ending.value as? StoreError)?.code == .modelMismatch)
        }
        #expect(store.file.feed.observerCount == 0)
        #expect(try RunningChild(["verify", path]).lines() == ["ok schema 2 1 objects"])
    }

    /// The error that ends a sequence.
    private func ending<S: AsyncSequence & Sendable>(of sequence: S) -> Task<(any Error)?, Never> {
        Task {
            do {
                for try await _ in sequence {}
                return nil
            } catch {
                return error
            }
        }
    }

    /// The updates lead to the result of the query, once the observer has seen all commits.
    private func check<M: Model>(_ task: LiveTask<M>, _ query: SnapshotFetch<M>) async throws {
        let fresh = try query.all()
        while task.all.last?.result.snapshots != fresh { await Task.yield() }
        var ids: [ObjectID] = []
        for update in task.all {
            ids = try #require(ids.applying(update.difference))
            #expect(update.result.ids == ids)
        }
        #expect(task.error == nil)
        #expect(task.all.count > 1)
        let revisions = task.all.map(\.revision)
        #expect(revisions == revisions.sorted())
    }
}
