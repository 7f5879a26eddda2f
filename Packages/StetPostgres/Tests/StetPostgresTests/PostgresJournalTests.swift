import Foundation
import Stet
import StetMachines
import StetPostgres
import Testing

@Model final class Item {
    @Attribute(.unique) var name: String
    @Attribute(.counter) var stock: Int = 0
    init(name: String) { self.name = name }
}

extension PostgresServer {
    /// A server that all tests of a run share.
    static let shared: Result<PostgresServer, any Error> = Result {
        let server = try PostgresServer()
        atexit { if case .success(let server) = PostgresServer.shared { server.remove() } }
        return server
    }
}

/// Stores whose journal is in a PostgreSQL database.
@Suite(.serialized) struct PostgresJournalTests {
    private let server: PostgresServer
    private let directory: URL
    /// The name of the store in the database, another one for each test.
    private let name = UUID().uuidString

    init() throws {
        server = try PostgresServer.shared.get()
        directory = URL(fileURLWithPath: "\(NSTemporaryDirectory())/\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    private func path(_ node: String) -> String { directory.appending(path: "\(node).stet").path }

    private func journal() -> PostgresJournal {
        .postgres(server.connection, store: name)
    }

    private func open(_ node: String) throws -> Store {
        try Store.open(at: path(node), for: Item.self, journal: journal())
    }

    @discardableResult
    private func insert(_ name: String, into store: Store) throws -> Commit? {
        let context = store.context(author: "lala")
        context.insert(Item(name: name))
        return try context.save()
    }

    private func names(_ store: Store) throws -> [String] {
        try store.fetch(Item.self).sorted(by: \.name).values(of: \.name)
    }

    // MARK: The whole way

    @Test func nodesShareTheirCommits() async throws {
        let (one, other) = (try open("one"), try open("other"))
        try insert("apple", into: one)
        try insert("pear", into: other)
        try await one.refresh(atLeast: 2)
        #expect(try names(one) == ["apple", "pear"])
        #expect(try names(other) == ["apple", "pear"])
        try await one.undo(author: "lala")
        try await other.refresh(atLeast: 3)
        #expect(try names(other) == ["apple"])
        #expect(try one.verify().problems == [])
        #expect(try other.verify().problems == [])
        #expect(try names(open("late")) == ["apple"])
    }

    @Test func aNodeIsWokenByTheCommitsOfOthers() async throws {
        var configuration = Store.Configuration()
        configuration.sharedJournal = journal()
        let (one, other) = (try open("one"), try open("other"))
        var commits = other.commits(after: 0).makeAsyncIterator()
        try insert("apple", into: one)
        #expect(try await commits.next()?.revision == 1)
    }

    @Test func aUniqueValueIsUniqueOverNodes() async throws {
        let (one, other) = (try open("one"), try open("other"))
        try insert("apple", into: one)
        let error = #expect(throws: ValidationError.self) { try insert("apple", into: other) }
        #expect(error?.violations.count == 1)
        #expect(try other.revision() == 1)
    }

    @Test func countersOfFourNodesAddUp() async throws {
        let first = try open("0")
        try insert("apple", into: first)
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
        try insert("apple", into: local)
        local.close()
        try journal().attach(path("one"))
        let one = try open("one")
        try insert("pear", into: one)
        #expect(try names(open("other")) == ["apple", "pear"])
        one.close()
        try journal().detach(path("one"))
        let alone = try Store.open(at: path("one"), for: Item.self)
        try insert("plum", into: alone)
        #expect(try names(alone) == ["apple", "pear", "plum"])
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
        #expect(try !journal.append([entry], after: other))
        let fenced = try #require(try journal.fence())
        #expect(fenced.fence != head.fence)
        #expect(try !journal.append([entry], after: head))
        #expect(try journal.append([entry], after: fenced))
        #expect(try journal.head()?.revision == 1)
        #expect(try !journal.append([entry], after: fenced))
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
        #expect(try !journal.append([entry], after: lost))
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
        #expect(try journal.append(entries, after: try #require(try journal.head())))
        #expect(try journal.entries(after: 0, byteLimit: 1) == [entries[0]])
        #expect(try journal.entries(after: 10, byteLimit: 4_500) == Array(entries[10..<15]))
        #expect(try journal.entries(after: 0, byteLimit: 1 << 20) == entries)
    }

    // MARK: Failures

    @Test func aServerThatCrashesLosesNoCommit() throws {
        let one = try open("one")
        try insert("apple", into: one)
        try server.stop()
        let error = #expect(throws: (any Error).self) { try insert("pear", into: one) }
        #expect((error as? StoreError)?.code == .journalUnavailable)
        #expect(try names(one) == ["apple"])
        try server.start()
        try insert("plum", into: one)
        #expect(try names(open("other")) == ["apple", "plum"])
    }

    @Test func aSessionThatTheServerEndsIsMadeAgain() throws {
        let one = try open("one")
        try insert("apple", into: one)
        try server.sql(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = 'stet' AND pid <> pg_backend_pid()
            """)
        try insert("pear", into: one)
        #expect(try names(one) == ["apple", "pear"])
        #expect(try server.sql("SELECT revision FROM stet_head WHERE store = '\(name)'") == "2")
    }

    @Test func aDatabaseThatLostCommitsIsRefused() throws {
        let one = try open("one")
        try insert("apple", into: one)
        let head = try server.sql("SELECT hash FROM stet_head WHERE store = '\(name)'")
        try insert("pear", into: one)
        try server.sql(
            """
            DELETE FROM stet_entry WHERE store = '\(name)' AND revision = 2;
            UPDATE stet_head SET revision = 1, hash = '\(head)' WHERE store = '\(name)'
            """)
        let error = #expect(throws: StoreError.self) { try insert("plum", into: one) }
        #expect(error?.code == .journalDiverged)
        #expect(try names(one) == ["apple", "pear"])
    }

    @Test func theRoleOfANodeCanAppendOnly() throws {
        let owned = try open("owned")
        try insert("apple", into: owned)
        let script = URL(fileURLWithPath: #filePath).appending(path: "../../../role.sql")
        try server.sql(String(contentsOf: script.standardized, encoding: .utf8))
        let connection = server.connection.replacing("user=stet", with: "user=stet_node")
        let node = try Store.open(
            at: path("node"), for: Item.self, journal: .postgres(connection, store: name))
        try insert("pear", into: node)
        #expect(try names(node) == ["apple", "pear"])
        #expect(try node.verify().problems == [])
        for statement in [
            "DELETE FROM stet_entry", "UPDATE stet_entry SET bytes = ''", "TRUNCATE stet_entry",
            "DELETE FROM stet_head", "UPDATE stet_head SET id = ''", "DELETE FROM stet_base",
            "INSERT INTO stet_head VALUES ('x', '', 0, '', 0)", "DROP TABLE stet_entry",
            "INSERT INTO stet_base VALUES ('x', 0, '')",
        ] {
            #expect(throws: ServerFailure.self, "\(statement)") {
                try server.sql(statement, as: "stet_node")
            }
        }
        #expect(try server.sql("SELECT count(*) FROM stet_head", as: "stet_node") != "0")
        try insert("plum", into: owned)
        #expect(try names(owned) == ["apple", "pear", "plum"])
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
