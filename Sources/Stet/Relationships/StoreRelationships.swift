import StetStore

/// A to-many relationship in a store: where its members are found, with numbers for names.
struct MemberRelationship: Sendable {
    let name: String
    /// The place among the owner's properties, for the order of violations.
    let slot: Int
    /// Where its members are listed.
    let end: MemberEnd
    let removesOrphans: Bool

    init?(_ relationship: Relationship, _ index: Int, of owner: Int, in schema: Schema) {
        guard let end = schema.membersEnd(of: relationship) else { return nil }
        name = relationship.name
        slot = schema.entities[owner - 1].properties.count + index
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
        let all = schema.entities.enumerated().map { offset, entity in
            entity.relationships.enumerated().compactMap { index, relationship in
                MemberRelationship(relationship, index, of: offset + 1, in: schema)
            }
        }
        byOwner = all
        removingOrphans = schema.entities.indices.map { offset in
            all.joined().filter {
                $0.removesOrphans && $0.end.isReference && $0.end.member == offset + 1
            }
        }
        removeOrphans = !removingOrphans.allSatisfy(\.isEmpty)
    }

    func relationships(of entity: Int) -> [MemberRelationship] { byOwner[entity - 1] }

    /// Those that delete objects of an entity that they are taken from.
    func removingOrphans(ofEntity entity: Int) -> [MemberRelationship] {
        removingOrphans[entity - 1]
    }
}
