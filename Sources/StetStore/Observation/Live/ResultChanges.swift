/// Finds the objects by which commits may change the result of a query.
struct ResultChanges {
    private let schema: Schema
    private let entity: EntityNumber
    /// The properties of an object that decide whether it is in the result, and as what.
    private let slots: Set<Slot>
    private let dependencies: [FeedInterest]

    /// The changes of a query's result, and of nodes that are asked of its objects besides.
    init(_ query: StoreQuery, beside nodes: [QueryNode], in schema: Schema) {
        self.schema = schema
        entity = query.entity
        let reads = QueryReads(query, beside: nodes, in: schema)
        slots = reads.slots
        dependencies = reads.dependencies
    }

    /// True when the result depends on properties of its own objects alone.
    var isOfOwnObjects: Bool { dependencies.isEmpty }

    enum Found {
        /// The objects that may come into the result, leave it or change in it.
        case objects(Set<ObjectID>)
        /// The query has to run, for a reason in words.
        case run(String)
    }

    /// The objects that commits may bring into the result, take out of it or change.
    ///
    /// - Parameters:
    ///   - commits: the commits, in order.
    ///   - isWatched: true for objects of which every change counts.
    /// - Returns: the objects, or why the query has to run.
    /// - Throws: `DecodingFailure`.
    func objects(of commits: [Commit], isWatched: (ObjectID) -> Bool) throws -> Found {
        var ids: Set<ObjectID> = []
        for commit in commits {
            if !commit.isOfPresentSchema { return .run("the models have changed") }
            if let reason = try collect(commit, &ids, isWatched) { return .run(reason) }
        }
        return .objects(ids)
    }

    /// Adds the objects of a commit; returns why the query has to run instead.
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
