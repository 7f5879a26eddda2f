public import StetStore

// Change sets from elsewhere, made pending again.

extension ManagedContext {
    /// Makes the changes of a change set pending, as if they had been edited here: those of a
    /// refused save, mended or not, or of another process.
    ///
    /// The store may have moved on since. What a change began with is compared with what this
    /// context shows now: a property that already has the new value stays, one that still has the
    /// old value gets the new one, and where it has neither the merge policy decides, as in a save.
    /// Inserted objects get the ids of the change set. Deleting what is not there does nothing.
    /// `didInsert` and `willDelete` are not called: what they did is part of the change set.
    ///
    /// Nothing has changed when it throws.
    ///
    /// - Throws: `ChangeSetError` with everything in the change set that does not fit the models;
    ///   `ConflictError`; `ValidationError` when a pending value has no stored form to compare;
    ///   `StoreError`, also when a value means nothing to its type; what a policy's closure threw.
    /// - Complexity: O(changes), and a read for each object that is not loaded.
    public func apply(_ changeSet: ChangeSet) throws {
        checkNotSaving("apply(_:)")
        try landFlight()
        try checkUsable()
        let changes = try checked(changeSet)
        let beginning = snapshot()
        do {
            var conflicts: [Conflict] = []
            for change in changes {
                if let conflict = try apply(change) { conflicts.append(conflict) }
            }
            guard conflicts.isEmpty else {
                throw ConflictError(reason: .changed, conflicts: conflicts, rejected: changeSet)
            }
        } catch {
            putBack(beginning)
            throw error
        }
    }

    /// A change whose entity and properties are those of the store.
    private struct CheckedChange {
        let kind: ChangeKind
        let entity: Int
        let id: ObjectID
        /// By slot.
        let old: [Int: Value]
        let new: [Int: Value]
    }

    private func checked(_ changeSet: ChangeSet) throws -> [CheckedChange] {
        var problems: [ChangeSetError.Problem] = []
        var seen: Set<ObjectID> = []
        var checked: [CheckedChange] = []
        for change in changeSet.changes {
            func report(_ message: String, _ property: String? = nil) {
                problems.append(
                    ChangeSetError.Problem(
                        entity: change.entity, object: change.id, property: property,
                        message: message))
            }
            guard let number = store.file.schema.number(ofEntity: change.entity) else {
                report("there is no model \(change.entity)")
                continue
            }
            if change.id == .none { report("the object has no id") }
            if !seen.insert(change.id).inserted { report("the object is changed twice") }
            let entity = store.file.schema.entities[number - 1]
            var old: [Int: Value] = [:]
            var new: [Int: Value] = [:]
            for property in change.properties {
                guard let slot = entity.slot(of: property.name) else {
                    report("\(change.entity) has no property \(property.name)", property.name)
                    continue
                }
                if new[slot] != nil { report("the property is changed twice", property.name) }
                if change.kind != .delete, !entity.properties[slot].accepts(property.new) {
                    report("\(property.new) does not fit its type", property.name)
                }
                old[slot] = property.old
                new[slot] = property.new
            }
            if change.kind == .insert {
                for (slot, property) in entity.properties.enumerated()
                where new[slot] == nil && !property.isOptional {
                    report("the inserted object needs a value for it", property.name)
                }
            }
            checked.append(
                CheckedChange(kind: change.kind, entity: number, id: change.id, old: old, new: new))
        }
        if !problems.isEmpty { throw ChangeSetError(problems: problems) }
        return checked
    }

    /// Applies one change; the conflict that prevents it, if any.
    private func apply(_ change: CheckedChange) throws -> Conflict? {
        func applied<M: Model>(to type: M.Type) throws -> Conflict? {
            let object = try load(change.id, as: type)
            switch change.kind {
            case .insert: return try self.insert(change, over: object)
            case .update: return try self.update(change, object)
            case .delete: return try self.delete(change, object)
            }
        }
        // The change names an entity of the schema, and each of them has a model.
        guard let type = store.modelTypes[change.entity - 1] else { return nil }
        return try applied(to: type)
    }

    private func insert<M: Model>(_ change: CheckedChange, over object: M?) throws -> Conflict? {
        if let object {
            if object.isDeleted, object.hasChanges { _ = insertOne(object) }
            return try update(change, object)
        }
        if try isRepeatedLink(change) { return nil }
        let made = M(
            _$snapshot: try snapshot(of: change.id, [:], change.new, as: M.self),
            state: ModelState())
        made._$state.id = change.id
        _ = insertOne(made)
        return nil
    }

    /// True for a link between two objects that have one already.
    private func isRepeatedLink(_ change: CheckedChange) throws -> Bool {
        guard store.relationships.isLink(change.entity),
            case .reference(let source)? = change.new[Entity.LinkSlot.source],
            case .reference(let target)? = change.new[Entity.LinkSlot.target]
        else { return false }
        return try links(change.entity, from: source, to: target, mayBeStored: true)
            .contains { !$0.isDeleted }
    }

    private func update<M: Model>(_ change: CheckedChange, _ object: M?) throws -> Conflict? {
        guard let object, !object.isDeleted else {
            return isStoreTheWinner ? nil : conflict(change, object, [])
        }
        let entity = store.file.schema.entities[change.entity - 1]
        let now = try values(of: object)
        var values = now
        var contested: [PropertyConflict] = []
        for slot in change.new.keys.sorted() {
            guard let new = change.new[slot], let old = change.old[slot], let present = now[slot],
                present != new
            else { continue }
            if present == old, change.kind == .update {
                values[slot] = new
                continue
            }
            let conflict = PropertyConflict(
                entity: entity.name, object: change.id, property: entity.properties[slot].name,
                base: old, mine: new, theirs: present)
            guard let value = try mergePolicy.value(of: conflict) else {
                contested.append(conflict)
                continue
            }
            values[slot] = value
        }
        if !contested.isEmpty { return conflict(change, object, contested) }
        if values != now { try assign(values, to: object) }
        return nil
    }

    private func delete<M: Model>(_ change: CheckedChange, _ object: M?) throws -> Conflict? {
        guard let object, !object.isDeleted else { return nil }
        let now = try values(of: object)
        let isChanged = change.old.contains { now[$0.key] != $0.value }
        switch mergePolicy.rule {
        case .storeWins where isChanged: return nil
        case .fail where isChanged, .custom where isChanged: return conflict(change, object, [])
        default: markDeleted(object)
        }
        return nil
    }

    private var isStoreTheWinner: Bool {
        if case .storeWins = mergePolicy.rule { true } else { false }
    }

    private func conflict<M: Model>(
        _ change: CheckedChange, _ object: M?, _ properties: [PropertyConflict]
    ) -> Conflict {
        let isThere = object.map { !$0.isDeleted } ?? false
        return Conflict(
            entity: M._$name, object: change.id, base: revision,
            current: isThere ? object?._$revision : nil, properties: properties)
    }

    // MARK: Values by slot

    private func values<M: Model>(of object: M) throws -> [Int: Value] {
        let entity = table(for: M.self).entity
        var bodies = NetChanges(schema: store.file.schema)
        let range = bodies.encode(entity: entity) { object._$encode(into: &$0) }
        let unstorable = bodies.unstorable(in: range, ofEntity: entity, object.id)
        guard unstorable.isEmpty else {
            throw ValidationError(violations: unstorable, rejected: ChangeSet())
        }
        let body = try RecordBody(
            bodies.body(range), of: store.file.schema.entities[entity - 1])
        var values: [Int: Value] = [:]
        for slot in body.entity.properties.indices { values[slot] = try body.value(slot) }
        return values
    }

    /// The snapshot with these values, and `new` ones over them; nil for the others.
    private func snapshot<M: Model>(
        of id: ObjectID, _ values: [Int: Value], _ new: [Int: Value], as type: M.Type
    ) throws -> M.Snapshot {
        let entity = table(for: M.self).entity
        var bodies = NetChanges(schema: store.file.schema)
        let count = store.file.schema.entities[entity - 1].properties.count
        let range = bodies.encode(entity: entity) { writer in
            writer.write((0..<count).map { new[$0] ?? values[$0] ?? .null })
        }
        return try M._$decode(id, bodies.body(range))
    }

    private func assign<M: Model>(_ values: [Int: Value], to object: M) throws {
        let snapshot = try snapshot(of: object.id, values, [:], as: M.self)
        guard object._$willChange() else { return }
        let before = references(of: object)
        var visitor = ReferenceVisitor(mode: .uninserted)
        object._$visitReferences(&visitor)
        object._$restore(Memento(snapshot: snapshot, targets: visitor.targets))
        moveEnds(of: object, from: before, to: references(of: object))
    }
}

/// A change set does not fit the models of the store.
///
/// Nothing was applied.
public struct ChangeSetError: Error, Sendable, Hashable {
    /// One thing that does not fit.
    public struct Problem: Sendable, Hashable {
        /// The entity that the change names.
        public let entity: String
        /// The object that it names.
        public let object: ObjectID
        /// The property; nil when the change as a whole is meant.
        public let property: String?
        /// What is wrong, as a sentence without a full stop.
        public let message: String
    }

    /// Everything that does not fit, in the order of the change set.
    public let problems: [Problem]
}

extension ChangeSetError: CustomStringConvertible {
    /// One line per problem.
    public var description: String {
        problems.map { problem in
            let place = problem.property.map { "\(problem.entity).\($0)" } ?? problem.entity
            return "\(place) of \(problem.object): \(problem.message)"
        }.joined(separator: "\n")
    }
}
