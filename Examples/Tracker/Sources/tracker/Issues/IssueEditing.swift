import Foundation
import Stet

/// There is no object of this kind with the id or key of the request.
struct NotFound: Error {
    let what: String
    init(_ what: String) { self.what = what }
}

extension ManagedContext {
    /// Returns the issue with a key such as "ST-12", or with an id.
    func issue(named name: String) throws -> Issue {
        guard let issue = try find(name) else { throw NotFound("issue") }
        return issue
    }

    private func find(_ name: String) throws -> Issue? {
        if let id = ObjectID(name) { return try object(Issue.self, id: id) }
        let parts = name.split(separator: "-")
        guard parts.count == 2, let number = Int(parts[1]),
            let project = try object(Project.self, where: \.key, is: String(parts[0]))?.id
        else { return nil }
        return try fetch(Issue.self) { $0.project?.id == project && $0.number == number }.first()
    }

    func project(_ key: String) throws -> Project {
        guard let project = try object(Project.self, where: \.key, is: key) else {
            throw NotFound("project")
        }
        return project
    }
}

extension Store {
    /// Makes the answer to a request about an issue from one state of the store, and returns the
    /// revision of that state with it.
    func read<Result: Sendable>(
        issue name: String, _ body: (Issue) throws -> Result
    ) throws -> (Result, Revision) {
        try read { context in
            (try body(try context.issue(named: name)), context.revision)
        }
    }

    /// Inserts the next issue of a project, and returns its key.
    ///
    /// Of two requests that take the next number at once the slower one is tried again, because the
    /// number must be unique. A counter in the project would be changed by every such edit, so that
    /// none of them could be undone after the next.
    func createIssue(in key: String, _ fields: FieldValues, by author: ObjectID?) async throws
        -> String
    {
        try await edit("create an issue in \(key)", author: author?.description) { context in
            let project = try context.project(key)
            let id = project.id
            let last = try context.fetch(Issue.self) { $0.project?.id == id }
                .sorted(by: \.number, .descending).first()
            let issue = Issue(project: project, number: (last?.number ?? 0) + 1, title: "")
            context.insert(issue)
            issue.reporter = try author.flatMap { try context.object(User.self, id: $0) }
            try issue.set(fields, in: context)
            return issue.key
        }
    }

    /// Sets fields of an issue, unless others have changed it since the revision that the edit is
    /// based on.
    func editIssue(
        _ name: String, _ fields: FieldValues, since base: Revision? = nil,
        _ precondition: Precondition = .mergeable, by author: ObjectID?
    ) async throws {
        let words = fields.keys.sorted().map { $0.caption.lowercased() }
        try await edit(author: author?.description) { context in
            let issue = try context.issue(named: name)
            context.label = "change \(words.formatted()) of \(issue.key)"
            try issue.set(fields, in: context)
            try context.check(issue, since: base, precondition)
        }
    }

    /// Deletes an issue with its comments.
    func deleteIssue(_ name: String, since base: Revision?, by author: ObjectID?) async throws {
        try await edit(author: author?.description) { context in
            let issue = try context.issue(named: name)
            context.label = "delete \(issue.key)"
            try context.check(issue, since: base, .unchanged)
            context.delete(issue)
        }
    }

    /// Adds a comment to an issue.
    func comment(on name: String, _ text: String, by author: ObjectID?) async throws
        -> Comment.Snapshot
    {
        try await edit(author: author?.description) { context in
            let issue = try context.issue(named: name)
            context.label = "comment on \(issue.key)"
            let comment = Comment(
                issue: issue,
                author: try author.flatMap { try context.object(User.self, id: $0) }, text: text)
            context.insert(comment)
            return comment
        }.snapshot
    }
}
