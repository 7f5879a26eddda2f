import FoundationEssentials
import StetStore

// The links of relationships: how they are found, made and moved.

extension ManagedContext {
    /// The link between an owner and a member, made from its record where it is not alive; nil when
    /// there is none, or it is deleted.
    func link(
        from owner: any Model, to member: ObjectID, _ relationship: MemberRelationship
    ) throws -> (any AnyLink)? {
        guard let farSlot = relationship.farSlot else { return nil }
        let isSource = relationship.nearSlot == Entity.LinkSlot.source
        return try links(
            relationship.source, from: isSource ? owner.id : member,
            to: isSource ? member : owner.id,
            mayBeStored: !owner._$isNew
        ).first { !$0.isDeleted && $0.end(farSlot) == member }
    }

    /// The links between two objects, deleted ones that are not saved included.
    func links(
        _ entity: Int, from source: ObjectID, to target: ObjectID, mayBeStored: Bool
    ) throws -> [any AnyLink] {
        let table = table(ofEntity: entity)
        // One end may have very many.
        let isAtSource = addedCount(to: source) < addedCount(to: target)
        var ids = Set(
            isAtSource
                ? addedSources(of: source, entity, Entity.LinkSlot.source)
                : addedSources(of: target, entity, Entity.LinkSlot.target))
        if mayBeStored, let index = uniqueIndex(ofLinks: entity) {
            let values = index.index.parts.map { part in
                Value.reference(part.slot == Entity.LinkSlot.source ? source : target)
            }
            ids.formUnion(
                try store.file.read { reader in
                    try reader.objects(of: index, with: values, asOf: revision)
                })
        }
        return try ids.sorted().compactMap { id in
            guard let link = try table.load(id) as? any AnyLink, link.source == source,
                link.target == target
            else { return nil }
            return link
        }
    }

    private func uniqueIndex(ofLinks entity: Int) -> NumberedIndex? {
        store.file.schema.indexes(ofEntity: entity).first { $0.index.isUnique }
    }

    // MARK: Editing

    func makeLink(
        _ entity: Int, _ source: ObjectID, _ target: ObjectID, _ position: ListPosition?
    ) {
        guard let type = store.modelTypes[entity - 1] as? any AnyLink.Type else { return }
        _ = insertOne(
            type.init(source: source, target: target, position: position?.bytes ?? Data()))
    }

    func move(_ link: some AnyLink, to position: ListPosition) {
        guard link.position != position.bytes, link._$willChange() else { return }
        link.position = position.bytes
        memberGeneration &+= 1
    }

    /// Gives a member that refers to its owner its place among the others.
    func placeLink(
        of member: ObjectID, _ isNew: Bool, _ owner: ObjectID,
        _ relationship: MemberRelationship, _ position: ListPosition
    ) throws {
        guard let order = relationship.order else { return }
        guard let link = try placeLink(of: member, isNew, order) else {
            return makeLink(order, owner, member, position)
        }
        if link.isDeleted { _ = insertOne(link) }
        setReference(of: link, Entity.LinkSlot.source, to: owner)
        move(link, to: position)
    }

    /// The link that has a member's place, deleted or not.
    func placeLink(
        of member: ObjectID, _ isNew: Bool, _ order: Int
    ) throws -> (any AnyLink)? {
        let table = table(ofEntity: order)
        var ids = addedSources(of: member, order, Entity.LinkSlot.target)
        if !isNew, let index = uniqueIndex(ofLinks: order) {
            ids += try store.file.read { reader in
                try reader.objects(of: index, with: [.reference(member)], asOf: revision)
            }
        }
        return try ids.lazy.compactMap { try table.load($0) as? any AnyLink }.first {
            $0.target == member
        }
    }

    /// Lets the places of members follow their references, before a save.
    func settlePlaces(of objects: [any Model]) throws {
        guard store.relationships.areReferencesFollowed else { return }
        for object in objects where !object.isDeleted {
            for relationship in store.relationships.attentiveInverses(of: object._$entityNumber) {
                guard let order = relationship.order else { continue }
                let owner = object._$reference(in: relationship.nearSlot)
                let link = try placeLink(of: object.id, object._$isNew, order)
                if owner == .none {
                    if let link, !link.isDeleted { markDeleted(link) }
                } else if link == nil || link?.isDeleted == true || link?.source != owner {
                    guard let owner = try table(ofEntity: relationship.owner).load(owner) else {
                        continue
                    }
                    let last = try lastPosition(of: owner, relationship)
                    let position = ListPosition.between(last, nil)
                    notePosition(position, of: owner.id, relationship)
                    try placeLink(
                        of: object.id, object._$isNew, owner.id, relationship, position)
                }
            }
        }
    }

    /// A position that no member is behind; nil when there are no members.
    func lastPosition(
        of owner: any Model, _ relationship: MemberRelationship
    ) throws -> ListPosition? {
        guard let order = relationship.order else { return nil }
        let key = PlaceKey(entity: order, owner: owner.id)
        let known = lastPositions[key]
        if let known, known.revision == revision { return known.position }
        var last = known?.position
        for id in addedSources(of: owner.id, order, Entity.LinkSlot.source) {
            guard let link = table(ofEntity: order).object(id) as? any AnyLink else { continue }
            last = max(last ?? .first, ListPosition(link.position))
        }
        if !owner._$isNew {
            let schema = store.file.schema
            let index = schema.indexes(ofEntity: order).first { !$0.index.isUnique }
            let stored = try store.file.read { reader in
                try index.flatMap { try reader.lastPosition(of: owner.id, $0) }
            }
            if let stored { last = max(last ?? stored, stored) }
        }
        lastPositions[key] = last.map { LastPosition(position: $0, revision: revision) }
        return last
    }

    func notePosition(
        _ position: ListPosition, of owner: ObjectID, _ relationship: MemberRelationship
    ) {
        guard let order = relationship.order else { return }
        let key = PlaceKey(entity: order, owner: owner)
        // What is put back stays a bound.
        let known = lastPositions[key]
        lastPositions[key] = LastPosition(
            position: max(known?.position ?? position, position), revision: known?.revision)
    }
}

/// A position that no member of an ordered relationship is behind, of those that this context has
/// placed, and of those that are stored at a revision.
struct LastPosition {
    let position: ListPosition
    /// nil when the store was not looked at.
    let revision: Revision?
}

/// An ordered relationship of an owner.
struct PlaceKey: Hashable {
    let entity: Int
    let owner: ObjectID
}

extension StoreReader {
    /// The position of the last link of an owner, as of the last commit.
    fileprivate func lastPosition(
        of owner: ObjectID, _ index: NumberedIndex
    ) throws -> ListPosition? {
        var last: ObjectID?
        let range = try IndexRange(index, [.reference(owner)])
        try forEachObject(of: index, in: range, descending: true) { id in
            last = id
            return false
        }
        guard let last else { return nil }
        let head = try head().revision
        return try withRecord(ofEntity: index.entity, last, asOf: head) { record in
            let body = try RecordBody(record.body, of: file.schema.entities[index.entity - 1])
            guard case .data(let bytes) = try body.value(Entity.LinkSlot.position) else {
                return nil
            }
            return ListPosition(bytes)
        } ?? nil
    }
}
