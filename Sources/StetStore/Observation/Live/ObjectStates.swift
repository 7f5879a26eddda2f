/// The states of an entity's objects at a revision, one at a time, and whether they satisfy a
/// condition.
///
/// It is valid as long as the read in which it was made.
package struct ObjectStates {
    private let entity: EntityNumber
    private let state: QueryState
    private let condition: QueryCondition

    /// Creates access to the objects at a revision.
    ///
    /// - Parameters:
    ///   - entity: the entity of the objects.
    ///   - revision: a revision that the journal reaches back to.
    ///   - reader: the read of the store.
    ///   - condition: a condition of the query language.
    ///   - limit: the greatest number of objects that later commits may have changed, if the
    ///     condition reads members.
    package init(
        ofEntity entity: EntityNumber, asOf revision: Revision, _ reader: borrowing StoreReader,
        satisfying condition: QueryNode, limit: Int
    ) {
        self.entity = entity
        let schema = reader.file.schema
        state = QueryState(
            reader, QueryState.View(WorkingState(schema, at: revision, limit: limit)))
        self.condition = QueryCompiler(schema, root: entity).condition(condition)
    }

    /// Returns whether the object exists and satisfies the condition.
    ///
    /// - Complexity: a read, plus a few for each later change of the object, and the reads of the
    ///   condition.
    package func satisfies(_ id: ObjectID) throws -> Bool {
        guard let row = try state.row(entity, id) else { return false }
        var frame = QueryFrame(state, row)
        return try condition.test(&frame)
    }

    /// Calls `decode` with the body of the object, or returns nil when it does not exist.
    package func body<Result>(
        of id: ObjectID, _ decode: (UnsafeRawBufferPointer) throws -> Result
    ) throws -> Result? {
        try state.row(entity, id).map { try decode($0.body) }
    }
}
