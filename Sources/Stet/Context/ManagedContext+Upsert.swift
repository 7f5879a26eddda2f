import StetStore

extension ManagedContext {
    /// Returns the object with a value that no two objects share, or inserts a new one with it.
    ///
    /// ```swift
    /// let tag = try context.upsert(Tag.self, where: \.slug, is: slug, inserting: Tag(slug: slug))
    /// tag.name = name
    /// ```
    ///
    /// What is set on the result updates the object that was there, or completes the new one.
    /// Pending changes are seen. Where somebody else inserts the same value meanwhile, the save is
    /// refused, and `store.edit` tries again, which then finds that object.
    ///
    /// - Parameters:
    ///   - type: the model.
    ///   - property: a property that is `.unique`.
    ///   - value: its value, not nil.
    ///   - make: makes the object where there is none, with that value.
    /// - Returns: the object, with the value.
    /// - Precondition: the property is `.unique`, and `make` gives it the value.
    /// - Throws: what `make` throws; `StoreError`; the error that an earlier read inside an
    ///   accessor met.
    /// - Complexity: that of `object(_:where:is:)`, and of `insert(_:)`.
    @discardableResult
    public func upsert<M: Model, T: StoredValue>(
        _ type: M.Type, where property: KeyPath<M.Snapshot, T>, is value: T,
        inserting make: @autoclosure () throws -> M
    ) throws -> M {
        trap(
            unless: value._value != .null,
            "upsert(_:where:is:inserting:) with nil, which any number of objects may have")
        if let found = try object(type, where: property, is: value) { return found }
        let object = try make()
        insert(object)
        let hasValue = try self.object(type, where: property, is: value) === object
        trap(
            unless: hasValue,
            "upsert(_:where:is:inserting:) has inserted a \(M.self) with another value: give it "
                + "the value that is looked for")
        return object
    }
}
