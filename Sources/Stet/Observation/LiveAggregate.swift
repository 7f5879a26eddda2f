import StetStore

/// An aggregate of a query's objects that is observed.
struct LiveAggregate<Result: Equatable & Sendable>: Sendable {
    /// The expression that is evaluated for each object; nil for objects that are only counted.
    let node: QueryNode?
    /// The aggregate of no objects.
    let empty: QueryAccumulator
    let result: @Sendable (QueryAccumulator) throws -> Result

    init(
        _ node: QueryNode?, _ empty: QueryAccumulator,
        _ result: @escaping @Sendable (QueryAccumulator) throws -> Result
    ) {
        self.node = node
        self.empty = empty
        self.result = result
    }
}

/// An observer of an aggregate: a position in the feed of commits, and the aggregate at it.
///
/// State: belongs to one iterator; it has no lock.
final class AggregateObserver<Result: Equatable & Sendable> {
    private let query: StoreQuery
    private let aggregate: LiveAggregate<Result>
    private let values: LiveValues
    private let counter: LiveQueryCounter
    private let position: LivePosition
    /// The aggregate and its result at a revision; nil before the first one.
    private var last: (revision: Revision, value: QueryAccumulator, result: Result)?

    init(
        _ store: Store, _ query: StoreQuery, _ aggregate: LiveAggregate<Result>,
        _ counter: LiveQueryCounter
    ) {
        self.query = query
        self.aggregate = aggregate
        self.counter = counter
        let schema = store.file.schema
        let node = aggregate.node ?? .constant(.null)
        values = LiveValues(query, node, in: schema)
        position = LivePosition(
            store, LiveQueryInterests.ofValues([node], of: query, in: schema))
    }

    /// Returns the next value, or nil when the store was closed or the task cancelled.
    func next(isolation actor: isolated (any Actor)?) async throws -> ValueUpdate<Result>? {
        try await position.next(isolation: actor) { try follow($0, $1) }
    }

    /// Returns the next value, or nil when it is unchanged.
    func poll() throws -> ValueUpdate<Result>? { try position.poll { try follow($0, $1) } }

    private func follow(
        _ backlog: FeedReader.Backlog, _ state: QueryState
    ) throws -> ValueUpdate<Result>? {
        if backlog.isEmpty, let last {
            self.last = (state.revision, last.value, last.result)
            return nil
        }
        let (value, way) = try value(backlog, state)
        let result = try aggregate.result(value)
        // Two NaN results count as equal.
        let isSame = last.map {
            $0.result == result || ($0.result != $0.result && result != result)
        }
        last = (state.revision, value, result)
        counter.count(way, isDelivered: isSame != true)
        return isSame == true ? nil : ValueUpdate(value: result, revision: state.revision)
    }

    private func value(
        _ backlog: FeedReader.Backlog, _ state: QueryState
    ) throws -> (QueryAccumulator, LiveQueryWay) {
        guard let last else { return (try run(state), .run("there is no result yet")) }
        switch try values.step(backlog, since: last.revision, state) {
        case .run(let reason): return (try run(state), .run(reason))
        case .changes(let removed, let added):
            var value = last.value
            if value.replace(removed, by: added) { return (value, .changes) }
            return (try run(state), .run("the value before does not tell the next"))
        }
    }

    private func run(_ state: QueryState) throws -> QueryAccumulator {
        let run = try QueryRun(state, query)
        guard let node = aggregate.node else { return .count(try run.count()) }
        var value = aggregate.empty
        try run.forEachValue(node) { each in
            value.add(each)
            return true
        }
        return value
    }
}
