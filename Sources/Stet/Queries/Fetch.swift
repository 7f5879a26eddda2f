import StetStore

/// A query for the objects of a model in a context.
///
/// ```swift
/// let hits = try context.fetch(Article.self) { $0.rating >= 3 && $0.title.hasPrefix("S") }
///     .sorted(by: \.title).limit(20).all()
/// ```
///
/// The result includes pending changes: insertions, deletions, and edits that alter the condition
/// or the order. It shows the context's revision, until `refresh()`.
public struct Fetch<M: Model>: ObjectQuery {
    /// The request: condition, order and part of the result.
    public var _request = _QueryRequest<M>()
    let context: ManagedContext
    private var seesPendingChanges = true
    private var prefetches: [(ManagedContext, [M]) throws -> [AnyObject]] = []

    init(_ context: ManagedContext) { self.context = context }

    /// The query without regard to pending changes: existence, condition and order of the objects
    /// are those of the stored state.
    ///
    /// The objects themselves keep their pending changes. `all()` and `first()` leave out
    /// objects that are deleted here; `count()` and `ids()` include them.
    public var ignoringPendingChanges: Fetch {
        var fetch = self
        fetch.seesPendingChanges = false
        return fetch
    }

    /// Returns the query with the objects that a reference points to read along:
    /// `.prefetch(\.notebook)`.
    ///
    /// The context retains them until its next save, refresh or fetch that prefetches.
    public func prefetch<Target: Model>(_ property: KeyPath<M, Target?>) -> Fetch {
        prefetching { context, objects in try context.load(property, of: objects) }
    }

    /// Returns the query with the members of a to-many relationship read along.
    ///
    /// The context retains them until its next save, refresh or fetch that prefetches.
    public func prefetch<Members: _ToManyProperty>(_ property: KeyPath<M, Members>) -> Fetch {
        prefetching { context, objects in try context.load(property, of: objects) }
    }

    private func prefetching(
        _ prefetch: @escaping (ManagedContext, [M]) throws -> [AnyObject]
    ) -> Fetch {
        var fetch = self
        fetch.prefetches.append(prefetch)
        return fetch
    }

    /// Returns only the objects after another one, in the order of the query.
    public func after(_ object: M) -> Fetch { after(object.snapshot) }

    /// The current state of the context, for reads that outlast it.
    var source: QuerySource {
        let core = context.core
        let history = ViewHistory(context.revision)
        guard seesPendingChanges else { return QuerySource(store: context.store, history: history) }
        let entities = Set(core.changedObjects.map(\._$entityNumber))
        return QuerySource(
            store: context.store, history: history,
            pending: Dictionary(
                uniqueKeysWithValues: entities.map { ($0, core.changedBodies(ofEntity: $0)) }),
            layers: (core.state.sent, core.state.pending))
    }

    /// Runs a read in the context's state.
    public func _read<Result>(_ body: (_QueryRun) throws -> Result) throws -> Result {
        let core = context.core
        try core.checkUsable()
        let query = _request.query(entity: core.table(for: M.self).entity, in: core.schema)
        let view = core.queryView(seesPendingChanges)
        return try context.store.file.tracer.span("stet.query", entity: M._$name) {
            try core.reading { reader in
                try body(_QueryRun(run: QueryRun(QueryState(reader, view), query)))
            }
        }
    }

    /// Returns the objects that satisfy the condition, in order.
    ///
    /// All objects of a model, without an order, are the stored objects in ascending order of id,
    /// then the unsaved ones in the order of insertion.
    ///
    /// - Throws: `StoreError`; the error of an earlier read that failed inside an accessor;
    ///   `.snapshotTooOld` when the query reads an index or a relationship, and too much has
    ///   changed since the context's revision.
    /// - Complexity: O(objects) for all objects of a model; otherwise as `explain(analyze:)`
    ///   describes.
    public func all() throws -> [M] {
        let isWholeModel = seesPendingChanges && _request.isWholeModel
        let objects =
            isWholeModel
            ? try limited { try context.objects(of: M.self) } : try made { try $0.rows() }
        return try prefetched(objects)
    }

    /// Returns the objects of the rows that a closure takes from the result.
    func objects(_ rows: (QueryRun) throws -> [QueryRun.Row]) throws -> [M] {
        try prefetched(try made(rows))
    }

    private func prefetched(_ objects: [M]) throws -> [M] {
        if !prefetches.isEmpty {
            context.core.hold(try prefetches.flatMap { try $0(context, objects) })
        }
        return objects
    }

    /// Returns the first object; nil when there is none.
    ///
    /// - Throws: the errors of `all()`.
    /// - Complexity: that of the query with a limit of one object.
    public func first() throws -> M? {
        try limit(_request.limit == 0 ? 0 : 1).all().first
    }

    /// Returns the values of the objects, in order; no objects are made.
    ///
    /// - Throws: the errors of `all()`.
    /// - Complexity: as `explain(analyze:)` describes.
    @inlinable
    public func snapshots() throws -> [M.Snapshot] { try decoded() }

    private func made(_ rows: (QueryRun) throws -> [QueryRun.Row]) throws -> [M] {
        let table = context.core.table(for: M.self)
        // Uses `AnyObject`, as `objects(of:)` does.
        var found: [AnyObject] = []
        try read { run in
            let rows = try rows(run)
            found.reserveCapacity(rows.count)
            table.reserve(rows.count)
            for row in rows {
                if let pointer = table.pointer(row.id) {
                    let object = Unmanaged<M>.fromOpaque(pointer).takeUnretainedValue()
                    if !object.isDeleted { found.append(object) }
                } else {
                    let made = try M._$make(row.id, row.body, table, row.revision)
                    found.append(Unmanaged<AnyObject>.fromOpaque(made).takeRetainedValue())
                }
            }
        }
        let objects = unsafeBitCast(found, to: [M].self)
        if M._$hasDidFetch {
            for object in objects { context.core.hookCalls.callDidFetch(of: object) }
        }
        return objects
    }
}

extension ManagedContext {
    /// Returns a query for the objects of a model that satisfy a condition; nothing is read yet.
    ///
    /// ```swift
    /// context.fetch(Article.self) { $0.notebook?.name == "Swift" }
    /// ```
    ///
    /// The closure runs once, and receives the properties by name. Several conditions, one per
    /// line, must all be satisfied.
    public func fetch<M: Model>(
        _ type: M.Type, @QueryBuilder where condition: (M.Fields) -> QueryExpression<Bool>
    ) -> Fetch<M> {
        Fetch(self).filter(condition)
    }

    /// Returns a query for all objects of a model; nothing is read yet.
    ///
    /// ```swift
    /// let articles = try context.fetch(Article.self).all()
    /// let count = try context.fetch(Article.self).count()
    /// ```
    public func fetch<M: Model>(_ type: M.Type) -> Fetch<M> { Fetch(self) }
}

extension ContextCore {
    /// Returns the view that a query of this context reads.
    func queryView(_ seesPendingChanges: Bool) -> QueryState.View {
        if seesPendingChanges {
            return QueryState.View(state, pending: { self.changedBodies(ofEntity: $0) })
        }
        let limit = store.configuration.maximumLag
        return QueryState.View(WorkingState(schema, at: revision, limit: limit))
    }

    /// Returns the current bodies of objects with changes that are pending or being saved; nil for
    /// deleted objects.
    fileprivate func changedBodies(ofEntity entity: EntityNumber) -> [ObjectID: EncodedBody?] {
        var bodies: [ObjectID: EncodedBody?] = [:]
        for object in changedObjects where object._$entityNumber == entity {
            // An object without a stored form counts with its stored values. The save reports the
            // error.
            let body = object.isDeleted ? nil : try? object._$body()
            if body == nil, !object.isDeleted { continue }
            bodies.updateValue(body, forKey: object.id)
        }
        return bodies
    }
}
