import Foundation
import Stet
import StetStore
import StetTestModels
import StetTestSupport
import Testing

@Suite struct SeedTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }
    private var seed: String { directory.file("seed") }

    private func makeSeed(_ count: Int = 50) throws {
        #expect(try ChildProcess.run(["write", seed, "\(count)"]).status == 0)
    }

    private func open(_ path: String) throws -> Store {
        try Store.open(at: path, for: Notebook.self, Article.self, seededFrom: seed)
    }

    @Test("C1 a store begins with the contents of a seed")
    func aStoreBeginsWithASeed() throws {
        try makeSeed()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: seed))
        let store = try open(path)
        #expect(try store.revision() == 50)
        #expect(try store.verify().problems == [])
        let original = try Store.open(at: seed, for: Notebook.self, Article.self)
        #expect(store.file.storeID != original.file.storeID)
        #expect(try store.journal().map(\.hash) == original.journal().map(\.hash))
        #expect(
            try store.context().fetch(Article.self).all().map(\.title)
                == original.context().fetch(Article.self).all().map(\.title))
        original.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: seed)) == bytes)
        // The new store is independent of its seed.
        let context = store.context()
        context.insert(Notebook(name: "mine"))
        #expect(try context.save()?.revision == 51)
        store.close()
        let again = try open(path)
        #expect(try again.revision() == 51)
        #expect(again.file.storeID == store.file.storeID)
    }

    @Test("C1 a seed is looked at only when there is no store")
    func aSeedIsForNewStoresOnly() throws {
        let store = try Store.open(at: path, for: Notebook.self, Article.self)
        store.close()
        #expect(try open(path).revision() == 0)
    }

    @Test("C1 of processes that seed at once one wins, and nobody sees half")
    func ofSeveralProcessesOneWins() throws {
        try makeSeed()
        for _ in 0..<5 {
            let directory = TemporaryDirectory()
            let path = directory.file()
            let children = try (0..<4).map { _ in try RunningChild(["seed", path, seed]) }
            let lines = children.map { $0.lines() }
            #expect(Set(lines).count == 1)
            #expect(lines[0].count == 1)
            #expect(lines[0][0].hasSuffix(" true 50"))
            let folder = (path as NSString).deletingLastPathComponent
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(names.filter { $0.contains(".new-") } == [])
        }
    }

    @Test("C1 a seed that cannot be used leaves nothing")
    func aSeedThatCannotBeUsedLeavesNothing() throws {
        func refusal() throws -> StoreError {
            try #require(throws: StoreError.self) { try open(path) }
        }
        let missing = try refusal()
        #expect(missing.code == .notFound)
        #expect(missing.path == seed)
        try Data("no store".utf8).write(to: URL(fileURLWithPath: seed))
        let foreign = try refusal()
        #expect(foreign.code == .notAStore)
        #expect(foreign.path == seed)
        try FileManager.default.removeItem(atPath: seed)
        try makeSeed()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: seed))
        let cut = bytes.prefix(bytes.count / 2)
        try cut.write(to: URL(fileURLWithPath: seed))
        #expect(try refusal().code == .damaged)
        // Changes a value in the journal, which only `verify` reads.
        let found = try #require(bytes.range(of: Data("edit 7".utf8)))
        bytes[found.lowerBound] = UInt8(ascii: "E")
        try bytes.write(to: URL(fileURLWithPath: seed))
        #expect(try refusal().code == .damaged)
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
