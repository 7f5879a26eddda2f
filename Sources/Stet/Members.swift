import StetStore

// The members of to-many relationships, as a context sees and edits them.

extension ManagedContext {
    func relationship(of owner: any Model, _ index: Int) -> MemberRelationship {
        store.relationships.relationships(of: owner._$entityNumber)[index]
    }

    // MARK: Reading

    /// What the accessor of a relationship does: never throws.
    func members(of owner: ObjectID, _ relationship: MemberRelationship) -> [ObjectID] {
        resolving([]) {
            if relationship.farSlot == nil, relationship.order == nil {
                return try sources(of: owner, relationship.source, relationship.nearSlot)
            }
            return try orderedMembers(of: owner, relationship).map(\.member)
        }
    }

    /// Runs a read of an accessor; one that fails gives `fallback`, and puts the context into its
    /// failed state.
    func resolving<Result>(
        _ fallback: Result, _ body: () throws -> Result
    ) -> Result {
        do {
            return try body()
        } catch {
            if failure == nil { failure = error }
            return fallback
        }
    }

    /// The objects of an entity that refer to a target in a slot, in ascending order, as this
    /// context sees it; deleted ones left out.
    func sources(of target: ObjectID, _ entity: Int, _ slot: Int) throws -> [ObjectID] {
        var ids = try storedSources(of: target, entity, slot)
        let added = addedSources(of: target, entity, slot)
        if !added.isEmpty {
            ids = Array(Set(ids).union(added))
            ids.sort()
        }
        let table = table(ofEntity: entity)
        if table.liveCount == 0 { return ids }
        // What is alive is right, also where it has not been saved or cannot follow the store yet.
        return ids.filter { id in
            guard let object = table.object(id) else { return true }
            return !object.isDeleted && object._$refers(to: target, slot: slot)
        }
    }

    /// Those that are pending or on their way.
    func addedSources(
        of target: ObjectID, _ entity: Int, _ slot: Int
    ) -> [ObjectID] {
        let pending = inverseEnds.added(to: target)
        let sent = flight?.inverseEnds.added(to: target) ?? []
        return (pending.isEmpty ? sent : pending.union(sent))
            .filter { $0.entity == entity && $0.slot == slot }.map(\.source)
    }

    /// How many there are at most, of whatever entity and slot.
    func addedCount(to target: ObjectID) -> Int {
        inverseEnds.addedCount(to: target) + (flight?.inverseEnds.addedCount(to: target) ?? 0)
    }

    /// Those that are stored, as of this context's revision.
    private func storedSources(
        of target: ObjectID, _ entity: Int, _ slot: Int
    ) throws -> [ObjectID] {
        try store.file.read { reader in
            var ids: [ObjectID] = []
            try reader.forEachReference(to: target, fromEntity: entity, slot: slot) { id in
                ids.append(id)
                return true
            }
            // The index tells of the last commit.
            let later = try laterChanges(reader, ofEntity: entity)
            if later.isEmpty { return ids }
            ids.removeAll(where: later.contains)
            let description = store.file.schema.entities[entity - 1]
            for id in later {
                let refers = try reader.withRecord(ofEntity: entity, id, asOf: revision) { record in
                    try RecordBody(record.body, of: description).reference(slot) == target
                }
                if refers ?? false { ids.append(id) }
            }
            ids.sort()
            return ids
        }
    }

    /// The objects of an entity that commits after this context's revision have changed.
    ///
    /// - Throws: `SnapshotTooOldError` when they are too many.
    func laterChanges(
        _ reader: borrowing StoreReader, ofEntity entity: Int
    ) throws -> Set<ObjectID> {
        let head = try reader.head().revision
        if later.base != revision { later = LaterChanges(base: revision, end: revision) }
        if later.end < head, try later.end < reader.floor() {
            throw SnapshotTooOldError(revision: revision, head: head)
        }
        while later.end < head {
            let next = later.end.next
            try reader.forEachTouchedObject(of: next) { entity, id, _ in
                if later.objects[entity, default: []].insert(id).inserted { later.count += 1 }
            }
            later.end = next
            if later.count > store.configuration.maximumLag {
                throw SnapshotTooOldError(revision: revision, head: head)
            }
        }
        return later.objects[entity] ?? []
    }

    /// A member with the link to it.
    struct LinkedMember {
        let link: ObjectID
        let member: ObjectID
        let position: ListPosition
    }

    /// The members of a relationship with links or with an order, in order.
    func orderedMembers(
        of owner: ObjectID, _ relationship: MemberRelationship
    ) throws -> [LinkedMember] {
        guard let farSlot = relationship.farSlot else {
            return try placedMembers(of: owner, relationship)
        }
        var members = try links(
            of: owner, relationship.source, relationship.nearSlot, farSlot: farSlot)
        let table = table(ofEntity: relationship.target)
        members.removeAll { table.object($0.member)?.isDeleted ?? false }
        // A stable order without one: that in which they were added.
        if relationship.order != nil { members.sort(by: LinkedMember.precedes) }
        return members
    }

    /// The members that refer to their owner, in the order that their links have; those without one
    /// at the end.
    private func placedMembers(
        of owner: ObjectID, _ relationship: MemberRelationship
    ) throws -> [LinkedMember] {
        let ids = try sources(of: owner, relationship.source, relationship.nearSlot)
        guard let order = relationship.order else { return [] }
        var links = try links(
            of: owner, order, Entity.LinkSlot.source, farSlot: Entity.LinkSlot.target)
        links.sort(by: LinkedMember.precedes)
        let members = Set(ids)
        let placed = links.filter { members.contains($0.member) }
        if placed.count == ids.count { return placed }
        let known = Set(placed.map(\.member))
        return placed
            + ids.filter { !known.contains($0) }.map {
                LinkedMember(link: .none, member: $0, position: .first)
            }
    }

    /// The links at one end, with what is at their other end, in the order in which they were made.
    private func links(
        of end: ObjectID, _ entity: Int, _ nearSlot: Int, farSlot: Int
    ) throws -> [LinkedMember] {
        let ids = try sources(of: end, entity, nearSlot)
        let table = table(ofEntity: entity)
        let description = store.file.schema.entities[entity - 1]
        let isOrdered = description.properties.count > Entity.LinkSlot.position
        return try store.file.read { reader in
            try ids.compactMap { id in
                if let link = table.object(id) as? any AnyLink {
                    return LinkedMember(
                        link: id, member: link.end(farSlot), position: ListPosition(link.position))
                }
                return try reader.withRecord(ofEntity: entity, id, asOf: revision) { record in
                    let body = try RecordBody(record.body, of: description)
                    guard let member = try body.reference(farSlot) else { return nil }
                    var position = ListPosition.first
                    if isOrdered, case .data(let bytes) = try body.value(Entity.LinkSlot.position) {
                        position = ListPosition(bytes)
                    }
                    return LinkedMember(link: id, member: member, position: position)
                } ?? nil
            }
        }
    }

    func isMember(
        _ member: some Model, of owner: any Model, _ relationship: MemberRelationship
    ) -> Bool {
        guard member._$context === self, !member.isDeleted else { return false }
        if relationship.farSlot == nil {
            return member._$refers(to: owner.id, slot: relationship.nearSlot)
        }
        return resolving(nil) { try link(from: owner, to: member.id, relationship) } != nil
    }
}

/// What others have changed since a context's revision.
struct LaterChanges {
    var base = Revision.zero
    /// The last commit that was looked at.
    var end = Revision.zero
    /// By entity.
    var objects: [Int: Set<ObjectID>] = [:]
    var count = 0
}

extension ManagedContext.LinkedMember {
    static func precedes(_ one: Self, _ other: Self) -> Bool {
        one.position == other.position ? one.link < other.link : one.position < other.position
    }
}

extension Model {
    var _$entityNumber: Int { _$state.table?.entity ?? 0 }

    /// What the object refers to in a slot; `.none` for nothing.
    func _$reference(in slot: Int) -> ObjectID {
        var visitor = ReferenceVisitor(mode: .all)
        _$visitReferences(&visitor)
        return visitor.references.first { $0.slot == slot }?.target ?? .none
    }
}
