import Foundation
import Stet
import StetMachines
import StetPostgres
import Testing

extension PostgresServer {
    /// A server that tests of one suite stop and start.
    fileprivate static let stopped: Result<PostgresServer, any Error> = Result {
        let server = try PostgresServer()
        atexit { if case .success(let server) = PostgresServer.stopped { server.remove() } }
        return server
    }
}

/// Stores whose journal is in a PostgreSQL database.
@Suite(.serialized) struct PostgresJournalTests {
    private let nodes: PostgresNodes
    private var server: PostgresServer { nodes.server }
    private var name: String { nodes.name }

    init() throws { nodes = try PostgresNodes(PostgresServer.stopped.get()) }

    private func journal() -> PostgresJournal { nodes.journal() }

    private func open(_ node: String) throws -> Store { try nodes.open(node) }

    private func path(_ node: String) -> String { nodes.path(node) }

    // MARK: The whole way

    @Test func nodesShareTheirCommits() async throws {
        let (one, other) = (try open("one"), try open("other"))
        try one.insertItem("apple")
        try other.insertItem("pear")
        try await one.refresh(atLeast: 2)
        #expect(try one.itemNames() == ["apple", "pear"])
        #expect(try other.itemNames() == ["apple", "pear"])
        try await one.undo(author: "lala")
        try await other.refresh(atLeast: 3)
        #expect(try other.itemNames() == ["apple"])
        #expect(try one.verify().problems == [])
        #expect(try other.verify().problems == [])
        #expect(try open("late").itemNames() == ["apple"])
    }

    @Test func aNodeIsWokenByTheCommitsOfOthers() async throws {
        var configuration = Store.Configuration()
        configuration.sharedJournal = journal()
        let (one, other) = (try open("one"), try open("other"))
        var commits = other.commits(after: 0).makeAsyncIterator()
        try one.insertItem("apple")
        #expect(try await commits.next()?.revision == 1)
    }

    @Test func aUniqueValueIsUniqueOverNodes() async throws {
        let (one, other) = (try open("one"), try open("other"))
        try one.insertItem("apple")
        let error = #expect(throws: ValidationError.self) { try other.insertItem("apple") }
        #expect(error?.violations.count == 1)
        #expect(try other.revision() == 1)
    }

    @Test func countersOfFourNodesAddUp() async throws {
        let first = try open("0")
        try first.insertItem("apple")
        let stores = try [first] + (1..<4).map { try open("\($0)") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores {
                group.addTask {
                    for _ in 0..<25 {
                        try await store.edit(author: "lala") { context in
                            let item = try #require(try context.fetch(Item.self).first())
                            item.stock += 1
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        for store in stores {
            try await store.refresh(atLeast: 101)
            #expect(try store.fetch(Item.self).first()?.stock == 100)
            #expect(try store.verify().problems == [])
        }
        #expect(
            try server.sql(
                "SELECT count(*), max(revision) FROM stet_entry WHERE store = '\(name)'")
                == "101|101")
    }

    @Test func aJournalMovesIntoTheDatabaseAndBack() throws {
        let local = try Store.open(at: path("one"), for: Item.self)
        try local.insertItem("apple")
        local.close()
        try journal().attach(path("one"))
        let one = try open("one")
        try one.insertItem("pear")
        #expect(try open("other").itemNames() == ["apple", "pear"])
        one.close()
        try journal().detach(path("one"))
        let alone = try Store.open(at: path("one"), for: Item.self)
        try alone.insertItem("plum")
        #expect(try alone.itemNames() == ["apple", "pear", "plum"])
        #expect(
            try server.sql(
                """
                SELECT (SELECT count(*) FROM stet_head WHERE store = '\(name)')
                    + (SELECT count(*) FROM stet_entry WHERE store = '\(name)')
                    + (SELECT count(*) FROM stet_base WHERE store = '\(name)')
                """) == "0")
    }

    // MARK: The contract of a shared journal

    @Test func entriesAreAppendedBehindTheHeadOnly() throws {
        let journal = journal()
        #expect(try journal.head() == nil)
        #expect(try journal.fence() == nil)
        try open("one").close()
        let head = try #require(try journal.head())
        #expect(head.revision == 0)
        let entry = SharedJournalEntry(
            revision: 1, hash: [UInt8](repeating: 1, count: 32), bytes: [1, 2, 3])
        var other = head
        other.hash[0] ^= 1
        #expect(try !journal.append([entry], replacing: [], after: other))
        let fenced = try #require(try journal.fence())
        #expect(fenced.fence != head.fence)
        #expect(try !journal.append([entry], replacing: [], after: head))
        #expect(try journal.append([entry], replacing: [], after: fenced))
        #expect(try journal.head()?.revision == 1)
        #expect(try !journal.append([entry], replacing: [], after: fenced))
        #expect(try journal.entries(after: 0, byteLimit: 100) == [entry])
        #expect(try journal.entries(after: 1, byteLimit: 100) == [])
        #expect(try !journal.remove(at: head))
        #expect(try journal.remove(at: try #require(try journal.head())))
        #expect(try journal.head() == nil)
    }

    @Test func aFenceThatTheDatabaseHasLostDoesNotComeAgain() throws {
        let journal = journal()
        try open("one").close()
        let head = try #require(try journal.head())
        let lost = try #require(try journal.fence())
        try server.sql("UPDATE stet_head SET fence = \(head.fence) WHERE store = '\(name)'")
        #expect(try journal.fence()?.fence != lost.fence)
        let entry = SharedJournalEntry(
            revision: 1, hash: [UInt8](repeating: 1, count: 32), bytes: [1])
        #expect(try !journal.append([entry], replacing: [], after: lost))
    }

    @Test func entriesAreReadInPieces() throws {
        let journal = journal()
        try open("one").close()
        let entries = (1...50).map { number in
            SharedJournalEntry(
                revision: Revision(UInt64(number)),
                hash: [UInt8](repeating: UInt8(number), count: 32),
                bytes: [UInt8](repeating: UInt8(number), count: 1_000))
        }
        #expect(try journal.append(entries, replacing: [], after: try #require(try journal.head())))
        #expect(try journal.entries(after: 0, byteLimit: 1) == [entries[0]])
        #expect(try journal.entries(after: 10, byteLimit: 4_500) == Array(entries[10..<15]))
        #expect(try journal.entries(after: 0, byteLimit: 1 << 20) == entries)
    }

    // MARK: Failures

    @Test func aServerThatCrashesLosesNoCommit() throws {
        let one = try open("one")
        try one.insertItem("apple")
        try server.stop()
        let error = #expect(throws: (any Error).self) { try one.insertItem("pear") }
        #expect((error as? StoreError)?.code == .journalUnavailable)
        #expect(try one.itemNames() == ["apple"])
        try server.start()
        try one.insertItem("plum")
        #expect(try open("other").itemNames() == ["apple", "plum"])
    }

    @Test func aSessionThatTheServerEndsIsMadeAgain() throws {
        let one = try open("one")
        try one.insertItem("apple")
        try server.sql(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = 'stet' AND pid <> pg_backend_pid()
            """)
        try one.insertItem("pear")
        #expect(try one.itemNames() == ["apple", "pear"])
        #expect(try server.sql("SELECT revision FROM stet_head WHERE store = '\(name)'") == "2")
    }

    @Test func aDatabaseThatLostCommitsIsRefused() throws {
        let one = try open("one")
        try one.insertItem("apple")
        let head = try server.sql("SELECT hash FROM stet_head WHERE store = '\(name)'")
        try one.insertItem("pear")
        try server.sql(
            """
            DELETE FROM stet_entry WHERE store = '\(name)' AND revision = 2;
            UPDATE stet_head SET revision = 1, hash = '\(head)' WHERE store = '\(name)'
            """)
        let error = #expect(throws: StoreError.self) { try one.insertItem("plum") }
        #expect(error?.code == .journalDiverged)
        #expect(try one.itemNames() == ["apple", "pear"])
    }

    @Test func aPasswordIsInNoMessage() throws {
        for text in [
            "postgresql://stet:secret@[broken", "host=/nowhere user=stet password=secret",
            "postgresql://stet:secret@localhost:1/none", "secret secret",
        ] {
            let error = #expect(throws: StoreError.self) {
                try Store.open(
                    at: path("one"), for: Item.self, journal: .postgres(text, store: "x"))
            }
            #expect(error?.code == .journalUnavailable)
            #expect(error.map { !"\($0)".contains("secret") } == true)
        }
    }
}
