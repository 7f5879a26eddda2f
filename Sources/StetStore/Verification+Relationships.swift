// What relationships promise beyond references that are not broken.

extension Verification {
    /// The numbers of members lie within their bounds, and a member that has a place in an order
    /// has it with the owner that it refers to.
    mutating func compareRelationships() throws {
        for counted in file.schema.countedRelationships { try compareCounts(counted) }
        for entity in file.schema.entities {
            for relationship in entity.relationships { try comparePlaces(relationship, entity) }
        }
    }

    private mutating func compareCounts(_ counted: CountedRelationship) throws {
        var counts: [ObjectID: Int] = [:]
        for (owner, state) in states[counted.entity - 1] where state.body != nil {
            counts[owner] = 0
        }
        try forEachReference(ofEntity: counted.end.member, counted.end.slot) { _, owner in
            if let owner { counts[owner]? += 1 }
        }
        let name = file.schema.entities[counted.entity - 1].name
        for (owner, count) in counts.sorted(by: { $0.key < $1.key })
        where !counted.allows(count) {
            note(
                "\(name) \(owner) has \(count) members in \(counted.relationship.name), "
                    + "which allows \(counted.relationship.bounds).")
        }
    }

    private mutating func comparePlaces(_ relationship: Relationship, _ owner: Entity) throws {
        guard case .references = relationship.members, let order = relationship.order,
            let places = file.schema.number(ofEntity: order),
            let end = file.schema.membersEnd(of: relationship)
        else { return }
        var owners: [ObjectID: ObjectID] = [:]
        try forEachReference(ofEntity: end.member, end.slot) { member, owner in
            owners[member] = owner
        }
        var placed: [ObjectID: ObjectID] = [:]
        try forEachReference(ofEntity: places, Entity.LinkSlot.target) { place, member in
            placed[place] = member
        }
        var problems: [String] = []
        try forEachReference(ofEntity: places, Entity.LinkSlot.source) { place, source in
            guard let member = placed[place], owners[member] != source else { return }
            problems.append(
                "\(relationship.target) \(member) has a place in "
                    + "\(owner.name).\(relationship.name) of an object that it does not refer to.")
        }
        for problem in problems.sorted() { note(problem) }
    }

    /// Calls `body` with each object of an entity and what it refers to in a slot.
    private func forEachReference(
        ofEntity number: Int, _ slot: Int, _ body: (ObjectID, ObjectID?) -> Void
    ) throws {
        let entity = file.schema.entities[number - 1]
        for (id, state) in states[number - 1] {
            guard let stored = try values(of: state, number, file.history) else { continue }
            body(
                id,
                try stored.withUnsafeBytes { try RecordBody($0, of: entity).reference(slot) })
        }
    }
}

extension Relationship {
    fileprivate var bounds: String {
        "\(minimumCount.map(String.init) ?? "")...\(maximumCount.map(String.init) ?? "")"
    }
}
