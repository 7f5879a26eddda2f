// Consequences for whole objects: the members of deleted objects, the targets of restored
// references and links, and unique values that other objects have now.

extension Inversion {
    /// The greatest number of objects that a conflict names.
    private static let namedLimit = 100

    /// Brings the inverted state into one that can be written, as far as the policy allows it.
    mutating func resolveConsequences() throws {
        repeat {
            state.hasChanged = false
            try settleDeletions()
            try settleReferences()
            try settleLinks()
            // Unique values are compared once the set of objects is final.
            if !state.hasChanged { try resolveUniqueValues() }
        } while state.hasChanged
        if conflicts.failed.isEmpty { try settleDenials() }
        if conflicts.failed.isEmpty { try removeLinksOfDeleted() }
        if conflicts.failed.isEmpty { try settlePositions() }
    }

    /// The stored objects that will not exist.
    private var deleted: [ObjectKey] {
        state.objects.filter { $0.value.isStored && $0.value.body == nil }.keys.sorted()
    }

    // MARK: Members of deleted objects

    private mutating func settleDeletions() throws {
        for key in deleted {
            let others = try members(of: key)
            if others.isEmpty { continue }
            let decision = try decide(
                .collateral, of: key, others: Array(others.prefix(Self.namedLimit)),
                allows: [.keep, .restore])
            switch decision {
            case .keep: try keep(key)
            case .restore: try DeleteRules.propagate([key], in: &self)
            case .failed, .set: break
            }
        }
    }

    /// Returns the objects that are members of a deleted object, at any end.
    private func members(of key: ObjectKey) throws -> [ObjectID] {
        var members: [ObjectID] = []
        for end in schema.ends(ofOwner: key.entity) {
            members += try self.members(of: key, at: end)
            if members.count >= Self.namedLimit { break }
        }
        return members
    }

    /// Keeps an object that was to be deleted, with its links.
    private mutating func keep(_ key: ObjectKey) throws {
        kept.insert(key)
        try state.set(state.storedBody(key), of: key)
    }

    /// Removes the links between deleted objects, which concern no rule.
    private mutating func removeLinksOfDeleted() throws {
        for key in deleted {
            for end in schema.ends(ofOwner: key.entity) {
                // The target is deleted, too: each link is found at its source.
                guard case .targets = end.source else { continue }
                var members: [ObjectID] = []
                try reader.forEachMember(of: key.id, at: end) { member, _ in
                    members.append(member)
                    return true
                }
                for member in members {
                    guard let link = end.linkKey(key.id, member),
                        try isDeleted(ObjectKey(end.member, member))
                    else { continue }
                    try state.set(.absent, of: link)
                }
            }
        }
    }

    /// Adds the deletions that a rule forbids as conflicts, which the policy cannot resolve.
    private mutating func settleDenials() throws {
        for denial in try DeleteRules.denials(of: deleted, in: self) {
            _ = try decide(
                .denied, of: denial.object, property: denial.property, others: denial.blocking,
                allows: [])
        }
    }

    // MARK: What restored references point to

    private mutating func settleReferences() throws {
        for key in state.objects.keys.sorted() {
            guard state.objects[key]?.isTouched ?? false else { continue }
            let entity = entity(key)
            for slot in entity.referenceSlots {
                guard let body = state.objects[key]?.body,
                    let id = try body.read(as: entity, { try $0.reference(slot) }),
                    let target = entity.properties[slot].target.flatMap({
                        schema.number(ofEntity: $0)
                    })
                else { continue }
                let targetKey = ObjectKey(target, id)
                if try state.exists(targetKey) { continue }
                let stored = try state.storedBody(key)?.read(as: entity) { try $0.reference(slot) }
                if stored != .some(id) { try resolve(key, slot, missing: targetKey) }
            }
        }
    }

    /// Decides about an object whose reference would refer to a missing object.
    private mutating func resolve(
        _ key: ObjectKey, _ slot: Slot, missing target: ObjectKey
    ) throws {
        let entity = entity(key)
        let property = entity.properties[slot]
        let stored = try state.storedBody(key)
        // An object that was deleted with the missing one stays deleted, unless others need it.
        let goesAlong =
            schema.end(ofEntity: key.entity, slot: slot).flatMap { schema.relationship(at: $0) }?
            .deleteRule == .cascade
        let mayGo = !leftOut.contains(target) || goesAlong || stored != nil || !property.isRequired
        let conflict = UndoConflict(
            kind: .targetGone, entity: entity.name, object: key.id, property: property.name,
            before: .reference(target.id), others: [target.id])
        let decision = conflicts.decide(
            conflict, allows: mayGo ? [.keep, .set] : [.set], subject: subjects.last ?? .zero)
        switch decision {
        case .set(let others):
            for (slot, value) in others { try state.set(value, slot, of: key) }
            let now = try state.body(key)?.read(as: entity) { try $0.reference(slot) }
            if now == .some(target.id) { conflicts.fail(conflict) }
        case .keep:
            if let stored {
                let value = try stored.read(as: entity) { try $0.value(slot) }
                try state.set(value, slot, of: key)
            } else if property.isRequired {
                leftOut.insert(key)
                try state.set(nil, of: key)
            } else {
                try state.set(.null, slot, of: key)
            }
        case .failed, .restore: break
        }
    }

    // MARK: Links

    private mutating func settleLinks() throws {
        for key in state.links.keys.sorted() {
            guard let link = state.links[key], link.membership != link.stored,
                let ends = schema.ends(ofLink: key.link)
            else { continue }
            let source = ObjectKey(ends.targets.owner, key.source)
            let target = ObjectKey(ends.sources.owner, key.target)
            if link.stored.isPresent {
                // An object that is kept keeps the links with which it was inserted.
                if kept.contains(source) || kept.contains(target) {
                    try state.set(link.stored, of: key)
                }
                continue
            }
            // A link is restored only with its source.
            guard try state.exists(source), try !state.exists(target) else {
                if try !state.exists(source) { try state.set(link.stored, of: key) }
                continue
            }
            let decision = try decide(
                .targetGone, of: source, property: schema.relationship(at: ends.targets)?.name,
                before: .reference(target.id), others: [target.id], allows: [.keep])
            if case .keep = decision { try state.set(link.stored, of: key) }
        }
    }

    // MARK: Unique values

    private mutating func resolveUniqueValues() throws {
        if !schema.indexes.contains(where: \.index.isUnique) { return }
        var net = ChangeSetBuilder(schema: schema)
        try state.appendObjects(to: &net)
        net.sort()
        try net.collectIndexChanges(isToBeCommitted: false)
        guard let changes = net.indexChanges, changes.hasClaims else { return }
        for conflict in try reader.conflicts(with: changes) {
            guard let index = schema.index(numbered: conflict.index) else { continue }
            let key = ObjectKey(index.entity, conflict.object)
            if let body = state.objects[key]?.body {
                try resolve(key, body, index.index, holder: conflict.other)
            }
        }
    }

    private mutating func resolve(
        _ key: ObjectKey, _ body: EncodedBody, _ index: EntityIndex, holder: ObjectID
    ) throws {
        let entity = entity(key)
        let slots = index.parts.map(\.slot)
        let values = try body.values(of: entity)
        let conflict = UndoConflict(
            kind: .notUnique, entity: entity.name, object: key.id,
            property: slots.map { entity.properties[$0].name }.joined(separator: ", "),
            before: slots.count == 1 ? values[slots[0]] : .list(slots.map { values[$0] }),
            others: [holder])
        let decision = conflicts.decide(
            conflict, allows: [.keep, .set], subject: subjects.last ?? .zero)
        switch decision {
        case .keep:
            if let stored = try state.storedBody(key)?.values(of: entity) {
                // A member goes with its embedded value, where that comes or goes.
                let places = index.slots.flatMap { slot -> [Slot] in
                    guard let value = entity.optionalValue(at: slot),
                        values[value.presence] != stored[value.presence]
                    else { return [slot] }
                    return value.slots
                }
                for slot in places { try state.set(stored[slot], slot, of: key) }
            } else {
                leftOut.insert(key)
                try state.set(nil, of: key)
            }
        case .set(let others):
            let hadMoved = state.hasChanged
            state.hasChanged = false
            for (slot, value) in others { try state.set(value, slot, of: key) }
            // Fails if the value in the answer is also in use.
            if !state.hasChanged { conflicts.fail(conflict) }
            state.hasChanged = state.hasChanged || hadMoved
        case .failed, .restore: break
        }
    }
}

extension Inversion: DeletionGraph {
    func isDeleted(_ object: ObjectKey) throws -> Bool { try !state.exists(object) }

    func members(of owner: ObjectKey, at end: MemberEnd) throws -> [ObjectID] {
        try state.members.members(of: owner.id, at: end, reader).map(\.id)
    }

    func target(of object: ObjectKey, slot: Slot) throws -> ObjectID? {
        try (state.body(object) ?? state.storedBody(object))?.read(as: entity(object)) {
            try $0.reference(slot)
        }
    }

    mutating func delete(_ object: ObjectKey, path: String) throws {
        try state.set(nil, of: object)
    }

    mutating func remove(_ membership: MembershipKey, path: String?) throws {
        if let link = membership.end.linkKey(membership.owner, membership.member) {
            return try state.set(.absent, of: link)
        }
        let member = ObjectKey(membership.end.member, membership.member)
        let slot = membership.end.slot
        guard entity(member).properties[slot].isRequired else {
            return try state.set(.null, slot, of: member)
        }
        let owner = ObjectKey(membership.end.owner, membership.owner)
        _ = try decide(.denied, of: owner, others: [member.id], allows: [])
    }
}
