import StetStore

extension ObjectQuery {
    /// Returns values of each object, in the order of the query, without creating objects or
    /// snapshots.
    ///
    /// ```swift
    /// let titles = try store.fetch(Article.self) { $0.rating >= 3 }.values(of: \.title)
    /// for (title, rating) in try context.fetch(Article.self).values(of: \.title, \.rating) { … }
    /// ```
    ///
    /// - Parameter value: the value, or several of them; of an optional reference
    ///   `{ $0.notebook?.name ?? "" }`.
    /// - Returns: the values of each object; tuples where several are named.
    /// - Throws: `StoreError`, among them `.unreadableValue` for a value that its type cannot
    ///   represent.
    /// - Complexity: as `explain()` describes; it reads only these values of each object found.
    public func values<each T: StoredValue>(
        of value: repeat (M.Fields) -> QueryExpression<each T>
    ) throws -> [(repeat each T)] {
        var nodes: [QueryNode] = []
        for value in repeat each value { nodes.append(value(M.fields).node) }
        return try read { run in
            var results: [(repeat each T)] = []
            try run.forEachOfPage(nodes) { id, found in
                var rest = found[...]
                func next<V: StoredValue>(_ type: V.Type) throws -> V {
                    guard let value = rest.popFirst().flatMap({ V(_value: $0) }) else {
                        throw StoreError.unrepresentable(id, M._$name, "\(type)")
                    }
                    return value
                }
                results.append((repeat try next((each T).self)))
            }
            return results
        }
    }
}

extension StoreError {
    fileprivate static func unrepresentable(
        _ id: ObjectID, _ model: String, _ type: String
    ) -> StoreError {
        StoreError(
            .unreadableValue,
            message: "A value of the object \(id) of \(model) does not fit \(type).",
            advice: "Newer code has written it, or it is the result of a calculation that does not "
                + "fit its type: '??' replaces it.")
    }
}
