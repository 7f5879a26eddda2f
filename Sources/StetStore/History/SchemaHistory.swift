import StetLMDB

/// The schemas that a store has had, and the upcasts by which records and journal entries of each
/// are read in the current one; constant.
package final class SchemaHistory: Sendable {
    /// The current schema of the store.
    package let current: Schema
    /// The migrations that led to it, the oldest first.
    package let migrations: [Migration]
    /// The upcasts to the current schema, by schema, the oldest first, and number of the entity;
    /// nil for a missing entity.
    private let upcasts: [[Upcast?]]

    /// - Throws: `DecodingFailure` when the steps do not lead to `current`.
    package init(_ current: Schema, _ migrations: [Migration] = []) throws {
        self.current = current
        self.migrations = migrations
        var reached = current.revision
        var upcasts: [[Upcast?]] = []
        for migration in migrations.reversed() {
            guard migration.to.revision == reached else {
                throw DecodingFailure("its migrations do not lead to its schema")
            }
            reached = migration.from.revision
            let behind = upcasts.last
            upcasts.append(
                try migration.from.entities.indices.map { offset in
                    guard let step = migration.upcasts[offset] else { return nil }
                    guard let behind else { return step }
                    return try behind[offset].map { try step.followed(by: $0) }
                })
        }
        self.upcasts = upcasts.reversed()
    }

    /// Creates the part of a history up to a schema.
    ///
    /// - Throws: `DecodingFailure` when the store has not had the schema.
    convenience init(_ history: SchemaHistory, upTo revision: Int) throws {
        try self.init(
            try history.schema(revision),
            Array(history.migrations.prefix { $0.to.revision <= revision }))
    }

    /// Returns the schema with a revision.
    ///
    /// - Throws: `DecodingFailure` when the store has never had it.
    package func schema(_ revision: Int) throws(DecodingFailure) -> Schema {
        if revision == current.revision { return current }
        guard let first = migrations.first?.from.revision, revision >= first,
            let migration = migrations.element(at: revision - first)
        else { throw DecodingFailure("schema \(revision), which the store has not had") }
        return migration.from
    }

    /// Returns the upcast for bodies that were written with a schema; nil for the current one.
    ///
    /// - Throws: `DecodingFailure` when the store has not had the schema, or the entity is not in
    ///   both.
    package func upcast(
        ofEntity entity: EntityNumber, from revision: Int
    ) throws(DecodingFailure) -> Upcast? {
        if revision == current.revision { return nil }
        _ = try schema(revision)
        let first = current.revision - migrations.count
        guard let upcast = upcasts[revision - first].element(at: entity)?.flatMap({ $0 }) else {
            throw DecodingFailure("a record of entity \(entity) from before it was there")
        }
        return upcast
    }
}
