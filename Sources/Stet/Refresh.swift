import StetStore

// How a context follows the store.

extension ManagedContext {
    /// Moves the context to the last commit, and with it every live object.
    ///
    /// Pending changes stay. Where others have changed an object that has some, the context's merge
    /// policy decides; with `.fail` nothing moves. A context whose save had an unknown outcome
    /// gives its pending changes up once the outcome is known, and shows what is stored.
    ///
    /// - Throws: `ConflictError`, naming each object that could not be merged; what a policy's
    ///   closure threw; `StoreError`; `UnknownOutcomeError`; `LaterChangesError` when an
    ///   asynchronous save that was on its way failed and took pending changes with it.
    /// - Complexity: O(changes since this context's revision).
    public func refresh() throws {
        checkNotSaving("refresh()")
        precondition(
            editDepth == 0, "refresh() inside edit(_:_:): what the edit began with would be gone")
        try landFlight()
        if let unknown = failure as? UnknownOutcomeError {
            guard store.outcome(of: unknown.commit) != .unknown else { throw unknown }
            rollBackEverything()
        }
        try moveToHead()
    }

    /// Moves to the last commit, with what is pending merged; nothing has moved when it throws a
    /// conflict.
    ///
    /// `missing` are pending references to what others have deleted, `rejected` is what would have
    /// been saved.
    func moveToHead(
        missing: [ReferenceKey] = [], rejected: (() throws -> ChangeSet)? = nil
    ) throws {
        let head = try store.file.read { reader in try reader.head().revision }
        let changed = try changedObjects(through: head)
        var merges = Merges()
        try store.file.read { reader in
            for change in changed { try merge(change, reader, asOf: head, into: &merges) }
        }
        for reference in missing { try merge(missing: reference, into: &merges) }
        guard merges.conflicts.isEmpty else {
            throw ConflictError(
                reason: .changed, conflicts: merges.conflicts,
                rejected: try rejected?() ?? changes)
        }
        let readings = try read(changed, asOf: head)
        for apply in merges.applications { apply() }
        if !merges.applications.isEmpty { mergeCount += 1 }
        move(to: head, readings)
        failure = nil
        validSnapshots = []
    }

    /// An object that another commit changed, and the revision of its last change.
    struct ChangedObject {
        let entity: Int
        let id: ObjectID
        let revision: Revision
    }

    /// The objects that are alive in this context and that commits after its revision changed, each
    /// once, with its last change, in ascending order of id.
    ///
    /// - Complexity: O(commits since its revision) or O(live objects), whichever are fewer.
    func changedObjects(through head: Revision) throws -> [ChangedObject] {
        guard head > revision || !overtaken.isEmpty else { return [] }
        let isTrimmed = try store.floor() > revision
        if isTrimmed || liveObjectCount < Int(clamping: head.number &- revision.number) {
            return try store.file.read { reader in
                try tables.flatMap { try $0?.changedObjects(reader, through: head) ?? [] }
                    .sorted { $0.id < $1.id }
            }
        }
        var changed: [ObjectID: ChangedObject] = [:]
        for change in overtaken {
            let object = table(ofEntity: change.entity).object(change.id)
            // One that was read again since is not behind.
            if let object, object._$revision < change.revision { changed[change.id] = change }
        }
        try store.file.read { reader in
            var next = revision.next
            while next <= head {
                try reader.forEachTouchedObject(of: next) { entity, id, _ in
                    guard table(ofEntity: entity).object(id) != nil else { return }
                    changed[id] = ChangedObject(entity: entity, id: id, revision: next)
                }
                next = next.next
            }
        }
        return changed.values.sorted { $0.id < $1.id }
    }

    /// What a changed object is at another revision, read and not shown yet.
    struct Reading {
        let change: ChangedObject
        let object: any Model
        /// Lets the object show it.
        let show: () -> Void
    }

    /// Reads what the changed objects are at `head`.
    func read(_ changed: [ChangedObject], asOf head: Revision) throws -> [Reading] {
        try store.file.read { reader in
            try changed.compactMap { change in
                let table = table(ofEntity: change.entity)
                guard let object = table.object(change.id) else { return nil }
                return Reading(
                    change: change, object: object,
                    show: try table.read(object, reader, asOf: head, change.revision))
            }
        }
    }

    /// Shows the changed objects as they are at `head`.
    ///
    /// Objects with pending changes are left alone: they have been merged, or are behind until they
    /// have none any more. Nothing can fail here: a context that had moved in part would show two
    /// revisions.
    func move(to head: Revision, _ readings: [Reading]) {
        overtaken = []
        for reading in readings where reading.object._$context === self {
            if !reading.object.hasChanges {
                reading.show()
            } else if reading.object._$revision < reading.change.revision {
                overtaken.append(reading.change)
            }
        }
        revision = head
    }

    /// Lets those objects follow the store that could not while they had pending changes, and have
    /// none any more; all of them when the landing of a save could not read them.
    ///
    /// A read that fails puts the context into its failed state.
    func catchUp() {
        // What is on its way shows what it saves.
        guard !overtaken.isEmpty || lastSave > revision, flight == nil else { return }
        do {
            let head = max(revision, lastSave)
            move(to: head, try read(try changedObjects(through: head), asOf: head))
        } catch {
            if failure == nil { failure = error }
        }
    }
}

extension ObjectTable {
    /// The live objects whose last change at `head` is another than the one that they show.
    func changedObjects(
        _ reader: borrowing StoreReader, through head: Revision
    ) throws -> [ManagedContext.ChangedObject] {
        var changed: [ManagedContext.ChangedObject] = []
        for object in liveObjects {
            let last = try reader.lastChange(ofEntity: entity, object.id, asOf: head)
            guard let last, last.revision > object._$revision else { continue }
            changed.append(
                ManagedContext.ChangedObject(
                    entity: entity, id: object.id, revision: last.revision))
        }
        return changed
    }

    /// Reads what an object is at a revision; the closure lets it show that.
    func read<M: Model>(
        _ object: M, _ reader: borrowing StoreReader, asOf revision: Revision,
        _ lastChange: Revision
    ) throws -> () -> Void {
        let snapshot = try reader.withRecord(ofEntity: entity, object.id, asOf: revision) {
            try M._$decode(object.id, $0.body)
        }
        return {
            if let snapshot { object._$assign(snapshot) }
            object._$setDeleted(snapshot == nil)
            object._$state.revision = lastChange
        }
    }
}
