import Foundation
import GRDB
import Hummingbird

/// An issue as the tracker sends it, with the same names and forms.
struct IssueBody: ResponseEncodable {
    struct Person: Encodable {
        let id: String
        let name: String
    }

    let id: String
    let key: String
    let title: String
    let body: String
    let state: String
    let priority: String
    let estimate: Int?
    let assignee: Person?
    let reporter: Person?
    let labels: [String]
    let created: Date
    let updated: Date
}

struct Page: ResponseEncodable {
    let items: [IssueBody]
    let next: String?
    let total: Int?
}

struct NewIssue: Decodable {
    let title: String
    let body: String?
}

/// A row of the table of issues.
struct IssueRow: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "issue"
    static let priorities = ["low", "normal", "high", "urgent"]

    var id: String
    var project: String
    var number: Int
    var title: String
    var body: String
    var state: String
    var priority: Int
    var estimate: Int?
    var assignee: String?
    var reporter: String?
    var created: Date
    var updated: Date
}

extension Database {
    /// Makes the bodies of issues, with two more queries for all of them.
    func bodies(of issues: [IssueRow]) throws -> [IssueBody] {
        let people = Set(issues.flatMap { [$0.assignee, $0.reporter] }.compactMap(\.self))
        var names: [String: IssueBody.Person] = [:]
        let question = { (count: Int) in Array(repeating: "?", count: count).joined(separator: ",")
        }
        for row in try Row.fetchAll(
            cachedStatement(
                sql: "SELECT id, name FROM user WHERE id IN (\(question(people.count)))"),
            arguments: StatementArguments(people))
        {
            names[row[0]] = IssueBody.Person(id: row[0], name: row[1])
        }
        var labels: [String: [String]] = [:]
        let rows = try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT issueLabel.issue, label.name FROM issueLabel
                    JOIN label ON label.id = issueLabel.label
                    WHERE issueLabel.issue IN (\(question(issues.count))) ORDER BY label.name
                    """), arguments: StatementArguments(issues.map(\.id)))
        for row in rows { labels[row[0], default: []].append(row[1]) }
        return issues.map { issue in
            IssueBody(
                id: issue.id, key: "\(issue.project)-\(issue.number)", title: issue.title,
                body: issue.body, state: issue.state, priority: IssueRow.priorities[issue.priority],
                estimate: issue.estimate, assignee: issue.assignee.flatMap { names[$0] },
                reporter: issue.reporter.flatMap { names[$0] }, labels: labels[issue.id] ?? [],
                created: issue.created, updated: issue.updated)
        }
    }
}
