/// The objects of an entity as they are at a revision, one at a time, and whether they satisfy a
/// condition.
///
/// It is valid as long as the read that it was made in.
package struct ObjectStates {
    private let entity: EntityNumber
    private let state: QueryState
    private let condition: QueryCondition

    /// The objects at a revision.
    ///
    /// - Parameters:
    ///   - entity: the entity of the objects.
    ///   - revision: a revision that the journal reaches back to.
    ///   - reader: reads them.
    ///   - condition: a condition of the query language.
    ///   - limit: the most objects that later commits may have changed, where the condition asks
    ///     for members.
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

    /// Returns true when the object exists and satisfies the condition.
    ///
    /// - Complexity: a read, and a few for each later change of the object; those of the condition.
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
