/// The changing values of a node for the objects of a query, for aggregates, which keep no objects.
package struct LiveValues {
    package enum Step {
        /// The values before and after of the objects that commits have changed.
        case changes(removed: [Value], added: [Value])
        /// All values must be read, for a reason in words.
        case run(String)
    }

    private let schema: Schema
    private let query: StoreQuery
    private let condition: QueryCondition
    private let operand: QueryOperand
    private let changes: ResultChanges

    /// Creates the values of a node for the objects of a query.
    ///
    /// - Parameters:
    ///   - query: the query.
    ///   - node: the node that is evaluated for each object; null for objects that are only
    ///     counted.
    ///   - schema: the store's schema.
    package init(_ query: StoreQuery, _ node: QueryNode, in schema: Schema) {
        self.schema = schema
        self.query = query
        let compiler = QueryCompiler(schema, root: query.entity)
        condition = compiler.condition(query.condition)
        operand = compiler.operand(node)
        changes = ResultChanges(query, beside: [node], in: schema)
    }

    /// Returns the values that commits have changed.
    ///
    /// - Parameters:
    ///   - backlog: the commits after a revision.
    ///   - revision: the revision before these commits.
    ///   - state: the state after these commits.
    /// - Returns: the values, or the reason why all must be read.
    /// - Throws: `StoreError`.
    /// - Complexity: two reads for each changed object, and a few for each of its changes.
    package func step(
        _ backlog: FeedReader.Backlog, since revision: Revision, _ state: QueryState
    ) throws -> Step {
        if let gap = backlog.gap { return .run(gap) }
        // The ring may still contain commits that were trimmed from the journal.
        if try revision < state.reader.floor() { return .run("commits were trimmed") }
        if query.limit != nil || query.offset > 0 || query.after != nil {
            return .run("the query has a page")
        }
        if !changes.isOfOwnObjects { return .run("the query reads other objects") }
        // The values before them may be gone.
        if backlog.commits.contains(where: \.isRedacted) { return .run("values were redacted") }
        switch try changes.objects(of: backlog.commits, isWatched: { _ in false }) {
        case .run(let reason): return .run(reason)
        case .objects(let ids):
            let before = QueryState(
                state.reader, QueryState.View(WorkingState(schema, at: revision)))
            return .changes(
                removed: try ids.compactMap { try value(of: $0, before) },
                added: try ids.compactMap { try value(of: $0, state) })
        }
    }

    /// Returns the value of an object; nil when it is not in the result.
    private func value(of id: ObjectID, _ state: QueryState) throws -> Value? {
        guard let row = try state.row(query.entity, id) else { return nil }
        var frame = QueryFrame(state, row)
        return try condition.test(&frame) ? operand.value(&frame) : nil
    }
}
