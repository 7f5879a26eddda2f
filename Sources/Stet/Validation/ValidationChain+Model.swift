public import StetStore

extension ValidationChain {
    /// Adds a link for one property of one model, or replaces the link with the same name in its
    /// place.
    ///
    /// - Precondition: the key path is a property of the model.
    public func add<M: Model, T: StoredValue>(
        _ name: String, for type: M.Type, _ property: KeyPath<M.Snapshot, T>,
        message: String = "{property} is not valid", code: Violation.Code = .custom,
        _ isValid: @escaping @Sendable (_ value: T) -> Bool
    ) {
        guard let slot = M._$description.slot(of: property) else {
            trap("a link for \(property), which is no property of \(M._$name)")
        }
        let name = (link: name, property: M._$description.entity.properties[slot].name)
        add(
            Link(
                name: name.link, place: (M._$name, name.property), message: message, code: code
            ) { field in
                T(_value: field.value).map(isValid) ?? true
            })
    }
}
