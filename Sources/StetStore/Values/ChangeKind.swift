/// The kind of a change of an object.
public enum ChangeKind: UInt8, Sendable, Hashable {
    /// The object is inserted.
    case insert = 1
    /// Properties of the object, or links, change.
    case update = 2
    /// The object is deleted.
    case delete = 3
}

/// The cause of a commit.
public enum Cause: Sendable, Hashable {
    /// An ordinary save.
    case edit
    /// The store was migrated to other models.
    case migration
    /// The commit undoes a commit of the same author, or a group of commits that ends with this
    /// one.
    case undo(of: Revision)
    /// The commit redoes an undone step, by undoing the undo.
    case redo(of: Revision)
    /// The commit reverts any other commit; it counts as an edit otherwise.
    case revert(of: Revision)
    /// The commit changes only a stack, from which a commit is removed without being undone or
    /// redone.
    case discard(of: Revision)
    /// The commit imports objects from a file; it is on no stack.
    case `import`
    /// The commit changes no object: it lets all nodes of a shared journal remove the first
    /// commits.
    case trim
    /// The commit changes no object: it lets all nodes of a shared journal redact values.
    case redaction

    /// The commit that is undone, redone, reverted or discarded; nil for others.
    public var subject: Revision? {
        switch self {
        case .edit, .migration, .import, .trim, .redaction: nil
        case .undo(let subject), .redo(let subject), .revert(let subject), .discard(let subject):
            subject
        }
    }

    /// True for a commit that a context or an import has saved.
    package var isSave: Bool {
        switch self {
        case .edit, .migration, .import: true
        case .undo, .redo, .revert, .discard, .trim, .redaction: false
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
        case .trim: 8
        case .redaction: 9
        }
    }

    /// Creates the cause with a number; `subject` is 0 where there is none.
    package init(number: UInt8, subject: Revision) throws(DecodingFailure) {
        switch number {
        case 1: self = .edit
        case 2: self = .migration
        case 3: self = .undo(of: subject)
        case 4: self = .redo(of: subject)
        case 5: self = .revert(of: subject)
        case 6: self = .discard(of: subject)
        case 7: self = .import
        case 8: self = .trim
        case 9: self = .redaction
        default: throw DecodingFailure("a commit of an unknown cause")
        }
        guard self.subject ?? .zero == subject else {
            throw DecodingFailure("a commit with a subject that its cause has none of")
        }
    }
}

extension Cause: CustomStringConvertible {
    /// The cause in words: "edit", "migration", "import", "trim", "redaction", or for example "undo
    /// of 12".
    public var description: String { subject.map { "\(name) of \($0)" } ?? name }

    /// The cause without its subject, in one word.
    package var name: String {
        switch self {
        case .edit: "edit"
        case .migration: "migration"
        case .undo: "undo"
        case .redo: "redo"
        case .revert: "revert"
        case .discard: "discard"
        case .import: "import"
        case .trim: "trim"
        case .redaction: "redaction"
        }
    }
}

/// A group of commits of an author that are undone in one step.
///
/// Commits of a group that follow each other on the author's stack are one step, whatever others
/// have committed between them.
public struct UndoGroup: Hashable, Sendable {
    package let id: ObjectID

    /// Creates a group without commits.
    public init() { id = ObjectID() }

    package init(_ id: ObjectID) { self.id = id }
}

/// The purpose of a commit, beside its changes: the cause that the writer records in the envelope,
/// and the effect on the author's stacks.
package struct CommitPurpose: Hashable, Sendable {
    package var cause = Cause.edit
    package var isUndoable = true
    /// The commit that is on top of the stack after the subject of an undo, a redo or a discard is
    /// removed.
    package var nextTop = Revision.zero

    package init(cause: Cause = .edit, isUndoable: Bool = true, nextTop: Revision = .zero) {
        self.cause = cause
        self.isUndoable = isUndoable
        self.nextTop = nextTop
    }
}

/// The attributes of a commit that people or programs give it, such as author and label.
package struct CommitAttributes: Hashable, Sendable {
    package var author: String?
    package var scope: String?
    package var label: String?
    /// The change of the schema, encoded; nil except for a migration.
    package var migration: [UInt8]?
    package var group: UndoGroup?
    /// The subscription whose delivery had the commit as its effect.
    package var subscription: String?
    /// The change of the journal that all nodes of a shared journal carry out.
    package var request: JournalRequest?
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
