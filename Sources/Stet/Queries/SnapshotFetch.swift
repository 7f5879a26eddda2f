import StetStore

/// A query for snapshots of a model's objects in a store, at the last or at an earlier revision.
///
/// ```swift
/// let titles = try store.fetch(Article.self) { $0.rating >= 3 }.all().map(\.title)
/// ```
public struct SnapshotFetch<M: Model>: ObjectQuery, Sendable {
    /// The request: condition, order and part of the result.
    public var _request: _QueryRequest<M>
    let source: QuerySource

    init(_ source: QuerySource, _ request: _QueryRequest<M> = _QueryRequest()) {
        self.source = source
        _request = request
    }

    /// Runs a read in the state that the query reads.
    public func _read<Result>(_ body: (_QueryRun) throws -> Result) throws -> Result {
        let query = _request.query(in: source.store)
        return try source.store.file.tracer.span("stet.query", entity: M._$name) {
            try source.read { state in try body(_QueryRun(run: QueryRun(state, query))) }
        }
    }

    /// Returns the snapshots of the objects that satisfy the condition, in order.
    ///
    /// - Throws: `StoreError`: `.snapshotTooOld` when the query of a view reads an index or a
    ///   relationship, and too much has changed since the revision of the view.
    /// - Complexity: as `explain(analyze:)` describes.
    @inlinable
    public func all() throws -> [M.Snapshot] { try decoded() }

    /// Returns the first snapshot; nil when there is none.
    ///
    /// - Throws: the errors of `all()`.
    /// - Complexity: that of the query with a limit of one object.
    public func first() throws -> M.Snapshot? {
        try limit(_request.limit == 0 ? 0 : 1).all().first
    }
}

/// The state that a query without a context reads.
struct QuerySource: Sendable {
    let store: Store
    /// The revision and what has changed since; nil for the last commit at the time of each read.
    var history: ViewHistory?
    /// The bodies that a context has changed, by entity; nil for a deleted object.
    var pending: [EntityNumber: [ObjectID: EncodedBody?]] = [:]
    /// The effect of the context's changes on members: those being saved, and the pending ones on
    /// top.
    var layers: (sent: WorkingState.Layer?, pending: WorkingState.Layer) = (nil, .init())

    func read<Result>(_ body: (QueryState) throws -> Result) throws -> Result {
        try store.file.read { reader in
            guard let history else { return try body(QueryState(ofLastCommitIn: reader)) }
            let floor = try reader.floor()
            if history.revision < floor {
                throw StoreError.historyTrimmed(history.revision, floor: floor, path: store.path)
            }
            let state = WorkingState(store.file.schema, since: history.changes)
            (state.sent, state.pending) = layers
            defer { store.recentViews.keep(state.foreign, in: history) }
            return try body(
                QueryState(reader, QueryState.View(state, pending: { pending[$0] ?? [:] })))
        }
    }
}

extension Store {
    /// Returns a query for snapshots of the objects of a model that satisfy a condition; nothing is
    /// read yet.
    ///
    /// Each result shows the last commit at the time of its read.
    public func fetch<M: Model>(
        _ type: M.Type,
        @QueryBuilder where condition: (M.Fields) -> QueryExpression<Bool>
    ) -> SnapshotFetch<M> {
        SnapshotFetch(QuerySource(store: self)).filter(condition)
    }

    /// Returns a query for snapshots of all objects of a model; nothing is read yet.
    public func fetch<M: Model>(_ type: M.Type) -> SnapshotFetch<M> {
        SnapshotFetch(QuerySource(store: self))
    }
}
