public import StetStore

/// Which objects of a model are wanted: conditions, order, part of the result.
///
/// `context.fetch` gives a `Fetch`, whose results are objects or snapshots; `store.fetch` and
/// `view.fetch` give a `SnapshotFetch`. Nothing is read before a result is asked for, and each time
/// anew.
public protocol ObjectQuery<M>: QueryAggregates {
    /// What is asked for.
    var _request: _QueryRequest<M> { get set }
    /// Runs a read of what is to be seen.
    func _read<Result>(_ body: (_QueryRun) throws -> Result) throws -> Result
}

/// A query that is being answered.
public struct _QueryRun {
    let run: QueryRun
}

/// What a query asks for; changed by the methods of `ObjectQuery`.
public struct _QueryRequest<M: Model>: Sendable {
    var condition = QueryNode.everything
    var order: [QueryOrder] = []
    var limit: Int?
    var offset = 0
    var after: M.Snapshot?
    /// Where a cursor stands, instead of `after`.
    var position: StoreQuery.Position?

    /// The same, of the entity with this number.
    func query(entity: EntityNumber, in schema: Schema) -> StoreQuery {
        var query = StoreQuery(entity: entity)
        query.condition = condition
        query.order = order
        query.limit = limit
        query.offset = offset
        query.after =
            position
            ?? after.map { snapshot in
                var bodies = NetChanges(schema: schema)
                let range = bodies.encode(entity: entity) { snapshot._$encode(into: &$0) }
                return StoreQuery.Position(id: snapshot.id, body: Array(bodies.body(range)))
            }
        return query
    }
}

/// A direction of sorting.
public enum SortDirection: Hashable, Sendable {
    /// The lowest first; nil before all values, NaN behind them.
    case ascending
    /// The highest first.
    case descending
}

extension ObjectQuery {
    // MARK: Conditions

    /// Those that meet a further condition.
    public func filter(
        @QueryBuilder _ condition: (M.Fields) -> QueryExpression<Bool>
    ) -> Self {
        changed { $0.condition = .both($0.condition, condition(M.fields).node) }
    }

    // MARK: Order

    /// In the order of what the closure gives: `.sorted(by: \.title)`.
    ///
    /// Without this, and where the values are the same, in the order of their ids, which is that in
    /// which they were made; in the direction of the last value. Text is sorted as `String`
    /// compares it.
    ///
    /// - Precondition: the value is no dictionary and no `CodableAttribute`.
    public func sorted<T: StoredValue>(
        by value: (M.Fields) -> QueryExpression<T>, _ direction: SortDirection = .ascending
    ) -> Self {
        changed { $0.order = [order(value(M.fields).node, T.self, direction)] }
    }

    /// The same by a value behind a `?`: `.sorted(by: \.notebook?.name)`.
    public func sorted<T: StoredValue>(
        by value: (M.Fields) -> QueryExpression<T>?, _ direction: SortDirection = .ascending
    ) -> Self {
        changed {
            $0.order = [order(value(M.fields)?.node ?? .constant(.null), T.self, direction)]
        }
    }

    /// By a text, without the differences that a folding takes away: `.sorted(by: \.title,
    /// comparing: .caseInsensitive)`.
    public func sorted(
        by text: (M.Fields) -> QueryExpression<String>, comparing folding: TextFolding,
        _ direction: SortDirection = .ascending
    ) -> Self {
        sorted(by: { text($0).folded(folding) }, direction)
    }

    /// Where all values before are the same, in the order of a further one.
    public func then<T: StoredValue>(
        by value: (M.Fields) -> QueryExpression<T>, _ direction: SortDirection = .ascending
    ) -> Self {
        changed { $0.order.append(order(value(M.fields).node, T.self, direction)) }
    }

    /// The same by a value behind a `?`.
    public func then<T: StoredValue>(
        by value: (M.Fields) -> QueryExpression<T>?, _ direction: SortDirection = .ascending
    ) -> Self {
        changed {
            let node = value(M.fields)?.node ?? .constant(.null)
            $0.order.append(order(node, T.self, direction))
        }
    }

    /// The same by a text, without the differences that a folding takes away.
    public func then(
        by text: (M.Fields) -> QueryExpression<String>, comparing folding: TextFolding,
        _ direction: SortDirection = .ascending
    ) -> Self {
        then(by: { text($0).folded(folding) }, direction)
    }

    private func order<T: StoredValue>(
        _ node: QueryNode, _ type: T.Type, _ direction: SortDirection
    ) -> QueryOrder {
        trap(
            unless: ![.dictionary, .codable].contains(T._valueType),
            "\(T.self) has no order to sort by: sort by an attribute that has one")
        return QueryOrder(node, isDescending: direction == .descending)
    }

    // MARK: Parts

    /// At most so many.
    ///
    /// - Precondition: `count` is not negative.
    public func limit(_ count: Int) -> Self {
        trap(unless: count >= 0, "a limit can't be negative")
        return changed { $0.limit = count }
    }

    /// Without the first ones.
    ///
    /// All before it are looked at, every time: `after(_:)` finds the next page without that.
    ///
    /// - Precondition: `count` is not negative.
    public func offset(_ count: Int) -> Self {
        trap(unless: count >= 0, "an offset can't be negative")
        return changed { $0.offset = count }
    }

    /// Only what stands behind an object in the order that is asked for: the page behind the one
    /// that ended with it.
    ///
    /// The object need not exist any more, nor meet the conditions.
    public func after(_ snapshot: M.Snapshot) -> Self {
        changed { $0.after = snapshot }
    }

    func read<Result>(_ body: (QueryRun) throws -> Result) throws -> Result {
        try _read { try body($0.run) }
    }

    func changed(_ change: (inout _QueryRequest<M>) -> Void) -> Self {
        var copy = self
        change(&copy._request)
        return copy
    }
}

// MARK: - Results

extension ObjectQuery {
    /// How many there are.
    ///
    /// - Throws: `StoreError`, and what the read throws.
    /// - Complexity: no object is made; where an index answers the whole condition no record is
    ///   read.
    public var count: Int {
        get throws { try read { run in try run.count() } }
    }

    /// Whether there are any.
    public var exists: Bool {
        get throws { try limit(1).read { run in try run.count() > 0 } }
    }

    /// Their ids, in order.
    public var ids: [ObjectID] {
        get throws { try read { run in try run.rows().map(\.id) } }
    }

    /// Their values, in order; no objects are made.
    public var snapshots: [M.Snapshot] {
        get throws {
            try read { run in try run.rows().map { try M._$decode($0.id, $0.body) } }
        }
    }

    /// How the result is found, in words: which index, what is tested, how it is sorted.
    ///
    /// For people; the text may change.
    ///
    /// - Complexity: that of finding the shortest way, not of the query.
    public func explain() throws -> String {
        try read { run in try run.explanation() }
    }
}
