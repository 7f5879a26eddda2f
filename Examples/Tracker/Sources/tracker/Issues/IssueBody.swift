import Foundation
import Stet

/// An issue as clients see it.
struct IssueBody: Codable {
    struct Person: Codable {
        let id: ObjectID
        let name: String

        init?(_ user: User?) {
            guard let user else { return nil }
            id = user.id
            name = user.name
        }
    }

    let id: ObjectID
    let key: String
    let title: String
    let body: String
    let state: IssueState
    let priority: String
    let estimate: Int?
    let assignee: Person?
    let reporter: Person?
    let labels: [String]
    let created: Date
    let updated: Date

    init(_ issue: Issue) {
        id = issue.id
        key = issue.key
        title = issue.title
        body = issue.body
        state = issue.state
        priority = issue.priority.name
        estimate = issue.estimate
        assignee = Person(issue.assignee)
        reporter = Person(issue.reporter)
        labels = issue.labels.map(\.name).sorted()
        created = issue.created
        updated = issue.updated
    }
}

extension Issue {
    /// The name that people use, such as "ST-12".
    var key: String { "\(project?.key ?? "?")-\(number)" }
}
