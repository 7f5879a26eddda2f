import Foundation
import Stet

/// The state of an issue.
enum IssueState: String, RawAttribute, CaseIterable {
    case open, started, done

    /// The states that can follow: a save with another one is refused.
    var next: Set<IssueState> {
        switch self {
        case .open: [.started, .done]
        case .started: [.open, .done]
        case .done: [.open]
        }
    }
}

/// Stored as a number, so that issues can be sorted by it; clients see the name.
enum Priority: Int, RawAttribute, OrderedValue, CaseIterable {
    case low, normal, high, urgent

    static func < (one: Priority, other: Priority) -> Bool { one.rawValue < other.rawValue }

    var name: String { "\(self)" }

    init?(name: some StringProtocol) {
        guard let match = Priority.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}

@Model final class User {
    @Attribute(.trimmed, .length(1...80)) var name: String
    @Attribute(.trimmed, .lowercased, .unique, .matches(#"[^@\s]+@[^@\s]+"#)) var email: String
    @Attribute(.stamped(.insert)) var created: Date
    @Relationship(inverse: \Issue.assignee) var assigned: ToMany<Issue>
    @Relationship(inverse: \Issue.reporter) var reported: ToMany<Issue>
    @Relationship(inverse: \Comment.author) var comments: ToMany<Comment>

    init(name: String, email: String) {
        self.name = name
        self.email = email
    }
}

@Model final class Project {
    @Attribute(.trimmed, .unique, .matches("[A-Z][A-Z0-9]{1,7}")) var key: String
    @Attribute(.trimmed, .length(1...100)) var name: String
    @Relationship(deleteRule: .cascade, inverse: \Issue.project) var issues: ToMany<Issue>

    init(key: String, name: String) {
        self.key = key
        self.name = name
    }
}

@Model final class Issue {
    #Unique<Issue>(\.project, \.number)
    #Index<Issue>(\.project, \.state, \.number)

    @Relationship(.required) var project: Project?
    var number: Int
    @Attribute(.trimmed, .length(3...200)) var title: String
    @Attribute(.length(...20_000)) var body: String = ""
    var state: IssueState = .open
    var priority: Priority = .normal
    /// Hours.
    ///
    /// The first version of the models had a text here: see `Migration.swift`.
    @Attribute(.range(0...1_000)) var estimate: Int?
    var assignee: User?
    var reporter: User?
    @Attribute(.stamped(.insert)) var created: Date
    @Attribute(.stamped(.update)) var updated: Date
    @Relationship(.count(...5), inverse: \Label.issues) var labels: ToMany<Label>
    @Relationship(deleteRule: .cascade, inverse: \Comment.issue) var comments: ToMany<Comment>

    init(project: Project?, number: Int, title: String) {
        self.project = project
        self.number = number
        self.title = title
    }

    // Also if a rule is broken, so that a refusal names everything that is wrong.
    static var validators: Validators<Issue> {
        Validators(
            .object(on: .update, evenIfInvalid: true) { validation in
                guard let old = validation.old?.state, let new = validation.new?.state,
                    old != new, !old.next.contains(new)
                else { return }
                validation.report(\.state, "state can't go from \(old) to \(new)")
            },
            .object(on: .insert, .update, evenIfInvalid: true) { validation in
                guard let new = validation.new, new.state == .started, new.assignee == nil
                else { return }
                validation.report(\.assignee, "an issue that is started needs an assignee")
            })
    }
}

@Model final class Comment {
    @Relationship(.required) var issue: Issue?
    var author: User?
    @Attribute(.trimmed, .length(1...10_000)) var text: String
    @Attribute(.stamped(.insert)) var created: Date

    init(issue: Issue?, author: User?, text: String) {
        self.issue = issue
        self.author = author
        self.text = text
    }
}

@Model final class Label {
    @Attribute(.trimmed, .lowercased, .length(1...30), .unique) var name: String
    var issues: ToMany<Issue>

    init(name: String) { self.name = name }
}
