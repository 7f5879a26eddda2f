import Foundation
import Stet
import Synchronization

/// The data of `tracker seed`: a project with people, labels, issues, comments and some history.
enum Example {
    static let people = [
        ("Ada Okafor", "ada@example.org"), ("Bruno Lindqvist", "bruno@example.org"),
        ("Chen Wei", "chen@example.org"), ("דנה לוי", "dana@example.org"),
    ]
    static let labels = ["bug", "design", "documentation", "performance", "question"]
    static let titles = [
        "Search finds nothing after a restart", "The export has no header",
        "Show who changed a price, and when", "Dates are off by a day west of Greenwich",
        "Sign-in page is blank in private windows", "Let a reviewer undo a bulk edit",
        "החיפוש מתעלם מאותיות סופיות", "Upload of large pictures stops at 99 %",
        "Keyboard focus gets lost when a card moves", "Describe how to restore a backup",
        "A very long title that somebody pasted from an e-mail, with everything that they had to"
            + " say about the matter, and that nevertheless must not break the layout of any page",
        "Totals differ from the sum of the lines", "Quotes in names break the mailing list",
    ]
    static let body = """
        Steps:
        1. Open the list and sort it by date.
        2. Change the first entry, and save.

        What happens: the entry is at its old place until the page is loaded again.
        """

    /// Fills a new store with what people have done in the last days.
    static func fill(_ path: String, issueCount: Int, label: String?) async throws {
        var configuration = Store.Configuration()
        let clock = Mutex(Date(timeIntervalSinceNow: -9 * 86_400))
        configuration.clock = { clock.withLock { $0 } }
        func advance(hours: Double) { clock.withLock { $0 += hours * 3_600 } }
        let store = try Store.tracker(at: path, configuration: configuration)
        defer { store.close() }
        guard try store.revision() == .zero else { throw Occupied(path: path) }

        let (users, _) = try await store.edit("add people") { context in
            let users = people.map { User(name: $0.0, email: $0.1) }
            users.forEach(context.insert)
            return users
        }
        let ids = users.map(\.id)
        try await store.edit("import the old list", author: ids[0].description) { context in
            // Nobody undoes all of it by mistake.
            context.isUndoable = false
            try insertProjects(issueCount, users: ids, label: label, in: context)
        }
        advance(hours: 120)
        try await store.editIssue("ST-1", [.priority: .text("high")], by: ids[0])
        advance(hours: 20)
        try await store.editIssue(
            "ST-1", [.assignee: .text(ids[1].description), .state: .text("started")], by: ids[1])
        advance(hours: 45)
        _ = try await store.comment(
            on: "ST-1", "I can see this on my machine as well, since last Thursday.", by: ids[0])
        advance(hours: 20)
        try await store.editIssue(
            "ST-1", [.title: .text("Search finds nothing after a restart of the service")],
            by: ids[2])
        advance(hours: 8)
        try await store.editIssue(
            "ST-1", [.labels: .list(["bug", "performance"]), .estimate: .number(6)], by: ids[1])
        _ = try await store.comment(on: "ST-1", "זה קורה גם אצלי.", by: ids[3])
        advance(hours: 2)
        if issueCount > 1 {
            try await store.editIssue("ST-2", [.state: .text("done")], by: ids[0])
        }
    }

    private static func insertProjects(
        _ issueCount: Int, users: [ObjectID], label: String?, in context: ManagedContext
    ) throws {
        let users = try users.compactMap { try context.object(User.self, id: $0) }
        let labels = labels.map(Label.init(name:))
        let common = label.map(Label.init(name:))
        let project = Project(key: "ST", name: "Storefront")
        context.insert(Project(key: "NEW", name: "Nothing here yet"))
        labels.forEach(context.insert)
        for number in 1...max(issueCount, 1) {
            let issue = Issue(
                project: project, number: number, title: titles[(number - 1) % titles.count])
            context.insert(issue)
            issue.body = number % 3 == 0 ? "" : body
            issue.priority = Priority.allCases[(number * 7 + 2) % 4]
            issue.reporter = users[number % users.count]
            if number % 3 != 1 { issue.assignee = users[number * 3 % users.count] }
            if number % 3 == 2 { issue.state = .started }
            if number % 6 == 0 { issue.state = .done }
            issue.estimate = number % 4 == 0 ? number % 40 : nil
            if let common { issue.labels.append(common) }
            if number % 2 == 0 { issue.labels.append(labels[number % labels.count]) }
            if number % 5 == 0 { issue.labels.append(labels[(number + 2) % labels.count]) }
        }
    }

    /// Fills a new store as the first version of the program did.
    static func fillFirstVersion(at path: String) async throws {
        let store = try Store.open(
            at: path, for: Version1.User.self, Version1.Project.self, Version1.Issue.self,
            Version1.Comment.self, Version1.Label.self)
        defer { store.close() }
        guard try store.revision() == .zero else { throw Occupied(path: path) }
        try await store.edit("seed") { context in
            let user = Version1.User(name: people[0].0, email: people[0].1)
            let project = Version1.Project(key: "ST", name: "Storefront")
            let label = Version1.Label(name: "bug")
            for (index, estimate) in ["90m", "2h", "3d", "1w", "soon", ""].enumerated() {
                let issue = Version1.Issue(
                    project: project, number: index + 1, title: titles[index])
                context.insert(issue)
                issue.estimate = estimate
                issue.reporter = user
                issue.labels = [label]
                context.insert(Version1.Comment(issue: issue, author: user, text: "Indeed."))
            }
        }
    }

    struct Occupied: Error, CustomStringConvertible {
        let path: String
        var description: String { "\(path) has data already: seed a new store" }
    }
}
