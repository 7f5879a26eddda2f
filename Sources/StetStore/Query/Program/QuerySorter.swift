/// Forms the sort keys of the objects of a state.
struct QuerySorter {
    private let state: QueryState
    private let keys: QuerySortKeys

    init(_ state: QueryState, _ query: StoreQuery, _ compiler: QueryCompiler) {
        self.state = state
        keys = QuerySortKeys(query, compiler)
    }

    var isDescendingByID: Bool { keys.isDescendingByID }

    /// Appends the key of an object, without its id; `rank` is its rank, if that does not follow
    /// from its values.
    func append(
        _ row: QueryState.Row, rank: Double? = nil, to bytes: inout [UInt8]
    ) throws {
        var frame = QueryFrame(state, row, rank: rank)
        try keys.append(&frame, to: &bytes)
    }

    /// Appends the id of an object, after which keys are in the order of the query.
    func appendID(of row: QueryState.Row, to bytes: inout [UInt8]) {
        let isDescending = keys.isDescendingByID
        let id = isDescending ? ObjectID(high: ~row.id.high, low: ~row.id.low) : row.id
        id.append(to: &bytes)
    }

    func row(_ position: StoreQuery.Position, _ entity: EntityNumber) throws -> QueryState.Row {
        try state.row(position, ofEntity: entity)
    }
}

/// Forms the sort keys of objects: bytes whose order is that of the objects.
struct QuerySortKeys {
    private let operands: [(operand: QueryOperand, isDescending: Bool)]
    let isDescendingByID: Bool

    init(_ query: StoreQuery, _ compiler: QueryCompiler) {
        operands = query.order.map { (compiler.operand($0.node), $0.isDescending) }
        isDescendingByID = query.isDescendingByID
    }

    /// Appends the key of an object, without its id.
    func append(_ frame: inout QueryFrame, to bytes: inout [UInt8]) throws {
        for (operand, isDescending) in operands {
            let start = bytes.count
            try operand.appendKey(&frame, to: &bytes)
            guard isDescending else { continue }
            for place in start..<bytes.count { bytes[place] = ~bytes[place] }
        }
    }

}

/// The objects of one page: those that come first among all that are added.
struct QueryPage {
    /// An object with its key, which ends with its id, so that no two keys are equal.
    private struct Entry {
        let row: QueryState.Row
        let key: Range<Int>
    }

    private let sorter: QuerySorter
    private let query: StoreQuery
    /// The object that the page comes after, with its key.
    private let after: (row: QueryState.Row, key: [UInt8])?
    private var entries: [Entry] = []
    private var keys: [UInt8] = []
    /// The number of objects to keep: those before the page, and the page.
    private let most: Int

    init(_ sorter: QuerySorter, _ query: StoreQuery) throws {
        self.sorter = sorter
        self.query = query
        most = query.end
        after = try query.after.map { position in
            let row = try sorter.row(position, query.entity)
            var key: [UInt8] = []
            try sorter.append(row, rank: position.rank, to: &key)
            sorter.appendID(of: row, to: &key)
            return (row, key)
        }
    }

    /// Adds an object unless it comes before the page; returns whether it was added.
    @discardableResult
    mutating func add(_ row: QueryState.Row) throws -> Bool {
        let start = keys.count
        try sorter.append(row, to: &keys)
        sorter.appendID(of: row, to: &keys)
        let range = start..<keys.count
        if let after, !keys[range].isGreater(than: after.key) {
            keys.removeLast(range.count)
            return false
        }
        entries.append(Entry(row: row, key: range))
        if !query.order.isEmpty, entries.count / 4 >= max(most, 256) { cut() }
        return true
    }

    /// Removes objects that cannot be in the page.
    private mutating func cut() {
        sort()
        entries.removeLast(entries.count - most)
        var kept: [UInt8] = []
        for (place, entry) in entries.enumerated() {
            let start = kept.count
            kept += keys[entry.key]
            entries[place] = Entry(row: entry.row, key: start..<kept.count)
        }
        keys = kept
    }

    private mutating func sort() {
        if entries.count < 2 { return }
        entries = ByteOrder.sorted(keys, entries.map(\.key)).map { entries[$0] }
    }

    /// Returns the objects in order.
    mutating func rows() -> [QueryState.Row] {
        sort()
        return entries.dropFirst(query.offset).prefix(query.limit ?? .max).map(\.row)
    }

    /// Returns the position at which a walk through a range continues after the previous page.
    ///
    /// The object with which that ended may have other first values than those of the range.
    func position(
        in ordered: QueryPath.OrderedRange, of entity: Entity
    ) throws -> IndexPosition? {
        guard let after else { return nil }
        let index = ordered.index.index
        // Without a value for each part of the order, the walk starts at the first entry.
        let parts = index.parts.dropFirst(ordered.values.count)
        if let slots = query.after?.slots, !slots.isSuperset(of: parts.map(\.slot)) { return nil }
        let body = try RecordBody(after.row.body, of: entity)
        var key = try index.key(of: ordered.values)
        _ = try body.append(parts, to: &key)
        return IndexPosition(values: key, id: after.row.id)
    }
}

extension ArraySlice<UInt8> {
    fileprivate func isGreater(than other: [UInt8]) -> Bool {
        withUnsafeBytes { one in other.withUnsafeBytes { one.compare($0) > 0 } }
    }
}

/// The objects of a page that are found in its order one by one.
struct PageStream {
    private let offset: Int
    private let end: Int
    private var place = 0

    init(_ query: StoreQuery) {
        offset = query.offset
        end = query.end
    }

    /// Calls `body` with the next object, unless the offset skips it; returns false when no more
    /// are wanted.
    mutating func give(
        _ row: QueryState.Row, _ body: (QueryState.Row) throws -> Bool
    ) throws -> Bool {
        place += 1
        if place > offset, try !body(row) { return false }
        return place < end
    }
}
