import Foundation
import Stet
import StetMachines
import StetPostgres
import Testing

/// Many stores whose journals share the connections to a database.
struct PostgresDatabaseTests {
    private static let connectionLimit = 3

    private let nodes: PostgresNodes
    private let database: PostgresDatabase
    private var server: PostgresServer { nodes.server }

    init() throws {
        nodes = try PostgresNodes()
        database = PostgresDatabase(
            "\(nodes.server.connection) application_name='\(nodes.name)'",
            connectionLimit: Self.connectionLimit)
    }

    private func open(_ number: Int, node: String = "one") throws -> Store {
        try Store.open(
            at: nodes.path("\(number) \(node)"), for: Item.self,
            journal: database.journal(of: "\(nodes.name) \(number)"))
    }

    private func connectionCount() throws -> Int? {
        Int(
            try server.sql(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = '\(nodes.name)'"))
    }

    private func insert(_ name: String, into stores: [Store]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores { group.addTask { try store.insertItem(name) } }
            try await group.waitForAll()
        }
    }

    @Test func storesShareConnections() async throws {
        let stores = try (0..<12).map { try open($0) }
        for round in 0..<5 { try await insert("\(round)", into: stores) }
        for (number, store) in stores.enumerated() {
            #expect(try store.revision() == 5)
            #expect(try server.rows(of: "\(nodes.name) \(number)", in: "stet_entry") == 5)
            #expect(try store.verify().problems == [])
        }
        #expect(try connectionCount() ?? .max <= Self.connectionLimit + 1)
    }

    @Test func aNodeIsWokenByTheCommitsOfItsStoreOnly() async throws {
        let (store, foreign) = (try open(0), try open(1))
        let other = try open(0, node: "other")
        var commits = other.commits(after: 0).makeAsyncIterator()
        try store.insertItem("apple")
        #expect(try await commits.next()?.revision == 1)
        #expect(try foreign.revision() == 0)
    }

    @Test func connectionsThatTheServerEndsAreMadeAgain() async throws {
        let stores = try (0..<6).map { try open($0) }
        try await insert("apple", into: stores)
        try server.sql(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = '\(nodes.name)'
            """)
        try await insert("pear", into: stores)
        for store in stores { #expect(try store.itemNames() == ["apple", "pear"]) }
        let other = try open(0, node: "other")
        var commits = other.commits(after: 2).makeAsyncIterator()
        try stores[0].insertItem("plum")
        #expect(try await commits.next()?.revision == 3)
    }

    @Test func aDatabaseThatCannotBeReachedKeepsNobodyWaiting() async throws {
        let unreachable = PostgresDatabase("host=/nowhere user=stet", connectionLimit: 1)
        for number in 0..<3 {
            let error = #expect(throws: StoreError.self) {
                try Store.open(
                    at: nodes.path("\(number)"), for: Item.self,
                    journal: unreachable.journal(of: nodes.name))
            }
            #expect(error?.code == .journalUnavailable)
        }
    }
}
