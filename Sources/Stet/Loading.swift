import StetStore

extension ManagedContext {
    /// Reads what objects refer to, in few reads, before their properties are read one by one.
    ///
    /// The context does not hold what is loaded: keep the result as long as it is to stay loaded.
    ///
    /// ```swift
    /// let notebooks = try context.load(\Article.notebook, of: articles)
    /// ```
    ///
    /// - Returns: each target once, in the order in which it is met; deleted ones left out.
    /// - Throws: `StoreError`; the error that an earlier read inside an accessor met.
    /// - Complexity: O(objects).
    public func load<M: Model, Target: Model>(
        _ property: KeyPath<M, Target?>, of objects: some Sequence<M>
    ) throws -> [Target] {
        try loaded { objects.compactMap { $0[keyPath: property] } }
    }

    /// Reads the members of a relationship of objects.
    ///
    /// - Returns: each member once, in the order in which it is met; deleted ones left out.
    /// - Throws: `StoreError`; `SnapshotTooOldError`; the error that an earlier read inside an
    ///   accessor met.
    /// - Complexity: O(objects + members).
    public func load<M: Model, Members: ToManyProperty>(
        _ property: KeyPath<M, Members>, of objects: some Sequence<M>
    ) throws -> [Members.Element] {
        try loaded { objects.flatMap { Array($0[keyPath: property]) } }
    }

    private func loaded<Target: Model>(_ read: () -> [Target]) throws -> [Target] {
        try checkUsable()
        let targets = read()
        // The accessors do not throw.
        try checkUsable()
        var seen: Set<ObjectIdentifier> = []
        return targets.filter { !$0.isDeleted && seen.insert(ObjectIdentifier($0)).inserted }
    }
}
