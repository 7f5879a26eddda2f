public import StetStore

extension ManagedContext {
    /// The object with an id; nil when there is none at this context's revision, or it has been
    /// deleted.
    ///
    /// - Throws: `StoreError`; the error that an earlier read inside an accessor met.
    /// - Complexity: one look-up in the identity map, or one read.
    public func object<M: Model>(_ type: M.Type, id: ObjectID) throws -> M? {
        try checkUsable()
        let object = try load(id, as: type)
        return object?.isDeleted ?? true ? nil : object
    }

    /// All objects of a model: those that are stored in ascending order of id, then those that are
    /// not saved yet in the order of insertion.
    ///
    /// Pending changes are seen, deleted objects left out.
    ///
    /// - Throws: `StoreError`; the error that an earlier read inside an accessor met.
    /// - Complexity: O(objects).
    public func fetch<M: Model>(_ type: M.Type) throws -> [M] {
        try checkUsable()
        let table = table(for: type)
        // The buffers of arrays of objects are alike; a concrete one is filled without looking up
        // the type of each element.
        var found: [AnyObject] = []
        try store.file.read { reader in
            let count = try reader.recordCount(ofEntity: table.entity)
            let mayBeAlive = table.liveCount > 0
            found.reserveCapacity(count)
            table.reserve(count)
            try reader.forEachRecord(ofEntity: table.entity, asOf: revision) { id, record in
                // Ids do not repeat within a table: what was made here is not looked for.
                if mayBeAlive, let pointer = table.pointer(id) {
                    let object = Unmanaged<M>.fromOpaque(pointer).takeUnretainedValue()
                    if !object.isDeleted { found.append(object) }
                } else {
                    let made = try M._$make(id, record.body, table, record.revision)
                    found.append(Unmanaged<AnyObject>.fromOpaque(made).takeRetainedValue())
                }
                return true
            }
        }
        var objects = unsafeBitCast(found, to: [M].self)
        if let flight {
            // Saved as far as this context is concerned, but not at its revision.
            for (entry, flags) in zip(flight.entries, flight.flags) where flags.contains(.inserted)
            {
                if let object = entry.object as? M, !object.isDeleted { objects.append(object) }
            }
        }
        for entry in pending {
            guard let object = entry.object as? M else { continue }
            if object.isInserted, !object.isDeleted { objects.append(object) }
        }
        return objects
    }

    /// The object with an id, deleted ones included.
    func load<M: Model>(_ id: ObjectID, as type: M.Type) throws -> M? {
        let table = table(for: type)
        if let object = table.object(id, as: type) { return object }
        return try table.read(id, as: type)
    }

    /// What a reference's accessor does: never throws.
    ///
    /// A read that fails gives nil and puts the context into its failed state.
    func resolve<M: Model>(_ id: ObjectID, as type: M.Type) -> M? {
        do {
            return try load(id, as: type)
        } catch {
            if failure == nil { failure = error }
            return nil
        }
    }

    /// Moves the context to the last commit, and with it every live object.
    ///
    /// Pending changes stay, unless an object with pending changes was changed by another commit:
    /// then nothing moves. A context whose save had an unknown outcome gives its pending changes up
    /// once the outcome is known, and shows what is stored.
    ///
    /// - Throws: `ConflictError`, naming each such object; `StoreError`; `UnknownOutcomeError`;
    ///   `LaterChangesError` when an asynchronous save that was on its way failed and took pending
    ///   changes with it.
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

    func moveToHead() throws {
        let head = try store.file.read { reader in try reader.head().revision }
        let changed = try changedObjects(through: head)
        let conflicts = changed.compactMap { change -> Conflict? in
            guard let object = table(ofEntity: change.entity).object(change.id), object.hasChanges
            else { return nil }
            return Conflict(
                entity: object._$entityName, object: change.id, base: object._$revision,
                current: change.isDeleted ? nil : change.revision)
        }
        guard conflicts.isEmpty else {
            throw ConflictError(reason: .changed, conflicts: conflicts, rejected: changes)
        }
        try move(to: head, changed)
        failure = nil
        validSnapshots = []
    }

    /// An object that another commit changed.
    struct ChangedObject {
        let entity: Int
        let id: ObjectID
        let revision: Revision
        let isDeleted: Bool
    }

    /// The objects that are alive in this context and that commits after its revision changed, each
    /// once, with its last change.
    ///
    /// - Complexity: O(commits since its revision) or O(live objects), whichever are fewer.
    func changedObjects(through head: Revision) throws -> [ChangedObject] {
        guard head > revision || !overtaken.isEmpty else { return [] }
        if liveObjectCount < Int(clamping: head.number &- revision.number) {
            return try store.file.read { reader in
                try tables.flatMap { try $0?.changedObjects(reader, through: head) ?? [] }
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
                try reader.forEachTouchedObject(of: next) { entity, id, kind in
                    guard table(ofEntity: entity).object(id) != nil else { return }
                    changed[id] = ChangedObject(
                        entity: entity, id: id, revision: next, isDeleted: kind == .delete)
                }
                next = next.next
            }
        }
        return changed.values.sorted { $0.id < $1.id }
    }

    /// Shows the changed objects as they are at `head`.
    ///
    /// Objects with pending changes are left alone until they have none any more.
    func move(to head: Revision, _ changed: [ChangedObject]) throws {
        var left: [ChangedObject] = []
        try store.file.read { reader in
            for change in changed {
                let table = table(ofEntity: change.entity)
                guard let object = table.object(change.id) else { continue }
                if object.hasChanges {
                    left.append(change)
                } else {
                    try table.reload(object, reader, asOf: head)
                }
            }
        }
        overtaken = left
        revision = head
    }
}

extension ObjectTable {
    func read<M: Model>(_ id: ObjectID, as type: M.Type) throws -> M? {
        try context.store.file.read { reader in
            try reader.withRecord(ofEntity: entity, id, asOf: context.revision) { record in
                try make(id, record, as: type)
            }
        }
    }

    /// The object with an id, whatever its class.
    func load(_ id: ObjectID) throws -> (any Model)? {
        func load<M: Model>(_ type: M.Type) throws -> (any Model)? {
            try object(id, as: type) ?? read(id, as: type)
        }
        return try load(modelType)
    }

    /// Makes an object from its record.
    func make<M: Model>(
        _ id: ObjectID, _ record: StoreReader.Record, as type: M.Type
    ) throws -> M {
        let made = try M._$make(id, record.body, self, record.revision)
        return Unmanaged<M>.fromOpaque(made).takeRetainedValue()
    }

    /// The live objects whose records have another revision at `head`.
    func changedObjects(
        _ reader: borrowing StoreReader, through head: Revision
    ) throws -> [ManagedContext.ChangedObject] {
        var changed: [ManagedContext.ChangedObject] = []
        for object in liveObjects where object._$revision != .zero {
            let now = try reader.withRecord(ofEntity: entity, object.id, asOf: head) { $0.revision }
            if now == object._$revision || (now == nil && object.isDeleted) { continue }
            changed.append(
                ManagedContext.ChangedObject(
                    entity: entity, id: object.id, revision: now ?? head, isDeleted: now == nil))
        }
        return changed
    }

    func reload<M: Model>(
        _ object: M, _ reader: borrowing StoreReader, asOf revision: Revision
    ) throws {
        let isThere = try reader.withRecord(ofEntity: entity, object.id, asOf: revision) { record in
            object._$snapshot = try M._$decode(object.id, record.body)
            object._$state.revision = record.revision
            object._$state.flags.remove(.deleted)
            return true
        }
        if isThere == nil { object._$state.flags.insert(.deleted) }
    }
}

extension Model {
    var _$entityName: String { Self._$name }
    var _$revision: Revision { _$state.revision }

    /// - Throws: `DecodingFailure` when the body is not one of this model.
    static func _$decode(_ id: ObjectID, _ body: UnsafeRawBufferPointer) throws -> Snapshot {
        var reader = try RecordReader(body: body, propertyCount: _$propertyCount)
        let snapshot = Snapshot(_$id: id, reader: &reader)
        if reader.isDamaged { throw ObjectTable.damage(id, _$name) }
        return snapshot
    }
}
