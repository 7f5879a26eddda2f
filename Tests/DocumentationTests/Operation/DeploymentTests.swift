import Foundation
import Stet
import StetTestSupport
import Testing

/// The code of Deployment.md.
@Suite struct DeploymentTests {
    private let directory = TemporaryDirectory()

    @Test func aStoreOfAnotherNamespaceIsRefused() throws {
        let path = directory.file()
        try Store.open(at: path, for: Notebook.self, Article.self).close()
        let other = try #require(ForeignLock(path, from: 5 << 48, isShared: true))
        var store: Store?
        do {
            store = try Store.open(at: path, for: Notebook.self, Article.self)
        } catch let error as StoreError where error.code == .unsafePlace {
            print(error)  // what is wrong with the place, and what to do about it
        }
        #expect(store == nil)
        other.release()
    }

    @Test func aStoreIsRestoredFromItsShippedJournal() async throws {
        let store = try Store.open(at: directory.file(), for: Notebook.self, Article.self)
        try await store.edit { $0.insert(Notebook(name: "Swift")) }
        let directory = self.directory.file("shipped")
        let restoredPath = self.directory.file("restored.stet")
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false)

        let shipment = try await store.ship(to: directory)
        try await Store.restore(from: directory, to: restoredPath, at: .revision(shipment.revision))

        let restored = try Store.open(at: restoredPath, for: Notebook.self, Article.self)
        #expect(try restored.fetch(Notebook.self).all().map(\.name) == ["Swift"])
    }

    @Test func aStoreIsOpenedAgainAfterItsFileWasReplaced() throws {
        let path = directory.file()
        var store = try Store.open(at: path, for: Notebook.self, Article.self)
        let context = store.context(author: "Mara")
        context.insert(Notebook(name: "Swift"))
        try context.save()

        let inProcess = store
        try inProcess.compact(to: directory.file("copy"))
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: directory.file("copy"), toPath: path)
        context.insert(Notebook(name: "Data"))
        do {
            try context.save()
        } catch let error as StoreError where error.code == .storeMoved {
            store.close()
            store = try Store.open(at: path, for: Notebook.self, Article.self)
        }
        #expect(try store.context().fetch(Notebook.self).all().map(\.name) == ["Swift"])

        try store.compactInPlace()

        #expect(try store.context().fetch(Notebook.self).all().map(\.name) == ["Swift"])
        #expect(try store.verify().isClean)
    }
}

/// The code of ChoosingDurability.md.
@Suite struct ChoosingDurabilityTests {
    private let directory = TemporaryDirectory()

    @Test func aStoreWithALogIsOneFileOnceItIsClosed() throws {
        let path = directory.file()
        var configuration = Store.Configuration()
        configuration.durability = .logged
        let store = try Store.open(
            at: path, for: Notebook.self, Article.self, configuration: configuration)
        let context = store.context()
        context.insert(Notebook(name: "Swift"))

        try context.save()
        try store.sync()

        let log = "\(path)-log-0"
        #expect(FileManager.default.fileExists(atPath: log))
        store.close()
        #expect(!FileManager.default.fileExists(atPath: log))
    }
}
