public import StetStore

// Change sets of other contexts or stores, applied as pending changes.

extension ManagedContext {
    /// Makes the changes of a change set pending, as if they had been edited here; it may be that
    /// of a refused save, corrected or not, or of another process.
    ///
    /// The store may have changed since. The old values of each change are compared with the values
    /// that this context shows: a property that already has the new value stays, one that still has
    /// the old value gets the new one, and for any other value the merge policy decides, as in a
    /// save. Members are added and removed in the same way, and never conflict. Inserted objects
    /// get the ids of the change set. Deleting an object that does not exist does nothing.
    /// `didInsert` and `willDelete` are not called: their effects are part of the change set.
    ///
    /// When it throws, nothing has changed.
    ///
    /// - Throws: `ChangeSetError` with everything in the change set that does not fit the models;
    ///   `ConflictError`; `ValidationError` when a pending value has no stored form to compare;
    ///   `StoreError`; the error of a policy's closure.
    /// - Complexity: O(changes), plus a read for each object that is not loaded.
    public func apply(_ changeSet: ChangeSet) throws {
        core.checkNotSaving("apply(_:)")
        try core.saves.finishInFlight()
        try core.checkUsable()
        let (changes, problems) = CheckedChange.changes(of: changeSet, core.schema)
        let beginning = core.pending.capture()
        do {
            var application = ChangeSetApplication(core, problems)
            for change in changes { try application.apply(change) }
            for change in changes { try application.applyLinks(of: change) }
            for change in changes { try application.checkReferences(of: change) }
            if !application.problems.isEmpty {
                throw ChangeSetError(application.problems, in: changeSet)
            }
            guard application.conflicts.isEmpty else {
                throw ConflictError(
                    reason: application.overflows ? .overflow : .changed,
                    conflicts: application.conflicts, rejected: changeSet)
            }
            try core.checkUsable()
        } catch {
            core.rollBack(to: beginning)
            throw error
        }
    }
}

/// Makes changes pending, one after another, by the three-way rule.
private struct ChangeSetApplication {
    private let core: ContextCore
    private(set) var conflicts: [Conflict] = []
    /// True when a conflict is that of a counter whose increments exceed its type.
    private(set) var overflows = false
    /// The values and references that do not fit the models, or the objects that there are.
    private(set) var problems: [ChangeSetError.Problem]

    init(_ core: ContextCore, _ problems: [ChangeSetError.Problem]) {
        self.core = core
        self.problems = problems
    }

    private var policy: MergePolicy { core.settings.mergePolicy }

    mutating func apply(_ change: CheckedChange) throws {
        // Cannot fail: the entity is in the schema, and every entity has a model.
        guard let type = core.store.modelTypes[change.key.entity] else { return }
        try apply(change, to: type)
    }

    private mutating func apply<M: Model>(_ change: CheckedChange, to type: M.Type) throws {
        let object = try core.table(for: type).load(change.key.id, as: type)
        switch change.kind {
        case .insert: try insert(change, over: object, as: type)
        case .update: try update(change, object)
        case .delete: try delete(change, object)
        }
    }

    private mutating func insert<M: Model>(
        _ change: CheckedChange, over object: M?, as type: M.Type
    ) throws {
        if let object {
            if object.isDeleted, object.hasChanges { _ = core.pending.insertOne(object) }
            return try update(change, object)
        }
        let table = core.table(for: type)
        let properties = table.description.properties
        let values = try properties.slots.map { slot in
            // The object computes derived attributes itself.
            let absent = properties[slot].isDerived ? properties[slot].placeholder : .null
            return try placed(change.new[slot] ?? absent, slot, table, change)
        }
        guard let capture = try capture(of: type, change.key.id, values, table) else { return }
        let body = try M._$body(of: capture).bytes
        let made = try body.withUnsafeBytes { try M._$object(change.key.id, $0) }
        made._$state.id = change.key.id
        capture.values.restore(made)
        _ = core.pending.insertOne(made)
    }

    private mutating func update<M: Model>(_ change: CheckedChange, _ object: M?) throws {
        guard let object, !object.isDeleted, let table = object._$table else {
            if policy.favorsMine, !change.new.isEmpty { note(change, object, []) }
            return
        }
        let entity = table.description
        let now = try values(of: object)
        var values = now
        var contested: [Conflict.Property] = []
        let sides = ChangedSides(change, now, entity)
        let parts = entity.mergeParts { value in
            sides.touches(value) ? sides.decide(value, change.kind) : nil
        }
        for part in parts {
            switch part {
            case .whole(let value, let decision):
                let merge = WholeMerge(
                    value: value, decision: decision, entity: entity, object: change.key.id,
                    base: sides.base, mine: sides.mine, theirs: now)
                guard let merged = try sides.values(merge, by: policy) else {
                    contested.append(merge.conflict)
                    continue
                }
                for (slot, value) in merged { values[slot] = value }
            case .property(let slot) where change.new[slot] != nil:
                let conflict = Conflict.Property(
                    entity.properties[slot], of: entity.name, change.key.id,
                    base: change.old[slot] ?? .null, mine: change.new[slot] ?? .null,
                    theirs: now[slot])
                guard let value = try merged(conflict, slot, table, change.kind) else {
                    contested.append(conflict)
                    continue
                }
                values[slot] = value
            case .property: break
            }
        }
        if !contested.isEmpty { return note(change, object, contested) }
        if values != now { try assign(values, to: object, table) }
    }

    /// Returns the value that a property gets; nil when the policy does not decide.
    private mutating func merged(
        _ conflict: Conflict.Property, _ slot: Slot, _ table: _ObjectTable, _ kind: ChangeKind
    ) throws -> Value? {
        let property = table.description.properties[slot]
        let decision = decide(conflict, property, kind)
        switch decision {
        case .theirs: return conflict.theirs
        case .mine: return try core.placed(conflict.mine, in: slot, of: table, like: conflict)
        case .counted(let sum): return try Value(inlineWord: sum, type: property.type)
        case .overflowing:
            overflows = true
            return nil
        case .merged(let array): return array
        case .contested, .mergedInPart:
            guard let value = try policy.value(of: conflict, decision) else { return nil }
            return try core.placed(value, in: slot, of: table, like: conflict)
        }
    }

    /// Decides about a property; a position by itself is never contested.
    private func decide(
        _ conflict: Conflict.Property, _ property: Property, _ kind: ChangeKind
    ) -> ThreeWay {
        let (base, mine, theirs) = (conflict.base, conflict.mine, conflict.theirs)
        if kind == .insert { return mine == theirs ? .theirs : .contested }
        guard property.hasPosition else {
            let type = property.type
            if property.isCounter,
                let decision = ThreeWay.count(
                    base: base.word(of: type), mine: mine.word(of: type),
                    theirs: theirs.word(of: type), as: type)
            {
                return decision
            }
            return ThreeWay.decide(
                base: base, mine: mine, theirs: theirs, of: property,
                favorsMine: policy.favorsMine)
        }
        let targets = ThreeWay.decide(
            base: base.target, mine: mine.target, theirs: theirs.target, ==)
        guard targets == .theirs, mine.target == theirs.target, mine.target == base.target,
            mine != base, case .placed = mine
        else { return targets }
        return theirs == base || policy.favorsMine ? .mine : .theirs
    }

    private mutating func delete<M: Model>(_ change: CheckedChange, _ object: M?) throws {
        guard let object, !object.isDeleted else { return }
        let now = try values(of: object)
        let isChanged = change.old.contains { slot, old in
            let hasPosition = object._$table?.description.properties[slot].hasPosition
            return hasPosition == true ? now[slot].target != old.target : now[slot] != old
        }
        switch policy.rule {
        case .storeWins where isChanged: return
        case .fail where isChanged, .custom where isChanged: note(change, object, [])
        default: core.pending.markDeleted(object)
        }
    }

    /// Adds and removes the members of a change.
    func applyLinks(of change: CheckedChange) throws {
        for (end, member) in change.links {
            guard let key = end.linkKey(change.key.id, member.id) else { continue }
            let below = try core.membershipBelow(of: key)
            let now = core.pending.links[key]?.now ?? below
            let decision = ThreeWay.decide(
                base: member.old, mine: member.new, theirs: now, favorsMine: policy.favorsMine)
            guard decision == .mine else { continue }
            core.pending.setLink(
                key, to: try placed(member.new, end, change.key.id), below: below)
        }
    }

    /// Notes the references of a change to objects that have never existed.
    mutating func checkReferences(of change: CheckedChange) throws {
        let entity = core.schema.entities[change.key.entity]
        for (slot, value) in change.new.sorted(by: { $0.key < $1.key }) {
            guard let id = value.target, let target = entity.properties[slot].target,
                let number = core.schema.number(ofEntity: target),
                let type = core.store.modelTypes[number], try !hasExisted(id, type, number)
            else { continue }
            problems.append(
                ChangeSetError.Problem(
                    entity: entity.name, object: change.key.id,
                    property: entity.properties[slot].name, message: "there is no \(target) \(id)"))
        }
    }

    private func hasExisted<M: Model>(
        _ id: ObjectID, _ type: M.Type, _ entity: EntityNumber
    ) throws -> Bool {
        if try core.table(for: type).load(id, as: type) != nil { return true }
        return try core.store.file.read { try $0.lastChange(ofEntity: entity, id, asOf: .max) }
            != nil
    }

    private func placed(
        _ membership: Membership, _ end: MemberEnd, _ owner: ObjectID
    ) throws -> Membership {
        guard membership.isPresent, end.layout.isOrdered else {
            return membership.isPresent && !end.isOrdered ? .present(nil) : membership
        }
        return .present(try membership.position ?? core.positionAtEnd(of: owner, at: end))
    }

    private mutating func note<M: Model>(
        _ change: CheckedChange, _ object: M?, _ properties: [Conflict.Property]
    ) {
        let isThere = object.map { !$0.isDeleted } ?? false
        conflicts.append(
            Conflict(
                entity: core.schema.entities[change.key.entity].name, object: change.key.id,
                base: core.revision, current: isThere ? object?._$revision : nil,
                properties: properties))
    }

    // MARK: Values by slot

    private func values<M: Model>(of object: M) throws -> [Value] {
        guard let table = object._$table else { return [] }
        do throws(EncodingFailure) {
            return try decoded(try object._$body(), table)
        } catch {
            var net = ChangeSetBuilder(schema: core.schema)
            let range = net.encode(entity: table.entity) { object._$write(to: &$0) }
            throw ValidationError(
                violations: net.unstorable(in: range, ofEntity: table.entity, object.id),
                rejected: ChangeSet())
        }
    }

    private func decoded(
        _ body: EncodedBody, _ table: _ObjectTable
    ) throws(EncodingFailure) -> [Value] {
        // Cannot throw: the body has just been encoded.
        (try? body.values(of: table.description)) ?? []
    }

    private func placed(
        _ value: Value, _ slot: Slot, _ table: _ObjectTable, _ change: CheckedChange
    ) throws -> Value {
        let property = table.description.properties[slot]
        return try core.placed(
            value, in: slot, of: table,
            like: Conflict.Property(
                property, of: table.description.name, change.key.id, base: .null, mine: value,
                theirs: .null))
    }

    /// Returns the capture of an object with some values; nil when the type of one of them cannot
    /// represent it.
    private mutating func capture<M: Model>(
        of type: M.Type, _ id: ObjectID, _ values: [Value], _ table: _ObjectTable
    ) throws -> ObjectCapture<M>? {
        let body = try EncodedBody(values, of: table.description)
        if let slot = M.unreadableSlot(in: body) {
            problems.append(
                ChangeSetError.Problem(
                    entity: table.description.name, object: id,
                    property: table.description.properties[slot].name,
                    message: "the value is not valid for its type"))
            return nil
        }
        return try table.capture(id, body, as: type)
    }

    private mutating func assign<M: Model>(
        _ values: [Value], to object: M, _ table: _ObjectTable
    ) throws {
        guard let capture = try capture(of: M.self, object.id, values, table),
            object._$willChange()
        else { return }
        core.pending.change(object) { _ in capture.values.restore(object) }
    }
}

extension Value {
    /// Returns the bytes of a number of a type; nil for other values.
    fileprivate func word(of type: ValueType) -> UInt64? {
        self.type == type.widest ? inlineWord : nil
    }

    /// The id that a reference refers to; nil for other values.
    fileprivate var target: ObjectID? {
        switch self {
        case .reference(let id), .placed(let id, _): id
        default: nil
        }
    }
}
