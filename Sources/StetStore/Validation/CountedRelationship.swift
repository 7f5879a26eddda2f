import StetLMDB

/// A to-many relationship whose owners have a bounded number of members.
struct CountedRelationship: Hashable, Sendable {
    /// The entity of the owners.
    let entity: EntityNumber
    let relationship: Relationship
    /// The position of the relationship among the owner's properties, for the order of violations.
    let slot: Slot
    /// The end that lists its members.
    let end: MemberEnd

    func allows(_ count: Int) -> Bool {
        count >= relationship.minimumCount ?? 0 && count <= relationship.maximumCount ?? .max
    }
}

/// An owner that would have a number of members that its relationship does not allow.
package struct Miscount: Hashable, Sendable {
    let relationship: CountedRelationship
    let owner: ObjectID
    let count: Int
}

extension Schema {
    static func counted(_ schema: borrowing Schema) -> [CountedRelationship] {
        var counted: [CountedRelationship] = []
        for (number, entity) in schema.entities.numbered {
            for (index, relationship) in entity.relationships.enumerated()
            where relationship.minimumCount ?? 0 > 0 || relationship.maximumCount != nil {
                guard let end = schema.membersEnd(of: relationship) else { continue }
                counted.append(
                    CountedRelationship(
                        entity: number, relationship: relationship,
                        slot: Slot(entity.properties.count + index), end: end))
            }
        }
        return counted
    }

    /// Returns the end whose lists contain the members of the relationship.
    package func membersEnd(of relationship: Relationship) -> MemberEnd? {
        switch relationship.members {
        case .references(let property):
            guard let entity = number(ofEntity: relationship.target),
                let slot = entities[entity].slot(of: property)
            else { return nil }
            return end(ofEntity: entity, slot: slot)
        case .targets(let links): return number(ofLink: links).flatMap { ends(ofLink: $0)?.targets }
        case .sources(let links): return number(ofLink: links).flatMap { ends(ofLink: $0)?.sources }
        }
    }

    /// Returns the violations for owners with too few or too many members.
    package func violations(
        _ miscounts: [Miscount], _ messages: MessageTable,
        operation: (ObjectKey) -> ChangeKind? = { _ in nil }
    ) -> [Violation] {
        miscounts.map { miscount in
            let relationship = miscount.relationship.relationship
            let minimum = relationship.minimumCount ?? 0
            let isTooSmall = miscount.count < minimum
            let owner = ObjectKey(miscount.relationship.entity, miscount.owner)
            return Violation(
                code: isTooSmall ? .tooFew : .tooMany, operation: operation(owner),
                entity: entities[miscount.relationship.entity].name, object: miscount.owner,
                property: relationship.name, slot: miscount.relationship.slot,
                isTooSmall ? .tooFew(minimum) : .tooMany(relationship.maximumCount ?? 0),
                messages: messages)
        }
    }
}

extension StoreReader {
    /// Returns the owners that would have a number of members that is not allowed, in the committed
    /// state with a change set applied.
    ///
    /// `inserted` and `isDeleted` describe the objects that the change set inserts and deletes.
    ///
    /// - Complexity: O(chunks of the lists that change).
    func miscounts(
        with edits: [MemberEdit], inserted: (EntityNumber) -> [ObjectID],
        isDeleted: (EntityNumber, ObjectID) -> Bool
    ) throws -> [Miscount] {
        var miscounts: [Miscount] = []
        for counted in file.schema.countedRelationships {
            var differences: [ObjectID: Int] = [:]
            for edit in edits where edit.end == counted.end.number {
                differences[edit.owner, default: 0] += Int(edit.difference)
            }
            for owner in inserted(counted.entity) { differences[owner, default: 0] += 0 }
            for (owner, difference) in differences.sorted(by: { $0.key < $1.key })
            where !isDeleted(counted.entity, owner) {
                let count = try memberCount(of: owner, at: counted.end) + difference
                if counted.allows(count) { continue }
                miscounts.append(Miscount(relationship: counted, owner: owner, count: count))
            }
        }
        return miscounts
    }

    /// Returns the owners in the net changes with a number of members that is not allowed, without
    /// owners that are deleted.
    package func miscounts(
        of net: borrowing ChangeSetBuilder, deleted: Set<ObjectKey> = []
    ) throws -> [Miscount] {
        if net.schema.countedRelationships.isEmpty { return [] }
        var inserted: [EntityNumber: [ObjectID]] = [:]
        var deleted = deleted
        for item in net.items {
            if item.kind == .insert { inserted[item.entity, default: []].append(item.id) }
            if item.kind == .delete { deleted.insert(ObjectKey(item.entity, item.id)) }
        }
        return try miscounts(
            with: try net.memberEdits(), inserted: { inserted[$0] ?? [] },
            isDeleted: { deleted.contains(ObjectKey($0, $1)) })
    }
}
