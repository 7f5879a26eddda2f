// What depends on objects as a whole: who refers to what is deleted, what restored references point
// to, and whose unique values are taken meanwhile.

extension Inversion {
    /// The objects that a conflict names, at most.
    private static let namedLimit = 100

    /// Brings what was taken back into a state that can be written, as far as the policy lets it.
    mutating func settle() throws {
        repeat {
            hasMoved = false
            try settleDeletions()
            try settleReferences()
            try settlePlaces()
            // Unique values are compared when the objects are known.
            if !hasMoved { try settleUniqueValues() }
        } while hasMoved
        if conflicts.isEmpty { try settlePositions() }
    }

    mutating func set(_ values: [Value]?, of key: ObjectKey) throws {
        if try object(key).values == values { return }
        objects[key]?.values = values
        hasMoved = true
    }

    mutating func set(_ value: Value, _ slot: Int, of key: ObjectKey) throws {
        guard var values = try object(key).values else { return }
        values[slot] = value
        try set(values, of: key)
    }

    // MARK: What refers to deleted objects

    private mutating func settleDeletions() throws {
        #if STET_FAULTS
            if file.planted.contains("referrersNotAsked") { return }
        #endif
        let deleted = objects.filter { $0.value.stored != nil && $0.value.values == nil }.keys
        for key in deleted.sorted() {
            let referrers = try referrers(to: key)
            if referrers.isEmpty { continue }
            let others = referrers.prefix(Self.namedLimit).map(\.source)
            let decision = try decide(
                .collateral, of: key, others: others, allows: [.keep, .restore])
            switch decision {
            case .keep: try set(object(key).stored, of: key)
            case .restore: try applyDeleteRules(of: key, to: referrers)
            case .failed, .set: break
            }
        }
    }

    /// The references to an object that is deleted, in objects that are not.
    private func referrers(to key: ObjectKey) throws -> [ReferenceKey] {
        var referrers: [ReferenceKey] = []
        try reader.forEachReference(to: key.id, ofEntity: key.entity) { reference in
            let source = ObjectKey(entity: reference.sourceEntity, id: reference.source)
            if let known = objects[source], known.values?[reference.slot] != .reference(key.id) {
                return
            }
            referrers.append(reference)
        }
        return referrers
    }

    private mutating func applyDeleteRules(
        of key: ObjectKey, to referrers: [ReferenceKey]
    ) throws {
        for reference in referrers {
            let source = ObjectKey(entity: reference.sourceEntity, id: reference.source)
            guard let values = try object(source).values,
                values[reference.slot] == .reference(key.id)
            else { continue }
            let relationship = schema.relationship(
                of: key.entity, through: reference.sourceEntity, reference.slot)
            let rule = relationship?.deleteRule ?? .nullify
            if entity(source).isLink {
                try applyDeleteRule(rule, of: key, to: source, reference.slot, values)
                continue
            }
            let isRequired = entity(source).properties[reference.slot].isRequired
            switch rule {
            case .cascade: try set(nil, of: source)
            case .nullify where !isRequired: try set(.null, reference.slot, of: source)
            case .nullify, .deny, .none:
                _ = try decide(.denied, of: key, others: [source.id], allows: [])
            }
        }
    }

    /// The rule of a relationship with links: the link goes, and with `.cascade` the member.
    private mutating func applyDeleteRule(
        _ rule: DeleteRule, of key: ObjectKey, to link: ObjectKey, _ slot: Int, _ values: [Value]
    ) throws {
        let far = slot == Entity.LinkSlot.source ? Entity.LinkSlot.target : Entity.LinkSlot.source
        let target = entity(link).properties[far].target.flatMap { schema.number(ofEntity: $0) }
        if let target, case .reference(let id) = values[far] {
            let member = ObjectKey(entity: target, id: id)
            switch rule {
            case .cascade: try set(nil, of: member)
            case .deny where try exists(member):
                _ = try decide(.denied, of: key, others: [id], allows: [])
                return
            default: break
            }
        }
        try set(nil, of: link)
    }

    // MARK: What restored references point to

    private mutating func settleReferences() throws {
        for key in objects.keys.sorted() {
            let entity = entity(key)
            for slot in entity.referenceSlots {
                guard let object = objects[key], let values = object.values,
                    case .reference(let id) = values[slot], object.stored?[slot] != values[slot],
                    let target = entity.properties[slot].target.flatMap({
                        schema.number(ofEntity: $0)
                    })
                else { continue }
                let targetKey = ObjectKey(entity: target, id: id)
                if try !exists(targetKey) { try settle(key, slot, missing: targetKey) }
            }
        }
    }

    /// Decides what becomes of an object whose reference would point to nothing.
    private mutating func settle(
        _ key: ObjectKey, _ slot: Int, missing target: ObjectKey
    ) throws {
        let entity = entity(key)
        let property = entity.properties[slot]
        let isInsertion = objects[key]?.stored == nil
        // What was deleted with the missing object stays deleted with it; others may need it.
        let goesAlong =
            entity.isLink
            || schema.relationship(of: target.entity, through: key.entity, slot)?.deleteRule
                == .cascade
        let mayGo = !leftOut.contains(target) || goesAlong || !isInsertion || !property.isRequired
        let decision = try decide(
            .targetGone, of: key, property: property.name, before: .reference(target.id),
            others: [target.id], allows: mayGo ? [.keep, .set] : [.set])
        switch decision {
        case .set(let others):
            for (slot, value) in others { try set(value, slot, of: key) }
        case .keep:
            if let stored = objects[key]?.stored {
                try set(stored[slot], slot, of: key)
            } else if property.isRequired {
                leftOut.insert(key)
                try set(nil, of: key)
            } else {
                try set(.null, slot, of: key)
            }
        case .failed, .restore: break
        }
    }

    // MARK: Unique values

    private mutating func settleUniqueValues() throws {
        if !schema.indexes.contains(where: \.index.isUnique) { return }
        #if STET_FAULTS
            if file.planted.contains("holdersNotAsked") { return }
        #endif
        let net = try Inverse.netChanges(changedObjects, schema)
        guard let changes = net.indexChanges, changes.hasClaims else { return }
        for conflict in try reader.conflicts(with: changes) {
            guard let index = schema.index(numbered: conflict.index) else { continue }
            let key = ObjectKey(entity: index.entity, id: conflict.object)
            guard let object = objects[key], let values = object.values else { continue }
            // Two objects have one link at most: they are linked already.
            if entity(key).isLink {
                try set(object.stored, of: key)
                continue
            }
            let slots = index.index.parts.map(\.slot)
            let names = slots.map { entity(key).properties[$0].name }
            let decision = try decide(
                .notUnique, of: key, property: names.joined(separator: ", "),
                before: slots.count == 1 ? values[slots[0]] : .list(slots.map { values[$0] }),
                others: [conflict.other], allows: [.keep, .set])
            switch decision {
            case .keep:
                if let stored = object.stored {
                    for slot in slots { try set(stored[slot], slot, of: key) }
                } else {
                    leftOut.insert(key)
                    try set(nil, of: key)
                }
            case .set(let others):
                for (slot, value) in others { try set(value, slot, of: key) }
                // The answer is taken, too.
                if !hasMoved { try refuse(key, names, conflict.other) }
            case .failed, .restore: break
            }
        }
    }

    private mutating func refuse(
        _ key: ObjectKey, _ names: [String], _ other: ObjectID
    ) throws {
        fail(
            UndoConflict(
                kind: .notUnique, entity: entity(key).name, object: key.id,
                property: names.joined(separator: ", "), others: [other]))
    }
}

extension Property {
    /// True when nil is no value of it.
    var isRequired: Bool { !isOptional || rules.contains(.required) }
}

extension Schema {
    /// The relationship of an owner that references in a slot of an entity's objects are the other
    /// end of.
    func relationship(of owner: Int, through source: Int, _ slot: Int) -> Relationship? {
        entities[owner - 1].relationships.first { relationship in
            membersEnd(of: relationship).map { $0.member == source && $0.slot == slot } ?? false
        }
    }
}
