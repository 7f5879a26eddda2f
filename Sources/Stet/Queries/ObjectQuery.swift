public import StetStore

/// A query for objects of a model: a condition, an order, and a part of the result.
///
/// `context.fetch` returns a `Fetch`, whose results are objects; `store.fetch` and `view.fetch`
/// return a `SnapshotFetch`, whose results are snapshots. Nothing is read before a result is
/// requested, and each request reads again.
///
/// ```swift
/// let rated = context.fetch(Article.self) { $0.rating >= 3 }
/// let count = try rated.count()
/// let best = try rated.sorted(by: \.rating, .descending).limit(10).all()
/// ```
public protocol ObjectQuery<M>: QueryAggregates {
    /// The request: condition, order and part of the result.
    var _request: _QueryRequest<M> { get set }
    /// Runs a read in the state that the query reads.
    func _read<Result>(_ body: (_QueryRun) throws -> Result) throws -> Result
}

/// A run of a query, inside a read.
public struct _QueryRun {
    let run: QueryRun
}

/// The request of a query, which the methods of `ObjectQuery` change.
public struct _QueryRequest<M: Model>: Sendable {
    var condition = QueryNode.everything
    var order: [QueryOrder] = []
    var limit: Int?
    var offset = 0
    var after: M.Snapshot?
    /// The position of a cursor, instead of `after`.
    var position: StoreQuery.Position?
    var deadline: ContinuousClock.Instant?

    /// Whether all objects of the model are requested, in no particular order.
    var isWholeModel: Bool {
        condition == .everything && order.isEmpty && limit == nil && offset == 0 && after == nil
            && position == nil
    }

    /// Returns the request as a query of the entity with a number.
    func query(entity: EntityNumber, in schema: Schema) -> StoreQuery {
        var query = StoreQuery(entity: entity)
        query.condition = condition
        query.order = order
        query.limit = limit
        query.offset = offset
        query.after =
            position
            ?? after.map { snapshot in
                var bodies = ChangeSetBuilder(schema: schema)
                let range = bodies.encode(entity: entity) { snapshot._$encode(into: &$0) }
                return StoreQuery.Position(id: snapshot.id, body: Array(bodies.body(range)))
            }
        return query
    }
}

/// A direction of sorting.
public enum SortDirection: Hashable, Sendable {
    /// The lowest value first; nil comes before all values, NaN after them.
    case ascending
    /// The highest value first.
    case descending
}

extension ObjectQuery {
    // MARK: Conditions

    /// Returns only the objects that also satisfy a further condition.
    public func filter(
        @QueryBuilder _ condition: (M.Fields) -> QueryExpression<Bool>
    ) -> Self {
        changed { $0.condition = .both($0.condition, condition(M.fields).node) }
    }

    /// Returns only the objects whose searchable attributes match a search, such as one that a user
    /// has typed: `.matching("undo jour* -sqlite \"edit session\"")`.
    ///
    /// `TextQuery` describes the text. The words may be in different attributes, but those of a
    /// phrase are in one. The best hits come first, by BM25 with the weights of the attributes,
    /// unless the query is sorted in another way.
    ///
    /// Edits in the context are found, too. How rare a word is, and how long texts are on average,
    /// is taken from the last commit of the store, also in reads of the past.
    ///
    /// - Precondition: the model has an attribute that is `.searchable`.
    /// - Complexity: O(occurrences of the words in the store) plus O(changed objects).
    public func matching(_ query: TextQuery) -> Self {
        let attributes = M._$description.searchable
        trap(
            unless: !attributes.isEmpty,
            "\(M.self) has no searchable attribute: add @Attribute(.searchable) to a string")
        return matching(query, attributes)
    }

    /// Returns only the objects of which some attributes match a search:
    /// `.matching("undo", in: \.title)`.
    ///
    /// It is like `matching(_:)`, but only the words of these attributes count.
    ///
    /// - Precondition: the attributes are `.searchable`.
    public func matching(
        _ text: String, in attributes: PartialKeyPath<M.Snapshot>...
    ) -> Self {
        let description = M._$description
        let found = attributes.flatMap { attribute in
            let slots = description.slots(of: attribute)
            let searchable = description.searchable.filter { slots.contains($0.slot) }
            trap(
                unless: !searchable.isEmpty,
                "\(attribute) is not searchable: add @Attribute(.searchable) to the string")
            return searchable
        }
        return matching(TextQuery(text), found)
    }

    private func matching(_ query: TextQuery, _ attributes: [TextMatch.Attribute]) -> Self {
        let node = QueryNode.matching(.root, TextMatch(query, in: attributes))
        return changed { request in
            request.condition = .both(request.condition, node)
            if request.order.isEmpty { request.order = node.ranking }
        }
    }

    /// Returns only the objects whose searchable attributes match the text of a search.
    ///
    /// It is the same as `matching(TextQuery(text))`.
    public func matching(_ text: String) -> Self { matching(TextQuery(text)) }

    // MARK: Order

    /// Returns the objects sorted by a value: `.sorted(by: \.title)`.
    ///
    /// Unsorted objects, and objects with equal values, are in the order of their ids, which is the
    /// order of creation, in the direction of the last value. Text is sorted as `String` compares
    /// it.
    ///
    /// - Precondition: the value is neither a dictionary nor a `CodableAttribute`.
    public func sorted<T: StoredValue>(
        by value: (M.Fields) -> QueryExpression<T>, _ direction: SortDirection = .ascending
    ) -> Self {
        changed { $0.order = [QueryOrder(value(M.fields).node, T.self, direction)] }
    }

    /// Returns the objects sorted by the value of an expression behind a `?`:
    /// `.sorted(by: \.notebook?.name)`.
    public func sorted<T: StoredValue>(
        by value: (M.Fields) -> QueryExpression<T>?, _ direction: SortDirection = .ascending
    ) -> Self {
        changed {
            $0.order = [QueryOrder(value(M.fields)?.node ?? .constant(.null), T.self, direction)]
        }
    }

    /// Returns the objects sorted by a text with a folding that ignores some differences:
    /// `.sorted(by: \.title, comparing: .caseInsensitive)`.
    public func sorted(
        by text: (M.Fields) -> QueryExpression<String>, comparing folding: TextFolding,
        _ direction: SortDirection = .ascending
    ) -> Self {
        sorted(by: { text($0).folded(folding) }, direction)
    }

    /// Sorts objects with equal values so far by a further value.
    public func then<T: StoredValue>(
        by value: (M.Fields) -> QueryExpression<T>, _ direction: SortDirection = .ascending
    ) -> Self {
        changed { $0.order.append(QueryOrder(value(M.fields).node, T.self, direction)) }
    }

    /// Sorts objects with equal values so far by the value of an expression behind a `?`.
    public func then<T: StoredValue>(
        by value: (M.Fields) -> QueryExpression<T>?, _ direction: SortDirection = .ascending
    ) -> Self {
        changed {
            let node = value(M.fields)?.node ?? .constant(.null)
            $0.order.append(QueryOrder(node, T.self, direction))
        }
    }

    /// Sorts objects with equal values so far by a text with a folding that ignores some
    /// differences.
    public func then(
        by text: (M.Fields) -> QueryExpression<String>, comparing folding: TextFolding,
        _ direction: SortDirection = .ascending
    ) -> Self {
        then(by: { text($0).folded(folding) }, direction)
    }

    // MARK: Parts

    /// Returns at most a number of objects.
    ///
    /// - Precondition: `count` is not negative.
    public func limit(_ count: Int) -> Self {
        trap(unless: count >= 0, "a limit can't be negative")
        return changed { $0.limit = count }
    }

    /// Skips a number of objects at the beginning.
    ///
    /// Every read goes through the skipped objects: `after(_:)` finds the next page without that.
    ///
    /// - Precondition: `count` is not negative.
    public func offset(_ count: Int) -> Self {
        trap(unless: count >= 0, "an offset can't be negative")
        return changed { $0.offset = count }
    }

    /// Returns only the objects after another one in the order of the query: the page that follows
    /// the one that ended with it.
    ///
    /// The object need not exist any more, nor satisfy the condition.
    public func after(_ snapshot: M.Snapshot) -> Self {
        changed { $0.after = snapshot }
    }

    /// Returns the query with a time at which its reads end.
    ///
    /// A result then throws `QueryError` (`.deadlineExceeded`), or `CancellationError` in a task
    /// that was cancelled, at the next 256 objects that it looks at. Nothing else has happened, and
    /// the slot of the read is free again.
    ///
    /// ```swift
    /// let found = try store.fetch(Article.self) { $0.text.contains(word) }
    ///     .deadline(.now + .seconds(1)).all()
    /// ```
    public func deadline(_ deadline: ContinuousClock.Instant) -> Self {
        changed { $0.deadline = deadline }
    }

    func read<Result>(_ body: (QueryRun) throws -> Result) throws -> Result {
        try limited { try _read { try body($0.run) } }
    }

    /// Runs reads that end at the deadline of the query.
    func limited<Result>(_ body: () throws -> Result) throws -> Result {
        guard let deadline = _request.deadline else { return try body() }
        return try ReadLimit.$current.withValue(.until(deadline), operation: body)
    }

    func changed(_ change: (inout _QueryRequest<M>) -> Void) -> Self {
        var copy = self
        change(&copy._request)
        return copy
    }
}

extension QueryOrder {
    /// Creates a sort criterion from an expression with values of a type.
    init<T: StoredValue>(_ node: QueryNode, _ type: T.Type, _ direction: SortDirection) {
        trap(
            unless: ![.dictionary, .codable].contains(T._valueType),
            "\(T.self) has no order to sort by: sort by an attribute that has one")
        self.init(node, isDescending: direction == .descending)
    }
}

// MARK: - Results

extension ObjectQuery {
    /// Returns the number of objects.
    ///
    /// - Throws: `StoreError`, and the errors of the read.
    /// - Complexity: no object is made; where an index covers the whole condition, no record is
    ///   read.
    public func count() throws -> Int { try read { run in try run.count() } }

    /// Returns whether there are any objects.
    ///
    /// - Throws: `StoreError`, and the errors of the read.
    /// - Complexity: that of the query with a limit of one object; no object is made.
    public func exists() throws -> Bool { try limit(1).read { run in try run.count() > 0 } }

    /// Returns the ids of the objects, in order.
    ///
    /// - Throws: `StoreError`, and the errors of the read.
    /// - Complexity: as `explain(analyze:)` describes; no object is made.
    public func ids() throws -> [ObjectID] { try read { run in try run.rows().map(\.id) } }

    /// Returns the values of the objects, in order; no objects are made.
    @inlinable
    func decoded() throws -> [M.Snapshot] {
        var snapshots: [M.Snapshot] = []
        try forEachBody { count in
            snapshots.reserveCapacity(count)
        } _: { id, body in
            snapshots.append(try M._$decode(id, body))
        }
        return snapshots
    }

    /// Calls `body` with each object; before that `prepare` with the number of objects to reserve
    /// memory for, where it is known.
    @usableFromInline
    func forEachBody(
        _ prepare: (Int) -> Void, _ body: (ObjectID, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        try read { run in
            if let count = run.reservableCount { prepare(count) }
            try run.forEachRowOfPage { row in
                try body(row.id, row.body)
                return true
            }
        }
    }

    /// Describes how the result is found: which index is used, what is tested, how it is sorted.
    ///
    /// - Parameter analyze: true to run the query as well, and to add the number of objects that
    ///   it found, the number of records, entries of indexes and members that it read, and the
    ///   time.
    /// - Returns: The description, which is for people and may change.
    /// - Throws: `StoreError`, and the errors of the read.
    /// - Complexity: planning the query; with `analyze` also running it.
    public func explain(analyze: Bool = false) throws -> String {
        try explanation(analyze: analyze, reading: nil)
    }

    func explanation(analyze: Bool, reading nodes: [QueryNode]?) throws -> String {
        guard analyze else { return try read { run in try run.explanation(reading: nodes) } }
        return try ReadLimit.$current.withValue(ReadLimit.none) {
            try read { run in try run.analysis(reading: nodes) }
        }
    }
}
