public import StetStore

// Edits whose closures return objects: snapshots of the saved objects leave, with the commit.

extension Store {
    /// Runs a closure on a fresh context and saves what it has edited, as the `edit` for values
    /// does, and returns the object that the closure returns as a snapshot of what was saved.
    ///
    /// ```swift
    /// let (article, commit) = try await store.edit("create", author: "Mara") { context in
    ///     let article = Article(title: title)
    ///     context.insert(article)
    ///     return article
    /// }
    /// ```
    ///
    /// - Returns: the object as saved, normalised and stamped, or as it was before the closure
    ///   deleted it; and the commit, nil when there was no net change.
    /// - Precondition: the object belongs to the context of the closure.
    /// - Throws: what `body` throws, and nothing is saved; what `ManagedContext.save(_:)` throws;
    ///   the last `ConflictError` when every attempt had one; `CancellationError`. A
    ///   `ValidationError` is tried again, too, when others have saved since the closure ran.
    @discardableResult
    public nonisolated(nonsending) func edit<M: Model>(
        _ label: String? = nil, author: String? = nil, scope: String? = nil, retries: Int = 8,
        _ body: @Sendable (_ context: ManagedContext) throws -> M
    ) async throws -> (snapshot: M.Snapshot, commit: Commit?) {
        try await StoreEdit(self, label, author, scope, retries).run { context in
            try body(context)._$returned(in: context)
        } result: {
            ($0.snapshot, $2)
        }
    }

    /// Runs an edit, and returns its object as saved; blocks the thread until the edit is durable.
    ///
    /// - Throws: the errors of the asynchronous form, except `CancellationError`.
    @discardableResult
    public func edit<M: Model>(
        _ label: String? = nil, author: String? = nil, scope: String? = nil, retries: Int = 8,
        _ body: @Sendable (_ context: ManagedContext) throws -> M
    ) throws -> (snapshot: M.Snapshot, commit: Commit?) {
        try StoreEdit(self, label, author, scope, retries).run { context in
            try body(context)._$returned(in: context)
        } result: {
            ($0.snapshot, $2)
        }
    }

    /// Runs an edit, and returns its objects as saved, in their order.
    ///
    /// - Throws: the errors of the form with one object.
    @discardableResult
    public nonisolated(nonsending) func edit<M: Model>(
        _ label: String? = nil, author: String? = nil, scope: String? = nil, retries: Int = 8,
        _ body: @Sendable (_ context: ManagedContext) throws -> [M]
    ) async throws -> (snapshots: [M.Snapshot], commit: Commit?) {
        try await StoreEdit(self, label, author, scope, retries).run { context in
            try body(context).map { $0._$returned(in: context) }
        } result: {
            ($0.map(\.snapshot), $2)
        }
    }

    /// Runs an edit, and returns its objects as saved, in their order; blocks the thread until the
    /// edit is durable.
    ///
    /// - Throws: the errors of the asynchronous form, except `CancellationError`.
    @discardableResult
    public func edit<M: Model>(
        _ label: String? = nil, author: String? = nil, scope: String? = nil, retries: Int = 8,
        _ body: @Sendable (_ context: ManagedContext) throws -> [M]
    ) throws -> (snapshots: [M.Snapshot], commit: Commit?) {
        try StoreEdit(self, label, author, scope, retries).run { context in
            try body(context).map { $0._$returned(in: context) }
        } result: {
            ($0.map(\.snapshot), $2)
        }
    }
}

extension Model {
    /// Returns the object, which the closure of an edit has returned.
    ///
    /// The snapshot of an object of another context, or of none, would not show what was saved.
    fileprivate func _$returned(in context: ManagedContext) -> Self {
        trap(
            unless: _$core === context.core,
            "Store.edit was to return \(Self.self) \(id), which is not in its context: insert it, "
                + "or return a snapshot")
        return self
    }
}
