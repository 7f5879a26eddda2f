import StetStore

/// The values of a unique index by which an object is looked up.
struct UniqueValues<M: Model> {
    let index: NumberedIndex
    /// The fields in the order of the index.
    private let fields: [UniqueField<M>]
    private let hasNormalizers: Bool

    /// Finds the index of some properties.
    ///
    /// - Precondition: there is one.
    init(_ fields: [UniqueField<M>], in schema: Schema, _ entity: EntityNumber) {
        let description = M._$description
        let slots = fields.map { description.slot(of: $0.keyPath) ?? -1 }
        guard let index = schema.uniqueIndex(of: slots, ofEntity: entity) else {
            trap(
                "object(_:where:_:is:_:) needs a property that is '.unique', or the properties of "
                    + "a '#Unique' without condition")
        }
        self.index = index
        self.fields = index.index.parts.compactMap { part in
            slots.firstIndex(of: part.slot).map { fields[$0] }
        }
        hasNormalizers = slots.contains(where: description.hasNormalizers)
    }

    /// The values to look for, as they were given.
    var wanted: [Value] { fields.map(\.wanted) }

    private var slots: [Slot] { index.index.parts.map(\.slot) }

    /// The values to look for, as a save would normalise them, and as they were given if that is
    /// different.
    var candidates: [[Value]] {
        if !hasNormalizers { return [wanted] }
        let normalized = zip(fields, slots).map { M._$description.normalized($0.wanted, slot: $1) }
        return normalized == wanted ? [wanted] : [normalized, wanted]
    }

    /// Returns the key of an object in the index, after a save has normalised its values.
    func key(of object: M, _ pending: PendingChanges) throws -> [UInt8] {
        if !hasNormalizers { return try index.index.key(of: fields.map { $0.value(object) }) }
        return try index.index.key(
            of: zip(fields, slots).map { $0.normalized(object, pending, $1) })
    }
}

/// A property of a unique index, with the value by which an object is looked up.
struct UniqueField<M: Model> {
    fileprivate let keyPath: PartialKeyPath<M.Snapshot>
    fileprivate let wanted: Value
    /// Returns the value that an object has.
    fileprivate let value: (M) -> Value
    /// Returns the value that an object has after a save has normalised it.
    fileprivate let normalized: (M, PendingChanges, Slot) -> Value

    /// False for nil, which any number of objects may have.
    var isWanted: Bool { wanted != .null }

    init<T: StoredValue>(_ property: KeyPath<M.Snapshot, T>, _ value: T) {
        keyPath = property
        wanted = value._value
        self.value = { $0._$snapshot[keyPath: property]._value }
        normalized = { $1.normalized(property, of: $0, slot: $2) }
    }

    /// Returns the fields of properties with their values.
    static func all<T: StoredValue, each Other: StoredValue>(
        _ property: KeyPath<M.Snapshot, T>,
        _ otherProperties: repeat KeyPath<M.Snapshot, each Other>, are value: T,
        _ otherValues: repeat each Other
    ) -> [UniqueField] {
        var fields = [UniqueField(property, value)]
        for (property, value) in repeat (each otherProperties, each otherValues) {
            fields.append(UniqueField(property, value))
        }
        return fields
    }
}

extension ManagedContext {
    /// Returns the object with a unique value, or with the values of a compound unique index; nil
    /// when there is none, and for a nil value.
    ///
    /// The values are looked for as a save would normalise them, and then as they are: where the
    /// property is `.trimmed`, " a " finds the object with "a". Pending changes are taken into
    /// account; deleted objects are left out.
    ///
    /// ```swift
    /// let notebook = try context.object(Notebook.self, where: \.name, is: "Swift")
    /// let seat = try context.object(Seat.self, where: \.row, \.number, is: "F", 12)
    /// ```
    ///
    /// - Precondition: the property is `.unique`, or the properties are those of a `#Unique`
    ///   without condition.
    /// - Throws: `StoreError`; the error of an earlier read inside an accessor.
    /// - Complexity: O(edits since the last look-up by these properties + changes in the store
    ///   since this context's revision), and a few reads. The first look-up, and one after a save,
    ///   an undo, a rollback or a restored snapshot, looks at all pending changes.
    public func object<M: Model, T: StoredValue, each Other: StoredValue>(
        _ type: M.Type, where property: KeyPath<M.Snapshot, T>,
        _ otherProperties: repeat KeyPath<M.Snapshot, each Other>, is value: T,
        _ otherValues: repeat each Other
    ) throws -> M? {
        let fields = UniqueField<M>.all(
            property, repeat each otherProperties, are: value, repeat each otherValues)
        return try object(with: fields)
    }

    /// Returns the object with the values of a unique index; nil when there is none.
    func object<M: Model>(with fields: [UniqueField<M>]) throws -> M? {
        try core.checkUsable()
        let table = core.table(for: M.self)
        let values = UniqueValues(fields, in: core.schema, table.entity)
        for candidate in values.candidates where !candidate.contains(.null) {
            if let found = try object(values, candidate, table) { return found }
        }
        return nil
    }

    private func object<M: Model>(
        _ values: UniqueValues<M>, _ candidate: [Value], _ table: _ObjectTable
    ) throws -> M? {
        let index = values.index
        let wanted = try index.index.key(of: candidate)
        let pending = core.pending
        func hasValues(_ object: M) throws -> Bool {
            try !object.isDeleted && values.key(of: object, pending) == wanted
        }
        let ids = try pending.candidates(at: wanted, in: index, as: M.self) {
            try values.key(of: $0, pending)
        }
        for id in ids {
            // A live object may have a different value by now.
            if let object = table.object(id, as: M.self), try hasValues(object) { return object }
        }
        let stored = try store.file.read { reader in
            try reader.objects(of: index, with: candidate, asOf: revision)
        }
        for id in stored {
            // A live object may have a different value by now.
            if let object = try table.load(id, as: M.self), try hasValues(object) { return object }
        }
        return nil
    }
}
