/// A later change that prevents a change from being undone.
public struct UndoConflict: Sendable, Hashable {
    /// The kind of a conflict.
    public struct Kind: RawRepresentable, Hashable, Sendable, Codable {
        /// The name of the kind.
        public let rawValue: String

        /// Creates a kind with a name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The value of the property has changed since.
        public static let changed = Kind(rawValue: "changed")
        /// The object was deleted since.
        public static let gone = Kind(rawValue: "gone")
        /// The object, which would be deleted, has changed since.
        public static let modified = Kind(rawValue: "modified")
        /// Other objects refer to the object, which would be deleted.
        public static let collateral = Kind(rawValue: "collateral")
        /// A delete rule forbids the deletion of the object.
        public static let denied = Kind(rawValue: "denied")
        /// The object that a restored reference would refer to does not exist.
        public static let targetGone = Kind(rawValue: "targetGone")
        /// Another object has the value of a unique property.
        public static let notUnique = Kind(rawValue: "notUnique")
        /// The counter would leave the range of its type.
        public static let overflow = Kind(rawValue: "overflow")
        /// The models no longer have an entity for the object, or a property for the value.
        public static let schema = Kind(rawValue: "schema")
    }

    /// The commit that has made the later change.
    public struct Later: Sendable, Hashable, Codable {
        /// The number of the commit.
        public let revision: Revision
        /// The author of the commit.
        public let author: String?
        /// The label of the commit.
        public let label: String?

        package init(revision: Revision, author: String?, label: String?) {
            self.revision = revision
            self.author = author
            self.label = label
        }
    }

    /// The kind of the conflict.
    public let kind: Kind
    /// The entity of the object.
    public let entity: String
    /// The id of the object.
    public let object: ObjectID
    /// The name of the property; nil when the conflict concerns the object as a whole.
    public let property: String?
    /// The value before the commit that should be undone.
    public let before: Value
    /// The value after that commit.
    public let after: Value
    /// The current value.
    public let current: Value
    /// The last commit that has written to it.
    public let later: Later?
    /// The other objects involved: those that refer to this one, at most 100, the one that has the
    /// value, or the one that is missing.
    public let others: [ObjectID]
    /// True for a property with the option `.hidden`, whose values stay out of texts and encodings.
    public internal(set) var isHidden = false

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

    /// The decision about one conflict.
    public enum Resolution: Sendable, Hashable {
        /// Nothing is written at all.
        case fail
        /// Keeps the current value.
        case keep
        /// Restores the earlier value, whatever the current one is.
        ///
        /// If that is impossible, it means `.fail`.
        case restore
        /// Sets the properties with these names to these values.
        case set([String: Value])
    }
}

extension UndoConflict: CustomStringConvertible, CustomDebugStringConvertible {
    /// A sentence without a full stop, and without values.
    public var description: String { text(showsValues: false) }

    /// A sentence without a full stop, with values that are not hidden.
    public var debugDescription: String { text(showsValues: !isHidden) }

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
        case .overflow:
            return showsValues
                ? "\(subject) is \(current), and can't be counted from \(after) to \(before)"
                : "\(subject) would leave the range of its type"
        case .schema:
            return
                "\(subject) is of \(property == nil ? "an entity" : "a property") that the models "
                + "do not have any more"
        default: return "\(subject): \(kind.rawValue)"
        }
    }
}

extension UndoConflict: Codable {
    private enum CodingKeys: String, CodingKey {
        case kind, entity, object, property, before, after, current, later, others, hidden
    }

    /// Decodes a conflict; values that were hidden are `.null`.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func value(_ key: CodingKeys) throws -> Value {
            try container.decodeIfPresent(Value.self, forKey: key) ?? .null
        }
        self.init(
            kind: try container.decode(Kind.self, forKey: .kind),
            entity: try container.decode(String.self, forKey: .entity),
            object: try container.decode(ObjectID.self, forKey: .object),
            property: try container.decodeIfPresent(String.self, forKey: .property),
            before: try value(.before), after: try value(.after), current: try value(.current),
            later: try container.decodeIfPresent(Later.self, forKey: .later),
            others: try container.decode([ObjectID].self, forKey: .others))
        isHidden = try container.decodeIfPresent(Bool.self, forKey: .hidden) ?? false
    }

    /// Encodes the conflict; without its values if they are hidden, unless the encoder has
    /// `CodingUserInfoKey.encodesHiddenValues`.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(kind, forKey: .kind)
        try container.encode(entity, forKey: .entity)
        try container.encode(object, forKey: .object)
        try container.encodeIfPresent(property, forKey: .property)
        if isHidden { try container.encode(true, forKey: .hidden) }
        if !isHidden || encoder.showsHiddenValues {
            try container.encode(before, forKey: .before)
            try container.encode(after, forKey: .after)
            try container.encode(current, forKey: .current)
        }
        try container.encodeIfPresent(later, forKey: .later)
        try container.encode(others, forKey: .others)
    }
}

/// The treatment of conflicts when a commit is undone, redone or reverted.
///
/// ```swift
/// try store.undo(
///     author: "lala",
///     policy: .resolve { conflict in
///         conflict.property == "title" ? .restore : .keep
///     })
/// ```
public enum UndoPolicy {
    /// Writes nothing; `UndoConflictError` lists the conflicts.
    case fail
    /// Leaves contested values unchanged, and undoes everything else.
    case skip
    /// Restores earlier values over later changes; if that is impossible, nothing is written.
    case overwrite
    /// Decides about each conflict by a closure, once.
    case resolve((UndoConflict) -> UndoConflict.Resolution)

    package func answer(_ conflict: UndoConflict) -> UndoConflict.Resolution {
        switch self {
        case .fail: .fail
        case .skip: .keep
        case .overwrite: .restore
        case .resolve(let closure): closure(conflict)
        }
    }
}
