import StetStore

/// A property, embedded value or array that stays the same through renames and changes of form.
struct Trait: Hashable {
    enum Kind: Hashable {
        case number(ValueType)
        case text
        case embedded
        case array
        case large
        case sealed
        case reference
    }

    enum Index: Hashable {
        case none, values, substrings
    }

    /// The input of a derived attribute, in the object itself or in the one that it refers to.
    struct Expression: Hashable {
        var input: Int
        var crossesReference: Bool
        var fallback: Value?
    }

    let id: Int
    var name: String
    var kind: Kind
    var isOptional = false
    var index = Index.none
    var expression: Expression?
    /// The members of an embedded value, or of each element of an array.
    var members: [Trait] = []
    /// The member by which the elements of an array are identified.
    var identity: Int?

    var isLeaf: Bool {
        switch kind {
        case .number, .text: true
        default: false
        }
    }

    var hasMembers: Bool { kind == .embedded || kind == .array }

    var type: ValueType {
        switch kind {
        case .number(let type): type
        case .text: .string
        case .embedded: .bool
        case .array: .list
        case .large, .sealed: .data
        case .reference: .reference
        }
    }
}

/// The traits of an entity, and the properties that they are stored as.
struct TraitEntity: Hashable {
    /// A property of the entity: a trait, or a member of one.
    struct Place {
        var name: String
        var trait: Trait
        /// The embedded value that the trait is a member of.
        var owner: Trait?
        var isPresence = false
    }

    let name: String
    var traits: [Trait]

    /// The entity A, whose objects refer to those of B, and B.
    static let first = [
        TraitEntity(
            name: "A",
            traits: [
                Trait(id: 1, name: "b1", kind: .reference, isOptional: true),
                Trait(id: 2, name: "n2", kind: .number(.int8)),
                Trait(id: 3, name: "s3", kind: .text, isOptional: true),
                Trait(
                    id: 6, name: "e6", kind: .embedded, isOptional: true,
                    members: [
                        Trait(id: 7, name: "s7", kind: .text),
                        Trait(id: 8, name: "n8", kind: .number(.int), isOptional: true),
                    ]),
                Trait(
                    id: 9, name: "l9", kind: .array,
                    members: [
                        Trait(id: 10, name: "n10", kind: .number(.int16)),
                        Trait(id: 11, name: "s11", kind: .text, isOptional: true),
                    ], identity: 10),
            ]),
        TraitEntity(
            name: "B",
            traits: [
                Trait(id: 4, name: "s4", kind: .text),
                Trait(id: 5, name: "n5", kind: .number(.int)),
                Trait(
                    id: 12, name: "e12", kind: .embedded,
                    members: [
                        Trait(id: 13, name: "s13", kind: .text, isOptional: true),
                        Trait(id: 14, name: "n14", kind: .number(.int8)),
                    ]),
            ]),
    ]

    var places: [Place] {
        traits.flatMap { trait -> [Place] in
            guard trait.kind == .embedded else { return [Place(name: trait.name, trait: trait)] }
            let presence = Place(name: trait.name, trait: trait, isPresence: true)
            return (trait.isOptional ? [presence] : [])
                + trait.members.map {
                    Place(name: "\(trait.name).\($0.name)", trait: $0, owner: trait)
                }
        }
    }

    /// The values of an object in the order of its properties.
    func values(_ object: [Int: Value]) -> [Value] {
        places.map { place in
            if let owner = place.owner, object[owner.id] != .bool(true) { return .null }
            guard case .list(let elements)? = object[place.trait.id] else {
                return object[place.trait.id] ?? .null
            }
            return .list(elements.map(place.trait.element))
        }
    }

    func entity(reading other: TraitEntity?) -> Entity {
        let places = places
        var indexes: [EntityIndex] = []
        for (slot, place) in places.enumerated() where !place.isPresence {
            switch place.trait.index {
            case .none: break
            case .values: indexes.append(EntityIndex(Slot(slot)))
            case .substrings: indexes.append(EntityIndex(substringsOf: Slot(slot)))
            }
        }
        return Entity(
            name: name, properties: places.map { property($0, other) }, indexes: indexes)
    }

    private func property(_ place: Place, _ other: TraitEntity?) -> Property {
        let trait = place.trait
        let isMember = place.owner?.isOptional ?? false
        let plain = Property(
            name: place.name, type: trait.type, elements: trait.kind == .array ? [.embedded] : [],
            isOptional: trait.isOptional || isMember,
            target: trait.kind == .reference ? other?.name : nil,
            rules: isMember && !trait.isOptional ? [.required] : [],
            seal: trait.kind == .sealed ? .own : nil, isLarge: trait.kind == .large)
        if trait.kind == .array { return plain.array(of: trait.elements) }
        guard let expression = trait.expression else { return plain }
        return plain.derived(by: node(expression, trait, other))
    }

    private func node(
        _ expression: Trait.Expression, _ trait: Trait, _ other: TraitEntity?
    ) -> QueryNode {
        func slot(_ id: Int, in entity: TraitEntity) -> Slot {
            Slot(entity.places.firstIndex { !$0.isPresence && $0.trait.id == id } ?? 0)
        }
        var node = QueryNode.property(.root, slot: slot(expression.input, in: self))
        if expression.crossesReference, let other,
            let reference = places.firstIndex(where: { $0.trait.kind == .reference })
        {
            let target = QueryObject.target(.root, slot: Slot(reference), entity: other.name)
            node = .property(target, slot: slot(expression.input, in: other))
        }
        if trait.kind != .text { node = .arithmetic(.add, node, .constant(.int(1))) }
        return expression.fallback.map { .coalesced(node, .constant($0)) } ?? node
    }
}

extension Trait {
    fileprivate var elements: EmbeddedElements {
        EmbeddedElements(
            members: members.map {
                Property(name: $0.name, type: $0.type, isOptional: $0.isOptional)
            },
            identity: members.firstIndex { $0.id == identity }.map { Slot($0) })
    }

    /// Returns an element with names in place of the ids of members.
    fileprivate func element(_ value: Value) -> Value {
        guard case .dictionary(let values) = value else { return value }
        return .dictionary(
            Dictionary(
                uniqueKeysWithValues: members.map {
                    (.string($0.name), values[.int($0.id)] ?? .null)
                }))
    }
}
