import FoundationEssentials

extension QueryRun {
    // MARK: Counting

    /// The number of objects of the page to reserve memory for; nil where more than the number of
    /// records would have to be read.
    package var reservableCount: Int? {
        guard state.isOfLastCommit, query.condition == .everything, query.after == nil,
            let count = try? state.reader.reservableCount(ofEntity: query.entity)
        else { return nil }
        return max(min(count, query.end) - query.offset, 0)
    }

    /// Returns the number of objects in the page.
    package func count() throws -> Int {
        let most = query.end
        if most == 0 { return 0 }
        if query.after != nil { return try rows().count }
        if let search = try wholeSearch() {
            return max(min(try search.count(state), most) - query.offset, 0)
        }
        var count = 0
        func add(_ row: Row) -> Bool {
            count += 1
            return count < most
        }
        switch try access(isCount: true) {
        case .nothing: break
        case .entries(let path): count = try entryCount(path, most)
        case .ids(let ids, let path, _):
            if path.isExact, try overlay().ids.isEmpty {
                count = min(ids.count, most)
            } else {
                try forEachMatch(among: ids, of: path, add)
            }
        case .scan, .ordered: try forEachMatchOfAll(verifies: false, add)
        }
        return max(min(count, most) - query.offset, 0)
    }

    /// Returns the number of entries; reads only records that have changed.
    private func entryCount(_ path: QueryPath.IndexPath, _ most: Int) throws -> Int {
        let overlay = try overlay()
        var count = 0
        for row in overlay.rows.values where try matches(row) { count += 1 }
        for range in path.ranges where count < most {
            try state.reader.forEachObject(of: path.index, in: range) { id in
                if overlay.ids.isEmpty || !overlay.ids.contains(id) { count += 1 }
                return count < most
            }
        }
        return count
    }

    // MARK: Values

    /// Calls `body` with the value of a node for each object: those of the page if there is one,
    /// otherwise all that satisfy the condition, in no particular order.
    package func forEachValue(_ node: QueryNode, _ body: (Value) throws -> Bool) throws {
        let operand = QueryCompiler(state.schema, root: query.entity).operand(node)
        func give(_ row: Row) throws -> Bool {
            var frame = QueryFrame(state, row)
            return try body(try operand.value(&frame))
        }
        if query.limit == nil, query.offset == 0, query.after == nil {
            return try forEachMatch(try access(), reading: [node], keepsRows: false, give)
        }
        try forEachRowOfPage(reading: [node], give)
    }

    /// Returns the objects of the page that the entries of an index show; nil when there are many,
    /// for which another way may be cheaper.
    func fewRows(
        ofEntries path: QueryPath.IndexPath, reading nodes: [QueryNode]?
    ) throws -> [Row]? {
        let most = 256
        var page = try QueryPage(sorter, query)
        var count = 0
        try forEachMatch(ofEntries: path, reading: nodes, keepsRows: true) { row in
            try page.add(row)
            count += 1
            return count <= most
        }
        return count <= most ? page.rows() : nil
    }

    /// Returns whether the entries of an index contain all that nodes, the order, and the condition
    /// unless it is `isMet`, read of the objects.
    func isCovered(
        by index: NumberedIndex, reading nodes: [QueryNode]?, isMet: Bool
    ) -> Bool {
        guard let nodes else { return false }
        var query = query
        if isMet { query.condition = .everything }
        let slots = QueryReads(query, beside: nodes, in: state.schema).slots
        return CoveredRows.areIn(index, reading: slots, of: state.entity(query.entity))
    }

    /// Returns the slot whose stored bytes alone are the value of a node, of a type; nil where the
    /// value must be computed, or converted.
    package func storedSlot(of node: QueryNode, _ type: ValueType) -> Slot? {
        guard case .property(.root, let slot) = node else { return nil }
        let property = state.entity(query.entity).properties[slot]
        let isPlain = property.seal == nil && !property.isLarge && property.embedded == nil
        return isPlain && property.type == type ? slot : nil
    }

    /// Calls `body` with the objects of the page, in order, and the values of nodes, which are
    /// valid for `body` only.
    ///
    /// - Parameters:
    ///   - nodes: The nodes.
    ///   - slots: For each node, the slot from which `body` reads the value by itself; nil to
    ///     compute it.
    ///   - body: The function; where it reads all values by itself, it gets none.
    /// - Throws: `DecodingFailure`, and the errors of the read and of `body`.
    package func forEachOfPage(
        reading nodes: [QueryNode], storedIn slots: [Slot?] = [],
        _ body: (Row, UnsafeBufferPointer<Value>) throws -> Void
    ) throws {
        let compiler = QueryCompiler(state.schema, root: query.entity)
        let computed = nodes.indices.filter { slots.element(at: $0) ?? nil == nil }
        if computed.isEmpty {
            let none = UnsafeBufferPointer<Value>(start: nil, count: 0)
            return try forEachRowOfPage(reading: nodes) { row in
                try body(row, none)
                return true
            }
        }
        let operands = computed.map { (place: $0, operand: compiler.operand(nodes[$0])) }
        var frame = QueryFrame(state)
        // The values of one object at a time: all of them would take as much memory as the result.
        let values = UnsafeMutableBufferPointer<Value>.allocate(capacity: nodes.count)
        values.initialize(repeating: .null)
        defer { values.deinitialize().deallocate() }
        try forEachRowOfPage(reading: nodes) { row in
            frame.root = row
            for (place, operand) in operands { values[place] = try operand.value(&frame) }
            try body(row, UnsafeBufferPointer(values))
            return true
        }
    }

    /// Returns the value of a node for one object.
    package func value(_ node: QueryNode, of row: Row) throws -> Value {
        try state.value(node, of: row, query.entity)
    }

    /// Calls `body` as `forEachMatch` does, with the values of the entries of a path, whose index
    /// contains all that is read.
    func forEachMatch(
        ofEntries path: QueryPath.IndexPath, reading nodes: [QueryNode]?, keepsRows: Bool,
        _ body: (Row) throws -> Bool
    ) throws {
        var covered = CoveredRows(state, path.index, keepsRows: keepsRows)
        let overlay = try overlay(reading: nodes)
        var frame = QueryFrame(state)
        var goesOn = true
        for range in path.ranges where goesOn {
            try state.reader.forEachEntry(of: path.index, in: range) { id, entry in
                if overlay.ids.contains(id) { return true }
                let shown = try covered.row(id, entry) ?? state.storedRow(query.entity, id)
                guard let row = shown else { return true }
                frame.root = row
                if try !path.isExact && !condition.test(&frame) { return true }
                goesOn = try body(row)
                return goesOn
            }
        }
        for row in overlay.rows.values where try goesOn && matches(row) { goesOn = try body(row) }
    }
}

/// The least or the greatest value of a node among the objects of a query, found at the end of
/// an index that has them in order.
struct IndexEnd {
    let run: QueryRun
    let node: QueryNode
    let isLeast: Bool

    private var query: StoreQuery { run.query }
    private var state: QueryState { run.state }

    /// Returns the value, from all objects of the query where no index has it at an end.
    func value() throws -> Value? {
        var extreme = QueryExtreme(isLeast ? .less : .greater)
        if try add(to: &extreme) { return extreme.best }
        try run.forEachValue(node) { value in
            extreme.add(value)
            return true
        }
        return extreme.best
    }

    /// Adds the value at the end of an index, and those of the objects that differ from the last
    /// commit; returns false where no index has the objects, and no others, in order.
    private func add(to extreme: inout QueryExtreme) throws -> Bool {
        guard query.limit == nil, query.offset == 0, query.after == nil,
            case .property(.root, let slot) = node.unfolded.node,
            state.schema.indexes(ofEntity: query.entity).contains(where: { index in
                index.index.parts.last?.slot == slot
            }), try !state.isFarBehind(ofEntity: query.entity)
        else { return false }
        let ordered = try QueryRun(state, ordered(slot))
        guard let range = try ordered.orderedIndex(), range.isExact else { return false }
        let operand = QueryCompiler(state.schema, root: query.entity).operand(node)
        var frame = QueryFrame(state)
        func add(_ row: QueryState.Row) throws {
            frame.root = row
            extreme.add(try operand.value(&frame))
        }
        for row in try ordered.overlay(reading: [node]).rows.values where try run.matches(row) {
            try add(row)
        }
        try ordered.walk(range, reading: [node], keepsRows: false) { row in
            try add(row)
            return false
        }
        return true
    }

    /// The query for the first object with a value that counts, in the order of the value.
    private func ordered(_ slot: Slot) -> StoreQuery {
        var ordered = query
        let type = state.entity(query.entity).properties[slot].type
        ordered.condition = .all(query.condition.conjuncts + [node.isCounted(type)])
        ordered.order = [QueryOrder(node, isDescending: !isLeast)]
        ordered.limit = 1
        return ordered
    }
}

extension QueryRun {
    /// Returns the least or the greatest value of a node among the objects of `forEachValue`; nil
    /// when there is none.
    ///
    /// - Complexity: O(1) reads where an index has the objects in the order of the values;
    ///   otherwise as `forEachValue`.
    package func extreme(_ node: QueryNode, isLeast: Bool) throws -> Value? {
        try IndexEnd(run: self, node: node, isLeast: isLeast).value()
    }
}

extension QueryNode {
    /// Returns the condition that the value of this node, of a type, is neither nil nor NaN, in a
    /// form that a range of an index can express.
    fileprivate func isCounted(_ type: ValueType) -> QueryNode {
        switch type {
        case .double: .comparison(.lessOrEqual, self, .constant(.double(.infinity)))
        case .float: .comparison(.lessOrEqual, self, .constant(.float(.infinity)))
        case .date:
            .comparison(
                .lessOrEqual, self,
                .constant(.date(Date(timeIntervalSinceReferenceDate: .infinity))))
        case .decimal:
            .comparison(.greaterOrEqual, self, .constant(.decimal(.leastFiniteMagnitude)))
        default: .comparison(.notEqual, self, .constant(.null))
        }
    }
}
