import Foundation
import Stet
import StetMachines
import StetPostgres
import Testing

/// What a journal does when its connection or its database fails in the middle.
@Suite(.serialized) struct ConnectionFailureTests {
    private let server: PostgresServer
    private let directory: URL
    private let name = UUID().uuidString

    init() throws {
        server = try PostgresServer.steady.get()
        directory = URL(fileURLWithPath: "/tmp/stet-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    /// Opens a node through a proxy, which the caller ends.
    private func proxy(to server: PostgresServer) throws -> Proxy {
        try Proxy(at: directory.appending(path: ".s.PGSQL.5432").path, to: server.socket)
    }

    private func journal(
        through: Bool = true, timeout: Duration = .seconds(1)
    ) -> PostgresJournal {
        PostgresJournal(
            through ? "host=\(directory.path) user=stet dbname=postgres" : server.connection,
            store: name, timeout: timeout)
    }

    private func open(_ node: String, _ journal: PostgresJournal) throws -> Store {
        try Store.open(
            at: directory.appending(path: "\(node).stet").path, for: Item.self, journal: journal)
    }

    @Test func aLongEntryThatNobodyReadsIsGivenUp() throws {
        let proxy = try proxy(to: server)
        defer { proxy.end() }
        let journal = journal(timeout: .seconds(5))
        try open("one", journal).close()
        let head = try #require(try journal.head())
        proxy.set { $0.held = [.requests] }
        let start = ContinuousClock.now
        let entry = SharedJournalEntry(
            revision: 1, hash: head.hash, bytes: [UInt8](repeating: 1, count: 2 << 20))
        let error = #expect(throws: SharedJournalError.self) {
            try journal.append([entry], replacing: [], after: head)
        }
        #expect(error?.code == .outcomeUnknown)
        #expect(ContinuousClock.now - start < .seconds(60))
        proxy.set { $0.held = [] }
        #expect(try journal.fence()?.revision == 0)
        #expect(try journal.append([entry], replacing: [], after: try #require(try journal.head())))
        #expect(try journal.entries(after: 0, byteLimit: 1) == [entry])
    }

    @Test func aSaveWhoseAnswerIsHeldIsMadeOnce() throws {
        let proxy = try proxy(to: server)
        defer { proxy.end() }
        let one = try open("one", journal())
        defer { one.close() }
        proxy.set { $0.heldByAppend = .answers }
        let release = Thread {
            usleep(1_500_000)
            proxy.set { $0.held = [] }
        }
        release.start()
        try one.insertItem("apple")
        #expect(try one.itemNames() == ["apple"])
        #expect(
            try server.sql("SELECT count(*) FROM stet_entry WHERE store = '\(name)'") == "1")
    }

    @Test func aSaveThatArrivesLateWasSettledBefore() throws {
        let proxy = try proxy(to: server)
        defer { proxy.end() }
        let one = try open("one", journal())
        defer { one.close() }
        try one.insertItem("apple")
        proxy.set { $0.heldByAppend = .requests }
        let error = #expect(throws: UnknownOutcomeError.self) { try one.insertItem("pear") }
        let id = try #require(error?.commit)
        // The node asks another way, while its request is still held.
        let path = directory.appending(path: "one.stet").path
        one.close()
        let same = try Store.open(at: path, for: Item.self, journal: journal(through: false))
        #expect(same.outcome(of: id) == .notCommitted)
        proxy.set { $0.held = [] }
        usleep(200_000)
        #expect(try same.itemNames() == ["apple"])
        #expect(try journal(through: false).head()?.revision == 1)
    }

    // MARK: The database's disk

    @Test(.enabled(if: PostgresServer.canMount))
    func aDatabaseOutOfDiskRefusesSavesAndLosesNothing() throws {
        let server = try PostgresServer(diskByteCount: 64 << 20)
        defer { server.remove() }
        let one = try open("one", .postgres(server.connection, store: name))
        defer { one.close() }
        var names: [String] = []
        func insert(_ number: Int) throws {
            let context = one.context(author: "lala")
            let new = (0..<200).map { "\(number) \($0) " + String(repeating: "x", count: 200) }
            for name in new { context.insert(Item(name: name)) }
            let id = try context.makeCommitID()
            do {
                try context.save(id: id)
            } catch let error as UnknownOutcomeError {
                try server.setFull(false)
                try server.startUnlessItRuns()
                if one.outcome(of: id) == .notCommitted { throw error }
            }
            names += new
        }
        try insert(0)
        try server.setFull(true)
        var failure: (any Error)?
        for number in 1...200 where failure == nil {
            do { try insert(number) } catch { failure = error }
        }
        #expect(
            failure is UnknownOutcomeError
                || (failure as? StoreError)?.code == .journalUnavailable)
        #expect(try one.itemNames() == names.sorted())
        try? server.setFull(false)
        try server.startUnlessItRuns()
        try insert(1_000)
        #expect(try one.itemNames() == names.sorted())
        let late = try open("late", .postgres(server.connection, store: name))
        defer { late.close() }
        #expect(try late.itemNames() == names.sorted())
        #expect(try one.verify().problems == [])
    }

    // MARK: A standby

    @Test func aStandbyThatLacksTheLastCommitsIsDetected() async throws {
        let primary = try PostgresServer()
        let standby = try PostgresServer(of: primary)
        defer {
            primary.remove()
            standby.remove()
        }
        let proxy = try proxy(to: primary)
        defer { proxy.end() }
        let (one, other) = (try open("one", journal()), try open("other", journal()))
        defer { for store in [one, other] { store.close() } }
        try one.insertItem("apple")
        try await other.refresh()
        let position = try primary.sql("SELECT pg_current_wal_flush_lsn()")
        while try standby.sql("SELECT pg_last_wal_replay_lsn() >= '\(position)'") != "t" {}
        try standby.stop("fast")
        // The other node does not get the commit that the standby lacks.
        other.close()
        try one.insertItem("pear")
        try primary.kill()
        try standby.start()
        try standby.promote()
        proxy.move(to: standby.socket)
        let error = #expect(throws: StoreError.self) { try one.insertItem("plum") }
        #expect(error?.code == .journalDiverged)
        #expect(try one.itemNames() == ["apple", "pear"])
        let again = try open("other", journal())
        defer { again.close() }
        try again.insertItem("plum")
        #expect(try again.itemNames() == ["apple", "plum"])
        let refresh = await #expect(throws: StoreError.self) { try await one.refresh() }
        #expect(refresh?.code == .journalDiverged)
        #expect(try one.itemNames() == ["apple", "pear"])
        #expect(try one.verify().problems == [])
    }
}
