import StetStore

// Changes of all objects that satisfy a condition, and insertion of streams.

extension ManagedContext {
    /// Changes every object that satisfies a condition; the changes are pending until they are
    /// saved.
    ///
    /// ```swift
    /// try context.update(Article.self) { $0.rating < 3 } set: { $0.rating = 3 }
    /// ```
    ///
    /// The effect is the same as fetching and editing each object: values are normalised and
    /// validated, hooks run, the commit contains every change.
    ///
    /// - Returns: the number of objects that satisfy the condition.
    /// - Throws: `QueryError` (`.tooMany`) when there are more than `limit`; the error of the
    ///   closure, after everything was restored; the errors of `fetch`.
    /// - Complexity: O(objects that satisfy the condition) in memory.
    @discardableResult
    public func update<M: Model>(
        _ type: M.Type, limit: Int = 100_000,
        @QueryBuilder where condition: (M.Fields) -> QueryExpression<Bool>,
        set change: (M) throws -> Void
    ) throws -> Int {
        let objects = try fetch(type, where: condition).atMost(limit)
        let before = snapshot()
        do {
            for object in objects { try change(object) }
        } catch {
            restore(before)
            throw error
        }
        return objects.count
    }

    /// Deletes every object that satisfies a condition; the deletions are pending until they are
    /// saved.
    ///
    /// The effect is the same as fetching and deleting each object: delete rules apply.
    ///
    /// - Returns: the number of objects that satisfy the condition.
    /// - Throws: `QueryError` (`.tooMany`) when there are more than `limit`; the errors of `fetch`.
    /// - Complexity: O(objects that satisfy the condition + objects that delete rules reach) in
    ///   memory.
    @discardableResult
    public func delete<M: Deletable>(
        _ type: M.Type, limit: Int = 100_000,
        @QueryBuilder where condition: (M.Fields) -> QueryExpression<Bool>
    ) throws -> Int {
        let objects = try fetch(type, where: condition).atMost(limit)
        for object in objects { delete(object) }
        return objects.count
    }

    /// Returns an action that describes the deletion of every object that satisfies a condition,
    /// including protected ones, and deletes them once confirmed.
    ///
    /// - Throws: `QueryError` (`.tooMany`) when there are more than `limit`; the errors of `fetch`.
    public func requestDelete<M: Model>(
        _ type: M.Type, limit: Int = 100_000,
        @QueryBuilder where condition: (M.Fields) -> QueryExpression<Bool>
    ) throws -> DestructiveAction {
        let objects = try fetch(type, where: condition).atMost(limit)
        return try request(
            objects, Sentence("Delete {count} of {entity}?", count: objects.count),
            entity: M._$name)
    }
}

extension Fetch {
    fileprivate func atMost(_ limit: Int) throws -> [M] {
        let objects = try self.limit(limit == .max ? limit : limit + 1).all()
        guard objects.count <= limit else {
            throw QueryError(
                .tooMany,
                "More than \(limit) of \(M._$name) meet the condition: raise the limit, or change "
                    + "them in parts.")
        }
        return objects
    }
}

extension Store {
    /// Changes every object that satisfies a condition, in one commit.
    ///
    /// It runs `ManagedContext.update` in a new context, and retries it when others have changed
    /// what it is based on.
    ///
    /// - Returns: the number of objects that satisfy the condition.
    /// - Throws: the errors of `ManagedContext.update` and `edit`.
    @discardableResult
    public nonisolated(nonsending) func update<M: Model>(
        _ type: M.Type, _ label: String? = nil, author: String? = nil, scope: String? = nil,
        limit: Int = 100_000,
        @QueryBuilder where condition: @Sendable (M.Fields) -> QueryExpression<Bool>,
        set change: @Sendable (M) throws -> Void
    ) async throws -> Int {
        try await edit(label, author: author, scope: scope) { context in
            try context.update(type, limit: limit, where: condition, set: change)
        }
    }

    /// Deletes every object that satisfies a condition, in one commit.
    ///
    /// It runs `ManagedContext.delete` in a new context, and retries it when others have changed
    /// what it is based on.
    ///
    /// - Returns: the number of objects that satisfy the condition.
    /// - Throws: the errors of `ManagedContext.delete` and `edit`.
    @discardableResult
    public nonisolated(nonsending) func delete<M: Deletable>(
        _ type: M.Type, _ label: String? = nil, author: String? = nil, scope: String? = nil,
        limit: Int = 100_000,
        @QueryBuilder where condition: @Sendable (M.Fields) -> QueryExpression<Bool>
    ) async throws -> Int {
        try await edit(label, author: author, scope: scope) { context in
            try context.delete(type, limit: limit, where: condition)
        }
    }
}
