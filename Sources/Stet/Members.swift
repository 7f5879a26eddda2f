import FoundationEssentials
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
    private func resolving<Result>(
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
    private func addedSources(
        of target: ObjectID, _ entity: Int, _ slot: Int
    ) -> [ObjectID] {
        let pending = inverseEnds.added(to: target)
        let sent = flight?.inverseEnds.added(to: target) ?? []
        return (pending.isEmpty ? sent : pending.union(sent))
            .filter { $0.entity == entity && $0.slot == slot }.map(\.source)
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

    /// The link between an owner and a member, made from its record where it is not alive; nil when
    /// there is none, or it is deleted.
    private func link(
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
        let atTarget = addedSources(of: target, entity, Entity.LinkSlot.target)
        var ids = Set(atTarget)
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

    /// Whether a member can be given to an owner; inserts it when it is in no context.
    private func mayTake<Owner: Model, Member: Model>(
        _ member: Member, _ owner: Owner, _ relationship: MemberRelationship
    ) -> Bool {
        guard mayEdit(owner) else { return false }
        if owner.isDeleted {
            note(.deletedObjectEdited, owner, "was edited after it had been deleted")
            return false
        }
        if member._$context == nil { insert(member) }
        guard member._$context === self else {
            note(
                .foreignObject, owner, "was given an object of another context",
                relationship: relationship)
            return false
        }
        if member.isDeleted {
            note(
                .deletedObjectEdited, owner, "was given an object that is deleted",
                relationship: relationship)
            return false
        }
        return true
    }

    private func note<M: Model>(
        _ code: Violation.Code, _ object: M, _ what: String, relationship: MemberRelationship
    ) {
        let violation = Violation(
            code: code, entity: M._$name, object: object.id, property: relationship.name,
            slot: relationship.slot, message: "\(relationship.name) \(what)")
        if !misuse.contains(violation) { misuse.append(violation) }
    }

    func append<Owner: Model, Member: Model>(
        _ member: Member, to owner: Owner, _ relationship: MemberRelationship
    ) {
        guard mayTake(member, owner, relationship) else { return }
        resolving(()) {
            if isMember(member, of: owner, relationship) { return }
            let position =
                relationship.order == nil
                ? nil : ListPosition.between(try lastPosition(of: owner, relationship), nil)
            try place(member.id, of: owner, relationship, at: position)
        }
    }

    func remove<Owner: Model, Member: Model>(
        _ member: Member, from owner: Owner, _ relationship: MemberRelationship
    ) {
        guard mayEdit(owner), isMember(member, of: owner, relationship) else { return }
        resolving(()) {
            guard relationship.farSlot != nil else {
                return setReference(of: member, relationship.nearSlot, to: .none)
            }
            if let link = try link(from: owner, to: member.id, relationship) { markDeleted(link) }
        }
    }

    func insert<Owner: Model, Member: Model>(
        _ member: Member, at index: Int, of owner: Owner, _ relationship: MemberRelationship
    ) {
        guard mayTake(member, owner, relationship) else { return }
        resolving(()) {
            var members = try orderedMembers(of: owner.id, relationship)
            members.removeAll { $0.member == member.id }
            precondition(
                (0...members.count).contains(index),
                "insert(_:at:) beyond the members of a relationship")
            try place(members.map(\.member), of: owner, relationship)
            // Those without a position have one now.
            members = try orderedMembers(of: owner.id, relationship)
            members.removeAll { $0.member == member.id }
            try place(
                member.id, of: owner, relationship,
                at: .between(
                    index == 0 ? nil : members[index - 1].position,
                    index == members.count ? nil : members[index].position))
        }
    }

    /// Gives an owner other members.
    func assign<Owner: Model, Member: Model>(
        _ members: [Member], to owner: Owner, _ relationship: MemberRelationship
    ) {
        let kept = members.filter { mayTake($0, owner, relationship) }
        resolving(()) {
            let ids = Set(kept.map(\.id))
            for id in self.members(of: owner.id, relationship) where !ids.contains(id) {
                if let member = try load(id, as: Member.self) {
                    remove(member, from: owner, relationship)
                }
            }
            guard relationship.order != nil else {
                for member in kept { append(member, to: owner, relationship) }
                return
            }
            try place(kept.map(\.id), of: owner, relationship)
        }
    }

    /// Gives members an order; of those that have positions already as few as possible move.
    private func place<Owner: Model>(
        _ members: [ObjectID], of owner: Owner, _ relationship: MemberRelationship
    ) throws {
        var positions: [ObjectID: ListPosition] = [:]
        for member in try orderedMembers(of: owner.id, relationship) where member.link != .none {
            positions[member.member] = member.position
        }
        let staying = Set(
            members.compactMap { id in positions[id].map { (id, $0) } }.longestAscendingRun())
        var last: ListPosition?
        var next = members[...]
        while let member = next.popFirst() {
            if staying.contains(member) {
                last = positions[member]
                continue
            }
            let upper = next.first(where: staying.contains).flatMap { positions[$0] }
            let position = ListPosition.between(last, upper)
            try place(member, of: owner, relationship, at: position)
            last = position
        }
    }

    /// Makes an object a member, or moves it.
    private func place<Owner: Model>(
        _ member: ObjectID, of owner: Owner, _ relationship: MemberRelationship,
        at position: ListPosition?
    ) throws {
        if let position { notePosition(position, of: owner.id, relationship) }
        guard relationship.farSlot != nil else {
            guard let object = try table(ofEntity: relationship.source).load(member) else { return }
            setReference(of: object, relationship.nearSlot, to: owner.id)
            if let position {
                try placeLink(of: member, object._$isNew, owner.id, relationship, position)
            }
            return
        }
        let isSource = relationship.nearSlot == Entity.LinkSlot.source
        let (source, target) = isSource ? (owner.id, member) : (member, owner.id)
        let present = try links(
            relationship.source, from: source, to: target, mayBeStored: !owner._$isNew)
        guard let link = present.first(where: { !$0.isDeleted }) ?? present.first else {
            return makeLink(relationship.source, source, target, position)
        }
        if link.isDeleted { _ = insertOne(link) }
        if let position { move(link, to: position) }
    }

    // MARK: Links

    private func makeLink(
        _ entity: Int, _ source: ObjectID, _ target: ObjectID, _ position: ListPosition?
    ) {
        guard let type = store.modelTypes[entity - 1] as? any AnyLink.Type else { return }
        _ = insertOne(
            type.init(source: source, target: target, position: position?.bytes ?? Data()))
    }

    private func move(_ link: some AnyLink, to position: ListPosition) {
        guard link.position != position.bytes, link._$willChange() else { return }
        link.position = position.bytes
        memberGeneration &+= 1
    }

    /// Gives a member that refers to its owner its place among the others.
    private func placeLink(
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
    private func placeLink(
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
    private func lastPosition(
        of owner: any Model, _ relationship: MemberRelationship
    ) throws -> ListPosition? {
        guard let order = relationship.order else { return nil }
        let key = PlaceKey(entity: order, owner: owner.id)
        if let known = lastPositions[key] { return known }
        var last: ListPosition?
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
        lastPositions[key] = last
        return last
    }

    private func notePosition(
        _ position: ListPosition, of owner: ObjectID, _ relationship: MemberRelationship
    ) {
        guard let order = relationship.order else { return }
        let key = PlaceKey(entity: order, owner: owner)
        // One that is known is a bound: what is before it needs no note.
        if let known = lastPositions[key], known < position { lastPositions[key] = position }
    }

    /// Lets a reference of an object refer to another one, as an edit.
    func setReference<M: Model>(of object: M, _ slot: Int, to target: ObjectID) {
        let present = object._$reference(in: slot)
        guard present != target, object._$willChange() else { return }
        referenceChanges(from: present, to: target, in: object, slot: slot)
        object._$mutateReferences(.refer(slot: slot, target))
    }
}

/// An ordered relationship of an owner.
struct PlaceKey: Hashable {
    let entity: Int
    let owner: ObjectID
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

extension Model {
    var _$entityNumber: Int { _$state.table?.entity ?? 0 }

    /// What the object refers to in a slot; `.none` for nothing.
    func _$reference(in slot: Int) -> ObjectID {
        var visitor = ReferenceVisitor(mode: .all)
        _$visitReferences(&visitor)
        return visitor.references.first { $0.slot == slot }?.target ?? .none
    }
}

extension Array where Element == (ObjectID, ListPosition) {
    /// The ids of a longest run of elements whose positions ascend.
    fileprivate func longestAscendingRun() -> [ObjectID] {
        // Where a run of each length ends with the smallest position, and what is before each end.
        var ends: [Int] = []
        var before = [Int](repeating: -1, count: count)
        for (index, element) in enumerated() {
            var lower = 0
            var upper = ends.count
            while lower < upper {
                let middle = (lower + upper) / 2
                if self[ends[middle]].1 < element.1 { lower = middle + 1 } else { upper = middle }
            }
            before[index] = lower == 0 ? -1 : ends[lower - 1]
            if lower == ends.count { ends.append(index) } else { ends[lower] = index }
        }
        var run: [ObjectID] = []
        var index = ends.last ?? -1
        while index >= 0 {
            run.append(self[index].0)
            index = before[index]
        }
        return run
    }
}
