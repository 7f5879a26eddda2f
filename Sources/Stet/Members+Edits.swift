import StetStore

// How the members of relationships are edited.

extension ManagedContext {
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
            slot: relationship.slot, Sentence("{property} \(what)"),
            messages: store.configuration.messages)
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

    /// Lets a reference of an object refer to another one, as an edit.
    func setReference<M: Model>(of object: M, _ slot: Int, to target: ObjectID) {
        let present = object._$reference(in: slot)
        guard present != target, object._$willChange() else { return }
        referenceChanges(from: present, to: target, in: object, slot: slot)
        object._$mutateReferences(.refer(slot: slot, target))
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
