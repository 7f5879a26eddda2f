import Foundation
import Stet
import StetMachines
import StetPostgres

@Model final class Item {
    @Attribute(.unique) var name: String
    @Attribute(.counter) var stock: Int = 0
    init(name: String) { self.name = name }
}

extension PostgresServer {
    /// A server that all tests of a run share, and none of them stops.
    static let steady: Result<PostgresServer, any Error> = Result {
        let server = try PostgresServer()
        atexit { if case .success(let server) = PostgresServer.steady { server.remove() } }
        return server
    }

    /// Counts the rows of a store in a table.
    func rows(of store: String, in table: String) throws -> Int? {
        Int(try sql("SELECT count(*) FROM \(table) WHERE store = '\(store)'"))
    }
}

/// Nodes of a store whose journal is in a server, the steady one unless another one is given.
struct PostgresNodes {
    let server: PostgresServer
    let directory: URL
    /// The name of the store in the database, another one for each test.
    let name = UUID().uuidString

    init(_ other: PostgresServer? = nil) throws {
        server = try other ?? PostgresServer.steady.get()
        directory = URL(fileURLWithPath: "\(NSTemporaryDirectory())/\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    func path(_ node: String) -> String { directory.appending(path: "\(node).stet").path }

    func journal(as role: String = "stet") -> PostgresJournal {
        .postgres(server.connection.replacing("user=stet", with: "user=\(role)"), store: name)
    }

    func open(_ node: String, as role: String = "stet") throws -> Store {
        try Store.open(at: path(node), for: Item.self, journal: journal(as: role))
    }

    /// Removes the files of a node.
    func remove(_ node: String) throws {
        for file in try FileManager.default.contentsOfDirectory(atPath: directory.path)
        where file.hasPrefix(node) {
            try FileManager.default.removeItem(at: directory.appending(path: file))
        }
    }

    /// Returns whether the database has a text in any row of the store.
    func contain(_ text: String) throws -> Bool {
        let bytes = text.utf8.map { String(format: "%02x", $0) }.joined()
        let found = try server.sql(
            """
            SELECT (SELECT count(*) FROM stet_entry WHERE store = '\(name)'
                    AND position('\\x\(bytes)'::bytea IN bytes) > 0)
                + (SELECT count(*) FROM stet_base WHERE store = '\(name)'
                    AND position('\\x\(bytes)'::bytea IN bytes) > 0)
            """)
        return found != "0"
    }
}

extension Store {
    @discardableResult
    func insertItem(_ name: String) throws -> Commit? {
        let context = context(author: "lala")
        context.insert(Item(name: name))
        return try context.save()
    }

    func renameItem(_ name: String, to other: String) throws {
        let context = context(author: "lala")
        try context.fetch(Item.self) { $0.name == name }.first()?.name = other
        try context.save()
    }

    func itemNames() throws -> [String] {
        try fetch(Item.self).sorted(by: \.name).values(of: \.name)
    }
}
