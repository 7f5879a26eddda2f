import StetStore

/// Objects of a model as a context sees them.
///
/// ```swift
/// let hits = try context.fetch(Article.self) { $0.rating >= 3 && $0.title.hasPrefix("S") }
///     .sorted(by: \.title).limit(20).objects
/// ```
///
/// Pending changes are seen: what is inserted, changed into the condition or out of it, deleted,
/// sorted otherwise. So is the context's revision, until `refresh()`.
public struct Fetch<M: Model>: ObjectQuery {
    /// What is asked for.
    public var _request = _QueryRequest<M>()
    private let context: ManagedContext
    private var seesPendingChanges = true
    private var prefetches: [(ManagedContext, [M]) throws -> [AnyObject]] = []

    init(_ context: ManagedContext) { self.context = context }

    /// Without regard to pending changes: which objects there are, whether they meet the condition
    /// and in what order, is as saved.
    ///
    /// The objects themselves keep their pending changes; `objects` and `first` leave out one that
    /// is deleted here, which `count` and `ids` have.
    public var ignoringPendingChanges: Fetch {
        var fetch = self
        fetch.seesPendingChanges = false
        return fetch
    }

    /// Reads what the objects refer to along with them: `.prefetch(\.notebook)`.
    ///
    /// The context holds it until its next save, refresh or fetch that prefetches.
    public func prefetch<Target: Model>(_ property: KeyPath<M, Target?>) -> Fetch {
        prefetching { context, objects in try context.load(property, of: objects) }
    }

    /// The same for the members of a relationship to many.
    public func prefetch<Members: ToManyProperty>(_ property: KeyPath<M, Members>) -> Fetch {
        prefetching { context, objects in try context.load(property, of: objects) }
    }

    private func prefetching(
        _ prefetch: @escaping (ManagedContext, [M]) throws -> [AnyObject]
    ) -> Fetch {
        var fetch = self
        fetch.prefetches.append(prefetch)
        return fetch
    }

    /// Only what stands behind an object in the order that is asked for.
    public func after(_ object: M) -> Fetch { after(object.snapshot) }

    /// What the context sees now, for reads that outlast it.
    var source: QuerySource {
        let entities = seesPendingChanges ? context.entitiesWithChanges : []
        return QuerySource(
            store: context.store, history: ViewHistory(context.revision),
            pending: Dictionary(
                uniqueKeysWithValues: entities.map { ($0, context.pendingBodies(ofEntity: $0)) }))
    }

    /// Runs a read of what the context sees.
    public func _read<Result>(_ body: (_QueryRun) throws -> Result) throws -> Result {
        try context.checkUsable()
        let query = _request.query(
            entity: context.table(for: M.self).entity, in: context.store.file.schema)
        let view = context.queryView(pending: seesPendingChanges)
        return try context.reading { reader in
            try body(_QueryRun(run: QueryRun(QueryState(reader, view), query)))
        }
    }

    /// The objects, in order.
    ///
    /// - Throws: `StoreError`; the error that an earlier read inside an accessor met;
    ///   `SnapshotTooOldError` when an index or a relationship is asked, and too much has changed
    ///   since the context's revision.
    /// - Complexity: as `explain()` tells.
    public var objects: [M] {
        get throws {
            let objects = try made()
            if !prefetches.isEmpty {
                context.prefetched = try prefetches.flatMap { try $0(context, objects) }
            }
            return objects
        }
    }

    /// The first object; nil when there is none.
    public var first: M? {
        get throws { try limit(_request.limit == 0 ? 0 : 1).objects.first }
    }

    private func made() throws -> [M] {
        let table = context.table(for: M.self)
        // A concrete array, as where all objects are fetched.
        var found: [AnyObject] = []
        try read { run in
            let rows = try run.rows()
            found.reserveCapacity(rows.count)
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
            for object in objects { context.callDidFetch(of: object) }
        }
        return objects
    }
}

extension ManagedContext {
    /// The objects of a model that meet a condition; nothing is read yet.
    ///
    /// ```swift
    /// context.fetch(Article.self) { $0.notebook?.name == "Swift" }
    /// ```
    ///
    /// The closure is run once, and gets the properties by name. Several conditions, one per line,
    /// must all be met.
    public func fetch<M: Model>(
        _ type: M.Type, @QueryBuilder where condition: (M.Fields) -> QueryExpression<Bool>
    ) -> Fetch<M> {
        Fetch(self).filter(condition)
    }

    /// The objects of a model, to be sorted, counted, or fetched in parts.
    ///
    /// Without any of that `fetch` gives an array of all objects.
    @_disfavoredOverload
    public func fetch<M: Model>(_ type: M.Type) -> Fetch<M> { Fetch(self) }

    /// What a query of this context sees.
    func queryView(pending isSeen: Bool) -> QueryState.View {
        QueryState.View(
            revision: revision,
            pending: { entity in isSeen ? self.pendingBodies(ofEntity: entity) : [:] },
            later: { reader, entity in try self.laterChanges(reader, ofEntity: entity) })
    }

    fileprivate var entitiesWithChanges: Set<Int> {
        Set((pending + (flight?.entries ?? [])).map(\.object._$entityNumber))
    }

    /// The present values of what is pending or on its way, nil for what is deleted.
    fileprivate func pendingBodies(ofEntity entity: Int) -> [ObjectID: [UInt8]?] {
        var bodies: [ObjectID: [UInt8]?] = [:]
        if !hasChanges, flight == nil { return bodies }
        var encoding = NetChanges(schema: store.file.schema)
        for entry in pending + (flight?.entries ?? []) {
            let object = entry.object
            guard object._$entityNumber == entity else { continue }
            if object.isDeleted {
                bodies.updateValue(nil, forKey: object.id)
                continue
            }
            let range = encoding.encode(entity: entity) { object._$encode(into: &$0) }
            bodies.updateValue(Array(encoding.body(range)), forKey: object.id)
        }
        return bodies
    }
}
