import Stet
import class StetTestModels.MemoryJournal
import StetTestSupport
import Testing

/// The code of BeyondOneMachine.md.
@Suite struct BeyondOneMachineTests {
    private let directory = TemporaryDirectory()
    private let journal = MemoryJournal()

    @Test func aNodeReadsWhatAnotherHasSaved() async throws {
        let path = directory.file("one")
        let store = try Store.open(at: path, for: Notebook.self, Article.self, journal: journal)
        let other = try Store.open(
            at: directory.file("other"), for: Notebook.self, Article.self, journal: journal)
        let context = other.context()
        context.insert(Notebook(name: "Swift"))
        let commit = try await context.save()
        let revision = try #require(commit).revision

        try await store.refresh(atLeast: revision)
        #expect(try store.fetch(Notebook.self).count() == 1)

        let node = try store.statistics().node
        let isHealthy = node?.failure == nil && (node?.lag ?? 0) < 100
        #expect(isHealthy)
    }

    @Test func aNodeKeepsTheHistoryShort() async throws {
        var configuration = Store.Configuration()
        configuration.retention = .count(1_000_000)
        let store = try Store.open(
            at: directory.file("one"), for: Notebook.self, Article.self, journal: journal,
            configuration: configuration)
        let context = store.context()
        context.insert(Notebook(name: "Swift"))
        try await context.save()
        try await store.renewBase()
        #expect(journal.baseRevision == 1)
        store.close()
        let path = directory.file("one")
        try journal.remake(path)
        #expect(throws: StoreError.self) { try journal.remake(path) }
    }

    @Test func aStoreMoves() throws {
        let path = directory.file("one")
        try Store.open(at: path, for: Notebook.self, Article.self).close()
        try journal.attach(path)
        #expect(try journal.head()?.revision == 0)
        try journal.detach(path)
        #expect(try journal.head() == nil)
    }
}
