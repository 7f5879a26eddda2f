public import StetStore

/// An option of a relationship.
public struct RelationshipOption: Sendable {
    enum Kind: Sendable {
        case required
        case count(minimum: Int?, maximum: Int?)
        case orphanRemoval
    }
    let kind: Kind

    /// The rule that it adds to a to-one relationship.
    var rule: Rule? {
        if case .required = kind { .required } else { nil }
    }

    /// Requires that a to-one relationship is not nil when it is saved.
    ///
    /// Code 1570.
    public static let required = RelationshipOption(kind: .required)

    /// Deletes members that are removed from their owner and given to no other, when the context is
    /// saved; for a to-many relationship with a to-one inverse.
    ///
    /// A member that was never saved is not deleted.
    public static let orphanRemoval = RelationshipOption(kind: .orphanRemoval)

    /// Limits the number of members of a to-many relationship whenever its owner or a member is
    /// saved.
    ///
    /// Codes 1580 for too few, 1590 for too many. The writer counts again, so that concurrent saves
    /// that add members do not exceed the limit together.
    ///
    /// - Complexity: O(members) in a save that adds or removes some.
    public static func count(_ range: ClosedRange<Int>) -> RelationshipOption {
        RelationshipOption(
            kind: .count(minimum: range.lowerBound, maximum: range.upperBound))
    }

    /// Requires a minimum number of members of a to-many relationship.
    ///
    /// Code 1580.
    public static func count(_ range: PartialRangeFrom<Int>) -> RelationshipOption {
        RelationshipOption(kind: .count(minimum: range.lowerBound, maximum: nil))
    }

    /// Requires a maximum number of members of a to-many relationship.
    ///
    /// Code 1590.
    public static func count(_ range: PartialRangeThrough<Int>) -> RelationshipOption {
        RelationshipOption(kind: .count(minimum: nil, maximum: range.upperBound))
    }
}

/// The description of a to-many relationship that `@Model` writes.
///
/// Used by the code that `@Model` writes.
public struct _ModelRelationship: Sendable {
    /// The property at the other end, by its name.
    enum Inverse: Hashable, Sendable {
        case toOne(String)
        case toMany(String)
    }

    let name: String
    let target: any Model.Type
    let isOrdered: Bool
    let inverse: Inverse?
    let deleteRule: DeleteRule
    let options: [RelationshipOption]
    let originalName: String?

    private init<Owner: Model, Members: _ToManyProperty>(
        _ owner: Owner.Type, _ name: String, _ members: Members.Type, _ inverse: Inverse?,
        _ deleteRule: DeleteRule, _ originalName: String?, _ options: [RelationshipOption]
    ) {
        self.name = name
        target = Members.Element.self
        isOrdered = Members._isOrdered
        self.inverse = inverse
        self.deleteRule = deleteRule
        self.options = options
        self.originalName = originalName
    }

    /// Creates a relationship whose inverse is not named here.
    public static func toMany<Owner: Model, Members: _ToManyProperty>(
        _ name: String, of owner: Owner.Type, _ members: Members.Type,
        deleteRule: DeleteRule = .nullify, originalName: String? = nil,
        _ options: [RelationshipOption] = []
    ) -> _ModelRelationship {
        _ModelRelationship(owner, name, members, nil, deleteRule, originalName, options)
    }

    /// Creates a relationship with a to-one inverse.
    public static func toMany<Owner: Model, Members: _ToManyProperty>(
        _ name: String, of owner: Owner.Type, _ members: Members.Type,
        inverse: KeyPath<Members.Element, Owner?>, _ inverseName: String,
        deleteRule: DeleteRule = .nullify, originalName: String? = nil,
        _ options: [RelationshipOption] = []
    ) -> _ModelRelationship {
        _ModelRelationship(
            owner, name, members, .toOne(inverseName), deleteRule, originalName, options)
    }

    /// Creates a relationship with a to-many inverse.
    public static func toMany<Owner: Model, Members: _ToManyProperty, Inverse: _ToManyProperty>(
        _ name: String, of owner: Owner.Type, _ members: Members.Type,
        inverse: KeyPath<Members.Element, Inverse>, _ inverseName: String,
        deleteRule: DeleteRule = .nullify, originalName: String? = nil,
        _ options: [RelationshipOption] = []
    ) -> _ModelRelationship where Inverse.Element == Owner {
        _ModelRelationship(
            owner, name, members, .toMany(inverseName), deleteRule, originalName, options)
    }

    /// Returns the relationship as a store describes it.
    func relationship(members: Relationship.Members, isOrdered: Bool) -> Relationship {
        var bounds: (minimum: Int?, maximum: Int?) = (nil, nil)
        var removesOrphans = false
        for option in options {
            switch option.kind {
            case .count(let minimum, let maximum): bounds = (minimum, maximum)
            case .orphanRemoval: removesOrphans = true
            case .required: break
            }
        }
        return Relationship(
            name: name, target: target._$name, members: members, isOrdered: isOrdered,
            deleteRule: deleteRule, minimumCount: bounds.minimum, maximumCount: bounds.maximum,
            removesOrphans: removesOrphans)
    }
}
