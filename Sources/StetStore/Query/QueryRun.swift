/// A compiled query that is run on a state.
package final class QueryRun {
    package typealias Row = QueryState.Row

    let state: QueryState
    let query: StoreQuery
    let condition: QueryCondition
    let planner: QueryPlanner
    let sorter: QuerySorter

    package init(_ state: QueryState, _ query: StoreQuery) throws {
        self.state = state
        self.query = query
        try query.condition.checkKeys()
        let compiler = QueryCompiler(state.schema, root: query.entity)
        condition = compiler.condition(query.condition)
        planner = QueryPlanner(
            state.schema, query.entity, try Self.resolved(query.condition, query.entity, state))
        sorter = QuerySorter(state, query, compiler)
    }

    /// Returns the objects with pending changes, and those that do not have in the last commit,
    /// which indexes describe, what the query and `nodes` read of them.
    func overlay(reading nodes: [QueryNode]? = nil) throws -> QueryState.Overlay {
        // Spares the collecting.
        if state.isOfLastRevision { return try state.pending(query.entity) }
        let reads = QueryReads(query, beside: nodes ?? [], in: state.schema)
        return try state.overlay(query.entity, differingIn: reads.ownSlots)
    }

    func matches(_ row: Row) throws -> Bool {
        var frame = QueryFrame(state, row)
        return try condition.test(&frame)
    }

    // MARK: Choosing a way

    /// Returns the condition with each condition on the target of an indexed reference replaced by
    /// the targets, if they are few: then indexes that begin with the reference find the objects.
    private static func resolved(
        _ condition: QueryNode, _ entity: EntityNumber, _ state: QueryState
    ) throws -> QueryNode {
        let most = 8
        var isChanged = false
        var conjuncts = condition.conjuncts
        for place in conjuncts.indices {
            guard let (slot, name, inner) = conjuncts[place].lookingFromTarget,
                state.schema.indexes(ofEntity: entity).contains(where: { index in
                    index.index.parts.contains { $0.slot == slot }
                }), let target = state.schema.number(ofEntity: name)
            else { continue }
            var query = StoreQuery(entity: target, inner)
            query.limit = most + 1
            let run = try QueryRun(state, query)
            let access = try run.access()
            if case .scan = access { continue }
            var targets: [Value] = []
            try run.forEachMatchingID(access) { id in
                targets.append(.reference(id))
                return targets.count <= most
            }
            if targets.count > most { continue }
            isChanged = true
            conjuncts[place] = .isIn(.property(.root, slot: slot), targets)
        }
        return isChanged ? .all(conjuncts) : condition
    }

    /// The way in which objects are found.
    enum Access {
        /// No object can satisfy the condition.
        case nothing
        /// The objects that may satisfy it; further ones may be among those that differ from the
        /// last commit.
        case ids([ObjectID], QueryPath, others: [QueryPath])
        /// The objects in the ranges of an index satisfy it; further ones may be among those that
        /// differ from the last commit. The entries contain all that is read.
        case entries(QueryPath.IndexPath)
        /// All objects are read.
        case scan
        /// The entries of an index are in the wanted order.
        case ordered(QueryPath.OrderedRange)
    }

    /// Walks each path a few steps, then more, until one ends: that is the shortest, and finding it
    /// has cost little more than its own length.
    ///
    /// `nodes` are all that is read of the objects, beside the condition and the order; nil stands
    /// for more than an index contains.
    func access(isCount: Bool = false, reading nodes: [QueryNode]? = nil) throws -> Access {
        if planner.isImpossible { return .nothing }
        let recordCount = try state.reader.recordCount(ofEntity: query.entity)
        let isFarBehind = try state.isFarBehind(recordCount: recordCount)
        let ordered = isFarBehind ? nil : try orderedIndex()
        if !isCount, let ordered, ordered.isWhole { return .ordered(ordered) }
        var paths = try planner.paths()
        if isFarBehind { paths.removeAll(where: \.asksLastCommit) }
        try paths.removeAll { try !$0.canCountMembers(state) }
        if isCount {
            for case .index(let path) in paths where path.isExact { return .entries(path) }
        }
        if let found = paths.first(where: \.isSearch) {
            // The words are looked up completely, and no condition remains.
            return .ids(try found.ids(state, query.entity, limit: .max).ids, found, others: [])
        }
        if paths.count == 1, ordered == nil, case .index(let path) = paths[0], path.isExact,
            isCovered(by: path.index, reading: nodes, isMet: path.isExact)
        {
            return .entries(path)
        }
        if !isCount, !isFarBehind, let access = try state.mostMembers(query) { return access }
        // Above this count, scanning everything, or walking in order up to the limit, is cheaper.
        let most =
            ordered == nil ? most(of: recordCount) : min(query.end, recordCount) * 4 + 64
        var limit = min(paths.count == 1 || paths.contains(where: \.isSingle) ? most : 64, most)
        while !paths.isEmpty {
            for (place, path) in paths.enumerated() {
                let (ids, isComplete) = try path.ids(state, query.entity, limit: limit)
                guard isComplete else { continue }
                var others = paths
                others.remove(at: place)
                return try intersected(ids, path, others, recordCount)
            }
            if limit >= most { break }
            limit = min(limit * 8, most)
        }
        return ordered.map(Access.ordered) ?? .scan
    }

    /// Returns the greatest number of objects that are not found faster by reading all records; but
    /// a test of members reads more than the object.
    func most(of recordCount: Int) -> Int {
        max(recordCount / (query.condition.readsMembers ? 1 : 4), 64)
    }

    /// Removes objects that another path does not find, if reading that path costs less than the
    /// records that it saves.
    private func intersected(
        _ ids: [ObjectID], _ path: QueryPath, _ others: [QueryPath], _ recordCount: Int
    ) throws -> Access {
        guard ids.count > 256 else { return .ids(ids, path, others: []) }
        for other in others {
            let (more, isComplete) = try other.ids(
                state, query.entity, limit: min(ids.count * 3, recordCount / 2))
            guard isComplete else { continue }
            let common = Set(more)
            return .ids(ids.filter(common.contains), path, others: [other])
        }
        return .ids(ids, path, others: [])
    }

    /// Returns a range of an index in the wanted order: one that the whole condition has set or,
    /// if the query needs only a part of the objects, any.
    func orderedIndex() throws -> QueryPath.OrderedRange? {
        if query.order.isEmpty { return nil }
        // All objects are read faster in the order in which they are stored.
        let isPart = query.limit != nil || query.condition != .everything
        if !isPart { return nil }
        var found: QueryPath.OrderedRange?
        for index in state.schema.indexes(ofEntity: query.entity) {
            guard let range = try planner.orderedRange(index, query.order) else { continue }
            if range.isExact { return range }
            guard range.isWhole || query.limit != nil else { continue }
            if found == nil || range.isWhole && found?.isWhole == false { found = range }
        }
        return found
    }

    // MARK: Finding

    /// Calls `body` with the id of each object that satisfies the condition, in no particular order
    /// and without regard to limit, offset and the end of a page, until it returns false.
    ///
    /// No record is read where the way to the objects finds no others.
    func forEachMatchingID(
        _ access: Access? = nil, _ body: (ObjectID) throws -> Bool
    ) throws {
        let access = try access ?? self.access()
        guard case .ids(let ids, let path, _) = access, path.isExact,
            try overlay().ids.isEmpty
        else { return try forEachMatch(access) { try body($0.id) } }
        for id in ids where try !body(id) { return }
    }

    /// Calls `body` with each object that satisfies the condition, in no particular order and
    /// without regard to limit, offset and the end of a page, until it returns false.
    package func forEachMatch(_ body: (Row) throws -> Bool) throws {
        try forEachMatch(try access(), body)
    }

    func forEachMatch(
        _ access: Access, reading nodes: [QueryNode]? = nil, keepsRows: Bool = true,
        _ body: (Row) throws -> Bool
    ) throws {
        switch access {
        case .nothing: break
        case .ids(let ids, let path, _):
            if case .index(let path) = path,
                isCovered(by: path.index, reading: nodes, isMet: path.isExact)
            {
                return try forEachMatch(ofEntries: path, reading: nodes, keepsRows: keepsRows, body)
            }
            try forEachMatch(among: ids, of: path, body)
        case .scan, .ordered, .entries: try forEachMatchOfAll(body)
        }
    }

    func forEachMatchOfAll(
        from first: ObjectID? = nil, verifies: Bool = true, _ body: (Row) throws -> Bool
    ) throws {
        if planner.isImpossible { return }
        try state.forEachRow(
            ofEntity: query.entity, from: first, where: condition, verifies: verifies, body)
    }

    func forEachMatch(
        among ids: [ObjectID], of path: QueryPath, _ body: (Row) throws -> Bool
    ) throws {
        let overlay = path.asksLastCommit ? try overlay() : try state.pending(query.entity)
        let leavesOut = !overlay.ids.isEmpty
        let isExact = path.isExact
        var frame = QueryFrame(state)
        var records = RecordsAhead(of: query.entity)
        for (place, id) in ids.enumerated() where !leavesOut || !overlay.ids.contains(id) {
            // Not ahead of the first, as some queries need only one.
            let next = place > 0 ? ids.element(at: place + 1) : nil
            let record = try records.record(id, before: next, in: state.reader)
            guard let row = try state.storedRow(query.entity, record) else { continue }
            if !isExact {
                frame.root = row
                guard try condition.test(&frame) else { continue }
            }
            guard try body(row) else { return }
        }
        for row in overlay.rows.values where try matches(row) {
            guard try body(row) else { return }
        }
    }

    /// Returns the objects of the page, in order.
    package func rows() throws -> [Row] {
        var rows: [Row] = []
        try forEachRowOfPage { row in
            rows.append(row)
            return true
        }
        return rows
    }

    /// Calls `body` with the objects of the page, in order, with the values of the properties that
    /// nodes read, until it returns false; nil stands for all properties.
    ///
    /// A row that does not have all of them must be used before the next one is made.
    package func forEachRowOfPage(
        reading nodes: [QueryNode]? = nil, _ body: (Row) throws -> Bool
    ) throws {
        if query.limit == 0 { return }
        if let rows = try bestRows() {
            for row in rows where try !body(row) { return }
            return
        }
        var part = PageStream(query)
        var access = try access(reading: nodes)
        if case .entries(let path) = access {
            if let rows = try fewRows(ofEntries: path, reading: nodes) {
                for row in rows where try !body(row) { return }
                return
            }
            access = try self.access()
        }
        switch access {
        case .scan where query.order.isEmpty:
            // Records are stored in ascending order of id.
            try forEachMatchOfAll(from: query.after?.id) { row in
                if let after = query.after, row.id <= after.id { return true }
                return try part.give(row, body)
            }
        case .ordered(let range)
        where try query.after == nil && overlay(reading: nodes).rows.isEmpty:
            try walk(range, reading: nodes, keepsRows: false) { try part.give($0, body) }
        default:
            for row in try sortedPage(access, reading: nodes) where try !body(row) { return }
        }
    }

    /// Returns the objects of a page that are not found in its order one by one.
    private func sortedPage(_ access: Access, reading nodes: [QueryNode]?) throws -> [Row] {
        var page = try QueryPage(sorter, query)
        switch access {
        case .nothing: break
        case .ids:
            try forEachMatch(access, reading: nodes) { row in
                try page.add(row)
                return true
            }
        case .ordered(let range):
            for row in try overlay(reading: nodes).rows.values where try matches(row) {
                try page.add(row)
            }
            var missing = query.end
            let position = try page.position(in: range, of: state.entity(query.entity))
            try walk(range, reading: nodes, from: position) { row in
                if try page.add(row) { missing -= 1 }
                return missing > 0
            }
        case .scan, .entries:
            try forEachMatchOfAll { row in
                try page.add(row)
                return true
            }
        }
        return page.rows()
    }

    /// Returns the best hits of a search, without reading others; nil for any other query.
    private func bestRows() throws -> [Row]? {
        guard case .rank? = query.order.first?.node, query.after == nil,
            let search = try wholeSearch(),
            query.order == [QueryOrder(.rank(.root, search.match))]
        else { return nil }
        return try search.best(query.end, state).dropFirst(query.offset)
            .compactMap { try state.storedRow(query.entity, $0) }
    }

    /// Returns the search that is the whole condition, if the index alone has its result.
    func wholeSearch() throws -> TextHits? {
        let conjuncts = query.condition.conjuncts
        guard conjuncts.count == 1, case .matching(.root, let match) = conjuncts[0],
            try !state.isFarBehind(ofEntity: query.entity),
            try overlay().ids.isEmpty
        else { return nil }
        return try state.textSearch(match, query.entity)
    }

    /// Returns the object with an id, whether it satisfies the condition or not.
    package func row(_ id: ObjectID) throws -> Row? {
        try state.row(query.entity, id)
    }

    /// Calls `body` with each object of a range that satisfies the condition and is as in the last
    /// commit, until it returns false.
    func walk(
        _ ordered: QueryPath.OrderedRange, reading nodes: [QueryNode]?, keepsRows: Bool = true,
        from position: IndexPosition? = nil, _ body: (Row) throws -> Bool
    ) throws {
        let overlay = try overlay(reading: nodes)
        let leavesOut = !overlay.ids.isEmpty
        var frame = QueryFrame(state)
        var covered = CoveredRows(of: ordered, self, reading: nodes, keepsRows: keepsRows)
        try forEachEntry(ordered, from: position) { id, entry in
            if leavesOut, overlay.ids.contains(id) { return true }
            let shown = try covered?.row(id, entry) ?? state.storedRow(query.entity, id)
            guard let row = shown else { return true }
            if !ordered.isExact {
                frame.root = row
                guard try condition.test(&frame) else { return true }
            }
            return try body(row)
        }
    }

    /// Calls `body` as `StoreReader.forEachEntry` does, in the order of the query.
    private func forEachEntry(
        _ ordered: QueryPath.OrderedRange, from position: IndexPosition?,
        _ body: (ObjectID, StoreReader.StoredEntry?) throws -> Bool
    ) throws {
        if let mixed = MixedWalk(state, ordered, query.order) {
            return try mixed.forEachEntry(from: position, body)
        }
        try state.reader.forEachEntry(
            of: ordered.index, in: ordered.range, descending: query.isDescendingByID,
            from: position, body)
    }
}
