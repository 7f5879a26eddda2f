import StetStore

/// A to-many relationship in a store: where its members are found, with numbers for names.
struct MemberRelationship: Sendable {
    let name: String
    /// The place among the owner's properties, for the order of violations.
    let slot: Slot
    /// Where its members are listed.
    let end: MemberEnd
    let removesOrphans: Bool

    init?(_ relationship: Relationship, _ index: Int, of owner: EntityNumber, in schema: Schema) {
        guard let end = schema.membersEnd(of: relationship) else { return nil }
        name = relationship.name
        slot = Slot(schema.entities[owner].properties.count + index)
        self.end = end
        removesOrphans = relationship.removesOrphans
    }
}

/// The relationships of a store's entities.
struct StoreRelationships: Sendable {
    /// By entity, then in the order of declaration.
    private let byOwner: [[MemberRelationship]]
    /// By the entity of the members, those that delete members without an owner.
    private let removingOrphans: [[MemberRelationship]]
    /// True when some relationship deletes members without an owner.
    let removeOrphans: Bool

    init(_ schema: Schema) {
        let all = schema.entities.numbered.map { number, entity in
            entity.relationships.enumerated().compactMap { index, relationship in
                MemberRelationship(relationship, index, of: number, in: schema)
            }
        }
        byOwner = all
        removingOrphans = schema.entities.numbers.map { entity in
            all.joined().filter {
                $0.removesOrphans && $0.end.isReference && $0.end.member == entity
            }
        }
        removeOrphans = !removingOrphans.allSatisfy(\.isEmpty)
    }

    func relationships(of entity: EntityNumber) -> [MemberRelationship] { byOwner[entity] }

    /// Those that delete objects of an entity that they are taken from.
    func removingOrphans(ofEntity entity: EntityNumber) -> [MemberRelationship] {
        removingOrphans[entity]
    }
}
