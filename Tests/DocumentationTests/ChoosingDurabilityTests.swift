import Foundation
import Stet
import StetTestSupport
import Testing

/// The code of ChoosingDurability.md.
@Suite struct ChoosingDurabilityTests {
    private let directory = TemporaryDirectory()

    @Test func aStoreWithALogIsOneFileOnceItIsClosed() throws {
        let path = directory.file()
        var configuration = StoreConfiguration()
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
