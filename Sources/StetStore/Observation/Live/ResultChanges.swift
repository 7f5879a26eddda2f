/// Finds the objects through which commits may change the result of a query.
struct ResultChanges {
    private let schema: Schema
    private let entity: EntityNumber
    /// The properties of an object that determine whether it is in the result, and with which
    /// payload.
    private let slots: Set<Slot>
    private let dependencies: [FeedInterest]

    /// Creates a finder for a query's result, and for nodes that are also evaluated for its
    /// objects.
    init(_ query: StoreQuery, beside nodes: [QueryNode], in schema: Schema) {
        self.schema = schema
        entity = query.entity
        let reads = QueryReads(query, beside: nodes, in: schema)
        slots = reads.slots
        dependencies = reads.dependencies
    }

    /// True when the result depends only on properties of its own objects.
    var isOfOwnObjects: Bool { dependencies.isEmpty }

    enum Found {
        /// The objects that may enter the result, leave it or change in it.
        case objects(Set<ObjectID>)
        /// The query must run, for a reason in words.
        case run(String)
    }

    /// Returns the objects that commits may add to the result, remove from it or change.
    ///
    /// - Parameters:
    ///   - commits: the commits, in order.
    ///   - isWatched: returns true for objects whose every change must be reported.
    /// - Returns: the objects, or the reason why the query must run.
    /// - Throws: `DecodingFailure`.
    func objects(of commits: [Commit], isWatched: (ObjectID) -> Bool) throws -> Found {
        var ids: Set<ObjectID> = []
        for commit in commits {
            if !commit.isOfPresentSchema { return .run("the models have changed") }
            if let reason = try collect(commit, &ids, isWatched) { return .run(reason) }
        }
        return .objects(ids)
    }

    /// Adds the objects of a commit; returns a reason why the query must run instead.
    private func collect(
        _ commit: Commit, _ ids: inout Set<ObjectID>, _ isWatched: (ObjectID) -> Bool
    ) throws -> String? {
        var reason: String?
        try commit.forEachChange { change in
            if reason != nil { return }
            for dependency in dependencies
            where try dependency.includes(change, comparesSlots: true) {
                reason = "the query reads \(dependency.text(in: schema)) of other objects"
                return
            }
            guard change.entity == entity, change.changesRecord else { return }
            if try change.kind != .update || isWatched(change.id)
                || change.changedCells().contains(where: { slots.contains($0.slot) })
            {
                ids.insert(change.id)
            }
        }
        return reason
    }
}
