import StetStore

// Changes of all objects that meet a condition, and of streams of new ones.

extension ManagedContext {
    /// Changes every object that meets a condition; pending until it is saved.
    ///
    /// ```swift
    /// try context.update(Article.self) { $0.rating < 3 } set: { $0.rating = 3 }
    /// ```
    ///
    /// It is as if each were fetched and edited: values are normalised and validated, hooks run,
    /// the commit has every change.
    ///
    /// - Returns: how many objects meet it.
    /// - Throws: `QueryError` (`.tooMany`) when there are more than `limit`; what the closure
    ///   throws, with everything as it was before; what `fetch` throws.
    /// - Complexity: memory for the objects that meet it.
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

    /// Deletes every object that meets a condition; pending until it is saved.
    ///
    /// It is as if each were fetched and deleted: delete rules are followed.
    ///
    /// - Returns: how many objects meet it.
    /// - Throws: `QueryError` (`.tooMany`) when there are more than `limit`; what `fetch` throws.
    /// - Complexity: memory for the objects that meet it, and those that delete rules reach.
    @discardableResult
    public func delete<M: Deletable>(
        _ type: M.Type, limit: Int = 100_000,
        @QueryBuilder where condition: (M.Fields) -> QueryExpression<Bool>
    ) throws -> Int {
        let objects = try fetch(type, where: condition).atMost(limit)
        for object in objects { delete(object) }
        return objects.count
    }

    /// Plans the deletion of every object that meets a condition, protected ones too.
    ///
    /// - Throws: `QueryError` (`.tooMany`) when there are more than `limit`; what `fetch` throws.
    public func requestDelete<M: Model>(
        _ type: M.Type, limit: Int = 100_000,
        @QueryBuilder where condition: (M.Fields) -> QueryExpression<Bool>
    ) throws -> DestructiveAction {
        let objects = try fetch(type, where: condition).atMost(limit)
        return try request(objects, "Delete \(objects.count) of \(M._$name)?")
    }
}

extension Fetch {
    fileprivate func atMost(_ limit: Int) throws -> [M] {
        let objects = try self.limit(limit == .max ? limit : limit + 1).objects
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
    /// Changes every object that meets a condition, in one commit.
    ///
    /// As `ManagedContext.update` with a context of its own, tried again when others were faster.
    ///
    /// - Returns: how many objects meet it.
    /// - Throws: what `ManagedContext.update` and `edit` throw.
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

    /// Deletes every object that meets a condition, in one commit.
    ///
    /// As `ManagedContext.delete` with a context of its own, tried again when others were faster.
    ///
    /// - Returns: how many objects meet it.
    /// - Throws: what `ManagedContext.delete` and `edit` throw.
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

    /// Inserts an object for each element of a stream, in commits of `batch` objects.
    ///
    /// No more than a batch is in memory. With an author, undo takes all commits back in one step.
    /// The closure makes the object of an element, in no context, or nil for none. Where it ends
    /// early, what has been committed stays: the error says how many elements that are, so that the
    /// stream can go on behind them.
    ///
    /// ```swift
    /// try await store.insert(stream: lines, author: "importer") { Article(title: $0) }
    /// ```
    ///
    /// - Returns: how many objects were inserted.
    /// - Throws: `InsertStreamError`.
    /// - Precondition: a batch has at least one.
    @discardableResult
    public nonisolated(nonsending) func insert<Elements: AsyncSequence, M: Model>(
        stream elements: Elements, _ label: String? = nil, author: String? = nil,
        scope: String? = nil, batch: Int = 1_000, _ make: (Elements.Element) throws -> M?
    ) async throws -> Int {
        trap(unless: batch > 0, "a batch needs at least one object")
        let group = UndoGroup()
        var progress = (taken: 0, committed: 0, inserted: 0)
        var iterator = elements.makeAsyncIterator()
        var isAtEnd = false
        do {
            while !isAtEnd {
                try Task.checkCancellation()
                let context = context(author: author, scope: scope)
                context.undoGroup = group
                var count = 0
                while count < batch {
                    guard let element = try await iterator.next(isolation: #isolation) else {
                        isAtEnd = true
                        break
                    }
                    progress.taken += 1
                    guard let object = try make(element) else { continue }
                    context.insert(object)
                    count += 1
                }
                _ = try await context.save(label)
                progress.inserted += count
                progress.committed = progress.taken
            }
        } catch {
            throw InsertStreamError(
                elementCount: progress.committed, insertedCount: progress.inserted,
                reason: error)
        }
        return progress.inserted
    }
}

/// A stream of new objects ended early.
public struct InsertStreamError: Error, CustomStringConvertible {
    /// How many elements, from the first on, have been dealt with by commits: what comes behind
    /// them can be inserted by another call.
    public let elementCount: Int
    /// How many objects those commits have inserted.
    public let insertedCount: Int
    /// What happened: an error of the stream, of the closure or of a save.
    public let reason: any Error

    /// What happened, and where to go on.
    public var description: String {
        "\(reason) \(insertedCount) objects were inserted; go on behind element \(elementCount)."
    }
}
