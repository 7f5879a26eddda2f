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

    /// The object whose property has a value that no two objects share; nil when there is none, and
    /// for nil.
    ///
    /// Pending changes are seen, deleted objects left out.
    ///
    /// ```swift
    /// let notebook = try context.object(Notebook.self, where: \.name, is: "Swift")
    /// ```
    ///
    /// - Precondition: the property is `.unique`.
    /// - Throws: `StoreError`; the error that an earlier read inside an accessor met.
    /// - Complexity: O(pending changes + changes in the store since this context's revision), and a
    ///   few reads.
    public func object<M: Model, T: StoredValue>(
        _ type: M.Type, where property: KeyPath<M.Snapshot, T>, is value: T
    ) throws -> M? {
        try checkUsable()
        let slot = M._$description.slot(of: property)
        let indexes = store.file.schema.indexes(ofEntity: table(for: type).entity)
        guard let index = indexes.first(where: { $0.index.isUnique && $0.slots == [slot] }) else {
            preconditionFailure("object(_:where:is:) needs a property that is '.unique'")
        }
        let value = value._value
        if value == .null { return nil }
        let wanted = try index.index.key(of: [value])
        func hasValue(_ object: M) throws -> Bool {
            let present = object._$snapshot[keyPath: property]._value
            return try !object.isDeleted && index.index.key(of: [present]) == wanted
        }
        for entry in pending + (flight?.entries ?? []) {
            if let object = entry.object as? M, try hasValue(object) { return object }
        }
        let ids = try store.file.read { reader in
            try reader.objects(of: index, with: [value], asOf: revision)
        }
        for id in ids {
            // One that is alive may have another value by now.
            if let object = try load(id, as: type), try hasValue(object) { return object }
        }
        return nil
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
        try reading { reader in
            let count = try reader.recordCount(ofEntity: table.entity)
            let mayBeAlive = table.liveCount > 0
            found.reserveCapacity(count)
            table.reserve(count)
            try reader.forEachRecord(ofEntity: table.entity, asOf: revision) { id, record in
                // Ids do not repeat within a table: what was made here is not looked for.
                if mayBeAlive, let pointer = table.pointer(id) {
                    let object = Unmanaged<M>.fromOpaque(pointer).takeUnretainedValue()
                    // What is inserted comes below, also when others have inserted it meanwhile.
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
            for object in objects { callDidFetch(of: object) }
        }
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
        try table(for: type).load(id, as: type)
    }

    /// Those of these objects that are there and not deleted, in the same order, made in one read.
    ///
    /// A read that fails gives none, and puts the context into its failed state.
    func resolve<M: Model>(_ ids: ArraySlice<ObjectID>, as type: M.Type) -> [M] {
        do {
            let objects = try load(ids, as: type)
            if M._$hasDidFetch {
                for object in objects { callDidFetch(of: object) }
            }
            return objects
        } catch {
            if failure == nil { failure = error }
            return []
        }
    }

    private func load<M: Model>(_ ids: ArraySlice<ObjectID>, as type: M.Type) throws -> [M] {
        let table = table(for: type)
        // A concrete array, as in `fetch`.
        var found: [AnyObject] = []
        found.reserveCapacity(ids.count)
        try reading { reader in
            for id in ids {
                if let object = table.object(id, as: type) {
                    if !object.isDeleted { found.append(object) }
                    continue
                }
                let made = try reader.withRecord(ofEntity: table.entity, id, asOf: revision) {
                    try M._$make(id, $0.body, table, $0.revision)
                }
                if let made {
                    found.append(Unmanaged<AnyObject>.fromOpaque(made).takeRetainedValue())
                }
            }
        }
        return unsafeBitCast(found, to: [M].self)
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
}

extension ObjectTable {
    /// The object with an id, made from its record where it is not alive.
    func load<M: Model>(_ id: ObjectID, as type: M.Type) throws -> M? {
        guard let object = try object(id, as: type) ?? read(id, as: type) else { return nil }
        if M._$hasDidFetch { context.callDidFetch(of: object) }
        return object
    }

    private func read<M: Model>(_ id: ObjectID, as type: M.Type) throws -> M? {
        try context.reading { reader in
            try reader.withRecord(ofEntity: entity, id, asOf: context.revision) { record in
                try make(id, record, as: type)
            }
        }
    }

    /// The object with an id, whatever its class.
    func load(_ id: ObjectID) throws -> (any Model)? {
        func load<M: Model>(_ type: M.Type) throws -> (any Model)? {
            try self.load(id, as: type)
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
}

extension Model {
    var _$entityName: String { Self._$name }
    var _$revision: Revision { _$state.revision }

    /// - Throws: `DecodingFailure` when the body is not one of this model.
    static func _$decode(_ id: ObjectID, _ body: UnsafeRawBufferPointer) throws -> Snapshot {
        var reader = try RecordReader(body: body, propertyCount: _$propertyCount)
        return try _$read(id, &reader, body)
    }
}

extension NumberedIndex {
    /// The slots of its properties.
    fileprivate var slots: [Int?] { index.parts.map(\.slot) }
}
