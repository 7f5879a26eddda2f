import StetStore

/// The values of a unique index by which an object is looked up.
///
/// It is not generic, so that look-ups run without the metadata of the model.
struct UniqueValues {
    let index: NumberedIndex
    /// The fields in the order of the index.
    private let fields: [UniqueField]

    /// Finds the index of some properties.
    ///
    /// - Precondition: there is one.
    init(_ fields: [UniqueField], in schema: Schema, _ entity: EntityNumber) {
        guard let index = schema.uniqueIndex(of: fields.map(\.slot), ofEntity: entity) else {
            trap(
                "object(_:where:_:is:_:) and upsert need a property that is '.unique', or the "
                    + "properties of a '#Unique' without condition")
        }
        self.index = index
        // Most look-ups are by one value.
        self.fields =
            fields.count == 1
            ? fields
            : index.index.parts.compactMap { part in fields.first { $0.slot == part.slot } }
    }

    /// The values to look for, as they were given.
    var wanted: [Value] { fields.map(\.wanted) }

    /// The values to look for, as a save would normalise them, and as they were given if that is
    /// different; none with a nil, which any number of objects may have.
    var candidates: [[Value]] {
        let normalized = fields.map(\.normalized)
        let isSame = !fields.contains(where: \.hasNormalizers) || normalized == wanted
        return (isSame ? [normalized] : [normalized, wanted]).filter { !$0.contains(.null) }
    }

    /// False if one of the values is nil, or would be after a save.
    var haveNoNil: Bool { !fields.contains { $0.normalized == .null } }

    /// Returns whether an object has the values.
    func areValues(of object: AnyObject, _ pending: PendingChanges) throws -> Bool {
        let key = try key(of: object, pending)
        return try candidates.contains { try index.index.key(of: $0) == key }
    }

    /// Returns the key of an object in the index, after a save has normalised its values.
    func key(of object: AnyObject, _ pending: PendingChanges) throws -> [UInt8] {
        try index.index.key(of: fields.map { $0.value(object, pending) })
    }
}

/// A property of a unique index, with the value by which an object is looked up.
struct UniqueField {
    fileprivate let slot: Slot
    fileprivate let wanted: Value
    /// The value to look for, as a save would normalise it.
    fileprivate let normalized: Value
    fileprivate let hasNormalizers: Bool
    /// Returns the value that an object has after a save has normalised it.
    fileprivate let value: (AnyObject, PendingChanges) -> Value

    private init<M: Model, T: StoredValue>(
        _ type: M.Type, _ property: KeyPath<M.Snapshot, T>, _ value: T
    ) {
        let description = M._$description
        let slot = description.slot(of: property) ?? -1
        self.slot = slot
        wanted = value._value
        hasNormalizers = slot >= 0 && description.hasNormalizers(slot: slot)
        normalized = hasNormalizers ? description.normalized(wanted, slot: slot) : wanted
        self.value =
            hasNormalizers
            ? { object, pending in
                pending.normalized(property, of: unsafeDowncast(object, to: M.self), slot: slot)
            }
            : { object, _ in
                unsafeDowncast(object, to: M.self)._$snapshot[keyPath: property]._value
            }
    }

    /// Returns the fields of properties with their values.
    static func all<M: Model, T: StoredValue, each Other: StoredValue>(
        of type: M.Type, _ property: KeyPath<M.Snapshot, T>,
        _ otherProperties: repeat KeyPath<M.Snapshot, each Other>, are value: T,
        _ otherValues: repeat each Other
    ) -> [UniqueField] {
        var fields = [UniqueField(type, property, value)]
        for (property, value) in repeat (each otherProperties, each otherValues) {
            fields.append(UniqueField(type, property, value))
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
    /// A further value, such as 12, needs its type if its property is optional: `12 as Int?`.
    ///
    /// - Precondition: the property is `.unique`, or the properties are those of a `#Unique`
    ///   without condition.
    /// - Throws: `StoreError`; the error of an earlier read inside an accessor.
    /// - Complexity: O(edits since the last look-up by these properties), and a few reads. The
    ///   first look-up, and one after a save, an undo, a rollback or a restored snapshot, looks at
    ///   all pending changes. The first one, and one after a commit of others, looks at all changes
    ///   in the store since this context's revision, as each does while others have changed more
    ///   than `maximumLag` objects.
    public func object<M: Model, T: StoredValue, each Other: StoredValue>(
        _ type: M.Type, where property: KeyPath<M.Snapshot, T>,
        _ otherProperties: repeat KeyPath<M.Snapshot, each Other>, is value: T,
        _ otherValues: repeat each Other
    ) throws -> M? {
        let fields = UniqueField.all(
            of: type, property, repeat each otherProperties, are: value, repeat each otherValues)
        let entity = core.table(for: type).entity
        return try object(with: UniqueValues(fields, in: core.schema, entity))
    }

    /// Returns the object with the values of a unique index; nil when there is none.
    func object<M: Model>(with values: UniqueValues) throws -> M? {
        try core.checkUsable()
        let table = core.table(for: M.self)
        for candidate in values.candidates {
            if let found: M = try object(values, candidate, table) { return found }
        }
        return nil
    }

    private func object<M: Model>(
        _ values: UniqueValues, _ candidate: [Value], _ table: _ObjectTable
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
        let stored = try core.read { try core.state.objects(of: index, with: candidate, $0) }
        // An object without edits is found by its stored value, as in a query, also where an object
        // that its value is derived from has edits.
        let readsOthers = core.schema.readsOtherObjects(index)
        let edited = readsOthers ? Set(core.changedObjects.map { $0.id }) : nil
        for id in stored {
            guard let object = try table.load(id, as: M.self) else { continue }
            if let edited, !edited.contains(id), !object.isDeleted { return object }
            // A live object may have a different value by now.
            if try hasValues(object) { return object }
        }
        return nil
    }
}
