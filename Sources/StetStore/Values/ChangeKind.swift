/// What a change does to an object.
public enum ChangeKind: UInt8, Sendable, Hashable, Codable {
    /// The object is new.
    case insert = 1
    /// Some of its properties have other values.
    case update = 2
    /// The object is gone.
    case delete = 3
}

/// Why a commit was made.
public enum Cause: Sendable, Hashable {
    /// An ordinary save.
    case edit
    /// The store was brought to other models.
    case migration
    /// It takes back what a commit of the same author has changed, or a group of them that ends
    /// with this one.
    case undo(of: Revision)
    /// It takes back an undo.
    case redo(of: Revision)
    /// It takes back what some commit has changed; an edit otherwise.
    case revert(of: Revision)
    /// It changes nothing but a stack, which a commit is taken from without being undone or redone.
    case discard(of: Revision)
    /// Objects came from a file; on no stack.
    case `import`

    /// The commit that is undone, redone, reverted or discarded; nil for others.
    public var subject: Revision? {
        switch self {
        case .edit, .migration, .import: nil
        case .undo(let subject), .redo(let subject), .revert(let subject), .discard(let subject):
            subject
        }
    }

    /// True for a commit that a context or an import has saved.
    package var isSave: Bool {
        switch self {
        case .edit, .migration, .import: true
        case .undo, .redo, .revert, .discard: false
        }
    }

    package var number: UInt8 {
        switch self {
        case .edit: 1
        case .migration: 2
        case .undo: 3
        case .redo: 4
        case .revert: 5
        case .discard: 6
        case .import: 7
        }
    }

    /// The cause with a number; `subject` is 0 where there is none.
    package init(number: UInt8, subject: Revision) throws(DecodingFailure) {
        switch number {
        case 1: self = .edit
        case 2: self = .migration
        case 3: self = .undo(of: subject)
        case 4: self = .redo(of: subject)
        case 5: self = .revert(of: subject)
        case 6: self = .discard(of: subject)
        case 7: self = .import
        default: throw DecodingFailure("a commit of an unknown cause")
        }
        guard self.subject ?? .zero == subject else {
            throw DecodingFailure("a commit with a subject that its cause has none of")
        }
    }
}

/// What several commits of an author have in common that are undone in one step.
///
/// Commits of a group that follow each other on the author's stack are one step, whatever others
/// have committed between them.
public struct UndoGroup: Hashable, Sendable, Codable {
    package let id: ObjectID

    /// A group that no commit is in yet.
    public init() { id = ObjectID() }

    package init(_ id: ObjectID) { self.id = id }
}

/// What a commit is for, beside its changes: what the writer notes in the envelope, and what it
/// does to its author's stacks.
package struct CommitPurpose: Hashable, Sendable {
    package var cause = Cause.edit
    package var isUndoable = true
    /// What is on top of the stack when the subject of an undo, a redo or a discard is taken from
    /// it.
    package var rest = Revision.zero

    package init(cause: Cause = .edit, isUndoable: Bool = true, rest: Revision = .zero) {
        self.cause = cause
        self.isUndoable = isUndoable
        self.rest = rest
    }
}

/// What a person or program says about a commit: who made it, under what name.
package struct CommitAttributes: Hashable, Sendable {
    package var author: String?
    package var scope: String?
    package var label: String?
    /// What the commit does to the schema, encoded.
    package var migration: [UInt8]?
    package var group: UndoGroup?
    /// The subscription whose delivery it is the effect of.
    package var subscription: String?
    package var metadata: [String: String] = [:]

    package init(author: String? = nil, scope: String? = nil, label: String? = nil) {
        self.author = author
        self.scope = scope
        self.label = label
    }

    /// - Throws: `StoreError` (`.limitExceeded`).
    package func checkLimits() throws {
        let fields = [
            ("author", author, Limits.authorByteCount), ("scope", scope, Limits.authorByteCount),
            ("label", label, Limits.labelByteCount),
        ]
        for (name, text, limit) in fields {
            guard let count = text?.utf8.count, count > limit else { continue }
            throw StoreError(
                .limitExceeded,
                message: "The \(name) of a commit has \(count) bytes; the limit is \(limit).",
                advice: "Shorten it.")
        }
        let count = metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        if count > Limits.metadataByteCount {
            throw StoreError(
                .limitExceeded,
                message: "The metadata of a commit have \(count) bytes; "
                    + "the limit is \(Limits.metadataByteCount).",
                advice: "Keep what is longer in an object.")
        }
    }
}
