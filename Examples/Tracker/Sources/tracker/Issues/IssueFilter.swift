import Stet

/// Which issues of a project a list shows.
struct IssueFilter {
    var state: IssueState?
    var label: String?
    var assignee: ObjectID?
    var priority: Priority?
    var text: String?

    /// True if all issues are shown.
    var isEmpty: Bool {
        state == nil && label == nil && assignee == nil && priority == nil && text == nil
    }

    /// Returns the query; nil if there is no such label, and so nothing to find.
    func query(in context: ManagedContext, project: ObjectID) throws -> Fetch<Issue>? {
        var labelID: ObjectID?
        if let label {
            labelID = try context.object(Label.self, where: \.name, is: label.lowercased())?.id
            if labelID == nil { return nil }
        }
        return context.fetch(Issue.self) { issue in
            issue.project?.id == project
            if let state { issue.state == state }
            if let labelID { issue.labels.contains(labelID) }
            if let assignee { issue.assignee?.id == assignee }
            if let priority { issue.priority >= priority }
            if let text {
                issue.title.folded([.caseInsensitive, .diacriticInsensitive]).contains(text)
            }
        }
    }
}

extension Fetch<Issue> {
    /// Sorts by the keys of a request, such as "-priority,number"; nil if one is unknown.
    func sorted(byKeys keys: String) -> Self? {
        var query = self
        for key in keys.split(separator: ",") {
            let direction: SortDirection = key.hasPrefix("-") ? .descending : .ascending
            switch key.drop(while: { $0 == "-" }) {
            case "number": query = query.then(by: \.number, direction)
            case "title": query = query.then(by: \.title, direction)
            case "priority": query = query.then(by: \.priority, direction)
            case "updated": query = query.then(by: \.updated, direction)
            case "assignee": query = query.then(by: \.assignee?.name, direction)
            default: return nil
            }
        }
        return query
    }
}
