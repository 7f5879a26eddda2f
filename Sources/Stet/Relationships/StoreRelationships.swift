import StetStore

/// The relationships of a store's entities.
struct StoreRelationships: Sendable {
    /// The relationships by entity, then in the order of declaration.
    private let byOwner: [[MemberRelationship]]
    /// The relationships that remove orphans, by the entity of the members.
    private let removingOrphans: [[MemberRelationship]]
    /// True when some relationship removes orphans.
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

    /// Returns the relationships that delete objects of an entity that are removed from them.
    func removingOrphans(ofEntity entity: EntityNumber) -> [MemberRelationship] {
        removingOrphans[entity]
    }
}

/// A to-many relationship of a store: the end that lists its members, and numbers instead of names.
struct MemberRelationship: Sendable {
    let name: String
    /// The position among the owner's properties, for the order of violations.
    let slot: Slot
    /// The end that lists its members.
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
