import FoundationEssentials

// Ordered relationships: that a member has a place exactly where it refers to, and where it stands
// when the order has changed since.

extension Inversion {
    // MARK: Places follow references

    /// Lets the places of members follow their references, as a save does.
    mutating func settlePlaces() throws {
        for entity in schema.entities.indices.map({ schema.entities[$0] }) {
            for relationship in entity.relationships {
                guard case .references = relationship.members,
                    let places = relationship.order.flatMap({ schema.number(ofEntity: $0) }),
                    let end = schema.membersEnd(of: relationship)
                else { continue }
                try settlePlaces(places, of: end.member, end.slot)
            }
        }
    }

    private mutating func settlePlaces(_ places: Int, of entity: Int, _ slot: Int) throws {
        var members = Set(objects.keys.filter { $0.entity == entity }.map(\.id))
        let known = links(places, at: Entity.LinkSlot.target)
        members.formUnion(known.keys)
        for member in members.sorted() {
            let owner = try values(ObjectKey(entity: entity, id: member))?[slot] ?? .null
            let found = try self.places(places, of: member, known[member] ?? [])
            // The one that is stored: a place that was given later is the newer.
            let kept = found.first { objects[$0]?.stored != nil } ?? found.first
            for place in found where owner == .null || place != kept {
                try set(nil, of: place)
            }
            if owner != .null, let kept { try set(owner, Entity.LinkSlot.source, of: kept) }
        }
    }

    /// The links among the objects at hand, by what they will refer to in a slot, or do if they
    /// will not exist.
    private func links(_ entity: Int, at slot: Int) -> [ObjectID: [ObjectKey]] {
        var links: [ObjectID: [ObjectKey]] = [:]
        for (key, object) in objects where key.entity == entity {
            if case .reference(let id)? = (object.values ?? object.stored)?[slot] {
                links[id, default: []].append(key)
            }
        }
        return links
    }

    /// The places that a member will have, `known` among them.
    private mutating func places(
        _ entity: Int, of member: ObjectID, _ known: [ObjectKey]
    ) throws -> [ObjectKey] {
        var found = Set(known)
        try reader.forEachReference(
            to: member, fromEntity: entity, slot: Entity.LinkSlot.target
        ) { id in
            found.insert(ObjectKey(entity: entity, id: id))
            return true
        }
        for key in found { _ = try object(key) }
        return found.filter { objects[$0]?.values != nil }.sorted()
    }

    // MARK: Positions

    /// A member of an ordered relationship.
    fileprivate struct Place {
        let key: ObjectKey
        var position: ListPosition
    }

    /// Gives restored members their places: the position that they had or, where the order has
    /// changed since, behind the nearest left neighbour that is still there.
    mutating func settlePositions() throws {
        var owners: Set<ObjectKey> = []
        for (key, object) in objects where entity(key).hasOrder {
            guard object.isPlaced, case .reference(let owner)? = object.values?[0] else { continue }
            owners.insert(ObjectKey(entity: key.entity, id: owner))
        }
        for (entity, owners) in Dictionary(grouping: owners.sorted(), by: \.entity) {
            let known = links(entity, at: Entity.LinkSlot.source)
            for owner in owners {
                try settlePositions(entity, of: owner.id, known[owner.id] ?? [])
            }
        }
    }

    private mutating func settlePositions(
        _ entity: Int, of owner: ObjectID, _ known: [ObjectKey]
    ) throws {
        var present: [Place] = []
        var former: [Place] = []
        var isReordered = false
        for key in try links(entity, of: owner, known) {
            guard let position = try position(values(key)) else { continue }
            if objects[key]?.isPlaced ?? false {
                former.append(Place(key: key, position: position))
                continue
            }
            present.append(Place(key: key, position: position))
            let before = try formerPosition(of: key, owner)
            if let before { former.append(Place(key: key, position: before)) }
            if let before, before != position { isReordered = true }
        }
        present.sort(by: Place.precedes)
        former.sort(by: Place.precedes)
        // What others have appended may stand where a restored one did.
        let taken = Set(present.map(\.position))
        let collides = former.contains {
            objects[$0.key]?.isPlaced ?? false && taken.contains($0.position)
        }
        // An order that nobody has touched comes back as it was, position by position.
        guard isReordered || collides else { return }
        for (index, place) in former.enumerated() where objects[place.key]?.isPlaced ?? false {
            let left = former[..<index].reversed().lazy
                .compactMap { left in present.firstIndex { $0.key == left.key } }.first
            let lower = left.map { present[$0].position }
            // Members that were appended at the same time share a position: nothing fits between.
            let next =
                present.firstIndex { member in lower.map { $0 < member.position } ?? true }
                ?? present.endIndex
            let position = ListPosition.between(lower, present.element(at: next)?.position)
            present.insert(Place(key: place.key, position: position), at: next)
            try set(.data(position.bytes), Entity.LinkSlot.position, of: place.key)
        }
    }

    /// The links that an owner will have, `known` among them.
    private func links(
        _ entity: Int, of owner: ObjectID, _ known: [ObjectKey]
    ) throws -> [ObjectKey] {
        var found = Set(known)
        try reader.forEachReference(
            to: owner, fromEntity: entity, slot: Entity.LinkSlot.source
        ) { id in
            found.insert(ObjectKey(entity: entity, id: id))
            return true
        }
        return try found.filter { try values($0)?[0] == .reference(owner) }.sorted()
    }

    /// Where a link stood before what is taken back; nil when it did not.
    private func formerPosition(of key: ObjectKey, _ owner: ObjectID) throws -> ListPosition? {
        guard let before = subjects.last?.previous else { return nil }
        return try reader.withRecord(ofEntity: key.entity, key.id, asOf: before) { record in
            let values = try RecordBody(record.body, of: entity(key)).values()
            return values[0] == .reference(owner) ? try position(values) : nil
        } ?? nil
    }

    private func position(_ values: [Value]?) throws -> ListPosition? {
        guard case .data(let bytes)? = values?[Entity.LinkSlot.position] else { return nil }
        return ListPosition(bytes)
    }
}

extension Inversion.Place {
    fileprivate static func precedes(_ one: Self, _ other: Self) -> Bool {
        one.position == other.position ? one.key < other.key : one.position < other.position
    }
}

extension Inversion.Working {
    /// True for a link that gets a position.
    fileprivate var isPlaced: Bool {
        values != nil && values?[Entity.LinkSlot.position] != stored?[Entity.LinkSlot.position]
    }
}

extension Entity {
    fileprivate var hasOrder: Bool { isLink && properties.count > LinkSlot.position }
}
