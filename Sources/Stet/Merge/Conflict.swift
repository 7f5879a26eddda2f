public import StetStore

/// An object with pending changes that was saved elsewhere since this context read it.
///
/// ```swift
/// for property in error.conflicts.flatMap(\.properties) where property.isContested {
///     values.append((property.base, property.mine, property.theirs))
/// }
/// ```
public struct Conflict: Sendable, Hashable, Codable {
    /// The entity of the object.
    public let entity: String
    /// The id of the object.
    public let object: ObjectID
    /// The revision of the object that the pending change is based on.
    public let base: Revision
    /// The revision of the object's last change in the store; nil when it has been deleted.
    public let current: Revision?
    /// The properties that either side has changed, in the order of declaration; empty when one
    /// side has deleted the object.
    public let properties: [Conflict.Property]

    /// True when both sides have changed a property, to different values.
    public var isContested: Bool { properties.contains(where: \.isContested) }

    package init(
        entity: String, object: ObjectID, base: Revision, current: Revision?,
        properties: [Conflict.Property] = []
    ) {
        self.entity = entity
        self.object = object
        self.base = base
        self.current = current
        self.properties = properties
    }
}

/// The error of a save that was refused because others have changed what it was based on.
///
/// Nothing was written. The pending changes were treated as the `onFailure` argument of the save
/// says.
///
/// ```swift
/// do {
///     try context.save("rate")
/// } catch is ConflictError {
///     try context.refresh()  // shows what the others have saved
///     article.rating = 4
///     try context.save("rate")
/// }
/// ```
public struct ConflictError: Error, Sendable {
    /// The reason why the save was given up.
    public struct Reason: RawRepresentable, Hashable, Sendable {
        /// The name of the reason.
        public let rawValue: String

        /// Creates a reason with a name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// An object of the change set was changed, or something that it refers to was deleted.
        public static let changed = Reason(rawValue: "changed")
        /// The increments of a counter add up to more than its type can represent, or to less.
        public static let overflow = Reason(rawValue: "overflow")
        /// The save was prepared 8 times and the store had moved each time.
        public static let contention = Reason(rawValue: "contention")
    }

    /// The reason why the save was given up.
    public let reason: Reason
    /// The objects that were changed by others.
    public let conflicts: [Conflict]
    /// The changes that would have been saved.
    public let rejected: ChangeSet

    /// Creates the error of an edit that is refused because of a conflict, such as one that
    /// `conflict(of:since:)` has found.
    ///
    /// `Store.edit` does not repeat an edit whose closure throws it.
    public init(_ conflict: Conflict) {
        self.init(reason: .changed, conflicts: [conflict], rejected: ChangeSet())
    }

    package init(reason: Reason, conflicts: [Conflict], rejected: ChangeSet) {
        self.reason = reason
        self.conflicts = conflicts
        self.rejected = rejected
    }
}

extension ConflictError: CustomStringConvertible, CustomDebugStringConvertible {
    /// One line per conflict, without values.
    public var description: String { text(conflicts.map(\.description)) }

    /// One line per conflict, with values.
    public var debugDescription: String { text(conflicts.map(\.debugDescription)) }

    private func text(_ lines: [String]) -> String {
        let beginning: [String] =
            switch reason {
            case .contention: ["The store kept moving while this was saved."]
            case .overflow: ["The increments of a counter exceed its type."]
            default: []
            }
        return (beginning + lines).joined(separator: "\n")
    }
}

extension Conflict {
    /// The three values of one property of an object that was changed on both sides.
    public struct Property: Sendable, Hashable {
        /// The entity of the object.
        public let entity: String
        /// The id of the object.
        public let object: ObjectID
        /// The name of the property.
        public let property: String
        /// The value that both sides started from; `.null` for an object that both have inserted.
        ///
        /// An optional embedded value that one side has removed or set is in conflict as a whole.
        /// It is a dictionary of its members by name.
        public let base: Value
        /// The pending value of this context.
        public let mine: Value
        /// The stored value.
        public let theirs: Value
        /// True for a property with the option `.hidden`, whose values stay out of texts and
        /// encodings.
        public let isHidden: Bool

        /// True when both sides have changed the property, to different values.
        public var isContested: Bool { mine != base && theirs != base && mine != theirs }

        package init(
            entity: String, object: ObjectID, property: String, base: Value, mine: Value,
            theirs: Value, isHidden: Bool = false
        ) {
            self.entity = entity
            self.object = object
            self.property = property
            self.base = base
            self.mine = mine
            self.theirs = theirs
            self.isHidden = isHidden
        }

        init(
            _ property: StetStore.Property, of entity: String, _ object: ObjectID, base: Value,
            mine: Value, theirs: Value
        ) {
            self.init(
                entity: entity, object: object, property: property.name, base: base, mine: mine,
                theirs: theirs, isHidden: property.isHidden)
        }
    }
}

extension Conflict: CustomStringConvertible, CustomDebugStringConvertible {
    /// A sentence about what happened to the object and what to do, then a line for each property
    /// that both sides have changed, without values.
    public var description: String { text(\.description) }

    /// The text of `description`, with values.
    public var debugDescription: String { text(\.debugDescription) }

    private func text(_ line: (Conflict.Property) -> String) -> String {
        let contested = properties.filter(\.isContested).map { "\n  " + line($0) }
        return "\(entity) \(object) \(cause); "
            + "refresh the context and edit again, with another merge policy if such edits should "
            + "be merged" + contested.joined()
    }

    /// The cause of the conflict; the object need not have changed if it is that of a change set.
    private var cause: String {
        guard let current else { return "was deleted since it was read at commit \(base)" }
        return current > base
            ? "was changed by commit \(current) since it was read at commit \(base)"
            : "does not have the values that the changes are based on, as of commit \(base)"
    }
}

extension Conflict.Property: CustomStringConvertible, CustomDebugStringConvertible {
    /// A sentence that names the property, without values.
    public var description: String {
        "\(property) was changed here and in the store"
    }

    /// A sentence with the three values, unless they are hidden.
    public var debugDescription: String {
        isHidden ? description : "\(property) was \(base): here \(mine), in the store \(theirs)"
    }
}

extension Conflict.Property: Codable {
    private enum CodingKeys: String, CodingKey {
        case entity, object, property, base, mine, theirs, hidden
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
            entity: try container.decode(String.self, forKey: .entity),
            object: try container.decode(ObjectID.self, forKey: .object),
            property: try container.decode(String.self, forKey: .property),
            base: try value(.base), mine: try value(.mine), theirs: try value(.theirs),
            isHidden: try container.decodeIfPresent(Bool.self, forKey: .hidden) ?? false)
    }

    /// Encodes the conflict; without its values if they are hidden, unless the encoder has
    /// `CodingUserInfoKey.encodesHiddenValues`.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(entity, forKey: .entity)
        try container.encode(object, forKey: .object)
        try container.encode(property, forKey: .property)
        if isHidden { try container.encode(true, forKey: .hidden) }
        guard !isHidden || encoder.showsHiddenValues else { return }
        try container.encode(base, forKey: .base)
        try container.encode(mine, forKey: .mine)
        try container.encode(theirs, forKey: .theirs)
    }
}
