import Foundation
import Stet
import StetMachines
import StetPostgres
import Testing

/// Trims, redactions and newer copies of a journal in PostgreSQL, and the rights that they need.
struct RetentionTests {
    private let nodes: PostgresNodes
    private var server: PostgresServer { nodes.server }

    init() throws { nodes = try PostgresNodes() }

    private func redact(_ store: Store, _ name: String) throws {
        let item = try #require(try store.fetch(Item.self) { $0.name == name }.first())
        try store.requestRedaction(of: Item.self, id: item.id, \.name).confirm()
    }

    @Test func aTrimRemovesTheRows() async throws {
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        for number in 1...5 { try one.insertItem("\(number)") }
        try await other.refresh(atLeast: 5)
        try other.requestTrim(before: 5).confirm()
        #expect(try server.rows(of: nodes.name, in: "stet_entry") == 2)
        try await one.refresh(atLeast: 6)
        let new = try nodes.open("new")
        for store in [one, other, new] {
            #expect(try store.floor() == 4)
            #expect(try store.itemNames() == ["1", "2", "3", "4", "5"])
            #expect(try store.verify().problems == [])
        }
    }

    @Test func aRedactionLeavesTheValueNowhere() async throws {
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        try one.insertItem("a secret")
        try one.renameItem("a secret", to: "apple")
        try await one.renewBase()
        try one.insertItem("pear")
        #expect(try nodes.contain("a secret"))
        try redact(one, "apple")
        #expect(try !nodes.contain("a secret"))
        #expect(try nodes.contain("apple"))
        try await other.refresh(atLeast: 4)
        for store in [one, other, try nodes.open("new")] {
            #expect(try store.view(asOf: 1).fetch(Item.self).values(of: \.name) == [""])
            #expect(try store.verify().problems == [])
        }
    }

    @Test func theLastCopyOfSeveralNodesStays() async throws {
        let (one, other) = (try nodes.open("one"), try nodes.open("other"))
        for number in 1...20 {
            try one.insertItem("\(number)")
            async let first: Void = one.renewBase()
            async let second: Void = other.renewBase()
            _ = try await (first, second)
        }
        try await one.renewBase()
        #expect(
            try server.sql(
                "SELECT DISTINCT revision FROM stet_base WHERE store = '\(nodes.name)'") == "20")
        let new = try nodes.open("new")
        #expect(try new.revision() == 20)
        #expect(try new.verify().problems == [])
    }

    @Test func aNewNodeReadsOneCopyWhileOthersReplaceIt() async throws {
        let one = try nodes.open("one")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for number in 1...20 {
                    try one.insertItem("\(number)")
                    try one.requestTrim(before: Revision(UInt64(number))).confirm()
                }
            }
            group.addTask { [nodes] in
                for number in 1...20 {
                    let new = try nodes.open("new \(number)")
                    #expect(try new.verify().problems == [])
                    new.close()
                }
            }
            try await group.waitForAll()
        }
        #expect(try nodes.open("last").itemNames().count == 20)
    }

    // MARK: Rights

    @Test func rolesHaveOnlyTheRightsTheyNeed() async throws {
        let owned = try nodes.open("owned")
        try owned.insertItem("apple")
        let script = URL(fileURLWithPath: #filePath).appending(path: "../../../role.sql")
        try server.sql(String(contentsOf: script.standardized, encoding: .utf8))
        let node = try nodes.open("node", as: "stet_node")
        try node.insertItem("a secret")
        try node.renameItem("a secret", to: "pear")
        #expect(try node.itemNames() == ["apple", "pear"])
        #expect(try node.verify().problems == [])
        for statement in [
            "DELETE FROM stet_entry", "UPDATE stet_entry SET bytes = ''", "TRUNCATE stet_entry",
            "DELETE FROM stet_head", "UPDATE stet_head SET id = ''", "DELETE FROM stet_base",
            "INSERT INTO stet_head VALUES ('x', '', 0, '', 0)", "DROP TABLE stet_entry",
            "INSERT INTO stet_base VALUES ('x', 0, 0, '')",
        ] {
            #expect(throws: ServerFailure.self, "\(statement)") {
                try server.sql(statement, as: "stet_node")
            }
        }
        #expect(try server.sql("SELECT count(*) FROM stet_head", as: "stet_node") != "0")
        let redaction = #expect(throws: StoreError.self) { try redact(node, "pear") }
        #expect(redaction?.code == .journalUnavailable)
        #expect(try nodes.contain("a secret"))
        let renewal = await #expect(throws: StoreError.self) { try await node.renewBase() }
        #expect(renewal?.code == .journalUnavailable)
        for statement in [
            "UPDATE stet_entry SET revision = 9", "DELETE FROM stet_head", "DROP TABLE stet_base",
            "INSERT INTO stet_head VALUES ('x', '', 0, '', 0)", "UPDATE stet_head SET id = ''",
        ] {
            #expect(throws: ServerFailure.self, "\(statement)") {
                try server.sql(statement, as: "stet_keeper")
            }
        }
        let keeper = try nodes.open("keeper", as: "stet_keeper")
        try redact(keeper, "pear")
        #expect(try !nodes.contain("a secret"))
        try keeper.requestTrim(before: 3).confirm()
        try await owned.refresh()
        #expect(try owned.floor() == 2)
        #expect(try owned.itemNames() == ["apple", "pear"])
    }
}
