import StetStore

/// Snapshots of the objects of a model as a store has them, now or at an earlier revision.
///
/// ```swift
/// let titles = try store.fetch(Article.self) { $0.rating >= 3 }.snapshots.map(\.title)
/// ```
public struct SnapshotFetch<M: Model>: ObjectQuery, Sendable {
    /// What is asked for.
    public var _request: _QueryRequest<M>
    let source: QuerySource

    init(_ source: QuerySource, _ request: _QueryRequest<M> = _QueryRequest()) {
        self.source = source
        _request = request
    }

    /// Runs a read of what is to be seen.
    public func _read<Result>(_ body: (_QueryRun) throws -> Result) throws -> Result {
        let query = _request.query(in: source.store)
        return try source.read { state in try body(_QueryRun(run: QueryRun(state, query))) }
    }

    /// The first one; nil when there is none.
    public var first: M.Snapshot? {
        get throws { try limit(_request.limit == 0 ? 0 : 1).snapshots.first }
    }
}

/// Where a query that needs no context reads.
struct QuerySource: Sendable {
    let store: Store
    /// Nil for the last commit at the time of each read.
    var history: ViewHistory?
    /// What a context has changed, by entity.
    var pending: [EntityNumber: [ObjectID: EncodedBody?]] = [:]
    /// What the context's changes make of members: those that are on their way, and those on top.
    var layers: (sent: WorkingState.Layer?, pending: WorkingState.Layer) = (nil, .init())

    func read<Result>(_ body: (QueryState) throws -> Result) throws -> Result {
        try store.file.read { reader in
            guard let history else {
                let state = WorkingState(store.file.schema, at: try reader.head().revision)
                return try body(QueryState(reader, QueryState.View(state)))
            }
            let floor = try reader.floor()
            if history.revision < floor {
                throw StoreError.historyTrimmed(history.revision, floor: floor, path: store.path)
            }
            let state = WorkingState(store.file.schema, since: history.changes)
            (state.sent, state.pending) = layers
            defer { history.keep(state.foreign) }
            return try body(
                QueryState(reader, QueryState.View(state, pending: { pending[$0] ?? [:] })))
        }
    }
}

extension Store {
    /// Snapshots of the objects of a model that meet a condition; nothing is read yet.
    ///
    /// Each result is that of the last commit at the time when it is asked for.
    public func fetch<M: Model>(
        _ type: M.Type,
        @QueryBuilder where condition: (M.Fields) -> QueryExpression<Bool>
    ) -> SnapshotFetch<M> {
        SnapshotFetch(QuerySource(store: self)).filter(condition)
    }

    /// Snapshots of the objects of a model.
    public func fetch<M: Model>(_ type: M.Type) -> SnapshotFetch<M> {
        SnapshotFetch(QuerySource(store: self))
    }
}
