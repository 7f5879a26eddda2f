import FoundationEssentials
public import StetStore

/// Objects of which least and greatest values, sums and averages are asked: those of a query, or of
/// a group.
public protocol QueryAggregates<M> {
    /// The model.
    associatedtype M: Model
    /// Calls `body` with the value of an expression for each object, in no particular order.
    func _forEachValue(_ node: _QueryValue, _ body: (Value) throws -> Void) throws
}

/// An expression without its type.
public struct _QueryValue: Sendable {
    let node: QueryNode
}

extension QueryAggregates {
    // MARK: Least and greatest

    /// The least value; nil when there is none.
    ///
    /// NaN does not count.
    ///
    /// - Complexity: O(objects that are looked at); no object is made.
    public func min<T: OrderedValue>(_ value: (M.Fields) -> QueryExpression<T>) throws -> T? {
        try extreme(value(M.fields).node, .less)
    }

    /// The least value that is not nil; nil when there is none.
    public func min<T: OrderedValue>(_ value: (M.Fields) -> QueryExpression<T?>) throws -> T? {
        try extreme(value(M.fields).node, .less)
    }

    /// The least value behind a `?`; nil when there is none.
    public func min<T: OrderedValue>(_ value: (M.Fields) -> QueryExpression<T>?) throws -> T? {
        try extreme(value(M.fields)?.node ?? .constant(.null), .less)
    }

    /// The greatest value; nil when there is none.
    ///
    /// NaN does not count.
    ///
    /// - Complexity: O(objects that are looked at); no object is made.
    public func max<T: OrderedValue>(_ value: (M.Fields) -> QueryExpression<T>) throws -> T? {
        try extreme(value(M.fields).node, .greater)
    }

    /// The greatest value that is not nil; nil when there is none.
    public func max<T: OrderedValue>(_ value: (M.Fields) -> QueryExpression<T?>) throws -> T? {
        try extreme(value(M.fields).node, .greater)
    }

    /// The greatest value behind a `?`; nil when there is none.
    public func max<T: OrderedValue>(_ value: (M.Fields) -> QueryExpression<T>?) throws -> T? {
        try extreme(value(M.fields)?.node ?? .constant(.null), .greater)
    }

    private func extreme<T: OrderedValue>(
        _ node: QueryNode, _ comparison: QueryNode.Comparison
    ) throws -> T? {
        var extreme = QueryExtreme(comparison)
        try _forEachValue(_QueryValue(node: node)) { extreme.add($0) }
        return extreme.result()
    }

    // MARK: Sums

    /// The sum of a number; 0 for no objects.
    ///
    /// - Throws: `QueryError` (`.overflow`) when it does not fit the type.
    public func sum<T: NumericValue>(_ value: (M.Fields) -> QueryExpression<T>) throws -> T {
        try sum(value(M.fields).node, T.self)
    }

    /// The sum of a number where it is not nil.
    ///
    /// - Throws: `QueryError` (`.overflow`) when it does not fit the type.
    public func sum<T: NumericValue>(_ value: (M.Fields) -> QueryExpression<T?>) throws -> T {
        try sum(value(M.fields).node, T.self)
    }

    /// The average of a number; nil for no objects.
    ///
    /// - Throws: `QueryError` (`.overflow`) when the sum of decimals does not fit `Decimal`.
    public func average<T: NumericValue>(
        _ value: (M.Fields) -> QueryExpression<T>
    ) throws -> Double? {
        try average(value(M.fields).node)
    }

    /// The average of a number where it is not nil; nil where it always is.
    ///
    /// - Throws: `QueryError` (`.overflow`) when the sum of decimals does not fit `Decimal`.
    public func average<T: NumericValue>(
        _ value: (M.Fields) -> QueryExpression<T?>
    ) throws -> Double? {
        try average(value(M.fields).node)
    }

    private func sum<T: NumericValue>(_ node: QueryNode, _ type: T.Type) throws -> T {
        var sum = QuerySum()
        try _forEachValue(_QueryValue(node: node)) { try sum.add($0) }
        return try sum.result()
    }

    private func average(_ node: QueryNode) throws -> Double? {
        var sum = QuerySum()
        try _forEachValue(_QueryValue(node: node)) { try sum.add($0) }
        return sum.average
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

    /// The values that objects have, each once, in ascending order.
    ///
    /// What an index does not tell apart is the same: 0 and -0, NaN and NaN, canonically equivalent
    /// text.
    public func distinct<T: StoredValue>(
        _ value: (M.Fields) -> QueryExpression<T>
    ) throws -> [T] {
        try distinct(value(M.fields).node)
    }

    /// The same of a value behind a `?`, with nil first where there is one.
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

    /// What a closure makes of each group of objects with the same value, in ascending order of the
    /// value.
    ///
    /// ```swift
    /// let sizes = try context.fetch(Package.self)
    ///     .grouped(by: \.architecture) { try ($0.count, $0.sum(\.installedSize)) }
    /// ```
    ///
    /// The closure runs inside the read; the group is of no use behind it.
    public func grouped<Key: StoredValue, Result>(
        by value: (M.Fields) -> QueryExpression<Key>,
        _ make: (QueryGroup<M>) throws -> Result
    ) throws -> [(key: Key, value: Result)] {
        try grouped(by: value(M.fields).node, make).compactMap { key, result in
            Key(_value: key).map { ($0, result) }
        }
    }

    /// The same by a value behind a `?`.
    public func grouped<Key: StoredValue, Result>(
        by value: (M.Fields) -> QueryExpression<Key>?,
        _ make: (QueryGroup<M>) throws -> Result
    ) throws -> [(key: Key?, value: Result)] {
        try grouped(by: value(M.fields)?.node ?? .constant(.null), make).map { key, result in
            (Key(_value: key), result)
        }
    }

    /// The same by what the objects refer to; the key is its id, nil for objects that refer to
    /// nothing.
    public func grouped<Target: ModelFields, Result>(
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

/// A value by which others are told apart and sorted.
struct QueryKey: Hashable, Comparable {
    private let bytes: [UInt8]

    init(_ value: Value) {
        bytes = OrderedKey([value], byteLimit: .max)?.bytes ?? Array("\(value)".utf8)
    }

    static func < (one: Self, other: Self) -> Bool {
        one.bytes.lexicographicallyPrecedes(other.bytes)
    }
}

/// The objects of a query that have a value in common; of use only in the closure that gets it.
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

    /// How many there are.
    public var count: Int {
        checkOpen()
        return rows.count
    }

    /// Their ids, in the order of the query.
    public var ids: [ObjectID] {
        checkOpen()
        return rows.map(\.id)
    }

    /// Their values, in the order of the query.
    public var snapshots: [M.Snapshot] {
        get throws {
            checkOpen()
            return try rows.map { try M._$decode($0.id, $0.body) }
        }
    }

    /// Calls `body` with the value of an expression for each object, in no particular order.
    public func _forEachValue(_ value: _QueryValue, _ body: (Value) throws -> Void) throws {
        checkOpen()
        for row in rows { try body(try run.value(value.node, of: row)) }
    }

    private func checkOpen() {
        trap(unless: isOpen, "a group is of use only in the closure of 'grouped(by:)'")
    }
}
