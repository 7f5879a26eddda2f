import Foundation
import Hummingbird
import Stet

// What clients send and get, as far as it is not a snapshot of a model.

struct NewUser: Decodable {
    let name: String
    let email: String
}

struct NewProject: Decodable {
    let key: String
    let name: String
}

struct NewComment: Decodable {
    let text: String
}

/// A part of a list, and the cursor for the next part.
struct Page<Item: Encodable & Sendable>: Encodable, Sendable {
    let items: [Item]
    let next: QueryCursor?
    let total: Int?
}

/// A commit as clients see it: the objects that it concerns, without their values.
struct CommitBody: ResponseEncodable {
    struct Object: Encodable {
        let entity: String
        let id: ObjectID
        let change: String
        let properties: [String]
    }

    let revision: Revision
    let time: Date
    let author: String?
    let label: String?
    let cause: String
    let objects: [Object]

    init(_ commit: Commit) {
        revision = commit.revision
        time = commit.time
        author = commit.author
        label = commit.label
        cause = "\(commit.cause)"
        objects = commit.changeSet.changes.map { change in
            Object(
                entity: change.entity, id: change.id, change: "\(change.kind)",
                properties: change.properties.map(\.name) + change.relationships.map(\.name))
        }
    }
}

/// The next steps of undo and redo, with the conflicts that prevent them.
struct UndoBody: ResponseEncodable {
    struct Step: Encodable {
        let label: String?
        let commits: [Revision]
        /// Sentences about what others have changed since.
        let conflicts: [String]
    }

    let undo: Step?
    let redo: Step?
}

extension Store {
    func undoBody(of user: ObjectID) throws -> UndoBody {
        func step(_ plan: UndoPlan?) -> UndoBody.Step? {
            plan.map { plan in
                UndoBody.Step(
                    label: plan.label, commits: plan.commits,
                    conflicts: plan.conflicts.map(\.description))
            }
        }
        return UndoBody(
            undo: step(try previewUndo(author: user.description)),
            redo: step(try previewRedo(author: user.description)))
    }
}

extension UndoPolicy {
    /// The policy that a request names: what others have changed since is not touched, or the
    /// request is refused.
    init(named name: (some StringProtocol)?) {
        self = name == "skip" ? .skip : .fail
    }
}
