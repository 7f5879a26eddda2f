import StetStore

// Three-way merges of pending changes with what others have saved; see `MergePolicy`.

/// What a context has found out before it follows the store: how each object is merged, and where
/// that is not possible.
struct Merges {
    /// Called when there are no conflicts.
    var applications: [() -> Void] = []
    var conflicts: [Conflict] = []
}

extension ManagedContext {
    /// Decides what becomes of an object that others have changed, if it has pending changes.
    func merge(
        _ change: ChangedObject, _ reader: borrowing StoreReader, asOf head: Revision,
        into merges: inout Merges
    ) throws {
        guard let object = table(ofEntity: change.entity).object(change.id), object.hasChanges
        else { return }
        try merge(object, change, reader, asOf: head, into: &merges)
    }

    private func merge<M: Model>(
        _ object: M, _ change: ChangedObject, _ reader: borrowing StoreReader,
        asOf head: Revision, into merges: inout Merges
    ) throws {
        if object._$isNew, object.isDeleted { return }
        var sides = try MergeSides(
            object, pending[Int(object._$state.pendingIndex)].base, change, store)
        _ = try reader.withRecord(ofEntity: change.entity, object.id, asOf: head) { record in
            sides.take(theirs: record.body)
        }
        if sides.hasNoChangeOfMine {
            return merges.applications.append { [self] in rollBack(object) }
        }
        if sides.mine == nil, sides.theirs == nil, object is any AnyLink {
            // Taking a member out that others have taken out is no conflict.
            return merges.applications.append { [self] in rollBack(object) }
        }
        switch (mergePolicy.rule, sides.mine, sides.theirs) {
        case (.storeWins, nil, _), (.storeWins, _, nil), (.custom, nil, nil),
            (.contextWins, nil, nil):
            merges.applications.append { [self] in rollBack(object) }
        case (.contextWins, _, nil):
            let ends = try sides.references(sides.base)
            merges.applications.append { [self] in revive(object, change.revision, ends) }
        case (.fail, _, _), (.custom, nil, _), (.custom, _, nil):
            merges.conflicts.append(try conflict(object, change, sides))
        case (_, let mine, let theirs?):
            let values = try mine == nil ? nil : sides.merged(by: mergePolicy)
            if values == nil, mine != nil {
                return merges.conflicts.append(try conflict(object, change, sides))
            }
            let stored = try M._$decode(object.id, sides.bodies.body(theirs))
            let merged = try values.map { try sides.snapshot(of: $0, as: M.self) }
            let ends = try (sides.references(sides.base), sides.references(theirs))
            merges.applications.append { [self] in
                rebase(object, onto: stored, merged: merged, change.revision, ends)
            }
        }
    }

    private func conflict<M: Model>(
        _ object: M, _ change: ChangedObject, _ sides: borrowing MergeSides
    ) throws -> Conflict {
        Conflict(
            entity: M._$name, object: object.id, base: object._$revision,
            current: sides.theirs == nil ? nil : change.revision,
            properties: try sides.propertyConflicts().map(\.conflict))
    }

    /// Decides about a pending reference to an object that others have deleted.
    func merge(missing reference: ReferenceKey, into merges: inout Merges) throws {
        let entity = store.file.schema.entities[reference.sourceEntity - 1]
        let property = entity.properties[reference.slot]
        guard let object = table(ofEntity: reference.sourceEntity).object(reference.source),
            object._$refers(to: reference.target, slot: reference.slot)
        else { return }
        let conflict = PropertyConflict(
            entity: entity.name, object: reference.source, property: property.name, base: .null,
            mine: .reference(reference.target), theirs: .null)
        if try mergePolicy.value(of: conflict) == .null {
            let referrer = InverseEnds.Referrer(
                entity: reference.sourceEntity, slot: reference.slot, source: reference.source)
            merges.applications.append { [self] in nullify(referrer, object, reference.target) }
        } else {
            merges.conflicts.append(
                Conflict(
                    entity: property.target ?? "", object: reference.target, base: revision,
                    current: nil))
        }
    }

    /// Lets the pending changes of an object begin with the stored values; `merged` is nil for one
    /// that stays deleted.
    private func rebase<M: Model>(
        _ object: M, onto stored: M.Snapshot, merged: M.Snapshot?, _ revision: Revision,
        _ ends: (base: [Int: ObjectID], theirs: [Int: ObjectID])
    ) {
        let index = Int(object._$state.pendingIndex)
        pending[index] = PendingObject(
            object: object, base: Memento(snapshot: stored, targets: []))
        moveEnds(of: object, from: references(of: object), to: ends.base)
        if let merged {
            var visitor = ReferenceVisitor(mode: .uninserted)
            object._$visitReferences(&visitor)
            object._$restore(Memento(snapshot: merged, targets: visitor.targets))
        }
        moveEnds(of: object, from: ends.theirs, to: references(of: object))
        object._$state.flags.remove(.inserted)
        object._$state.revision = revision
    }

    /// Inserts an object again that others have deleted.
    private func revive<M: Model>(
        _ object: M, _ revision: Revision, _ baseEnds: [Int: ObjectID]
    ) {
        let now = references(of: object)
        moveEnds(of: object, from: now, to: baseEnds)
        moveEnds(of: object, from: [:], to: now)
        object._$state.flags.insert(.inserted)
        object._$state.revision = revision
    }
}

/// The three values of an object: what both sides began with, what is pending, what is stored.
///
/// They are compared as stored bytes.
struct MergeSides: ~Copyable {
    private let entity: Int
    private let id: ObjectID
    private(set) var bodies: NetChanges
    /// nil for an object that both sides have inserted.
    let base: Range<Int>?
    /// nil when it is deleted here.
    let mine: Range<Int>?
    /// nil when others have deleted it.
    private(set) var theirs: Range<Int>?
    private let isRevived: Bool

    init<M: Model>(
        _ object: M, _ memento: AnyObject, _ change: ManagedContext.ChangedObject, _ store: Store
    ) throws {
        entity = change.entity
        id = change.id
        isRevived = object.isInserted
        bodies = NetChanges(schema: store.file.schema)
        base =
            object._$isNew
            ? nil : bodies.encode(entity: entity) { M._$encode(memento, into: &$0) }
        mine =
            object.isDeleted ? nil : bodies.encode(entity: entity) { object._$encode(into: &$0) }
    }

    mutating func take(theirs body: UnsafeRawBufferPointer) { theirs = bodies.copy(body) }

    private var description: Entity { bodies.schema.entities[entity - 1] }

    /// True when what is pending comes to nothing.
    var hasNoChangeOfMine: Bool {
        guard let base, let mine, !isRevived else { return false }
        return bodies.areEqual(base, mine)
    }

    private func body(_ range: Range<Int>) throws -> RecordBody {
        try RecordBody(bodies.body(range), of: description)
    }

    func references(_ range: Range<Int>?) throws -> [Int: ObjectID] {
        var references: [Int: ObjectID] = [:]
        guard let range else { return references }
        try body(range).forEachReference { slot, target in references[slot] = target }
        return references
    }

    /// Every property that either side has changed; of a deleted object none.
    func propertyConflicts() throws -> [(slot: Int, conflict: PropertyConflict, isContested: Bool)]
    {
        guard let mine, let theirs else { return [] }
        let (mineBody, theirsBody) = (try body(mine), try body(theirs))
        let baseBody = try base.map { try body($0) }
        var found: [(slot: Int, conflict: PropertyConflict, isContested: Bool)] = []
        for (slot, property) in description.properties.enumerated() {
            let (mineCell, theirsCell) = (try mineBody.cell(slot), try theirsBody.cell(slot))
            let baseCell = try baseBody?.cell(slot)
            let isMine = !Cell.areEqual(mineCell, baseCell)
            let isTheirs = !Cell.areEqual(theirsCell, baseCell)
            if !isMine, !isTheirs { continue }
            let conflict = PropertyConflict(
                entity: description.name, object: id, property: property.name,
                base: try baseBody?.value(slot) ?? .null, mine: try mineBody.value(slot),
                theirs: try theirsBody.value(slot))
            let isContested =
                isMine && isTheirs && !Cell.areEqual(mineCell, theirsCell)
                && property.stamp != .update
            found.append((slot, conflict, isContested))
        }
        return found
    }

    /// The merged values; nil when the policy does not decide.
    func merged(by policy: MergePolicy) throws -> [Value]? {
        // What has no stored form would be lost.
        guard let mine, let theirs, bodies.unstorable(in: mine, ofEntity: entity, id).isEmpty
        else { return nil }
        let stored = try body(theirs)
        var values = try description.properties.indices.map { try stored.value($0) }
        let pending = try body(mine)
        let before = try base.map { try body($0) }
        for (slot, conflict, isContested) in try propertyConflicts() {
            if isContested {
                guard let value = try policy.value(of: conflict) else { return nil }
                let property = description.properties[slot]
                precondition(
                    property.accepts(value),
                    "a merge policy gave \(value) for \(description.name).\(property.name)")
                values[slot] = value
            } else if description.properties[slot].stamp != .update,
                !Cell.areEqual(try pending.cell(slot), try before?.cell(slot))
            {
                values[slot] = conflict.mine
            }
        }
        return values
    }

    /// The values as the snapshot of a model.
    mutating func snapshot<M: Model>(of values: [Value], as type: M.Type) throws -> M.Snapshot {
        let range = bodies.encode(entity: entity) { $0.write(values) }
        return try M._$decode(id, bodies.body(range))
    }
}

extension Model {
    /// True while it is inserted and the store has never had it.
    var _$isNew: Bool { isInserted && _$state.revision == .zero }
}
