import Foundation
import Stet
import StetLMDB
import StetTestModels
import StetTestSupport
import Testing

private enum Indexed {
    @Model final class Topic {
        @Attribute(.indexed) var name: String = "a"
        var file: LargeData?

        init() {}
    }
}

private enum Plain {
    @Model final class Topic {
        var name: String = "a"

        init() {}
    }
}

private enum IndexedAgain {
    @Model final class Topic {
        @Attribute(.indexed) var name: String = "a"

        init() {}
    }
}

/// The compaction of a store that continues to be used.
struct OnlineCompactionTests {
    private let scratch: Scratch
    private var store: Store { scratch.store }
    private static let secret = "nobody may find this"

    init() throws { scratch = try Scratch() }

    private func insert(_ title: String) throws -> ObjectID {
        try store.edit { context in
            let article = Article(title: title)
            context.insert(article)
            return article.id
        }
    }

    private func fileContains(_ text: String) throws -> Bool {
        try Data(contentsOf: URL(fileURLWithPath: store.path)).range(of: Data(text.utf8)) != nil
    }

    @Test func aRedactionIsCompletedWhileTheStoreIsInUse() throws {
        let id = try insert(Self.secret)
        try store.edit { context in
            try context.object(Article.self, id: id)?.title = "harmless"
        }
        try store.requestRedaction(of: Article.self, id: id, \.title).confirm()
        #expect(try fileContains(Self.secret))
        let context = store.context(author: "Mara")
        let article = try #require(try context.object(Article.self, id: id))
        article.title = "pending"

        try store.compactInPlace()

        #expect(try !fileContains(Self.secret))
        #expect(context.hasChanges)
        #expect(article.title == "pending")
        try context.save()
        #expect(try store.object(Article.self, id: id)?.title == "pending")
        try store.undo(author: "Mara")
        #expect(try store.object(Article.self, id: id)?.title == "harmless")
        #expect(try store.verify().isClean)
        #expect(try !fileContains(Self.secret))
    }

    @Test func aDeletedObjectsValuesAreGoneAfterATrim() throws {
        let id = try insert(Self.secret)
        try store.edit { context in
            let article = try #require(try context.object(Article.self, id: id))
            context.delete(article)
        }
        _ = try insert("another")
        try store.requestTrim(before: 3).confirm()
        try store.compactInPlace()
        #expect(try !fileContains(Self.secret))
        #expect(try store.fetch(Article.self).all().map(\.title) == ["another"])
    }

    @Test func observersAndSubscriptionsContinue() async throws {
        let feed = store.changes(of: Article.self)
        var changes = feed.makeAsyncIterator()
        let subscription = try store.subscribe("index", to: store.commits)
        var deliveries = subscription.deliveries.makeAsyncIterator()
        for number in 1...4 {
            _ = try insert("\(number)")
            try await store.compactInPlace { _ in }
            #expect(try await changes.next()?.changes.first?.new[\.title] == "\(number)")
            let delivery = try #require(try await deliveries.next())
            #expect(delivery.revision == Revision(UInt64(number)))
            try await delivery.acknowledge()
        }
        #expect(try store.subscription(named: "index").state()?.position == 4)
        // The subscription is still this one's alone.
        #expect(try store.subscription(named: "index").state()?.isOwned == true)
    }

    @Test func aReadThatIsOpenRefusesIt() throws {
        _ = try insert("one")
        let error = #expect(throws: StoreError.self) {
            try store.file.read { _ in try store.compactInPlace() }
        }
        #expect(error?.code == .storeBusy)
        _ = try insert("two")
        try store.compactInPlace()
        #expect(try store.fetch(Article.self).count() == 2)
        #expect(try store.verify().isClean)
    }

    @Test func nothingIsLostWhileOthersSaveAndRead() async throws {
        let (saverCount, saveCount) = (3, 40)
        let store = store
        let isDone = Monitor(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for saver in 0..<saverCount {
                group.addTask {
                    for number in 0..<saveCount {
                        try await store.edit(author: "\(saver)") { context in
                            context.insert(Article(title: "\(saver)-\(number)"))
                        }
                    }
                }
            }
            for _ in 0..<2 {
                group.addTask {
                    var last = 0
                    while !isDone.withLock({ $0 }) {
                        let count = try store.fetch(Article.self).count()
                        #expect(count >= last)
                        last = count
                        await Task.yield()
                    }
                }
            }
            group.addTask {
                while try store.revision() < Revision(UInt64(saverCount * saveCount)) {
                    try await store.compactInPlace { _ in }
                }
                isDone.withLock { $0 = true }
            }
            try await group.waitForAll()
        }
        let titles = try Set(store.fetch(Article.self).all().map(\.title))
        #expect(titles.count == saverCount * saveCount)
        let revisions = try store.journal().map(\.revision.number)
        #expect(revisions == Array(1...UInt64(saverCount * saveCount)))
        #expect(try store.verify().isClean)
        store.close()
        let again = try Store.open(at: store.path, for: Notebook.self, Article.self)
        #expect(try again.fetch(Article.self).count() == titles.count)
        #expect(try again.verify().isClean)
    }

    @Test func aProcessThatHadAnIndexCompactsTheStore() throws {
        let directory = TemporaryDirectory()
        let indexed = try Store.open(at: directory.file(), for: Indexed.Topic.self)
        let context = indexed.context()
        context.insert(Indexed.Topic())
        try context.save()
        indexed.close()
        let store = try Store.open(at: directory.file(), for: Plain.Topic.self)
        try store.compactInPlace()
        #expect(try store.fetch(Plain.Topic.self).all().map(\.name) == ["a"])
        #expect(try store.verify().isClean)
        store.close()
        let again = try Store.open(at: directory.file(), for: IndexedAgain.Topic.self)
        try again.compactInPlace()
        #expect(try again.fetch(IndexedAgain.Topic.self) { $0.name == "a" }.count() == 1)
        #expect(try again.verify().isClean)
    }
}
