import Foundation
import Stet
import StetTestModels
import StetTestSupport
import Testing

/// A shared journal can begin with the contents of a file.
struct NodeSeedTests {
    private let nodes = Nodes()

    /// Makes a store with a notebook for each name; returns the path of its file.
    private func seed(_ names: String...) throws -> String {
        let store = try nodes.openAlone("seed")
        defer { store.close() }
        for name in names { try store.saveNotebook(name) }
        return nodes.path("seed")
    }

    @Test func theFirstNodeBeginsWithTheSeedAndTheOthersWithItsFile() throws {
        let seed = try seed("Swift", "Linux")
        let one = try nodes.open("one", seededFrom: seed)
        #expect(try one.notebookNames == ["Linux", "Swift"])
        try one.saveNotebook("LMDB")
        #expect(nodes.journal.entries.map(\.revision) == [3])
        // Another seed is of no importance to a node whose journal exists.
        try nodes.openAlone("unused").close()
        let other = try nodes.open("other", seededFrom: nodes.path("unused"))
        #expect(try other.notebookNames == ["LMDB", "Linux", "Swift"])
        #expect(try other.undo(author: "lala")?.revision == 4)
        #expect(try other.verify().problems == [])
        let unused = try nodes.openAlone("seed")
        #expect(unused.file.storeID != one.file.storeID)
        #expect(one.file.storeID == other.file.storeID)
    }

    @Test func aNodeThatAnotherOvertakesHasNothingOfItsSeed() throws {
        let seed = try seed("Swift")
        nodes.journal.beforeNext(.create) { [nodes] in
            _ = try? nodes.open("other").saveNotebook("Linux")
        }
        let one = try nodes.open("one", seededFrom: seed)
        #expect(try one.notebookNames == ["Linux"])
        #expect(try one.verify().problems == [])
    }

    @Test func withAnUnusableSeedThereIsNeitherAFileNorAJournal() throws {
        let seed = try seed("Swift")
        let bytes = try Data(contentsOf: URL(fileURLWithPath: seed))
        try bytes.prefix(bytes.count / 2).write(to: URL(fileURLWithPath: seed))
        let error = #expect(throws: StoreError.self) {
            try nodes.open("one", seededFrom: seed)
        }
        #expect(error?.message.contains("The seed \(seed) can't be used") == true)
        #expect(try nodes.journal.head() == nil)
        #expect(try nodes.files == ["seed.stet", "seed.stet-lock"])
        try nodes.open("one").saveNotebook("Linux")
    }

    @Test func aNodeIsNotMadeBesideTheLogOfAFileThatIsGone() throws {
        let one = try nodes.open("one", durability: .logged)
        try one.saveNotebook("Swift")
        let path = nodes.path("one")
        let log = try Data(contentsOf: URL(fileURLWithPath: "\(path)-log-0"))
        one.close()
        for name in try nodes.files {
            try FileManager.default.removeItem(atPath: nodes.directory.file(name))
        }
        try log.write(to: URL(fileURLWithPath: "\(path)-log-0"))
        let error = #expect(throws: StoreError.self) {
            try nodes.open("one", durability: .logged)
        }
        #expect(error?.code == .alreadyExists)
        #expect(try nodes.files == ["one.stet-log-0"])
    }

    @Test func aNodeIsNotMadeWhereOneWhoseFileIsGoneIsOpen() throws {
        let one = try nodes.open("one")
        try one.saveNotebook("Swift")
        try FileManager.default.removeItem(atPath: nodes.path("one"))
        let error = #expect(throws: StoreError.self) { try nodes.open("one") }
        var configuration = Store.Configuration()
        configuration.sharedJournal = nodes.journal
        let plan = MigrationPlan(.version(Notebook.self, Article.self, Tally.self))
        let migrating = #expect(throws: StoreError.self) {
            try Store.open(at: nodes.path("one"), migrating: plan, configuration: configuration)
        }
        #expect(migrating?.code == error?.code)
        #expect(try !nodes.files.contains("one.stet"))
    }
}
