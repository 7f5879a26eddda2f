public import StetStore

// Reading in a handler. Its values may leave the closure; objects and their context may not.

extension Store {
    /// Runs a closure on a fresh context, which shows one revision, and returns its result.
    ///
    /// ```swift
    /// let page = try store.read { context in
    ///     try context.fetch(Article.self).all().map { Card($0.title, in: $0.notebook?.name) }
    /// }
    /// ```
    ///
    /// The closure reads one state, even if others save while it runs: that of the last commit at
    /// the time of the call, or of an earlier one. It cannot edit: an edit traps, because it would
    /// not be saved, and so do `save()` and `refresh()`.
    /// The closure blocks the thread while it reads. Its reads share one read transaction, which
    /// makes many small reads faster. A read begins the transaction anew when it is older than a
    /// tenth of a second. While the closure waits for something other than the store, the file
    /// cannot reuse the pages that the transaction may read.
    ///
    /// - Parameters:
    ///   - revision: the revision to read; nil for the last one.
    ///   - deadline: the time at which fetches in the closure end. They also end when the task is
    ///     cancelled; both at the next 256 objects that they look at.
    ///   - body: reads objects, and returns a value.
    /// - Returns: the result of the closure, a value.
    /// - Throws: errors of `body`; `QueryError` (`.deadlineExceeded`); `CancellationError`;
    ///   `StoreError` when a reference could not be read, so that no result is based on it, and
    ///   `.noSuchRevision` or `.historyTrimmed` for a revision that cannot be read.
    /// - Complexity: that of `body`; the context itself costs no read. Its reads of objects,
    ///   references and members together take one slot of the reader table.
    public func read<Result: Sendable>(
        asOf revision: Revision? = nil, deadline: ContinuousClock.Instant? = nil,
        _ body: (_ context: ManagedContext) throws -> Result
    ) throws -> Result {
        let context = try revision.map { try ManagedContext(of: self, asOf: $0) } ?? context()
        try context.core.checkUsable()
        let result = try ReadLimit.$current.withValue(.until(deadline)) {
            try context.core.inClosure(of: .read) { try body(context) }
        }
        try context.core.checkUsable()
        trap(
            unless: !context.hasChanges,
            "Store.read(_:) has edited objects, and nobody saves them: edit in Store.edit")
        return result
    }

    /// Returns the object with an id as of the last commit; nil when it does not exist.
    ///
    /// ```swift
    /// guard let article = try store.object(Article.self, id: id) else { throw NotFound() }
    /// ```
    ///
    /// - Throws: `StoreError`.
    /// - Complexity: one read.
    public func object<M: Model>(_ type: M.Type, id: ObjectID) throws -> M.Snapshot? {
        try QuerySource(store: self).object(type, id: id)
    }

    /// Returns the members of a relationship of an object as of the last commit:
    /// `store.members(of: id, in: Notebook.self, \.tags)`.
    ///
    /// Members of an ordered relationship come in its order, others in that of their ids.
    ///
    /// - Returns: the members; none when there is no such object.
    /// - Throws: `StoreError`.
    /// - Complexity: a read or two for each member.
    public func members<M: Model, Member: Model>(
        of id: ObjectID, in type: M.Type, _ relationship: (M.Fields) -> ToManyField<Member>
    ) throws -> [Member.Snapshot] {
        try QuerySource(store: self).members(of: id, in: type, relationship)
    }
}

extension ManagedContext {
    /// Creates a context for the closure of a read.
    fileprivate convenience init(of store: Store, asOf revision: Revision) throws {
        try store.file.read { try $0.checkState(at: revision) }
        self.init(
            ContextCore(store: store, author: nil, scope: nil, revision: revision, lag: .max))
    }
}

extension QuerySource {
    /// The object with an id.
    func object<M: Model>(_ type: M.Type, id: ObjectID) throws -> M.Snapshot? {
        try SnapshotFetch<M>(self).read { run in
            try run.row(id).map { try M._$decode($0.id, $0.body) }
        }
    }

    /// The members of a relationship of an object.
    func members<M: Model, Member: Model>(
        of id: ObjectID, in type: M.Type, _ relationship: (M.Fields) -> ToManyField<Member>
    ) throws -> [Member.Snapshot] {
        let field = relationship(M.fields)
        guard let entity = store.file.schema.number(ofEntity: M._$name) else { return [] }
        return try read { state in
            try state.members(of: id, entity: entity, relationship: field.relationship)
                .map { try Member._$decode($0.id, $0.body) }
        }
    }
}
