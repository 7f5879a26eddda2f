import Foundation
import Stet

/// A commit for the pages of a project: its author, its label and the issues that it concerns.
///
/// The page gets the rest anew.
struct BoardEvent: Encodable {
    let revision: Revision
    let author: String?
    let label: String?
    let issues: [ObjectID]
}

extension Store {
    /// Returns what people with pages of a project open hear of a commit; nil if it does not concern
    /// them.
    func boardEvent(_ commit: Commit, project key: String) throws -> BoardEvent? {
        let issues = commit.changes(of: Issue.self)
        let comments = commit.changes(of: Comment.self)
        guard !issues.isEmpty || !comments.isEmpty else { return nil }
        return try read { context in
            let project = try context.project(key).id
            let deleted = issues.filter { $0.kind == .delete && $0.old[\.project] == project }
            let touched = issues.map(\.id) + comments.compactMap { $0.new[\.issue] ?? nil }
            let present = try Set(touched).filter {
                try context.object(Issue.self, id: $0)?.project?.id == project
            }
            let concerned = deleted.map(\.id) + present
            guard !concerned.isEmpty else { return nil }
            return BoardEvent(
                revision: commit.revision, author: try context.userName(commit.author),
                label: commit.label, issues: concerned)
        }
    }
}
