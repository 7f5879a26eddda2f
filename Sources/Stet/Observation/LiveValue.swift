public import StetStore

/// A changing value that is derived from a query: a count, a sum, an average, the least or greatest
/// value.
///
/// ```swift
/// let good = store.observe(store.fetch(Article.self) { $0.rating >= 3 })
/// for try await update in good.count { badge = update.value }
/// ```
///
/// It follows the store like a ``LiveQuery``, except that changes of properties that neither the
/// query nor the value reads do not wake the observer. The new value is derived from the changes of
/// the model's own objects, and no object is kept. All values are read again where the last value
/// does not determine the next one: when the only least or greatest value is removed, for sums of
/// floating-point numbers and of decimals, which round, for queries with a page or that read other
/// objects, and when values were redacted; `statistics` counts both.
public struct LiveValue<M: Model, Value: Equatable & Sendable>: AsyncSequence, Sendable {
    /// An update.
    public typealias Element = ValueUpdate<Value>

    private let store: Store
    private let request: _QueryRequest<M>
    private let aggregate: LiveAggregate<Value>
    private let counter = LiveQueryCounter()

    fileprivate init(_ live: LiveQuery<M>, _ aggregate: LiveAggregate<Value>) {
        store = live.store
        var request = live.request
        // The order only selects the objects of a page. Without a page it is not needed.
        if request.limit == nil, request.offset == 0, request.after == nil { request.order = [] }
        self.request = request
        self.aggregate = aggregate
    }

    /// The counts of the work for all iterators of this sequence.
    public var statistics: LiveQueryStatistics { counter.statistics }

    /// Creates an independent iterator, whose first update is the value at that time.
    public func makeAsyncIterator() -> Iterator {
        Iterator(
            observer: AggregateObserver(store, request.query(in: store), aggregate, counter))
    }

    /// The position of one observer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let observer: AggregateObserver<Value>

        /// Returns the next value, or nil when the store was closed or the task cancelled.
        ///
        /// When it throws, the position has not moved.
        ///
        /// - Throws: `StoreError` when the store cannot be read; `QueryError` (`.overflow`) when a
        ///   sum does not fit its type.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> ValueUpdate<Value>? {
            try await observer.next(isolation: actor)
        }

        /// Returns the next value, or nil when it is unchanged.
        package mutating func poll() throws -> ValueUpdate<Value>? { try observer.poll() }
    }
}

/// A value that is derived from a query, at a revision.
public struct ValueUpdate<Value: Equatable & Sendable>: Sendable, Equatable {
    /// The value.
    public let value: Value
    /// The revision of the value.
    public let revision: Revision

    package init(value: Value, revision: Revision) {
        self.value = value
        self.revision = revision
    }
}

// MARK: - Aggregates

extension LiveQuery {
    /// The changing number of objects.
    public var count: LiveValue<M, Int> {
        LiveValue(
            self,
            LiveAggregate(nil, .count(0)) { value in
                if case .count(let count) = value { count } else { 0 }
            })
    }

    /// Returns the changing least value; nil when there is none.
    public func min<T: OrderedValue>(
        _ value: (M.Fields) -> QueryExpression<T>
    ) -> LiveValue<M, T?> {
        extreme(value(M.fields).node, .less)
    }

    /// Returns the changing least value that is not nil; nil when there is none.
    public func min<T: OrderedValue>(
        _ value: (M.Fields) -> QueryExpression<T?>
    ) -> LiveValue<M, T?> {
        extreme(value(M.fields).node, .less)
    }

    /// Returns the changing least value of an expression behind a `?`; nil when there is none.
    public func min<T: OrderedValue>(
        _ value: (M.Fields) -> QueryExpression<T>?
    ) -> LiveValue<M, T?> {
        extreme(value(M.fields)?.node ?? .constant(.null), .less)
    }

    /// Returns the changing greatest value; nil when there is none.
    public func max<T: OrderedValue>(
        _ value: (M.Fields) -> QueryExpression<T>
    ) -> LiveValue<M, T?> {
        extreme(value(M.fields).node, .greater)
    }

    /// Returns the changing greatest value that is not nil; nil when there is none.
    public func max<T: OrderedValue>(
        _ value: (M.Fields) -> QueryExpression<T?>
    ) -> LiveValue<M, T?> {
        extreme(value(M.fields).node, .greater)
    }

    /// Returns the changing greatest value of an expression behind a `?`; nil when there is none.
    public func max<T: OrderedValue>(
        _ value: (M.Fields) -> QueryExpression<T>?
    ) -> LiveValue<M, T?> {
        extreme(value(M.fields)?.node ?? .constant(.null), .greater)
    }

    private func extreme<T: OrderedValue>(
        _ node: QueryNode, _ comparison: QueryNode.Comparison
    ) -> LiveValue<M, T?> {
        LiveValue(
            self,
            LiveAggregate(node, .extreme(QueryExtreme(comparison))) { value in
                if case .extreme(let extreme) = value { extreme.result() } else { nil }
            })
    }

    /// Returns the changing sum of a number; 0 for no objects.
    public func sum<T: NumericValue>(
        _ value: (M.Fields) -> QueryExpression<T>
    ) -> LiveValue<M, T> {
        sum(value(M.fields).node)
    }

    /// Returns the changing sum of a number over the objects where it is not nil.
    public func sum<T: NumericValue>(
        _ value: (M.Fields) -> QueryExpression<T?>
    ) -> LiveValue<M, T> {
        sum(value(M.fields).node)
    }

    private func sum<T: NumericValue>(_ node: QueryNode) -> LiveValue<M, T> {
        LiveValue(
            self,
            LiveAggregate(node, .sum(QuerySum())) { value in
                if case .sum(let sum) = value { try sum.result() } else { .zero }
            })
    }

    /// Returns the changing average of a number; nil for no objects.
    public func average<T: NumericValue>(
        _ value: (M.Fields) -> QueryExpression<T>
    ) -> LiveValue<M, Double?> {
        average(value(M.fields).node)
    }

    /// Returns the changing average of a number over the objects where it is not nil; nil when
    /// there are none.
    public func average<T: NumericValue>(
        _ value: (M.Fields) -> QueryExpression<T?>
    ) -> LiveValue<M, Double?> {
        average(value(M.fields).node)
    }

    private func average(_ node: QueryNode) -> LiveValue<M, Double?> {
        LiveValue(
            self,
            LiveAggregate(node, .sum(QuerySum())) { value in
                if case .sum(let sum) = value { try sum.checkedAverage() } else { nil }
            })
    }
}
