public import StetStore

/// What a relationship asks for.
public struct RelationshipOption: Sendable {
    enum Kind: Sendable {
        case required
        case count(minimum: Int?, maximum: Int?)
        case orphanRemoval
    }
    let kind: Kind

    /// What it asks of a to-one relationship.
    var rule: Rule? {
        if case .required = kind { .required } else { nil }
    }

    /// Of a to-one relationship: it must not be nil when it is saved.
    ///
    /// Code 1570.
    public static let required = RelationshipOption(kind: .required)

    /// Of a to-many relationship with an inverse to one: a member that is taken from its owner, and
    /// given to no other, is deleted when the context is saved.
    ///
    /// A member that was never saved is not deleted.
    public static let orphanRemoval = RelationshipOption(kind: .orphanRemoval)

    /// A to-many relationship has so many members when its owner, or a member, is saved.
    ///
    /// Codes 1580 for too few, 1590 for too many. The writer counts again, so that savers who add
    /// at the same time do not exceed the bound together.
    ///
    /// - Complexity: O(members) in a save that adds or removes some.
    public static func count(_ range: ClosedRange<Int>) -> RelationshipOption {
        RelationshipOption(
            kind: .count(minimum: range.lowerBound, maximum: range.upperBound))
    }

    /// A to-many relationship has at least so many members.
    ///
    /// Code 1580.
    public static func count(_ range: PartialRangeFrom<Int>) -> RelationshipOption {
        RelationshipOption(kind: .count(minimum: range.lowerBound, maximum: nil))
    }

    /// A to-many relationship has at most so many members.
    ///
    /// Code 1590.
    public static func count(_ range: PartialRangeThrough<Int>) -> RelationshipOption {
        RelationshipOption(kind: .count(minimum: nil, maximum: range.upperBound))
    }
}

/// One to-many relationship, as `@Model` tells of it.
///
/// Used by the code that `@Model` writes.
public struct ModelRelationship: Sendable {
    /// The property at the other end, as it was named.
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
    /// The class of its links, where it has any.
    let linkType: any Model.Type

    private init<Owner: Model, Members: ToManyProperty, Ends: _LinkEnds>(
        _ owner: Owner.Type, _ name: String, _ members: Members.Type, _ links: Ends.Type,
        _ inverse: Inverse?, _ deleteRule: DeleteRule, _ options: [RelationshipOption],
        _ originalName: String?
    ) where Ends.Source == Owner, Ends.Target == Members.Element {
        self.name = name
        target = Members.Element.self
        isOrdered = Ends._isOrdered
        self.inverse = inverse
        self.deleteRule = deleteRule
        self.options = options
        self.originalName = originalName
        linkType = _Link<Ends>.self
    }

    /// A relationship whose inverse is not named here.
    public static func toMany<Owner: Model, Members: ToManyProperty, Ends: _LinkEnds>(
        _ name: String, of owner: Owner.Type, _ members: Members.Type, links: Ends.Type,
        deleteRule: DeleteRule = .nullify, originalName: String? = nil,
        _ options: [RelationshipOption] = []
    ) -> ModelRelationship where Ends.Source == Owner, Ends.Target == Members.Element {
        ModelRelationship(owner, name, members, links, nil, deleteRule, options, originalName)
    }

    /// A relationship whose inverse is to one.
    public static func toMany<Owner: Model, Members: ToManyProperty, Ends: _LinkEnds>(
        _ name: String, of owner: Owner.Type, _ members: Members.Type, links: Ends.Type,
        inverse: KeyPath<Members.Element, Owner?>, _ inverseName: String,
        deleteRule: DeleteRule = .nullify, originalName: String? = nil,
        _ options: [RelationshipOption] = []
    ) -> ModelRelationship where Ends.Source == Owner, Ends.Target == Members.Element {
        ModelRelationship(
            owner, name, members, links, .toOne(inverseName), deleteRule, options, originalName)
    }

    /// A relationship whose inverse is to many.
    public static func toMany<
        Owner: Model, Members: ToManyProperty, Ends: _LinkEnds, Inverse: ToManyProperty
    >(
        _ name: String, of owner: Owner.Type, _ members: Members.Type, links: Ends.Type,
        inverse: KeyPath<Members.Element, Inverse>, _ inverseName: String,
        deleteRule: DeleteRule = .nullify, originalName: String? = nil,
        _ options: [RelationshipOption] = []
    ) -> ModelRelationship
    where Ends.Source == Owner, Ends.Target == Members.Element, Inverse.Element == Owner {
        ModelRelationship(
            owner, name, members, links, .toMany(inverseName), deleteRule, options, originalName)
    }
}

extension ModelRelationship {
    /// Links whose source is the owner, or, for an inverse to one, the order of the members.
    var entityOfLinks: Entity {
        var isExclusive = false
        if case .toOne = inverse { isExclusive = true }
        let description = linkType._$entity
        return .links(
            description.name, from: description.properties[0].target ?? "",
            to: description.properties[1].target ?? "", isOrdered: isOrdered,
            targetsAreExclusive: isExclusive)
    }

    func relationship(
        members: Relationship.Members, order: String?
    ) -> Relationship {
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
            name: name, target: target._$name, members: members, order: order,
            deleteRule: deleteRule, minimumCount: bounds.minimum, maximumCount: bounds.maximum,
            removesOrphans: removesOrphans)
    }
}

/// The entities of models, with those of the links between them.
struct ModelGraph {
    private(set) var entities: [Entity] = []
    private(set) var types: [String: any Model.Type] = [:]
    /// What the models say of earlier stores.
    private(set) var origins = SchemaOrigins()
    private let models: [String: any Model.Type]

    /// - Throws: `StoreError` (`.invalidSchema`) for relationships that do not fit together.
    init(_ models: [any Model.Type]) throws {
        self.models = Dictionary(
            models.map { ($0._$name, $0) }, uniquingKeysWith: { first, _ in first })
        for model in models {
            let described = model._$relationships
            let relationships = try described.map { try relationship($0, of: model) }
            types[model._$name] = model
            addOrigins(of: model)
            entities.append(
                Entity(
                    name: model._$name, properties: model._$entity.properties,
                    indexes: model._$entity.indexes, relationships: relationships))
        }
    }

    private mutating func addOrigins(of model: any Model.Type) {
        let name = model._$name
        if let original = model._$originalName { origins.entityNames[name] = original }
        for origin in model._$origins {
            origins.propertyNames[name, default: [:]][origin.name] = origin.originalName
            origins.defaults[name, default: [:]][origin.name] = origin.value
        }
        // Links are called after their owner and the relationship.
        for relationship in model._$relationships
        where model._$originalName != nil || relationship.originalName != nil {
            origins.entityNames[relationship.linkType._$name] =
                (model._$originalName ?? name) + "."
                + (relationship.originalName ?? relationship.name)
        }
    }

    private mutating func addLinks(_ relationship: ModelRelationship) {
        let entity = relationship.entityOfLinks
        entities.append(entity)
        types[entity.name] = relationship.linkType
    }

    private mutating func relationship(
        _ relationship: ModelRelationship, of owner: any Model.Type
    ) throws -> Relationship {
        let links = relationship.linkType._$name
        if case .toOne(let name) = relationship.inverse {
            if relationship.isOrdered { addLinks(relationship) }
            return relationship.relationship(
                members: .references(property: name), order: relationship.isOrdered ? links : nil)
        }
        guard let other = try otherEnd(of: relationship, owner),
            ownsLinks(other, over: relationship)
        else {
            addLinks(relationship)
            return relationship.relationship(
                members: .sourceOf(links: links), order: relationship.isOrdered ? links : nil)
        }
        return relationship.relationship(
            members: .targetOf(links: other.linkType._$name), order: nil)
    }

    /// The relationship of the target that is the inverse: named here, or naming this one.
    private func otherEnd(
        of relationship: ModelRelationship, _ owner: any Model.Type
    ) throws -> ModelRelationship? {
        let candidates = (models[relationship.target._$name] ?? relationship.target)
            ._$relationships
            .filter { $0.target == owner }
        let label = "\(owner._$name).\(relationship.name)"
        let naming = candidates.filter { other in
            other.inverse == .toMany(relationship.name)
                && other.linkType != relationship.linkType
        }
        guard case .toMany(let name) = relationship.inverse else {
            if naming.count > 1 {
                throw Self.misfit("\(label) is named as the inverse of several relationships")
            }
            return try checked(naming.first, relationship, label)
        }
        let other = candidates.first { $0.name == name }
        if let other, let back = other.inverse, back != .toMany(relationship.name) {
            throw Self.misfit("\(label) names an inverse that names another one")
        }
        return try checked(
            other?.linkType == relationship.linkType ? nil : other, relationship, label)
    }

    private func checked(
        _ other: ModelRelationship?, _ relationship: ModelRelationship, _ label: String
    ) throws -> ModelRelationship? {
        if let other, other.isOrdered, relationship.isOrdered {
            throw Self.misfit("\(label) and its inverse are both ordered: one of them can be")
        }
        return other
    }

    /// The ordered end owns the links, else the one that names its inverse, else the first by name.
    private func ownsLinks(
        _ other: ModelRelationship, over relationship: ModelRelationship
    ) -> Bool {
        if other.isOrdered != relationship.isOrdered { return other.isOrdered }
        if (other.inverse == nil) != (relationship.inverse == nil) { return other.inverse != nil }
        return other.linkType._$name < relationship.linkType._$name
    }

    private static func misfit(_ problem: String) -> StoreError {
        StoreError(
            .invalidSchema, message: "The models do not fit together: \(problem).",
            advice: "Change the models.")
    }
}

/// A to-many relationship in a store: where its members are found, with numbers for names.
struct MemberRelationship: Sendable {
    let name: String
    /// The place among the owner's properties, for the order of violations.
    let slot: Int
    let owner: Int
    let target: Int
    /// The entity of the objects that refer to the owner: the members, or links to them.
    let source: Int
    /// The slot in which they do.
    let nearSlot: Int
    /// The slot in which a link refers to the member; nil where the sources are the members.
    let farSlot: Int?
    /// The entity of the links that have the order of members.
    let order: Int?
    let deleteRule: DeleteRule
    let removesOrphans: Bool

    init?(_ relationship: Relationship, _ index: Int, of owner: Int, in schema: Schema) {
        guard let target = schema.number(ofEntity: relationship.target),
            let end = schema.membersEnd(of: relationship)
        else { return nil }
        name = relationship.name
        slot = schema.entities[owner - 1].properties.count + index
        self.owner = owner
        self.target = target
        source = end.member
        nearSlot = end.slot
        farSlot =
            switch relationship.members {
            case .references: nil
            case .sourceOf: Entity.LinkSlot.target
            case .targetOf: Entity.LinkSlot.source
            }
        order = relationship.order.flatMap { schema.number(ofEntity: $0) }
        deleteRule = relationship.deleteRule
        removesOrphans = relationship.removesOrphans
    }
}

/// The relationships of a store's entities, found by their place and by their other end.
struct StoreRelationships: Sendable {
    /// The slot of a reference of the objects of an entity.
    struct End: Hashable, Sendable {
        let entity: Int
        let slot: Int
    }

    /// By entity, then in the order of declaration.
    private let byOwner: [[MemberRelationship]]
    /// Those of an entity whose members are shown by a reference.
    private let byEnd: [End: [MemberRelationship]]
    /// By the entity of the members, those that an inverse to one is told of: with an order, or
    /// removing orphans.
    private let inverses: [[MemberRelationship]]
    /// False when no relationship looks at changes of references.
    let areReferencesFollowed: Bool
    /// True for the entities of links, by number.
    private let areLinks: [Bool]
    /// The slots of an entity's references with a delete rule.
    private let ruledSlots: [[(slot: Int, rule: DeleteRule)]]

    init(_ schema: Schema) {
        let numbers = 1...max(schema.entities.count, 1)
        let all = schema.entities.enumerated().map { offset, entity in
            entity.relationships.enumerated().compactMap { index, relationship in
                MemberRelationship(relationship, index, of: offset + 1, in: schema)
            }
        }
        byOwner = all
        byEnd = Dictionary(
            grouping: all.joined(), by: { End(entity: $0.source, slot: $0.nearSlot) })
        inverses = numbers.map { number in
            all.joined().filter {
                $0.farSlot == nil && $0.target == number && ($0.order != nil || $0.removesOrphans)
            }
        }
        areReferencesFollowed = !inverses.allSatisfy(\.isEmpty)
        areLinks = schema.entities.map(\.isLink)
        ruledSlots = schema.entities.map { entity in
            entity.referenceSlots.compactMap { slot in
                let rule = entity.properties[slot].deleteRule
                return rule == .nullify ? nil : (slot, rule)
            }
        }
    }

    func relationships(of entity: Int) -> [MemberRelationship] { byOwner[entity - 1] }

    /// The relationship of an owner that a reference to it is the other end of.
    func relationship(of owner: Int, through end: End) -> MemberRelationship? {
        byEnd[end]?.first { $0.owner == owner }
    }

    /// Those that have the objects of an entity as members and look at each change of their
    /// reference.
    func attentiveInverses(of entity: Int) -> [MemberRelationship] { inverses[entity - 1] }

    func isLink(_ entity: Int) -> Bool { areLinks[entity - 1] }

    func ruledSlots(of entity: Int) -> [(slot: Int, rule: DeleteRule)] { ruledSlots[entity - 1] }
}

extension Model {
    static var _$entity: Entity { _$description.entity }
    static var _$relationships: [ModelRelationship] { _$description.relationships }
    static var _$originalName: String? { _$description.originalName }
    static var _$origins: [PropertyOrigin] { _$description.origins }
}
