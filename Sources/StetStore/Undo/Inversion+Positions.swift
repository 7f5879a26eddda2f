// The order of restored members, if the list has changed since.

extension Inversion {
    /// An ordered list of members.
    private struct List: Hashable {
        let end: MemberEnd
        let owner: ObjectID
    }

    /// Gives restored members their earlier positions or, if the order has changed since, positions
    /// after their nearest left neighbour that still exists.
    mutating func settlePositions() throws {
        for list in try restoredLists() { try settlePositions(in: list) }
    }

    /// Returns the ordered lists in which members are restored or moved.
    private func restoredLists() throws -> [List] {
        var lists: Set<List> = []
        for (key, object) in state.objects where object.isTouched {
            for end in schema.referenceEnds(ofMember: key.entity) where end.isOrdered {
                let place = try object.body?.read(as: entity(key)) { try $0.place(end.slot) } ?? nil
                if let place { lists.insert(List(end: end, owner: place.owner)) }
            }
        }
        for (key, link) in state.links
        where link.membership.isPresent && link.membership != link.stored {
            guard let end = schema.ends(ofLink: key.link)?.targets, end.isOrdered else { continue }
            lists.insert(List(end: end, owner: key.source))
        }
        return lists.sorted { ($0.end.number, $0.owner) < ($1.end.number, $1.owner) }
    }

    private mutating func settlePositions(in list: List) throws {
        var present: [MemberPlace] = []
        var former: [MemberPlace] = []
        var restored: Set<ObjectID> = []
        var isReordered = false
        // A member that was added since may have the position of a restored one.
        var taken: Set<ListPosition> = []
        for member in try state.members.members(of: list.owner, at: list.end, reader) {
            guard let position = member.position else { continue }
            if try isRestored(member, in: list) {
                restored.insert(member.id)
                former.append(member)
                continue
            }
            present.append(member)
            guard let before = try formerPosition(of: member.id, in: list) else {
                taken.insert(position)
                continue
            }
            former.append(MemberPlace(before, member.id))
            if before != position { isReordered = true }
        }
        if restored.isEmpty { return }
        let collides = former.contains { member in
            restored.contains(member.id) && member.position.map(taken.contains) ?? false
        }
        // An unchanged order is restored exactly, position by position.
        guard isReordered || collides else { return }
        former.sort()
        for (index, member) in former.enumerated() where restored.contains(member.id) {
            let left = former[..<index].reversed().lazy
                .compactMap { left in present.firstIndex { $0.id == left.id } }.first
            // Members appended concurrently share a position, and nothing fits between them.
            let place =
                left.map { left in
                    present[left...].prefix { $0.position == present[left].position }.endIndex
                } ?? 0
            present.insert(MemberPlace(nil, member.id), at: place)
            for moved in ListPlacement.place([place], in: &present) {
                try set(moved, in: list)
            }
        }
    }

    /// Returns whether the undo restores the membership, or the position.
    private func isRestored(_ member: MemberPlace, in list: List) throws -> Bool {
        if let link = list.end.linkKey(list.owner, member.id) {
            return state.links[link].map { $0.membership != $0.stored } ?? false
        }
        let key = ObjectKey(list.end.member, member.id)
        guard state.objects[key]?.isTouched ?? false else { return false }
        let stored = try state.storedBody(key)?.read(as: entity(key)) {
            try $0.place(list.end.slot)
        }
        return stored.flatMap({ $0 }).map {
            $0.owner != list.owner || $0.position != member.position
        } ?? true
    }

    /// Returns the position of a member before the inverted commits; nil when it was not one.
    private func formerPosition(of member: ObjectID, in list: List) throws -> ListPosition? {
        guard let before = subjects.last?.previous else { return nil }
        if let link = list.end.linkKey(list.owner, member) {
            return try reader.link(link, asOf: before).membership.position
        }
        let entity = schema.entities[list.end.member]
        return try reader.withRecord(ofEntity: list.end.member, member, asOf: before) { record in
            let place = try RecordBody(record.body, of: entity).place(list.end.slot)
            return place?.owner == list.owner ? place?.position : nil
        } ?? nil
    }

    private mutating func set(_ member: MemberPlace, in list: List) throws {
        guard let position = member.position else { return }
        if let link = list.end.linkKey(list.owner, member.id) {
            return try state.set(.present(position), of: link)
        }
        try state.set(
            .placed(list.owner, position), list.end.slot,
            of: ObjectKey(list.end.member, member.id))
    }
}
