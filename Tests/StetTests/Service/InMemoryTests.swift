import Foundation
import Stet
import StetTestModels
import StetTestSupport
import Testing

/// Stores without a file.
@Suite struct InMemoryTests {
    private func store() throws -> Store {
        var configuration = Store.Configuration()
        configuration.mapByteCount = 1 << 30
        return try Store.inMemory(
            for: Notebook.self, Article.self, configuration: configuration)
    }

    @Test func aStoreInMemoryIsAStoreLikeAnyOther() async throws {
        let store = try store()
        let (article, _) = try await store.edit("new", author: "lala") { context in
            let article = Article(title: "Macros", notebook: Notebook(name: "Swift"))
            context.insert(article)
            return article
        }
        try await store.edit(author: "lala") {
            try $0.object(Article.self, id: article.id)?.rating = 3
        }
        #expect(try await store.undo(author: "lala") != nil)
        #expect(try store.object(Article.self, id: article.id)?.rating == 0)
        #expect(try store.view(asOf: 2).object(Article.self, id: article.id)?.rating == 3)
        #expect(try store.journal().map(\.label).first == "new")
        #expect(try store.verify().problems == [])
    }

    @Test func nothingOfAStoreInMemoryHasAName() throws {
        let store = try store()
        #expect(!FileManager.default.fileExists(atPath: store.path))
        let directory = URL(fileURLWithPath: store.path).deletingLastPathComponent().path
        #expect(!FileManager.default.fileExists(atPath: directory))
        try store.edit { $0.insert(Notebook(name: "Swift")) }
        #expect(!FileManager.default.fileExists(atPath: directory))
    }

    @Test func twoStoresInMemoryShareNothing() throws {
        let (one, other) = (try store(), try store())
        try one.edit { $0.insert(Notebook(name: "Swift")) }
        #expect(try one.fetch(Notebook.self).count() == 1)
        #expect(try other.fetch(Notebook.self).count() == 0)
    }

    @Test func aClosedStoreInMemoryGivesItsMemoryBack() throws {
        func openCount() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
                let target = try? FileManager.default.destinationOfSymbolicLink(
                    atPath: "/proc/self/fd/\(name)")
                return target == path + " (deleted)"
            }
        }
        let store = try store()
        let path = store.path
        #expect(try openCount() > 0)
        store.close()
        #expect(try openCount() == 0)
        #expect(throws: StoreError.self) { try store.revision() }
    }

    @Test func observersOfAStoreInMemoryHearOfItsCommits() async throws {
        let store = try store()
        var commits = store.commits(after: .beginning).makeAsyncIterator()
        try await store.edit("one") { $0.insert(Notebook(name: "Swift")) }
        #expect(try await commits.next()?.label == "one")
        try await store.edit("two") { $0.insert(Notebook(name: "Data")) }
        #expect(try await commits.next()?.label == "two")
    }

    @Test func aSubscriptionOfAStoreInMemoryHasOneOwner() async throws {
        let store = try store()
        try await store.edit { $0.insert(Notebook(name: "Swift")) }
        let task = Task {
            let subscription = try store.subscribe(
                "mirror", to: store.commits(after: .beginning))
            try await subscription.run { commit, context in
                context.insert(Article(title: "seen \(commit.revision)"))
            }
        }
        for try await commit in store.commits(after: .beginning) where commit.revision == 2 {
            break
        }
        task.cancel()
        _ = await task.result
        #expect(try store.fetch(Article.self).all().map(\.title) == ["seen 1"])
    }

    @Test func aStoreInMemoryCanBeCopiedToAFileAndNotBeReplaced() throws {
        let directory = TemporaryDirectory()
        let store = try store()
        try store.edit { $0.insert(Notebook(name: "Swift")) }
        let error = #expect(throws: StoreError.self) { try store.compactInPlace() }
        #expect(error?.code == .inMemory)
        try store.compact(to: directory.file())
        store.close()
        let copy = try Store.open(at: directory.file(), for: Notebook.self, Article.self)
        #expect(try copy.fetch(Notebook.self).all().map(\.name) == ["Swift"])
    }

    @Test func aStoreInMemoryGrowsUntilItsMapIsFull() throws {
        var configuration = Store.Configuration()
        configuration.mapByteCount = 1 << 20
        let store = try Store.inMemory(
            for: Notebook.self, Article.self, configuration: configuration)
        let error = #expect(throws: StoreError.self) {
            for _ in 0..<100 {
                try store.edit { context in
                    let article = Article(title: "long")
                    article.body = String(repeating: "x", count: 50_000)
                    context.insert(article)
                }
            }
        }
        #expect(error?.code == .mapFull)
        #expect(try store.verify().problems == [])
    }
}
