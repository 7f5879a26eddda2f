import Foundation
import Hummingbird
import Markup
import Stet

/// The issues of a project in a column for each state.
struct Board {
    struct Column {
        let state: IssueState
        let cards: [HTML]
        let total: Int
        let next: QueryCursor?
    }

    static let columnLength = 50

    let project: Project.Snapshot
    let revision: Revision
    let columns: [Column]
    let people: [User.Snapshot]
    let labels: [Label.Snapshot]
    let filter: IssueFilter
    /// The parameters of the address that say what is shown.
    let query: String
    let canEdit: Bool

    init(
        _ store: Store, _ key: String, _ filter: IssueFilter, query: String,
        after cursor: QueryCursor?, canEdit: Bool
    ) throws {
        self.filter = filter
        self.query = query
        self.canEdit = canEdit
        (project, revision, columns, people, labels) = try store.read { context in
            let project = try context.project(key)
            let columns = try IssueState.allCases.compactMap { state -> Column? in
                guard filter.state == nil || filter.state == state else { return nil }
                var own = filter
                own.state = state
                return try Column(context, project.id, own, state, after: cursor, canEdit)
            }
            return (
                project.snapshot, context.revision, columns,
                try context.fetch(User.self).sorted(by: \.name).snapshots(),
                try context.fetch(Label.self).sorted(by: \.name).snapshots()
            )
        }
    }
}

extension Board.Column {
    fileprivate init(
        _ context: ManagedContext, _ project: ObjectID, _ filter: IssueFilter, _ state: IssueState,
        after cursor: QueryCursor?, _ canEdit: Bool
    ) throws {
        self.state = state
        guard let query = try filter.query(in: context, project: project) else {
            (cards, total, next) = ([], 0, nil)
            return
        }
        let page = try query.sorted(by: \.priority, .descending).then(by: \.number)
            .page(Board.columnLength, after: cursor)
        total = try query.count()
        next = page.next
        cards = try page.items.compactMap { try context.object(Issue.self, id: $0.id) }
            .map { Self.card($0, canEdit: canEdit) }
    }
}

extension Board.Column {
    private static func card(_ issue: Issue, canEdit: Bool) -> HTML {
        let key = issue.key
        let priority = issue.priority
        let labels = issue.labels.map(\.name).sorted().map { name -> HTML in
            "<span class=\"label\"><bdi>\(name)</bdi></span> "
        }
        let next = IssueState.allCases.filter { issue.state.next.contains($0) }
        let buttons = next.map { state -> HTML in
            """
            <button id="\(key)-\(state.rawValue)" name="state" value="\(state.rawValue)">\
            \(verb(from: issue.state, to: state))<span class="unseen"> \(key)</span></button>
            """
        }
        return """
            <li class="card" id="\(key)">
            <a id="\(key)-link" href="/issues/\(key)" dir="auto">\(issue.title)</a>
            <p class="meta"><span class="key">\(key)</span>
            \(priority == .normal ? nil : "<span class=\"priority \(priority.name)\">\(priority.name)</span>" as HTML)
            \(labels)
            \(issue.assignee.map { "<span class=\"assignee\"><bdi>\($0.name)</bdi></span>" as HTML })</p>
            \(canEdit ? "<form method=\"post\" action=\"/issues/\(key)/move\">\(buttons)</form>" as HTML : nil)
            </li>
            """
    }

    private static func verb(from old: IssueState, to new: IssueState) -> String {
        switch (old, new) {
        case (.done, .open): "Reopen"
        case (_, .open): "Stop"
        case (_, .started): "Start"
        case (_, .done): "Finish"
        }
    }
}

extension Board {
    var html: HTML {
        """
        <div class="title"><h1 dir="auto">\(project.name)</h1>
        \(canEdit ? "<a class=\"button\" href=\"/projects/\(project.key)/new\">New issue</a>" as HTML : nil)</div>
        \(filterForm)
        <div class="board" id="board" data-live>\(columns.map(column))</div>
        """
    }

    /// The address of the stream of what happens to the project's issues.
    var events: String { "/projects/\(project.key)/events?after=\(revision)" }

    private func column(_ column: Column) -> HTML {
        let state = column.state.rawValue
        let more = column.next.map { cursor -> HTML in
            let address =
                "/projects/\(project.key)?\(Self.replacing(query, "state", state, "after", "\(cursor)"))"
            return "<p class=\"more\"><a href=\"\(address)\">More \(state) issues</a></p>"
        }
        let empty: HTML =
            filter.isEmpty
            ? "<p class=\"empty\">Nothing is \(state).</p>"
            : "<p class=\"empty\">Nothing matches the filter.</p>"
        return """
            <section class="column" aria-labelledby="\(state)">
            <h2 id="\(state)">\(state.capitalized) <span class="count">\(column.total)</span></h2>
            \(column.cards.isEmpty ? empty : "<ol>\(column.cards)</ol>")
            \(more)
            </section>
            """
    }

    private var filterForm: HTML {
        var form = Form()
        form.texts = [
            "q": filter.text ?? "", "state": filter.state?.rawValue ?? "",
            "label": filter.label ?? "",
            "assignee": filter.assignee?.description ?? "", "priority": filter.priority?.name ?? "",
        ]
        let states = IssueState.allCases.map { (value: $0.rawValue, caption: $0.rawValue) }
        let labels = labels.map { (value: $0.name, caption: $0.name) }
        let people = people.map { (value: $0.id.description, caption: $0.name) }
        let priorities = Priority.allCases.dropFirst().map {
            (value: $0.name, caption: $0 == .urgent ? $0.name : "\($0.name) or higher")
        }
        return """
            <form class="filter" method="get" role="search" aria-label="Issues">
            \(form.text("q", "Title contains", type: "search"))
            \(form.choice("state", "State", [("", "any")] + states))
            \(form.choice("label", "Label", [("", "any")] + labels))
            \(form.choice("assignee", "Assignee", [("", "anybody")] + people))
            \(form.choice("priority", "Priority", [("", "any")] + priorities))
            <button>Filter</button>
            \(filter.isEmpty ? nil : "<a href=\"/projects/\(project.key)\">Show all</a>" as HTML)
            </form>
            """
    }

    /// Returns a query of an address with two of its parameters set.
    private static func replacing(
        _ query: String, _ one: String, _ value: String, _ other: String, _ otherValue: String
    ) -> String {
        var components = URLComponents()
        components.percentEncodedQuery = query
        let kept = (components.queryItems ?? []).filter { $0.name != one && $0.name != other }
        components.queryItems =
            kept + [
                URLQueryItem(name: one, value: value), URLQueryItem(name: other, value: otherValue),
            ]
        return components.percentEncodedQuery ?? ""
    }
}
