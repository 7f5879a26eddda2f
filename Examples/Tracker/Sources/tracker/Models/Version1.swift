import Foundation
import Stet

/// The models of the first version, from which stores are migrated.
///
/// Rules and validators need no copy: a migration reads the values, whatever the rules were.
enum Version1 {
    @Model final class User {
        var name: String
        @Attribute(.unique) var email: String
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
        @Attribute(.unique) var key: String
        var name: String
        @Relationship(deleteRule: .cascade, inverse: \Issue.project) var issues: ToMany<Issue>

        init(key: String, name: String) {
            self.key = key
            self.name = name
        }
    }

    @Model final class Issue {
        #Unique<Issue>(\.project, \.number)

        var project: Project?
        var number: Int
        var title: String
        var body: String = ""
        var state: IssueState = .open
        var priority: Priority = .normal
        /// As people write it: "2h", "3d".
        var estimate: String = ""
        var assignee: User?
        var reporter: User?
        @Attribute(.stamped(.insert)) var created: Date
        @Attribute(.stamped(.update)) var updated: Date
        @Relationship(inverse: \Label.issues) var labels: ToMany<Label>
        @Relationship(deleteRule: .cascade, inverse: \Comment.issue) var comments: ToMany<Comment>

        init(project: Project?, number: Int, title: String) {
            self.project = project
            self.number = number
            self.title = title
        }
    }

    @Model final class Comment {
        var issue: Issue?
        var author: User?
        var text: String
        @Attribute(.stamped(.insert)) var created: Date

        init(issue: Issue?, author: User?, text: String) {
            self.issue = issue
            self.author = author
            self.text = text
        }
    }

    @Model final class Label {
        @Attribute(.unique) var name: String
        var issues: ToMany<Issue>

        init(name: String) { self.name = name }
    }
}
