import StetStore

extension ManagedContext {
    /// Returns the object with a unique value, or with the values of a compound unique index, or
    /// inserts a new object with them.
    ///
    /// ```swift
    /// let tag = try context.upsert(Tag.self, where: \.slug, is: slug, inserting: Tag(slug: slug))
    /// tag.name = name
    /// let seat = try context.upsert(
    ///     Seat.self, where: \.row, \.number, is: "F", 12, inserting: Seat(row: "F", number: 12))
    /// ```
    ///
    /// Setting properties of the result updates the existing object, or completes the new one.
    /// Objects with pending changes are found, too. If others insert the same value before the
    /// save, the save is refused; `store.edit` then repeats its closure, which finds that object.
    ///
    /// - Parameters:
    ///   - type: the model.
    ///   - property: a property that is `.unique`, or the first one of a `#Unique` without
    ///     condition.
    ///   - otherProperties: the other properties of the `#Unique`.
    ///   - value: the value to look for, not nil.
    ///   - otherValues: the values of the other properties, none of them nil. The value of an
    ///     optional property needs its type here: `12 as Int?`.
    ///   - make: creates an object with these values; called only if none exists.
    /// - Returns: the object, with the values.
    /// - Precondition: the properties are unique, and `make` gives them the values.
    /// - Throws: errors of `make`; `StoreError`; the error of an earlier read inside an
    ///   accessor.
    /// - Complexity: that of `object(_:where:_:is:_:)`, and of `insert(_:)`.
    @discardableResult
    public func upsert<M: Model, T: StoredValue, each Other: StoredValue>(
        _ type: M.Type, where property: KeyPath<M.Snapshot, T>,
        _ otherProperties: repeat KeyPath<M.Snapshot, each Other>, is value: T,
        _ otherValues: repeat each Other, inserting make: @autoclosure () throws -> M
    ) throws -> M {
        let fields = UniqueField.all(
            of: type, property, repeat each otherProperties, are: value,
            repeat each otherValues)
        let values = UniqueValues(fields, in: core.schema, core.table(for: type).entity)
        trap(
            unless: values.haveNoNil,
            "upsert(_:where:_:is:_:inserting:) with nil, which any number of objects may have")
        if let found: M = try object(with: values) { return found }
        let object = try make()
        insert(object)
        let hasValues = try values.areValues(of: object, core.pending)
        trap(
            unless: hasValues,
            "upsert(_:where:_:is:_:inserting:) has inserted a \(M.self) with another value: give "
                + "it the values that are looked for")
        return object
    }
}
