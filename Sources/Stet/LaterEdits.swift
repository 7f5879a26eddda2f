import StetStore

// Edits that were made while a flight was on its way, when the flight is prepared again: they are
// taken off, and put on top of what was sent off anew.

/// What was edited after a save had been sent off.
struct LaterEdits {
    struct Entry {
        let pending: ManagedContext.PendingObject
        let current: AnyObject
        let flags: ModelState.Flags
        let revision: Revision
        /// Part of the flight: its base is a value of the flight.
        let isOfFlight: Bool
    }

    let entries: [Entry]
    let misuse: [Violation]
    /// Their net effect.
    let changes: ChangeSet
}

extension ManagedContext {
    /// Takes what is pending off the objects of a flight; nil when nothing is.
    func takeLaterEdits(_ save: PendingSave) -> LaterEdits? {
        guard hasChanges else { return nil }
        let ofFlight = Set(save.entries.map { ObjectIdentifier($0.object) })
        let later = LaterEdits(
            entries: pending.map { entry in
                LaterEdits.Entry(
                    pending: entry, current: entry.object._$capture(),
                    flags: entry.object._$flags, revision: entry.object._$revision,
                    isOfFlight: ofFlight.contains(ObjectIdentifier(entry.object)))
            },
            misuse: misuse, changes: changes)
        let before = pending
        pending = []
        misuse = []
        for entry in before { revert(entry) }
        moveWaiters(from: .pending, to: .later)
        return later
    }

    /// Makes later edits pending again, when what they were made on has been sent off anew.
    func putOnTop(_ later: LaterEdits) {
        for entry in later.entries { putOnTop(entry.pending.object, entry) }
        misuse = later.misuse
        mayReferToUninserted = true
        validSnapshots = []
        moveWaiters(from: .later, to: .pending)
    }

    private func putOnTop<M: Model>(_ object: M, _ entry: LaterEdits.Entry) {
        let current = unsafeDowncast(entry.current, to: Memento<M.Snapshot>.self)
        if entry.isOfFlight {
            // Gone with the flight's changes when those were merged.
            if object.isDeleted || !object._$belongs(to: self) { return }
            let merged = merged(current.snapshot, since: entry.pending.base, onto: object)
            let before = references(of: object)
            register(object)
            object._$restore(Memento(snapshot: merged, targets: current.targets))
            moveEnds(of: object, from: before, to: references(of: object))
            object._$setDeleted(entry.flags.contains(.deleted))
            return
        }
        attach(object)
        object._$restore(entry.pending.base)
        let before = object._$isNew(entry.flags) ? [:] : references(of: object)
        object._$putBack(entry.current, entry.flags.rawValue)
        object._$setPendingIndex(Int32(pending.count))
        pending.append(entry.pending)
        moveEnds(of: object, from: before, to: references(of: object))
        // What others have changed meanwhile is merged with its own save.
        overtake(object, entry.revision)
    }

    /// What was edited since `base`, and else what the object shows now.
    private func merged<M: Model>(
        _ mine: M.Snapshot, since base: AnyObject, onto object: M
    ) -> M.Snapshot {
        let number = table(for: M.self).entity
        let entity = store.file.schema.entities[number - 1]
        var bodies = NetChanges(schema: store.file.schema)
        let old = bodies.encode(entity: number) { M._$encode(base, into: &$0) }
        let new = bodies.encode(entity: number) { mine._$encode(into: &$0) }
        let now = bodies.encode(entity: number) { object._$encode(into: &$0) }
        do {
            let (oldBody, newBody) = (
                try RecordBody(bodies.body(old), of: entity),
                try RecordBody(bodies.body(new), of: entity)
            )
            let nowBody = try RecordBody(bodies.body(now), of: entity)
            let values = try entity.properties.indices.map { slot in
                let isEdited = !Cell.areEqual(try oldBody.cell(slot), try newBody.cell(slot))
                return try isEdited ? newBody.value(slot) : nowBody.value(slot)
            }
            let range = bodies.encode(entity: number) { $0.write(values) }
            return try M._$decode(object.id, bodies.body(range))
        } catch {
            // Not reached: it decodes what has just been encoded.
            return mine
        }
    }
}

extension Model {
    /// True when flags are those of an object that the store has never had.
    func _$isNew(_ flags: ModelState.Flags) -> Bool {
        flags.contains(.inserted) && _$state.revision == .zero
    }
}
