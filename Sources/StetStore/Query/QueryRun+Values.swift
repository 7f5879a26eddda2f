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
        case .exactly(let path): count = try entryCount(path, most)
        case .ids(let ids, let path, _):
            if path.isExact, try state.overlay(query.entity).ids.isEmpty {
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
        let overlay = try state.overlay(query.entity)
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

    /// Returns the objects of an index, with the values of their entries; nil when these do not
    /// contain all that nodes, the order, and the condition unless it is `isMet`, read of them.
    func coveredRows(
        _ index: NumberedIndex, reading nodes: [QueryNode]?, isMet: Bool, keepsRows: Bool
    ) -> CoveredRows? {
        guard let nodes else { return nil }
        var query = query
        if isMet { query.condition = .everything }
        let slots = QueryReads(query, beside: nodes, in: state.schema).slots
        return CoveredRows(state, index, reading: slots, keepsRows: keepsRows)
    }

    /// Calls `body` with the objects of the page, in order, and the values of nodes, which are
    /// valid for `body` only.
    package func forEachOfPage(
        reading nodes: [QueryNode],
        _ body: (ObjectID, UnsafeBufferPointer<Value>) throws -> Void
    ) throws {
        let compiler = QueryCompiler(state.schema, root: query.entity)
        let operands = nodes.map(compiler.operand)
        var frame = QueryFrame(state)
        // The values of one object at a time: all of them would take as much memory as the result.
        let values = UnsafeMutableBufferPointer<Value>.allocate(capacity: nodes.count)
        values.initialize(repeating: .null)
        defer { values.deinitialize().deallocate() }
        try forEachRowOfPage(reading: nodes) { row in
            frame.root = row
            for place in operands.indices { values[place] = try operands[place].value(&frame) }
            try body(row.id, UnsafeBufferPointer(values))
            return true
        }
    }

    /// Returns the value of a node for one object.
    package func value(_ node: QueryNode, of row: Row) throws -> Value {
        try state.value(node, of: row, query.entity)
    }

    /// Calls `body` as `forEachMatch` does, with the values of entries where the index of the path
    /// contains all that is read; returns false when it does not.
    func forEachCoveredMatch(
        _ path: QueryPath, reading nodes: [QueryNode]?, keepsRows: Bool,
        _ body: (Row) throws -> Bool
    ) throws -> Bool {
        guard case .index(let path) = path,
            var covered = coveredRows(
                path.index, reading: nodes, isMet: path.isExact, keepsRows: keepsRows)
        else { return false }
        let overlay = try state.overlay(query.entity)
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
        return true
    }
}
