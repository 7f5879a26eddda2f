public import StetStore

extension ManagedContext {
    /// Returns the object with an id; nil when there is none at this context's revision, or it has
    /// been deleted.
    ///
    /// - Throws: `StoreError`; the error of an earlier read inside an accessor.
    /// - Complexity: one look-up in the identity map, or one read of the store.
    public func object<M: Model>(_ type: M.Type, id: ObjectID) throws -> M? {
        try core.checkUsable()
        let object = try core.table(for: type).load(id, as: type)
        return object?.isDeleted ?? true ? nil : object
    }

    /// Returns all objects of a model as `fetch(type).all()` does, without a query: stored objects
    /// in ascending order of id, then unsaved ones in the order of insertion.
    func objects<M: Model>(of type: M.Type) throws -> [M] {
        try core.checkUsable()
        let table = core.table(for: type)
        // An array of any class has the same buffer. `AnyObject` avoids a metadata lookup for each
        // element.
        var found: [AnyObject] = []
        try core.reading { reader in
            let count = try reader.reservableCount(ofEntity: table.entity)
            let mayBeAlive = table.liveCount > 0
            found.reserveCapacity(count)
            table.reserve(count)
            try reader.forEachRecord(ofEntity: table.entity, asOf: revision) { id, record in
                // A table contains each id once, so objects made by this loop need no lookup.
                if mayBeAlive, let pointer = table.pointer(id) {
                    let object = Unmanaged<M>.fromOpaque(pointer).takeUnretainedValue()
                    // Inserted objects are appended below, even if another context has saved them
                    // since.
                    if !object.isDeleted, !object.isInserted { found.append(object) }
                } else {
                    let made = try M._$make(id, record.body, table, record.revision)
                    found.append(Unmanaged<AnyObject>.fromOpaque(made).takeRetainedValue())
                }
                return true
            }
        }
        var objects = unsafeBitCast(found, to: [M].self)
        if M._$hasDidFetch {
            for object in objects { core.hookCalls.callDidFetch(of: object) }
        }
        for case let object as M in core.insertedObjects where !object.isDeleted {
            objects.append(object)
        }
        return objects
    }

    /// Reads the objects that a reference of objects points to, in few reads, before the properties
    /// are read one by one.
    ///
    /// The context does not retain what is loaded: keep the result as long as it should stay
    /// loaded.
    ///
    /// ```swift
    /// let notebooks = try context.load(\Article.notebook, of: articles)
    /// ```
    ///
    /// - Returns: each target once, in the order of its first occurrence, without deleted ones.
    /// - Throws: `StoreError`; the error of an earlier read inside an accessor.
    /// - Complexity: O(objects), in one read.
    public func load<M: Model, Target: Model>(
        _ property: KeyPath<M, Target?>, of objects: some Sequence<M>
    ) throws -> [Target] {
        try loaded { objects.compactMap { $0[keyPath: property] } }
    }

    /// Reads the members of a relationship of objects.
    ///
    /// - Returns: each member once, in the order of its first occurrence, without deleted ones.
    /// - Throws: `StoreError`; the error of an earlier read inside an accessor.
    /// - Complexity: O(objects + members), in one read.
    public func load<M: Model, Members: _ToManyProperty>(
        _ property: KeyPath<M, Members>, of objects: some Sequence<M>
    ) throws -> [Members.Element] {
        try loaded { objects.flatMap { Array($0[keyPath: property]) } }
    }

    private func loaded<Target: Model>(_ read: () -> [Target]) throws -> [Target] {
        try core.checkUsable()
        // One read for all of them, not one for each.
        let targets = core.deferringDidFetch { core.sharingReads(read) }
        // Accessors cannot throw, so their failures are reported here.
        try core.checkUsable()
        var seen: Set<ObjectIdentifier> = []
        return targets.filter { !$0.isDeleted && seen.insert(ObjectIdentifier($0)).inserted }
    }
}

extension ContextCore {
    /// The objects with pending changes, and those whose changes are being saved.
    var changedObjects: [any Model] {
        pending.objects.map(\.object) + (saves.inFlight?.sent?.objects.map(\.object) ?? [])
    }

    /// The objects that the store does not contain yet at this revision: those being saved first.
    var insertedObjects: [any Model] {
        var inserted: [any Model] = []
        if let sent = saves.inFlight?.sent {
            for (entry, flags) in zip(sent.objects, sent.flags) where flags.contains(.inserted) {
                inserted.append(entry.object)
            }
        }
        for entry in pending.objects where entry.object._$flags.contains(.inserted) {
            inserted.append(entry.object)
        }
        return inserted
    }

    /// Returns the objects among these ids that exist and are not deleted, in the same order, in
    /// one read.
    ///
    /// A read that fails returns none, and puts the context into its failed state.
    func resolve<M: Model>(_ ids: ArraySlice<ObjectID>, as type: M.Type) -> [M] {
        resolving([]) {
            let objects = try table(for: type).load(ids, as: type)
            if M._$hasDidFetch {
                for object in objects { hookCalls.callDidFetch(of: object) }
            }
            return objects
        }
    }
}
