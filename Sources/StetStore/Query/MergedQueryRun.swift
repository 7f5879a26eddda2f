/// Queries of several entities whose results are merged into one, in the order of the queries.
///
/// All have the same limit and offset, which count for the merged result, and sort by values of the
/// same types in the same directions.
package struct MergedQueryRun {
    /// An object, and the number of its entity.
    package typealias Row = (entity: EntityNumber, row: QueryRun.Row)

    private let state: QueryState
    private let queries: [StoreQuery]
    private let runs: [QueryRun]

    /// - Precondition: there is at least one query.
    package init(_ state: QueryState, _ queries: [StoreQuery]) throws {
        self.state = state
        self.queries = queries
        runs = try queries.map { query in
            var part = query
            part.limit = query.limit == nil ? nil : query.end
            part.offset = 0
            return try QueryRun(state, part)
        }
    }

    private var page: StoreQuery { queries[0] }

    /// Returns the objects of the page, in order.
    ///
    /// - Complexity: each query finds as many objects as may be in the page.
    package func rows() throws -> [Row] {
        var parts = try runs.map(MergedPart.init)
        var merged: [Row] = []
        var skipped = 0
        while merged.count < page.limit ?? .max, let next = firstPart(parts) {
            let row = try parts[next].removeFirst()
            if skipped < page.offset { skipped += 1 } else { merged.append(row) }
        }
        return merged
    }

    private func firstPart(_ parts: [MergedPart]) -> Int? {
        var first: Int?
        for place in parts.indices where !parts[place].isEmpty {
            if let found = first, !parts[place].precedes(parts[found]) { continue }
            first = place
        }
        return first
    }

    /// Returns the number of objects in the page.
    package func count() throws -> Int {
        var count = 0
        for run in runs where count < page.end {
            count += try run.count()
        }
        return max(min(count, page.end) - page.offset, 0)
    }

    // MARK: Pages

    /// The name of a hidden property that the place of an object in the order would show.
    package var hiddenOrder: String? {
        for run in runs { if let property = run.hiddenOrder { return property } }
        return nil
    }

    /// The place of an object in the merged order.
    package func bookmark(of row: Row) throws -> QueryBookmark {
        guard let run = runs.first(where: { $0.query.entity == row.entity }) else {
            trap("a row is of one of the entities that are queried")
        }
        return try run.bookmark(of: row.row, isOfOneEntity: false)
    }

    /// The run for the objects after a place; nil when the place lacks a value that the order
    /// needs, or has one that is not of its property's type.
    package func after(_ bookmark: QueryBookmark) throws -> MergedQueryRun? {
        var queries = queries
        for (place, run) in runs.enumerated() {
            guard let position = try run.position(bookmark) else { return nil }
            queries[place].after = position
            queries[place].offset = 0
        }
        return try MergedQueryRun(state, queries)
    }

    // MARK: Explanation

    /// Runs the queries and returns how they were executed, in words and numbers.
    package func analysis() throws -> String {
        try state.analysis(explanation) { try rows().count }
    }

    /// Returns how the queries are executed, in words.
    package func explanation() throws -> String {
        let names = runs.map { state.entity($0.query.entity).name }
        var lines = ["merge \(names.joined(separator: ", "))"]
        for (name, run) in zip(names, runs) {
            lines.append("\(name):")
            lines += try run.explanation().split(separator: "\n").map { "  \($0)" }
        }
        if page.offset > 0 { lines.append("leave out the first \(page.offset)") }
        if let limit = page.limit { lines.append("at most \(limit)") }
        return lines.joined(separator: "\n")
    }
}

/// The result of one query, from which a merge takes the objects in order.
private struct MergedPart {
    private let run: QueryRun
    private var rows: ArraySlice<QueryRun.Row>
    /// The sort key of the first object.
    private var key: [UInt8] = []

    init(_ run: QueryRun) throws {
        self.run = run
        rows = try run.rows()[...]
        try formKey()
    }

    var isEmpty: Bool { rows.isEmpty }

    /// Returns whether the first object comes before that of another part.
    ///
    /// - Precondition: neither part is empty.
    func precedes(_ other: MergedPart) -> Bool {
        if key != other.key { return key.lexicographicallyPrecedes(other.key) }
        let (one, two) = (rows[rows.startIndex].id, other.rows[other.rows.startIndex].id)
        return run.sorter.isDescendingByID ? one > two : one < two
    }

    /// - Precondition: the part is not empty.
    mutating func removeFirst() throws -> MergedQueryRun.Row {
        let row = rows.removeFirst()
        try formKey()
        return (run.query.entity, row)
    }

    private mutating func formKey() throws {
        key.removeAll(keepingCapacity: true)
        if let first = rows.first { try run.sorter.append(first, to: &key) }
    }
}
