extension Commit {
    /// Returns the changes of links from the side of their targets: the changes of the
    /// relationships of each object of an entity that sources were linked to or unlinked from.
    ///
    /// The positions of links among the members of their sources are not included.
    ///
    /// - Complexity: O(changes of the commit).
    package func changesOfSources(
        ofEntity entity: EntityNumber
    ) throws -> [ObjectID: [RelationshipChange]] {
        let schema = history.current
        let names = schema.relationshipsOfSources(ofEntity: entity)
        if names.isEmpty { return [:] }
        var members: [ObjectID: [Int: [RelationshipChange.Member]]] = [:]
        try forEachChange { change in
            guard change.changesLinks else { return }
            for link in try change.links() where names[link.key.link] != nil {
                if link.before.isPresent == link.after.isPresent { continue }
                members[link.key.target, default: [:]][link.key.link, default: []].append(
                    RelationshipChange.Member(
                        id: link.key.source, old: link.before.withoutPosition,
                        new: link.after.withoutPosition))
            }
        }
        return members.mapValues { byLink in
            byLink.sorted { $0.key < $1.key }.compactMap { link, members in
                names[link].map {
                    RelationshipChange(name: $0, members: members.sorted { $0.id < $1.id })
                }
            }
        }
    }
}

extension Membership {
    fileprivate var withoutPosition: Membership { isPresent ? .present(nil) : .absent }
}

extension Schema {
    /// Returns the names of the relationships of an entity whose members are sources of links, by
    /// the number of the links.
    fileprivate func relationshipsOfSources(ofEntity entity: EntityNumber) -> [Int: String] {
        var names: [Int: String] = [:]
        for relationship in entities[entity].relationships {
            if case .sources(let name) = relationship.members, let link = number(ofLink: name) {
                names[link] = relationship.name
            }
        }
        return names
    }
}
