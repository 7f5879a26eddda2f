import StetStore

/// The members of one relationship of one object, as a context shows and edits them.
struct MemberList {
    private let core: ContextCore
    private let owner: any Model
    private let relationship: MemberRelationship

    init(_ core: ContextCore, _ owner: any Model, _ index: Int) {
        self.core = core
        self.owner = owner
        relationship = core.store.relationships.relationships(of: owner._$entityNumber)[index]
    }

    private var end: MemberEnd { relationship.end }
    private var state: WorkingState { core.state }

    // MARK: Reading

    /// The ids of the members, in their order.
    var ids: [ObjectID] {
        core.resolving([]) { try places().map(\.id) }
    }

    private func places() throws -> [MemberPlace] {
        let members = try core.read { try state.members(of: owner.id, at: end, $0) }
        guard end.isReference, core.isBehind else { return members }
        // An overtaken object with pending changes still shows its earlier owner.
        return members.filter { member in
            let object = core.object(ObjectKey(end.member, member.id))
            return object.map { $0._$reference(in: end.slot) == owner.id } ?? true
        }
    }

    var count: Int {
        core.resolving(0) {
            core.isBehind
                ? try places().count
                : try core.read {
                    try state.memberCount(of: owner.id, at: end, $0)
                }
        }
    }

    func contains(_ member: any Model) -> Bool {
        guard member._$core === core, !member._$flags.contains(.deleted) else { return false }
        if end.isReference { return member._$reference(in: end.slot) == owner.id }
        return core.resolving(false) { try membership(of: member).isPresent }
    }

    /// Returns whether an object is a member by a link, and at which position.
    private func membership(of member: any Model) throws -> Membership {
        if let changed = state.changedMembership(of: member.id, in: owner.id, at: end) {
            return changed
        }
        guard let key = end.linkKey(owner.id, member.id), !owner._$isNew, !member._$isNew else {
            return .absent
        }
        return try core.membershipBelow(of: key)
    }

    // MARK: Editing

    /// Adds a member, as the last one where there is an order; does nothing if it is one already.
    func append(_ member: any Model) {
        guard mayTake(member) else { return }
        core.resolving(()) {
            if contains(member) { return }
            try put(member, at: try end.isOrdered ? positionAtEnd(for: member) : nil)
        }
    }

    func remove(_ member: any Model) {
        guard core.hookCalls.mayEdit(owner), contains(member) else { return }
        core.resolving(()) {
            if end.isReference {
                core.pending.refer(member, end, to: .none)
            } else if let key = end.linkKey(owner.id, member.id) {
                try core.pending.setLink(
                    key, to: .absent, below: try core.membershipBelow(of: key))
            }
        }
    }

    /// Inserts a member before the one at an index, or at the end.
    func insert(_ member: any Model, at index: Int) {
        guard mayTake(member) else { return }
        core.resolving(()) {
            var members = try places()
            let present = members.firstIndex { $0.id == member.id }
            if let present { members.remove(at: present) }
            trap(
                unless: (0...members.count).contains(index),
                "insert(_:at:) beyond the members of a relationship")
            if present == index { return }
            members.insert(MemberPlace(nil, member.id), at: index)
            for place in ListPlacement.place([index], in: &members) { try move(place) }
        }
    }

    /// Replaces the members.
    func assign(_ members: [any Model]) {
        let kept = members.filter(mayTake)
        let wanted = Set(kept.map { $0.id })
        for id in ids where !wanted.contains(id) {
            if let member = core.resolving(nil, { try core.load(ObjectKey(end.member, id)) }) {
                remove(member)
            }
        }
        for member in kept { append(member) }
        arrange(kept.map { $0.id })
    }

    /// Arranges members in an order, if the relationship has one, by moving as few of them as
    /// possible; other members stay at their places.
    func arrange(_ order: [ObjectID]) {
        guard end.layout.isOrdered, order.count > 1 else { return }
        core.resolving(()) {
            let present = try places()
            let position = Dictionary(
                uniqueKeysWithValues: present.enumerated().map { ($1.id, $0) })
            let wanted = order.filter { position[$0] != nil }
            let slots = wanted.compactMap { position[$0] }.sorted()
            var members = present
            for (slot, id) in zip(slots, wanted) {
                members[slot] = MemberPlace(present[position[id]!].position, id)
            }
            if members == present { return }
            let staying = Set(members.longestAscendingRun(by: \.ifPlaced))
            let moving = members.indices.filter { !staying.contains($0) }
            for place in ListPlacement.place(moving, in: &members) { try move(place) }
        }
    }

    /// Returns whether a member can be given to the owner; inserts it when it is in no context.
    private func mayTake(_ member: any Model) -> Bool {
        guard core.hookCalls.mayEdit(owner) else { return false }
        if owner._$flags.contains(.deleted) {
            core.note(.deletedObjectEdited, owner, "was edited after it had been deleted")
            return false
        }
        if member._$core == nil { core.pending.insert(member) }
        guard member._$core === core else {
            core.note(
                .foreignObject, owner, "was given an object of another context",
                relationship: relationship)
            return false
        }
        if member._$flags.contains(.deleted) {
            core.note(
                .deletedObjectEdited, owner, "was given an object that is deleted",
                relationship: relationship)
            return false
        }
        return true
    }

    /// Returns the position of a new member: after the others, in the list that has the order.
    private func positionAtEnd(for member: any Model) throws -> ListPosition {
        if case .sources(let link) = end.source, let ends = state.schema.ends(ofLink: link) {
            return try core.positionAtEnd(of: member.id, at: ends.targets)
        }
        return try core.positionAtEnd(of: owner.id, at: end)
    }

    private func move(_ place: MemberPlace) throws {
        guard let member = try core.load(ObjectKey(end.member, place.id)) else { return }
        try put(member, at: place.position)
    }

    /// Makes an object a member at a position, or moves it there.
    private func put(_ member: any Model, at position: ListPosition?) throws {
        guard let key = end.linkKey(owner.id, member.id) else {
            return core.pending.refer(
                member, end, to: ReferencePlace(owner: owner.id, position: position))
        }
        let isNew = owner._$isNew || member._$isNew
        try core.pending.setLink(
            key, to: .present(position),
            below: try isNew ? .absent : core.membershipBelow(of: key))
    }
}

extension ContextCore {
    /// Returns the state of a link without the pending changes.
    func membershipBelow(of key: LinkKey) throws -> Membership {
        if let link = pending.links[key] { return link.below }
        if let sent = saves.inFlight?.sent?.links[key] { return sent.now }
        return try read { try $0.link(key, asOf: revision).membership }
    }

    /// Returns whether an object's reference may refer to another object; notes a violation if not.
    func mayRefer<M: Model, Target: Model>(_ owner: M, to target: Target?, slot: Slot) -> Bool {
        guard let target, let other = target._$core else { return true }
        if other !== self {
            note(.foreignObject, owner, "was given an object of another context", slot: slot)
            return false
        }
        // A pending deletion may still be withdrawn, so the save checks references to the object.
        if target._$flags.contains(.deleted), !target.hasChanges {
            note(.deletedObjectEdited, owner, "was given an object that is deleted", slot: slot)
            return false
        }
        return true
    }

    /// Records in the lists of members that a reference gets another target, and appends the owner
    /// to the target's list where that has an order.
    func referenceChanges<M: Model, Target: Model>(
        of owner: M, slot: Slot, from old: ObjectID, to target: Target?
    ) {
        let isInserted = target.map { $0._$core != nil } ?? true
        owner._$state.setTarget(isInserted ? nil : target, in: slot)
        if !isInserted { pending.noteUninserted() }
        let new = target?.id ?? .none
        guard old != new, let end = owner._$table?.ends.first(where: { $0.slot == slot })
        else { return }
        let before = end.isOrdered ? owner._$attachment.position(in: slot) : nil
        var position: ListPosition?
        if end.isOrdered, new != .none {
            position = resolving(.first) { try positionAtEnd(of: new, at: end) }
        }
        if end.isOrdered { owner._$state.setPosition(position, in: slot) }
        pending.placeChanges(
            owner, end, from: ReferencePlace(owner: old, position: before),
            to: ReferencePlace(owner: new, position: position))
    }

    /// Registers an object before its first edit since the last save; returns false when the edit
    /// is refused.
    func willChange<M: Model>(_ object: M) -> Bool {
        if object._$flags.contains(.deleted) {
            note(.deletedObjectEdited, object, "was edited after it had been deleted")
            return false
        }
        guard hookCalls.mayEdit(object) else { return false }
        if !object.hasChanges { pending.register(object) }
        pending.touch(object)
        return true
    }
}
