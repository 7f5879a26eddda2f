import StetStore

// What becomes of the objects around a deleted one: decided from the stored reverse index and from
// what is pending, so that it does not matter which objects are loaded.

extension ManagedContext {
    /// The objects that stand in the way of one deletion and are named, at most.
    private static let blockingLimit = 100

    /// Carries out the delete rules of deleted objects, and of those that are deleted by that.
    ///
    /// `settled` are those whose stored referrers have been seen: their rules only look at what has
    /// become pending since.
    ///
    /// - Throws: `StoreError`.
    func applyDeleteRules(
        to deleted: [any Model], settled: inout Set<ObjectIdentifier>
    ) throws {
        var queue = deleted
        var index = 0
        while index < queue.count {
            let target = queue[index]
            index += 1
            // What has no sources yet may get some from a later hook.
            let isFirst = settled.insert(ObjectIdentifier(target)).inserted
            if isFirst { try cascadeReferences(of: target, &queue) }
            for (referrer, object) in try referrers(of: target, mayBeStored: isFirst) {
                // It may refer to the target twice, and be gone by the first of its rules.
                if object.isDeleted { continue }
                try applyDeleteRule(of: target, to: referrer, object, &queue)
            }
        }
    }

    /// The rules of the deleted object's own references.
    private func cascadeReferences(of target: any Model, _ queue: inout [any Model]) throws {
        let entity = target._$entityNumber
        for (slot, rule) in store.relationships.ruledSlots(of: entity) where rule == .cascade {
            let property = store.file.schema.entities[entity - 1].properties[slot]
            guard let name = property.target, let number = store.file.schema.number(ofEntity: name),
                let object = try table(ofEntity: number).load(target._$reference(in: slot))
            else { continue }
            delete(object, via: "\(target._$entityName).\(property.name)", &queue)
        }
    }

    private func applyDeleteRule(
        of target: any Model, to referrer: InverseEnds.Referrer, _ object: any Model,
        _ queue: inout [any Model]
    ) throws {
        let relationship = store.relationships.relationship(
            of: target._$entityNumber,
            through: StoreRelationships.End(entity: referrer.entity, slot: referrer.slot))
        let path = relationship.map { "\(target._$entityName).\($0.name)" }
        let rule = relationship?.deleteRule ?? .nullify
        guard let link = object as? any AnyLink else {
            switch rule {
            case .nullify:
                nullify(referrer, object, target.id)
                if let path { effects[object.id] = path }
            case .cascade: delete(object, via: path, &queue)
            case .deny, .none: break
            }
            return
        }
        switch rule {
        case .cascade:
            if let relationship, let farSlot = relationship.farSlot,
                let member = try table(ofEntity: relationship.target).load(link.end(farSlot))
            {
                delete(member, via: path, &queue)
            }
            markDeleted(link)
        // The link is what the deletion is denied by, unless its other end is deleted, too.
        case .deny: break
        case .nullify, .none: markDeleted(link)
        }
        if let path { effects[link.id] = path }
    }

    private func delete(_ object: any Model, via path: String?, _ queue: inout [any Model]) {
        if object.isDeleted { return }
        deleteObject(object)
        guard object.isDeleted else { return }
        if let path { effects[object.id] = path }
        queue.append(object)
    }

    /// Deletes the objects that were taken from their owner, where the relationship wants it.
    func removeOrphans(among objects: [any Model]) throws -> [any Model] {
        var orphans: [any Model] = []
        guard store.relationships.areReferencesFollowed else { return orphans }
        for object in objects where !object.isDeleted && !object._$isNew {
            for relationship in store.relationships.attentiveInverses(of: object._$entityNumber)
            where relationship.removesOrphans {
                guard object._$reference(in: relationship.nearSlot) == .none,
                    baseReference(of: object, relationship.nearSlot) != .none
                else { continue }
                let owner = store.file.schema.entities[relationship.owner - 1].name
                delete(object, via: "\(owner).\(relationship.name)", &orphans)
                break
            }
        }
        return orphans
    }

    /// What a pending object referred to before its first edit.
    private func baseReference<M: Model>(of object: M, _ slot: Int) -> ObjectID {
        let index = Int(object._$state.pendingIndex)
        guard index >= 0 else { return object._$reference(in: slot) }
        let entity = table(for: M.self).entity
        var net = NetChanges(schema: store.file.schema)
        let base = pending[index].base
        let range = net.encode(entity: entity) { M._$encode(base, into: &$0) }
        let body = try? RecordBody(net.body(range), of: store.file.schema.entities[entity - 1])
        return (try? body?.reference(slot)) ?? .none
    }

    /// Lets a reference to an object that is gone refer to nothing; a link goes with its end.
    func nullify<M: Model>(
        _ referrer: InverseEnds.Referrer, _ object: M, _ target: ObjectID
    ) {
        if object is any AnyLink { return markDeleted(object) }
        guard object._$willChange() else { return }
        inverseEnds.move(referrer, from: target, to: .none)
        object._$mutateReferences(.refer(slot: referrer.slot, .none))
    }

    // MARK: What is denied

    /// The deletions that a rule forbids, judged by what the change set comes to.
    ///
    /// - Throws: `StoreError`.
    func deniedDeletions() throws -> [Violation] {
        var violations: [Violation] = []
        for entry in pending where entry.object.isDeleted {
            let object = entry.object
            let entity = object._$entityNumber
            for relationship in store.relationships.relationships(of: entity)
            where [.deny, .none].contains(relationship.deleteRule) {
                let blocking = try blockingMembers(of: object, relationship)
                if blocking.isEmpty { continue }
                violations.append(
                    Violation(
                        code: .deleteDenied, operation: .delete, entity: object._$entityName,
                        object: object.id, property: relationship.name, slot: relationship.slot,
                        .deleteDenied, others: blocking,
                        messages: store.configuration.messages))
            }
            for (slot, rule) in store.relationships.ruledSlots(of: entity) where rule == .deny {
                let property = store.file.schema.entities[entity - 1].properties[slot]
                let target = object._$reference(in: slot)
                guard target != .none, try isThere(target, property.target) else { continue }
                violations.append(
                    Violation(
                        code: .deleteDenied, operation: .delete, entity: object._$entityName,
                        object: object.id, property: property.name, slot: slot,
                        .deleteDeniedByOne, others: [target],
                        messages: store.configuration.messages))
            }
        }
        return violations
    }

    private func isThere(_ id: ObjectID, _ entity: String?) throws -> Bool {
        guard let entity, let number = store.file.schema.number(ofEntity: entity),
            let object = try table(ofEntity: number).load(id)
        else { return false }
        return !object.isDeleted
    }

    private func blockingMembers(
        of object: any Model, _ relationship: MemberRelationship
    ) throws -> [ObjectID] {
        var blocking: [ObjectID] = []
        let ends = try referrerEnds(of: object, mayBeStored: !object._$isNew)
        for referrer in ends
        where referrer.entity == relationship.source && referrer.slot == relationship.nearSlot {
            guard let source = try table(ofEntity: referrer.entity).load(referrer.source),
                !source.isDeleted, source._$refers(to: object.id, slot: referrer.slot)
            else { continue }
            var member = source.id
            if let farSlot = relationship.farSlot {
                member = source._$reference(in: farSlot)
                let far = try table(ofEntity: relationship.target).load(member)
                if far?.isDeleted ?? true { continue }
            }
            blocking.append(member)
            if blocking.count == Self.blockingLimit { break }
        }
        return blocking
    }
}
