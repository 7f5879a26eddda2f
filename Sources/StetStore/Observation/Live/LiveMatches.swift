/// The changing objects of a query: the sorted result, updated from the changes of commits where
/// these suffice, and computed anew where they do not.
///
/// For a page with an end, some further objects are kept, so that a few can leave it before the
/// query must run again.
///
/// State: belongs to one observer; it has no lock.
package final class LiveMatches<Payload: Equatable & Sendable> {
    package typealias Entries = SortedEntries<Payload>

    package typealias Update = LiveUpdate<Payload>

    private let query: StoreQuery
    private let condition: QueryCondition
    private let keys: QuerySortKeys
    private let changes: ResultChanges
    private let decode: (QueryState.Row, QueryState) throws -> Payload
    /// The number of objects that are kept beyond the end of a page.
    private let spare: Int

    /// The first objects that satisfy the condition: all of them, or the number to be kept.
    private var kept: Entries
    /// The keys of the kept objects.
    private var keptKeys: [ObjectID: [UInt8]] = [:]
    /// True when there may be objects after the kept ones.
    private var hasMore = false
    /// The object after which the page begins, with its key.
    private var after: (id: ObjectID, key: [UInt8])?
    /// The objects that the observer has received.
    private var shown: Entries
    /// The reason why the query must run, in words; nil when the kept objects are correct.
    private var reason: String? = "there is no result yet"
    /// True when the first result was computed.
    package private(set) var hasShown = false

    /// Creates the result of a query, which is not computed yet.
    ///
    /// - Parameters:
    ///   - query: the query.
    ///   - nodes: the nodes that `decode` evaluates for an object beside its own values.
    ///   - schema: the store's schema.
    ///   - spare: the number of objects that are kept beyond the end of a page; nil for a suitable
    ///     number.
    ///   - decode: returns the payload that is kept for an object.
    package init(
        _ query: StoreQuery, beside nodes: [QueryNode] = [], in schema: Schema, spare: Int? = nil,
        _ decode: @escaping (QueryState.Row, QueryState) throws -> Payload
    ) {
        self.query = query
        self.decode = decode
        self.spare = spare ?? min(max(query.end, 32), 1_024)
        let compiler = QueryCompiler(schema, root: query.entity)
        condition = compiler.condition(query.condition)
        keys = QuerySortKeys(query, compiler)
        changes = ResultChanges(query, beside: nodes, in: schema)
        kept = Entries(sorted: [], isDescendingByID: query.isDescendingByID)
        shown = kept
    }

    // MARK: Following commits

    /// Follows the commits up to the revision of a state.
    ///
    /// - Returns: the change of the result, or nil when it is unchanged; and how it was computed.
    /// - Throws: `StoreError`, and the error of `decode`. The query then runs at the next call.
    package func follow(
        _ backlog: FeedReader.Backlog, _ state: QueryState
    ) throws -> (update: Update?, way: LiveQueryWay) {
        let before = shown
        let due = reason ?? backlog.gap
        reason = "the step before failed"
        var outcome: Step
        if let due {
            outcome = .run(due)
        } else {
            outcome = try step(backlog.commits, state)
        }
        var way = LiveQueryWay.changes
        if case .run(let why) = outcome {
            outcome = .changed(try run(state))
            way = .run(why)
        }
        shown = kept
        reason = nil
        guard case .changed(let changes) = outcome, !changes.isEmpty else { return (nil, way) }
        let update = update(from: before, changes)
        let isDelivered = !hasShown || !update.isEmpty
        hasShown = true
        return (isDelivered ? update : nil, way)
    }

    /// True when the query must run, whatever is committed.
    package var isDue: Bool { reason != nil }

    private enum Step {
        case run(String)
        case changed(Changes)
    }

    /// The effect of a step on the kept objects; its lists are nil where they are not known.
    private struct Changes {
        var removals: [ListDifference.Place] = []
        var insertions: [Entries.Entry] = []
        /// The objects that keep their place but have another payload.
        var replaced: [ObjectID] = []
        var isKnown = true

        var isEmpty: Bool {
            isKnown && removals.isEmpty && insertions.isEmpty && replaced.isEmpty
        }
    }

    // MARK: Running

    private func run(_ state: QueryState) throws -> Changes {
        var wide = query
        wide.offset = 0
        wide.limit = query.end < .max - spare ? query.end + spare : nil
        after = try query.after.map { position in
            (position.id, try key(of: state.row(position, ofEntity: query.entity), state))
        }
        var entries: [Entries.Entry] = []
        keptKeys = [:]
        for row in try QueryRun(state, wide).rows() {
            let key = try key(of: row, state)
            keptKeys[row.id] = key
            entries.append(Entries.Entry(id: row.id, key: key, payload: try decode(row, state)))
        }
        hasMore = wide.limit == entries.count
        kept = Entries(sorted: entries, isDescendingByID: query.isDescendingByID)
        return Changes(isKnown: false)
    }

    private func key(of row: QueryState.Row, _ state: QueryState) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var frame = QueryFrame(state, row)
        try keys.append(&frame, to: &bytes)
        return bytes
    }

    // MARK: Stepping

    private func step(_ commits: [Commit], _ state: QueryState) throws -> Step {
        let ids: Set<ObjectID>
        switch try changes.objects(of: commits, isWatched: { keptKeys[$0] != nil }) {
        case .run(let reason): return .run(reason)
        case .objects(let found): ids = found
        }
        var changes = Changes()
        let bound = hasMore ? kept.last : nil
        var moved: [(id: ObjectID, key: [UInt8])] = []
        for id in ids.sorted() {
            let old = keptKeys[id]
            let new = try entry(id, state, noLaterThan: bound)
            if let old, let new, new.key == old {
                if kept.replace(id, key: old, with: new.payload) { changes.replaced.append(id) }
                continue
            }
            if let old { moved.append((id, old)) }
            if let new { changes.insertions.append(new) }
        }
        for (id, key) in moved {
            if let offset = kept.index(of: id, key: key) { changes.removals.append((offset, id)) }
        }
        for (id, key) in moved {
            kept.remove(id, key: key)
            keptKeys[id] = nil
        }
        for entry in changes.insertions {
            kept.insert(entry)
            keptKeys[entry.id] = entry.key
        }
        if hasMore, kept.count < query.end {
            return .run("too many objects have left the page")
        }
        cut()
        return .changed(changes)
    }

    /// Returns the entry to keep for an object; nil when it does not exist, does not satisfy the
    /// condition, or comes after the kept objects.
    private func entry(
        _ id: ObjectID, _ state: QueryState, noLaterThan bound: Entries.Entry?
    ) throws -> Entries.Entry? {
        guard let row = try state.row(query.entity, id) else { return nil }
        var frame = QueryFrame(state, row)
        guard try condition.test(&frame) else { return nil }
        let key = try key(of: row, state)
        if let after, !kept.precedes(after.key, after.id, key, id) { return nil }
        if let bound, kept.precedes(bound.key, bound.id, key, id) { return nil }
        return Entries.Entry(id: id, key: key, payload: try decode(row, state))
    }

    /// Removes objects far beyond the end of the page.
    private func cut() {
        guard query.limit != nil, kept.count > query.end + 2 * spare else { return }
        hasMore = true
        while kept.count > query.end + spare, let last = kept.removeLast() {
            keptKeys[last.id] = nil
        }
    }

    // MARK: Telling

    private func page(of entries: Entries) -> Range<Int> {
        let start = min(query.offset, entries.count)
        return start..<max(start, min(query.end, entries.count))
    }

    private func update(from before: Entries, _ changes: Changes) -> Update {
        let page = page(of: kept)
        if changes.isKnown, query.limit == nil, query.offset == 0 {
            let insertions = changes.insertions.map { entry in
                (offset: kept.index(of: entry.id, key: entry.key) ?? 0, id: entry.id)
            }
            return Update(
                entries: kept, page: page,
                difference: ListDifference(removing: changes.removals, inserting: insertions),
                updated: updated(from: before, changes))
        }
        return Update(kept, page, after: before.entries(in: self.page(of: before)))
    }

    /// Returns the elements with another payload, from the changes alone.
    private func updated(
        from before: Entries, _ changes: Changes
    ) -> [(id: ObjectID, old: Int, new: Int)] {
        let removed = Dictionary(
            uniqueKeysWithValues: changes.removals.map { ($0.id, $0.offset) })
        let starts = before.starts
        var found: [(id: ObjectID, old: Int, new: Int)] = []
        for entry in changes.insertions {
            guard let old = removed[entry.id], before[old, starts].payload != entry.payload,
                let new = kept.index(of: entry.id, key: entry.key)
            else { continue }
            found.append((entry.id, old, new))
        }
        for id in changes.replaced {
            guard let key = keptKeys[id], let old = before.index(of: id, key: key),
                let new = kept.index(of: id, key: key)
            else { continue }
            found.append((id, old, new))
        }
        return found.sorted { $0.new < $1.new }
    }
}

/// The way in which a live result was computed.
package enum LiveQueryWay {
    /// Derived from the changes of commits.
    case changes
    /// Computed by running the query, for a reason in words.
    case run(String)
}
