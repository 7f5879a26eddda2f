/// What stands in the way of taking a change back: something that was written later.
public struct UndoConflict: Sendable, Hashable, Codable {
    /// What kind of thing stands in the way.
    public struct Kind: RawRepresentable, Hashable, Sendable, Codable {
        /// The name of the kind.
        public let rawValue: String

        /// A kind with this name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The property has got another value since.
        public static let changed = Kind(rawValue: "changed")
        /// The object was deleted since.
        public static let gone = Kind(rawValue: "gone")
        /// The object, which would be deleted, has been changed since.
        public static let modified = Kind(rawValue: "modified")
        /// Other objects refer to the object, which would be deleted.
        public static let collateral = Kind(rawValue: "collateral")
        /// A delete rule forbids that the object be deleted.
        public static let denied = Kind(rawValue: "denied")
        /// The object that a reference would point to again is not there.
        public static let targetGone = Kind(rawValue: "targetGone")
        /// Another object has got the value, which must be unique.
        public static let notUnique = Kind(rawValue: "notUnique")
        /// The models have no entity for the object any more, or no property for the value.
        public static let schema = Kind(rawValue: "schema")
    }

    /// The commit that has written later.
    public struct Later: Sendable, Hashable, Codable {
        /// Its number.
        public let revision: Revision
        /// Who made it.
        public let author: String?
        /// What it was called.
        public let label: String?

        package init(revision: Revision, author: String?, label: String?) {
            self.revision = revision
            self.author = author
            self.label = label
        }
    }

    /// What kind of thing stands in the way.
    public let kind: Kind
    /// The entity of the object.
    public let entity: String
    /// The object.
    public let object: ObjectID
    /// The property; nil when the object as a whole is meant.
    public let property: String?
    /// The value before the commit that is taken back.
    public let before: Value
    /// The value that the commit has given.
    public let after: Value
    /// The value now.
    public let current: Value
    /// The last commit that has written to it.
    public let later: Later?
    /// The other objects: those that refer to this one, at most 100, the one that has the value, or
    /// the one that is gone.
    public let others: [ObjectID]

    package init(
        kind: Kind, entity: String, object: ObjectID, property: String?, before: Value = .null,
        after: Value = .null, current: Value = .null, later: Later? = nil,
        others: [ObjectID] = []
    ) {
        self.kind = kind
        self.entity = entity
        self.object = object
        self.property = property
        self.before = before
        self.after = after
        self.current = current
        self.later = later
        self.others = others
    }
}

extension UndoConflict: CustomStringConvertible, CustomDebugStringConvertible {
    /// A sentence without a full stop, and without values.
    public var description: String { text(showsValues: false) }

    /// A sentence without a full stop, with values.
    public var debugDescription: String { text(showsValues: true) }

    private func text(showsValues: Bool) -> String {
        let subject = property.map { "\($0) of \(entity) \(object)" } ?? "\(entity) \(object)"
        let who = later.map { later in
            " by commit \(later.revision)" + (later.author.map { " of \($0)" } ?? "")
        }
        switch kind {
        case .changed:
            let change =
                showsValues
                ? "was \(before), then \(after), and has since become \(current)"
                : "has since been changed"
            return "\(subject) \(change)" + (who ?? "")
        case .gone: return "\(subject) has since been deleted" + (who ?? "")
        case .modified:
            return "\(subject) would be deleted, but has since been changed" + (who ?? "")
        case .collateral:
            let count = others.count
            return "\(subject) would be deleted, but \(count) other object"
                + (count == 1 ? " refers to it" : "s refer to it")
        case .denied: return "\(subject) can't be deleted: a delete rule denies it"
        case .targetGone:
            return "\(subject) would refer to \(others.first?.description ?? "an object"), "
                + "which is not there"
        case .notUnique:
            let holder = "\(entity) \(others.first?.description ?? "")"
            return showsValues
                ? "\(subject) would be \(before), which \(holder) has by now"
                : "\(subject) would have a value that \(holder) has by now"
        case .schema:
            return
                "\(subject) is of \(property == nil ? "an entity" : "a property") that the models "
                + "do not have any more"
        default: return "\(subject): \(kind.rawValue)"
        }
    }
}

/// What becomes of one conflict.
public enum UndoResolution: Sendable, Hashable {
    /// Nothing is written at all.
    case fail
    /// What is there now stays.
    case keep
    /// The value of before is set, whatever is there now.
    ///
    /// Where there is nothing that it could be set to, this is `.fail`.
    case restore
    /// The properties with these names get these values.
    case set([String: Value])
}

/// What becomes of conflicts when a commit is undone, redone or reverted.
public enum UndoPolicy {
    /// Nothing is written; `UndoConflictError` lists them.
    case fail
    /// What is in conflict stays as it is, everything else is taken back.
    case skip
    /// What was before is set over what others have written since; where that is impossible,
    /// nothing is written.
    case overwrite
    /// Each is answered by a closure, once.
    case resolve((UndoConflict) -> UndoResolution)

    package func answer(_ conflict: UndoConflict) -> UndoResolution {
        switch self {
        case .fail: .fail
        case .skip: .keep
        case .overwrite: .restore
        case .resolve(let closure): closure(conflict)
        }
    }
}
