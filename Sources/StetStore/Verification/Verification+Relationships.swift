// The guarantees of relationships beyond intact references.

extension Verification {
    /// Checks that the numbers of members are within their bounds.
    mutating func compareRelationships() throws {
        for counted in file.schema.countedRelationships { try compareCounts(counted) }
    }

    private mutating func compareCounts(_ counted: CountedRelationship) throws {
        var counts: [ObjectID: Int] = [:]
        for (owner, state) in states[counted.entity] where state.body != nil {
            counts[owner] = 0
        }
        if counted.end.isReference {
            try forEachReference(ofEntity: counted.end.member, counted.end.slot) { _, owner in
                if let owner { counts[owner]? += 1 }
            }
        }
        for (key, state) in links
        where key.link == counted.end.link && state.membership.isPresent {
            let isOfSource = counted.end.linkKey(key.source, key.target) == key
            counts[isOfSource ? key.source : key.target]? += 1
        }
        let name = file.schema.entities[counted.entity].name
        for (owner, count) in counts.sorted(by: { $0.key < $1.key })
        where !counted.allows(count) {
            note(
                "\(name) \(owner) has \(count) members in \(counted.relationship.name), "
                    + "which allows \(counted.relationship.bounds).")
        }
    }

    /// Calls `body` with each object of an entity and the target of its reference in a slot.
    private func forEachReference(
        ofEntity number: EntityNumber, _ slot: Slot, _ body: (ObjectID, ObjectID?) -> Void
    ) throws {
        let entity = file.schema.entities[number]
        for (id, state) in states[number] {
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
