/// The state of an object in a relationship: whether it is a member, and at which position.
public enum Membership: Hashable, Sendable {
    /// The object is not a member.
    case absent
    /// The object is a member; the position is nil where the relationship is not ordered.
    case present(ListPosition?)

    /// True for a member.
    public var isPresent: Bool { self != .absent }

    /// The position of a member; nil where the relationship is not ordered.
    public var position: ListPosition? {
        if case .present(let position) = self { position } else { nil }
    }
}

extension Membership: Codable {
    private enum CodingKeys: String, CodingKey { case position }

    /// Decodes a membership: null for an object that is not a member, otherwise an object with an
    /// optional position.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        if let container = try? decoder.singleValueContainer(), container.decodeNil() {
            self = .absent
            return
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self = .present(try container.decodeIfPresent(ListPosition.self, forKey: .position))
    }

    /// Encodes a membership.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        guard case .present(let position) = self else {
            var container = encoder.singleValueContainer()
            return try container.encodeNil()
        }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(position, forKey: .position)
    }
}

/// The change of the members of one relationship of an object.
///
/// It appears for many-to-many relationships and relationships without an inverse. The members of a
/// relationship with a to-one inverse change by their references instead.
public struct RelationshipChange: Hashable, Sendable {
    /// The name of the relationship.
    public var name: String
    /// The members whose membership changes, in ascending order of id.
    public var members: [RelationshipChange.Member]

    /// Creates a change of a relationship.
    public init(name: String, members: [RelationshipChange.Member]) {
        self.name = name
        self.members = members
    }

    /// The ids of the members that are added, in the order of the relationship.
    public var added: [ObjectID] {
        members.filter { !$0.old.isPresent && $0.new.isPresent }
            .sorted { MemberPlace($0.new, $0.id) < MemberPlace($1.new, $1.id) }.map(\.id)
    }

    /// The ids of the members that are removed.
    public var removed: [ObjectID] {
        members.filter { $0.old.isPresent && !$0.new.isPresent }.map(\.id)
    }

    /// The ids of the members whose position has changed.
    public var moved: [ObjectID] {
        members.filter { $0.old.isPresent && $0.new.isPresent }.map(\.id)
    }

    /// The change of one membership, as part of the change of the relationship's owner.
    public struct Member: Hashable, Sendable, Codable {
        /// The id of the member.
        public var id: ObjectID
        /// The membership before the change.
        public var old: Membership
        /// The membership after the change.
        public var new: Membership

        /// Creates a change of a membership.
        public init(id: ObjectID, old: Membership, new: Membership) {
            self.id = id
            self.old = old
            self.new = new
        }
    }
}

/// The place of a member in its list: by position, then by id.
package struct MemberPlace: Hashable, Comparable, Sendable {
    package let position: ListPosition?
    package let id: ObjectID

    package init(_ position: ListPosition?, _ id: ObjectID) {
        self.position = position
        self.id = id
    }

    package init(_ membership: Membership, _ id: ObjectID) {
        self.init(membership.position, id)
    }

    /// The place of a member that has a position; nil for others.
    package var ifPlaced: MemberPlace? { position == nil ? nil : self }

    package static func < (one: MemberPlace, other: MemberPlace) -> Bool {
        switch (one.position, other.position) {
        case (let left?, let right?) where left != right: left < right
        case (nil, .some): true
        case (.some, nil): false
        default: one.id < other.id
        }
    }
}
