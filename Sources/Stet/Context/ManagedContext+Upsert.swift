import StetStore

extension ManagedContext {
    /// Returns the object with a unique value, or inserts a new object with it.
    ///
    /// ```swift
    /// let tag = try context.upsert(Tag.self, where: \.slug, is: slug, inserting: Tag(slug: slug))
    /// tag.name = name
    /// ```
    ///
    /// Setting properties of the result updates the existing object, or completes the new one.
    /// Objects with pending changes are found, too. If others insert the same value before the
    /// save, the save is refused; `store.edit` then repeats its closure, which finds that object.
    ///
    /// - Parameters:
    ///   - type: the model.
    ///   - property: a property that is `.unique`.
    ///   - value: the value to look for, not nil.
    ///   - make: creates an object with that value; called only if none exists.
    /// - Returns: the object, with the value.
    /// - Precondition: the property is `.unique`, and `make` gives it the value.
    /// - Throws: errors of `make`; `StoreError`; the error of an earlier read inside an
    ///   accessor.
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
