import Foundation
import GRDB
import HTTPTypes
import Hummingbird
import Logging

/// The tracker's three busiest requests over SQLite, as durable as the tracker, without its history,
/// undo, conflicts and events.
@main struct Service {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let pool = try open(arguments[1])
        try fill(pool, count: Int(arguments[3]) ?? 1_690)
        let router = Router()
        router.get("api/issues/:issue") { _, context in
            let name = try context.parameters.require("issue")
            return try await pool.read { database in
                let parts = name.split(separator: "-")
                let issue = try IssueRow.fetchOne(
                    database.cachedStatement(
                        sql: "SELECT * FROM issue WHERE project = ? AND number = ?"),
                    arguments: [String(parts[0]), Int(parts[1])])
                guard let issue else { throw HTTPError(.notFound) }
                return try database.bodies(of: [issue])[0]
            }
        }
        router.post("api/projects/:key/issues") { request, context in
            let new = try await request.decode(as: NewIssue.self, context: context)
            let title = new.title.trimmingCharacters(in: .whitespacesAndNewlines)
            guard (3...200).contains(title.count) else { throw HTTPError(.unprocessableContent) }
            let key = try context.parameters.require("key")
            let email = request.headers[HTTPField.Name("X-User")!] ?? ""
            let body = try await pool.write { database in
                let user = try String.fetchOne(
                    database.cachedStatement(sql: "SELECT id FROM user WHERE email = ?"),
                    arguments: [email])
                guard let user else { throw HTTPError(.unauthorized) }
                let last = try Int.fetchOne(
                    database.cachedStatement(
                        sql: "SELECT max(number) FROM issue WHERE project = ?"), arguments: [key])
                let issue = IssueRow(
                    id: UUID().uuidString, project: key, number: (last ?? 0) + 1, title: title,
                    body: new.body ?? "", state: "open", priority: 1, reporter: user,
                    created: Date(), updated: Date())
                try issue.insert(database)
                return try database.bodies(of: [issue])[0]
            }
            return EditedResponse(status: .created, response: body)
        }
        router.get("api/projects/:key/issues") { request, context in
            try await list(pool, request, try context.parameters.require("key"))
        }
        var logger = Logger(label: "service-grdb")
        logger.logLevel = .notice
        let application = Application(
            router: router,
            configuration: .init(address: .hostname("127.0.0.1", port: Int(arguments[2]) ?? 8081)),
            logger: logger)
        try await application.runService()
    }

    /// Issues of a project with a label, by number, after a number.
    static func list(_ pool: DatabasePool, _ request: Request, _ key: String) async throws -> Page {
        let parameters = request.uri.queryParameters
        let label = parameters["label"].map(String.init) ?? ""
        let after = parameters["after"].flatMap { Int($0) } ?? 0
        let isCounted = parameters["total"] == "true"
        return try await pool.read { database in
            let condition = """
                FROM issue JOIN issueLabel ON issueLabel.issue = issue.id
                WHERE issue.project = ? AND issueLabel.label = (SELECT id FROM label WHERE name = ?)
                """
            let issues = try IssueRow.fetchAll(
                database.cachedStatement(
                    sql: "SELECT issue.* \(condition) AND number > ? ORDER BY number LIMIT 20"),
                arguments: [key, label, after])
            let total =
                try isCounted
                ? Int.fetchOne(
                    database.cachedStatement(sql: "SELECT count(*) \(condition)"),
                    arguments: [key, label]) : nil
            return Page(
                items: try database.bodies(of: issues),
                next: issues.count == 20 ? issues.last.map { "\($0.number)" } : nil, total: total)
        }
    }

    static func open(_ path: String) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        let pool = try DatabasePool(path: path, configuration: configuration)
        try pool.write { database in
            try database.execute(
                sql: """
                    CREATE TABLE user (id TEXT PRIMARY KEY, name TEXT, email TEXT UNIQUE);
                    CREATE TABLE label (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
                    CREATE TABLE issue (
                      id TEXT PRIMARY KEY, project TEXT, number INTEGER, title TEXT, body TEXT,
                      state TEXT, priority INTEGER, estimate INTEGER,
                      assignee TEXT REFERENCES user, reporter TEXT REFERENCES user,
                      created DATETIME, updated DATETIME, UNIQUE (project, number));
                    CREATE TABLE issueLabel (
                      label INTEGER REFERENCES label, issue TEXT REFERENCES issue,
                      PRIMARY KEY (label, issue)) WITHOUT ROWID;
                    CREATE INDEX issueOfLabel ON issueLabel (issue);
                    """)
        }
        return pool
    }

    /// The tracker's example data, as far as the requests see them.
    static func fill(_ pool: DatabasePool, count: Int) throws {
        let labels = ["bug", "design", "documentation", "performance", "question", "imported"]
        try pool.write { database in
            for (index, name) in ["ada", "bruno", "chen", "dana"].enumerated() {
                try database.execute(
                    sql: "INSERT INTO user VALUES (?, ?, ?)",
                    arguments: ["\(index)", name.capitalized, "\(name)@example.org"])
            }
            for (index, name) in labels.enumerated() {
                try database.execute(
                    sql: "INSERT INTO label VALUES (?, ?)", arguments: [index, name])
            }
            let text = String(repeating: "What happens: the entry is at its old place. ", count: 3)
            for number in 1...count {
                let issue = IssueRow(
                    id: UUID().uuidString, project: "ST", number: number,
                    title: "Search finds nothing after a restart", body: text, state: "open",
                    priority: number % 4, assignee: number % 3 == 1 ? nil : "\(number % 4)",
                    reporter: "\(number % 4)", created: Date(), updated: Date())
                try issue.insert(database)
                let own =
                    [5] + (number % 2 == 0 ? [number % 5] : [])
                    + (number % 5 == 0 ? [(number + 2) % 5] : [])
                for label in Set(own) {
                    try database.execute(
                        sql: "INSERT INTO issueLabel VALUES (?, ?)", arguments: [label, issue.id])
                }
            }
        }
    }
}
