import StetStore

/// A query for the objects of all models that adopt a protocol, as one result in one order.
///
/// ```swift
/// let recent = try context.fetch(any: CommentableModels.self) { $0.postedAt >= day }
///     .sorted(by: \.postedAt, .descending).limit(20).all()
/// ```
///
/// The result includes pending changes, and shows the context's revision, as that of a ``Fetch``
/// does. Each model is queried with its own indexes, for no more objects than the result needs, and
/// the results are merged. Nothing is read before a result is requested, and each request reads
/// again.
public struct PolymorphicFetch<Group: ModelGroup> {
    private let context: ManagedContext
    private var parts: [Part]
    private var limit: Int?
    private var offset = 0

    /// The query of one model.
    private struct Part {
        let fields: Group
        var query: StoreQuery
    }

    fileprivate init(_ context: ManagedContext) {
        self.context = context
        let schema = context.store.file.schema
        parts = context.store.modelTypes.enumerated().compactMap { index, type in
            guard let type, Group._adopts(type) else { return nil }
            let number = EntityNumber(index: index)
            let model = _GroupModel(
                entity: schema.entities[number], group: "\(Group.self)",
                sealLabels: { type.sealLabels })
            return Part(fields: Group(_model: model), query: StoreQuery(entity: number))
        }
        trap(
            unless: !parts.isEmpty,
            "no model of this store belongs to \(Group.self): name one that adopts the protocol in "
                + "Store.open(at:for:)")
    }

    // MARK: Conditions and order

    /// Returns only the objects that also satisfy a further condition.
    ///
    /// - Precondition: every model stores the properties that the condition names, with the types
    ///   of the protocol.
    public func filter(
        @QueryBuilder _ condition: (Group) -> QueryExpression<Bool>
    ) -> PolymorphicFetch {
        changed { part in
            part.query.condition = .both(part.query.condition, condition(part.fields).node)
        }
    }

    /// Returns the objects sorted by a value: `.sorted(by: \.postedAt)`.
    ///
    /// Unsorted objects, and objects with equal values, are in the order of their ids, which is the
    /// order of creation, in the direction of the last value. The model makes no difference.
    ///
    /// - Precondition: every model stores the properties that the value names, with the types of
    ///   the protocol; the value is neither a dictionary nor a `CodableAttribute`.
    public func sorted<T: StoredValue>(
        by value: (Group) -> QueryExpression<T>, _ direction: SortDirection = .ascending
    ) -> PolymorphicFetch {
        changed { $0.query.order = [QueryOrder(value($0.fields).node, T.self, direction)] }
    }

    /// Returns the objects sorted by the value of an expression behind a `?`:
    /// `.sorted(by: \.author?.name)`.
    public func sorted<T: StoredValue>(
        by value: (Group) -> QueryExpression<T>?, _ direction: SortDirection = .ascending
    ) -> PolymorphicFetch {
        changed { part in
            let node = value(part.fields)?.node ?? .constant(.null)
            part.query.order = [QueryOrder(node, T.self, direction)]
        }
    }

    /// Sorts objects with equal values so far by a further value.
    public func then<T: StoredValue>(
        by value: (Group) -> QueryExpression<T>, _ direction: SortDirection = .ascending
    ) -> PolymorphicFetch {
        changed { $0.query.order.append(QueryOrder(value($0.fields).node, T.self, direction)) }
    }

    /// Sorts objects with equal values so far by the value of an expression behind a `?`.
    public func then<T: StoredValue>(
        by value: (Group) -> QueryExpression<T>?, _ direction: SortDirection = .ascending
    ) -> PolymorphicFetch {
        changed { part in
            let node = value(part.fields)?.node ?? .constant(.null)
            part.query.order.append(QueryOrder(node, T.self, direction))
        }
    }

    private func changed(_ change: (inout Part) -> Void) -> PolymorphicFetch {
        var copy = self
        for place in copy.parts.indices { change(&copy.parts[place]) }
        return copy
    }

    // MARK: Parts of the result

    /// Returns at most a number of objects, of all models together.
    ///
    /// - Precondition: `count` is not negative.
    public func limit(_ count: Int) -> PolymorphicFetch {
        trap(unless: count >= 0, "a limit can't be negative")
        var copy = self
        copy.limit = count
        return copy
    }

    /// Skips a number of objects at the beginning.
    ///
    /// - Precondition: `count` is not negative.
    public func offset(_ count: Int) -> PolymorphicFetch {
        trap(unless: count >= 0, "an offset can't be negative")
        var copy = self
        copy.offset = count
        return copy
    }

    // MARK: Results

    /// Returns the objects that satisfy the condition, in order.
    ///
    /// - Throws: the errors of ``Fetch/all()``.
    /// - Complexity: that of the queries of the models, each with the end of the result as its
    ///   limit, plus O(objects of the result · models).
    public func all() throws -> [Group.Object] { try objects { try $0.rows() } }

    /// Returns the first object; nil when there is none.
    ///
    /// - Throws: the errors of ``Fetch/all()``.
    public func first() throws -> Group.Object? {
        try limit(limit == 0 ? 0 : 1).all().first
    }

    /// Returns the number of objects: the sum of those of the models.
    ///
    /// - Throws: `StoreError`, and the errors of the read.
    /// - Complexity: no object is made; that of ``ObjectQuery/count()`` for each model.
    public func count() throws -> Int { try read { try $0.count() } }

    /// Returns whether there are any objects.
    ///
    /// - Throws: `StoreError`, and the errors of the read.
    public func exists() throws -> Bool {
        try limit(min(limit ?? 1, 1)).read { try $0.count() > 0 }
    }

    /// Returns the ids of the objects, in order.
    ///
    /// - Throws: `StoreError`, and the errors of the read.
    public func ids() throws -> [ObjectID] { try read { try $0.rows().map(\.row.id) } }

    /// Returns a page of the result: the first one, or the one after a cursor.
    ///
    /// ```swift
    /// let query = context.fetch(any: CommentableModels.self).sorted(by: \.postedAt)
    /// let (objects, next) = try query.objects(20, after: cursor)
    /// ```
    ///
    /// It behaves like ``Fetch/objects(_:after:)``; a cursor may name an object of any of the
    /// models.
    ///
    /// - Returns: the objects, and the cursor of the next page; nil on the last page.
    /// - Precondition: `count` is at least 1.
    /// - Throws: the errors of ``ObjectQuery/page(_:after:)``.
    public func objects(
        _ count: Int, after cursor: QueryCursor? = nil
    ) throws -> (objects: [Group.Object], next: QueryCursor?) {
        trap(unless: (1..<Int.max).contains(count), "a page needs at least one object")
        var next: QueryCursor?
        let objects = try limit(count + 1).objects { run in
            if let property = run.hiddenOrder {
                throw QueryError.hiddenOrder("\(Group.self)", property)
            }
            guard let run = try cursor.map({ try run.after($0.bookmark) }) ?? run else {
                throw QueryError.invalidCursor
            }
            let rows = try run.rows()
            guard rows.count > count else { return rows }
            next = QueryCursor(try run.bookmark(of: rows[count - 1]))
            return Array(rows.prefix(count))
        }
        return (objects, next)
    }

    /// Describes how the result is found, for each model.
    ///
    /// - Parameter analyze: true to run the query as well, as in ``ObjectQuery/explain(analyze:)``.
    /// - Returns: The description, which is for people and may change.
    /// - Throws: `StoreError`, and the errors of the read.
    public func explain(analyze: Bool = false) throws -> String {
        guard analyze else { return try read { try $0.explanation() } }
        return try ReadLimit.$current.withValue(ReadLimit.none) {
            try read { try $0.analysis() }
        }
    }

    private func read<Result>(_ body: (MergedQueryRun) throws -> Result) throws -> Result {
        let core = context.core
        try core.checkUsable()
        let view = core.queryView(true)
        let queries = parts.map { part in
            var query = part.query
            query.limit = limit
            query.offset = offset
            return query
        }
        return try context.store.file.tracer.span("stet.query", entity: "\(Group.self)") {
            try core.reading { reader in
                try body(MergedQueryRun(QueryState(reader, view), queries))
            }
        }
    }

    private func objects(
        _ rows: (MergedQueryRun) throws -> [MergedQueryRun.Row]
    ) throws -> [Group.Object] {
        let core = context.core
        let found = try read { run in
            try rows(run).map { try core.table(ofEntity: $0.entity).object(of: $0.row) }
        }
        for object in found { core.hookCalls.callDidFetch(of: object) }
        return found.compactMap(Group._object)
    }
}

extension ManagedContext {
    /// Returns a query for the objects of all models that adopt a protocol and satisfy a condition;
    /// nothing is read yet.
    ///
    /// ```swift
    /// context.fetch(any: CommentableModels.self) { $0.postedAt >= day }
    /// ```
    ///
    /// `@ModelProtocol` writes the type. The closure runs once for each model of the store that
    /// adopts the protocol.
    ///
    /// - Precondition: a model of the store adopts the protocol, and every one that does stores the
    ///   properties that the condition names, with the types of the protocol.
    public func fetch<Group: ModelGroup>(
        any group: Group.Type, @QueryBuilder where condition: (Group) -> QueryExpression<Bool>
    ) -> PolymorphicFetch<Group> {
        PolymorphicFetch(self).filter(condition)
    }

    /// Returns a query for all objects of the models that adopt a protocol; nothing is read yet.
    ///
    /// - Precondition: a model of the store adopts the protocol.
    public func fetch<Group: ModelGroup>(any group: Group.Type) -> PolymorphicFetch<Group> {
        PolymorphicFetch(self)
    }
}

extension _ObjectTable {
    /// Returns the live object of a row, or one that is made from the row.
    fileprivate func object(of row: QueryRun.Row) throws -> any Model {
        func object<M: Model>(_ type: M.Type) throws -> any Model {
            if let alive = self.object(row.id, as: type) { return alive }
            let made = try M._$make(row.id, row.body, self, row.revision)
            return Unmanaged<M>.fromOpaque(made).takeRetainedValue()
        }
        return try object(modelType)
    }
}
