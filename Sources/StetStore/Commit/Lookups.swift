/// The look-ups of validators and of derived attributes, by which the writer checks whether their
/// result is still valid.
package struct Lookups: Sendable {
    /// One object that was looked up, whether it existed or not.
    package struct Key: Hashable, Sendable {
        let entity: EntityNumber
        let id: ObjectID
    }

    /// The revision of the look-ups.
    package var revision = Revision.zero
    private(set) var objects: Set<Key> = []
    /// The entities of which all objects were read.
    private(set) var entities: Set<EntityNumber> = []

    /// The members of lists, in ascending order.
    private(set) var lists: [List: [ObjectID]] = [:]

    /// A list of the objects that refer to an owner.
    struct List: Hashable, Sendable {
        let end: EndNumber
        let owner: ObjectID
    }

    package init() {}

    package var isEmpty: Bool { objects.isEmpty && entities.isEmpty && lists.isEmpty }

    package mutating func note(entity: EntityNumber, _ id: ObjectID) {
        objects.insert(Key(entity: entity, id: id))
    }

    /// Adds other look-ups of the same revision.
    package mutating func formUnion(_ other: Lookups) {
        revision = max(revision, other.revision)
        objects.formUnion(other.objects)
        entities.formUnion(other.entities)
        lists.merge(other.lists) { $1 }
    }

    /// Records the members of an owner.
    package mutating func note(members: [ObjectID], of owner: ObjectID, at end: MemberEnd) {
        lists[List(end: end.number, owner: owner)] = members.sorted()
    }

    package mutating func note(entity: EntityNumber) {
        entities.insert(entity)
    }
}

extension CommitCheck {
    /// Adds the look-ups whose objects have changed since.
    func checkLookups(_ head: Head, into reasons: inout [CommitRefusal.Reason]) throws {
        guard !set.lookups.isEmpty, head.revision > set.lookups.revision else { return }
        for key in set.lookups.objects {
            let now = try header(key.entity, key.id)?.revision ?? .zero
            if now > set.lookups.revision {
                reasons.append(.lookupChanged(entity: key.entity, key.id))
            }
        }
        try checkLists(into: &reasons)
        try checkEntities(head, into: &reasons)
    }

    /// Adds the entities of the lists whose members have changed since.
    private func checkLists(into reasons: inout [CommitRefusal.Reason]) throws {
        let reader = StoreReader(transaction, file)
        for (list, members) in set.lookups.lists {
            guard let end = file.schema.end(numbered: list.end) else { continue }
            var present: [ObjectID] = []
            try reader.forEachMember(of: list.owner, at: end) { member, _ in
                present.append(member)
                return true
            }
            if present.sorted() != members {
                reasons.append(.lookupChanged(entity: end.member, nil))
            }
        }
    }

    /// Adds the entities that have changed since; the journal shows which ones, because there is no
    /// number to compare.
    private func checkEntities(
        _ head: Head, into reasons: inout [CommitRefusal.Reason]
    ) throws {
        if set.lookups.entities.isEmpty { return }
        let reader = StoreReader(transaction, file)
        guard set.lookups.revision >= (try reader.floor()) else {
            // The changes since then were trimmed, so the save is prepared again.
            reasons += set.lookups.entities.sorted().map { .lookupChanged(entity: $0, nil) }
            return
        }
        var changed: Set<EntityNumber> = []
        var next = set.lookups.revision.next
        while next <= head.revision, changed.count < set.lookups.entities.count {
            try reader.forEachTouchedObject(of: next) { entity, _, _ in
                if set.lookups.entities.contains(entity) { changed.insert(entity) }
            }
            next = next.next
        }
        reasons += changed.sorted().map { .lookupChanged(entity: $0, nil) }
    }
}
