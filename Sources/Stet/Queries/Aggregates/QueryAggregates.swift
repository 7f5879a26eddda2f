import FoundationEssentials
public import StetStore

/// A set of objects with least and greatest values, sums and averages: those of a query, or of a
/// group.
public protocol QueryAggregates<M> {
    /// The model.
    associatedtype M: Model
    /// Calls `body` with the value of an expression for each object, in no particular order.
    func _forEachValue(_ node: _QueryValue, _ body: (Value) throws -> Void) throws
    /// Returns the least or the greatest value of an expression; nil when there is none.
    func _extreme(_ node: _QueryValue, isLeast: Bool) throws -> Value?
}

/// An expression without its static type.
public struct _QueryValue: Sendable {
    let node: QueryNode
}

extension QueryAggregates {
    // MARK: Least and greatest

    /// Returns the least value; nil when there is none.
    ///
    /// NaN does not count.
    ///
    /// - Throws: `StoreError`, and the errors of the read.
    /// - Complexity: O(objects of the query), or a look at the end of an index that has them in
    ///   order of the value; no object is made.
    public func min<T: OrderedValue>(_ value: (M.Fields) -> QueryExpression<T>) throws -> T? {
        try extreme(value(M.fields).node, isLeast: true)
    }

    /// Returns the least value that is not nil; nil when there is none.
    ///
    /// - Throws: `StoreError`, and the errors of the read.
    public func min<T: OrderedValue>(_ value: (M.Fields) -> QueryExpression<T?>) throws -> T? {
        try extreme(value(M.fields).node, isLeast: true)
    }

    /// Returns the least value of an expression behind a `?`; nil when there is none.
    ///
    /// - Throws: `StoreError`, and the errors of the read.
    public func min<T: OrderedValue>(_ value: (M.Fields) -> QueryExpression<T>?) throws -> T? {
        try extreme(value(M.fields)?.node ?? .constant(.null), isLeast: true)
    }

    /// Returns the greatest value; nil when there is none.
    ///
    /// NaN does not count.
    ///
    /// - Throws: `StoreError`, and the errors of the read.
    /// - Complexity: as for `min(_:)`.
    public func max<T: OrderedValue>(_ value: (M.Fields) -> QueryExpression<T>) throws -> T? {
        try extreme(value(M.fields).node, isLeast: false)
    }

    /// Returns the greatest value that is not nil; nil when there is none.
    ///
    /// - Throws: `StoreError`, and the errors of the read.
    public func max<T: OrderedValue>(_ value: (M.Fields) -> QueryExpression<T?>) throws -> T? {
        try extreme(value(M.fields).node, isLeast: false)
    }

    /// Returns the greatest value of an expression behind a `?`; nil when there is none.
    ///
    /// - Throws: `StoreError`, and the errors of the read.
    public func max<T: OrderedValue>(_ value: (M.Fields) -> QueryExpression<T>?) throws -> T? {
        try extreme(value(M.fields)?.node ?? .constant(.null), isLeast: false)
    }

    private func extreme<T: OrderedValue>(_ node: QueryNode, isLeast: Bool) throws -> T? {
        try _extreme(_QueryValue(node: node), isLeast: isLeast).flatMap { T(_value: $0) }
    }

    // MARK: Sums

    /// Returns the sum of a number; 0 for no objects.
    ///
    /// - Throws: `QueryError` (`.overflow`) when it does not fit the type.
    public func sum<T: NumericValue>(_ value: (M.Fields) -> QueryExpression<T>) throws -> T {
        try sum(value(M.fields).node, T.self)
    }

    /// Returns the sum of a number over the objects where it is not nil.
    ///
    /// - Throws: `QueryError` (`.overflow`) when it does not fit the type.
    public func sum<T: NumericValue>(_ value: (M.Fields) -> QueryExpression<T?>) throws -> T {
        try sum(value(M.fields).node, T.self)
    }

    /// Returns the average of a number; nil for no objects.
    ///
    /// - Throws: `QueryError` (`.overflow`) when the sum of decimals does not fit `Decimal`.
    public func average<T: NumericValue>(
        _ value: (M.Fields) -> QueryExpression<T>
    ) throws -> Double? {
        try average(value(M.fields).node)
    }

    /// Returns the average of a number over the objects where it is not nil; nil when there are
    /// none.
    ///
    /// - Throws: `QueryError` (`.overflow`) when the sum of decimals does not fit `Decimal`.
    public func average<T: NumericValue>(
        _ value: (M.Fields) -> QueryExpression<T?>
    ) throws -> Double? {
        try average(value(M.fields).node)
    }

    private func sum<T: NumericValue>(_ node: QueryNode, _ type: T.Type) throws -> T {
        var sum = QuerySum()
        try _forEachValue(_QueryValue(node: node)) { sum.add($0) }
        return try sum.result()
    }

    private func average(_ node: QueryNode) throws -> Double? {
        var sum = QuerySum()
        try _forEachValue(_QueryValue(node: node)) { sum.add($0) }
        return try sum.checkedAverage()
    }
}

// MARK: - Distinct values and groups

extension ObjectQuery {
    /// Calls `body` with the value of an expression for each object, in no particular order.
    public func _forEachValue(_ value: _QueryValue, _ body: (Value) throws -> Void) throws {
        try read { run in
            try run.forEachValue(value.node) { value in
                try body(value)
                return true
            }
        }
    }

    /// Returns the least or the greatest value of an expression; nil when there is none.
    public func _extreme(_ value: _QueryValue, isLeast: Bool) throws -> Value? {
        try read { try $0.extreme(value.node, isLeast: isLeast) }
    }

    /// Returns a value of each object, in the order of the query:
    /// `try store.fetch(Article.self) { $0.rating >= 3 }.values(of: \.title)`.
    ///
    /// - Throws: `StoreError`, among them `.unreadableValue` for a value that its type cannot
    ///   represent, such as the result of a calculation that overflows.
    /// - Complexity: as `explain(analyze:)` describes; no object or snapshot is made.
    @inlinable
    public func values<T: StoredValue>(
        of value: (M.Fields) -> QueryExpression<T>
    ) throws -> [T] {
        var all: [T] = []
        var request = FoundRequest<M>()
        request.add(value)
        try forEachFound(request) { count in
            all.reserveCapacity(count)
        } body: { found in
            all.append(try found.next())
        }
        return all
    }

    /// Returns the value of an expression behind a `?` for each object, in the order of the query:
    /// `.values(of: \.notebook?.name)`.
    ///
    /// - Throws: the errors of the other forms.
    public func values<T: StoredValue>(
        of value: (M.Fields) -> QueryExpression<T>?
    ) throws -> [T?] {
        var all: [T?] = []
        var request = FoundRequest<M>()
        request.add(value(M.fields)?.node ?? .constant(.null), T.self)
        try forEachFound(request) { _ in
        } body: { found in
            all.append(try found.nextOrNil())
        }
        return all
    }

    /// Returns two values of each object, in the order of the query:
    /// `.values(of: \.title, \.rating)`.
    ///
    /// - Throws: `StoreError`, as the form for one value.
    @inlinable
    public func values<A: StoredValue, B: StoredValue>(
        of first: (M.Fields) -> QueryExpression<A>, _ second: (M.Fields) -> QueryExpression<B>
    ) throws -> [(A, B)] {
        // Not the form for any number, whose loop the compiler does not write out for the types.
        var all: [(A, B)] = []
        var request = FoundRequest<M>()
        request.add(first)
        request.add(second)
        try forEachFound(request) { count in
            all.reserveCapacity(count)
        } body: { found in
            all.append((try found.next(), try found.next()))
        }
        return all
    }

    /// Returns several values of each object, in the order of the query:
    /// `.values(of: \.title, \.rating, \.created)`.
    ///
    /// - Throws: `StoreError`, as the form for one value.
    @inlinable
    public func values<each T: StoredValue>(
        of value: repeat (M.Fields) -> QueryExpression<each T>
    ) throws -> [(repeat each T)] {
        var all: [(repeat each T)] = []
        var request = FoundRequest<M>()
        for value in repeat each value { request.add(value) }
        try forEachFound(request) { count in
            all.reserveCapacity(count)
        } body: { found in
            all.append((repeat try found.next() as each T))
        }
        return all
    }

    /// Calls `body` with the values of each object, in the order of the query; before that
    /// `prepare` with the number of objects to reserve memory for, where it is known.
    @usableFromInline
    func forEachFound(
        _ request: FoundRequest<M>, prepare: (Int) -> Void,
        body: (inout FoundValues) throws -> Void
    ) throws {
        try read { run in
            if let count = run.reservableCount { prepare(count) }
            let nodes = request.values.map(\.node)
            let slots = request.values.map { run.storedSlot(of: $0.node, $0.type) }
            try slots.withUnsafeBufferPointer { places in
                try run.forEachOfPage(reading: nodes, storedIn: slots) { row, values in
                    var found = FoundValues(
                        model: M.self, id: row.id, record: row.body,
                        propertyCount: row.propertyCount, slots: places, values: values)
                    try body(&found)
                }
            }
        }
    }

    /// Describes how `values(of:)` of the same properties finds its result, as
    /// ``explain(analyze:)`` does for objects, and whether it reads records at all.
    ///
    /// - Parameters:
    ///   - analyze: true to run the query as well, as in ``explain(analyze:)``.
    ///   - value: The values.
    /// - Returns: The description, which is for people and may change.
    /// - Throws: `StoreError`, and the errors of the read.
    public func explain<each T: StoredValue>(
        analyze: Bool = false, valuesOf value: repeat (M.Fields) -> QueryExpression<each T>
    ) throws -> String {
        var request = FoundRequest<M>()
        for value in repeat each value { request.add(value) }
        return try explanation(analyze: analyze, reading: request.values.map(\.node))
    }

    /// Returns the distinct values of the objects, in ascending order.
    ///
    /// Values that an index does not distinguish are equal: 0 and -0, NaN and NaN, canonically
    /// equivalent texts.
    ///
    /// - Throws: `StoreError`, and the errors of the read.
    public func distinct<T: StoredValue>(
        _ value: (M.Fields) -> QueryExpression<T>
    ) throws -> [T] {
        try distinct(value(M.fields).node)
    }

    /// Returns the distinct values of an expression behind a `?`, in ascending order; nil comes
    /// first.
    ///
    /// - Throws: `StoreError`, and the errors of the read.
    public func distinct<T: StoredValue>(
        _ value: (M.Fields) -> QueryExpression<T>?
    ) throws -> [T?] {
        try distinct(value(M.fields)?.node ?? .constant(.null))
    }

    private func distinct<T: StoredValue>(_ node: QueryNode) throws -> [T] {
        var values: [QueryKey: Value] = [:]
        try _forEachValue(_QueryValue(node: node)) { value in
            let key = QueryKey(value)
            if values[key] == nil { values[key] = value }
        }
        return values.sorted { $0.key < $1.key }.compactMap { T(_value: $0.value) }
    }

    /// Returns the results of a closure for each group of objects with the same value, in ascending
    /// order of the value.
    ///
    /// ```swift
    /// let sizes = try context.fetch(Package.self)
    ///     .grouped(by: \.architecture) { try ($0.count, $0.sum(\.installedSize)) }
    /// ```
    ///
    /// The closure runs inside the read; the group must not be used after it has returned.
    ///
    /// - Throws: the errors of the closure, `StoreError`, and the errors of the read.
    public func grouped<Key: StoredValue, Result>(
        by value: (M.Fields) -> QueryExpression<Key>,
        _ make: (QueryGroup<M>) throws -> Result
    ) throws -> [(key: Key, value: Result)] {
        try grouped(by: value(M.fields).node, make).compactMap { key, result in
            Key(_value: key).map { ($0, result) }
        }
    }

    /// Returns the results of a closure for each group of objects with the same value of an
    /// expression behind a `?`.
    ///
    /// - Throws: the errors of the closure, `StoreError`, and the errors of the read.
    public func grouped<Key: StoredValue, Result>(
        by value: (M.Fields) -> QueryExpression<Key>?,
        _ make: (QueryGroup<M>) throws -> Result
    ) throws -> [(key: Key?, value: Result)] {
        try grouped(by: value(M.fields)?.node ?? .constant(.null), make).map { key, result in
            (Key(_value: key), result)
        }
    }

    /// Returns the results of a closure for each group of objects that refer to the same object;
    /// the key is its id, or nil for objects whose reference is nil.
    ///
    /// - Throws: the errors of the closure, `StoreError`, and the errors of the read.
    public func grouped<Target: _ModelFields, Result>(
        by reference: (M.Fields) -> Target?, _ make: (QueryGroup<M>) throws -> Result
    ) throws -> [(key: ObjectID?, value: Result)] {
        let node = reference(M.fields)?._object.reference ?? .constant(.null)
        return try grouped(by: node, make).map { key, result in (ObjectID(_value: key), result) }
    }

    private func grouped<Result>(
        by node: QueryNode, _ make: (QueryGroup<M>) throws -> Result
    ) throws -> [(Value, Result)] {
        try read { run in
            var groups: [QueryKey: (value: Value, rows: [QueryRun.Row])] = [:]
            for row in try run.rows() {
                let value = try run.value(node, of: row)
                groups[QueryKey(value), default: (value, [])].rows.append(row)
            }
            return try groups.sorted { $0.key < $1.key }.map { _, group in
                let scope = QueryGroup<M>(run, group.rows)
                defer { scope.close() }
                return (group.value, try make(scope))
            }
        }
    }
}

/// A value in a form by which values are compared for equality and order.
struct QueryKey: Hashable, Comparable {
    private let bytes: [UInt8]

    init(_ value: Value) {
        bytes = OrderedKey([value], byteLimit: .max)?.bytes ?? Array("\(value)".utf8)
    }

    static func < (one: Self, other: Self) -> Bool {
        one.bytes.lexicographicallyPrecedes(other.bytes)
    }
}

/// The objects of a query that have a value in common; valid only in the closure that receives it.
public final class QueryGroup<M: Model>: QueryAggregates {
    private let run: QueryRun
    private var rows: [QueryRun.Row]
    private var isOpen = true

    init(_ run: QueryRun, _ rows: [QueryRun.Row]) {
        self.run = run
        self.rows = rows
    }

    func close() {
        isOpen = false
        rows = []
    }

    /// The number of objects.
    public var count: Int {
        checkOpen()
        return rows.count
    }

    /// The ids of the objects, in the order of the query.
    public var ids: [ObjectID] {
        checkOpen()
        return rows.map(\.id)
    }

    /// Returns the values of the objects, in the order of the query.
    ///
    /// - Throws: `StoreError` for a damaged record.
    /// - Complexity: O(objects of the group).
    public func snapshots() throws -> [M.Snapshot] {
        checkOpen()
        return try rows.map { try M._$decode($0.id, $0.body) }
    }

    /// Calls `body` with the value of an expression for each object, in no particular order.
    public func _forEachValue(_ value: _QueryValue, _ body: (Value) throws -> Void) throws {
        checkOpen()
        for row in rows { try body(try run.value(value.node, of: row)) }
    }

    /// Returns the least or the greatest value of an expression; nil when there is none.
    public func _extreme(_ value: _QueryValue, isLeast: Bool) throws -> Value? {
        var extreme = QueryExtreme(isLeast ? .less : .greater)
        try _forEachValue(value) { extreme.add($0) }
        return extreme.best
    }

    private func checkOpen() {
        trap(unless: isOpen, "a group is of use only in the closure of 'grouped(by:)'")
    }
}
