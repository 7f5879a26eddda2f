public import StetStore

/// A value that follows from a query, as it changes: a count, a sum, the least or greatest value.
///
/// ```swift
/// let good = store.observe(store.fetch(Article.self) { $0.rating >= 3 })
/// for try await update in good.count { badge = update.value }
/// ```
///
/// It follows the store like a ``LiveQuery``, but for changes of properties that neither the query
/// nor the value reads, which do not wake the observer. The value is computed anew when commits may
/// have changed it, and delivered when it is another one.
public struct LiveValue<M: Model, Value: Equatable & Sendable>: AsyncSequence, Sendable {
    /// An update.
    public typealias Element = ValueUpdate<Value>

    private let store: Store
    private let request: _QueryRequest<M>
    private let nodes: [QueryNode]
    private let compute: @Sendable (StateFetch<M>) throws -> Value

    fileprivate init(
        _ live: LiveQuery<M>, _ nodes: [QueryNode],
        _ compute: @escaping @Sendable (StateFetch<M>) throws -> Value
    ) {
        store = live.store
        var request = live.request
        // The order says which objects are on a page, and nothing else.
        if request.limit == nil, request.offset == 0, request.after == nil { request.order = [] }
        self.request = request
        self.nodes = nodes
        self.compute = compute
    }

    /// Creates an observer of its own, whose first update is the value at that time.
    public func makeAsyncIterator() -> Iterator {
        let query = request.query(in: store)
        return Iterator(
            request: request, query: query, compute: compute,
            position: LivePosition(
                store, LiveQueryInterests.ofValues(nodes, of: query, in: store.file.schema)))
    }

    /// The position of one observer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let request: _QueryRequest<M>
        fileprivate let query: StoreQuery
        fileprivate let compute: @Sendable (StateFetch<M>) throws -> Value
        fileprivate let position: LivePosition
        private var last: Value?

        fileprivate init(
            request: _QueryRequest<M>, query: StoreQuery,
            compute: @escaping @Sendable (StateFetch<M>) throws -> Value, position: LivePosition
        ) {
            self.request = request
            self.query = query
            self.compute = compute
            self.position = position
        }

        /// Returns the next value, or nil when the store was closed or the task cancelled.
        ///
        /// When it throws, the position has not moved.
        ///
        /// - Throws: `StoreError` when the store cannot be read; `QueryError` (`.overflow`) when a
        ///   sum does not fit its type.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> ValueUpdate<Value>? {
            let last = last
            let update = try await position.next(isolation: actor) { try follow($0, $1, last) }
            if let update { self.last = update.value }
            return update
        }

        /// Returns the next value, or nil when it is as it was.
        package mutating func poll() throws -> ValueUpdate<Value>? {
            let last = last
            let update = try position.poll { try follow($0, $1, last) }
            if let update { self.last = update.value }
            return update
        }

        private func follow(
            _ backlog: FeedReader.Backlog, _ state: QueryState, _ last: Value?
        ) throws -> ValueUpdate<Value>? {
            if backlog.isEmpty, last != nil { return nil }
            let value = try compute(
                StateFetch(_request: request, state: state, query: query))
            // NaN is the value that it was.
            if let last, last == value || (last != last && value != value) { return nil }
            return ValueUpdate(value: value, revision: state.revision)
        }
    }
}

/// A value that follows from a query, at a revision.
public struct ValueUpdate<Value: Equatable & Sendable>: Sendable, Equatable {
    /// The value.
    public let value: Value
    /// The revision at which it is the value.
    public let revision: Revision

    package init(value: Value, revision: Revision) {
        self.value = value
        self.revision = revision
    }
}

/// A query that is asked of a state which is being read.
struct StateFetch<M: Model>: ObjectQuery {
    var _request: _QueryRequest<M>
    fileprivate let state: QueryState
    fileprivate let query: StoreQuery

    func _read<Result>(_ body: (_QueryRun) throws -> Result) throws -> Result {
        try body(_QueryRun(run: QueryRun(state, query)))
    }
}

// MARK: - Aggregates

extension LiveQuery {
    /// The number of objects as it changes.
    public var count: LiveValue<M, Int> { LiveValue(self, []) { try $0.count } }

    /// Returns the least value as it changes; nil when there is none.
    public func min<T: OrderedValue>(
        _ value: (M.Fields) -> QueryExpression<T>
    ) -> LiveValue<M, T?> {
        extreme(value(M.fields).node) { try $0.min($1) }
    }

    /// Returns the least value that is not nil as it changes; nil when there is none.
    public func min<T: OrderedValue>(
        _ value: (M.Fields) -> QueryExpression<T?>
    ) -> LiveValue<M, T?> {
        extreme(value(M.fields).node) { try $0.min($1) }
    }

    /// Returns the least value behind a `?` as it changes; nil when there is none.
    public func min<T: OrderedValue>(
        _ value: (M.Fields) -> QueryExpression<T>?
    ) -> LiveValue<M, T?> {
        extreme(value(M.fields)?.node ?? .constant(.null)) { try $0.min($1) }
    }

    /// Returns the greatest value as it changes; nil when there is none.
    public func max<T: OrderedValue>(
        _ value: (M.Fields) -> QueryExpression<T>
    ) -> LiveValue<M, T?> {
        extreme(value(M.fields).node) { try $0.max($1) }
    }

    /// Returns the greatest value that is not nil as it changes; nil when there is none.
    public func max<T: OrderedValue>(
        _ value: (M.Fields) -> QueryExpression<T?>
    ) -> LiveValue<M, T?> {
        extreme(value(M.fields).node) { try $0.max($1) }
    }

    /// Returns the greatest value behind a `?` as it changes; nil when there is none.
    public func max<T: OrderedValue>(
        _ value: (M.Fields) -> QueryExpression<T>?
    ) -> LiveValue<M, T?> {
        extreme(value(M.fields)?.node ?? .constant(.null)) { try $0.max($1) }
    }

    private func extreme<T: OrderedValue>(
        _ node: QueryNode,
        _ find:
            @escaping @Sendable (StateFetch<M>, (M.Fields) -> QueryExpression<T>) throws -> T?
    ) -> LiveValue<M, T?> {
        LiveValue(self, [node]) { try find($0) { _ in QueryExpression(node) } }
    }

    /// Returns the sum of a number as it changes; 0 for no objects.
    public func sum<T: NumericValue>(
        _ value: (M.Fields) -> QueryExpression<T>
    ) -> LiveValue<M, T> {
        let node = value(M.fields).node
        return LiveValue(self, [node]) { try $0.sum { _ in QueryExpression<T>(node) } }
    }

    /// Returns the sum of a number where it is not nil, as it changes.
    public func sum<T: NumericValue>(
        _ value: (M.Fields) -> QueryExpression<T?>
    ) -> LiveValue<M, T> {
        let node = value(M.fields).node
        return LiveValue(self, [node]) { try $0.sum { _ in QueryExpression<T>(node) } }
    }

    /// Returns the average of a number as it changes; nil for no objects.
    public func average<T: NumericValue>(
        _ value: (M.Fields) -> QueryExpression<T>
    ) -> LiveValue<M, Double?> {
        let node = value(M.fields).node
        return LiveValue(self, [node]) { try $0.average { _ in QueryExpression<T>(node) } }
    }

    /// Returns the average of a number where it is not nil, as it changes; nil where it always is.
    public func average<T: NumericValue>(
        _ value: (M.Fields) -> QueryExpression<T?>
    ) -> LiveValue<M, Double?> {
        let node = value(M.fields).node
        return LiveValue(self, [node]) { try $0.average { _ in QueryExpression<T>(node) } }
    }
}
