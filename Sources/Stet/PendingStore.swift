public import StetStore

/// The store as it will be when the save has been made: for rules over several objects.
///
/// It gives snapshots, not objects, so that nothing can be edited. What is looked up is noted, and
/// compared by the writer: a save whose validators have seen what others have changed meanwhile is
/// validated anew.
public final class PendingStore {
    private let context: ManagedContext
    private(set) var lookups = Lookups()

    init(_ context: ManagedContext) {
        self.context = context
        lookups.revision = context.revision
    }

    /// The object with an id; nil when there will be none.
    ///
    /// When it cannot be read this is nil, too, and the save throws the error.
    ///
    /// - Complexity: one read.
    public func object<M: Model>(_ type: M.Type, id: ObjectID) -> M.Snapshot? {
        let entity = context.table(for: type).entity
        lookups.note(entity: entity, id)
        return reading(nil) { try value(type, entity, id) }
    }

    /// The object whose property has a value that no two objects share; nil when there will be
    /// none, and for nil.
    ///
    /// - Precondition: the property is `.unique`.
    /// - Complexity: a few reads, and O(pending changes + changes in the store since the context's
    ///   revision).
    public func object<M: Model, T: StoredValue>(
        _ type: M.Type, where property: KeyPath<M.Snapshot, T>, is value: T
    ) -> M.Snapshot? {
        let entity = context.table(for: type).entity
        let object = reading(nil) { try context.object(type, where: property, is: value) }
        guard let object else {
            lookups.note(entity: entity)
            return nil
        }
        lookups.note(entity: entity, object.id)
        return object._$snapshot
    }

    /// All objects of a model, in no particular order.
    ///
    /// A save whose validators look through a model is validated anew when others have changed any
    /// object of it meanwhile.
    ///
    /// - Complexity: O(objects).
    public func fetch<M: Model>(_ type: M.Type) -> [M.Snapshot] {
        let entity = context.table(for: type).entity
        lookups.note(entity: entity)
        var found: [M.Snapshot] = []
        var pending: Set<ObjectID> = []
        for entry in context.pending {
            guard let object = entry.object as? M else { continue }
            pending.insert(object.id)
            if !object.isDeleted { found.append(object._$snapshot) }
        }
        return reading([]) {
            try context.store.file.read { reader in
                try reader.forEachRecord(ofEntity: entity, asOf: context.revision) { id, record in
                    if !pending.contains(id) { found.append(try M._$decode(id, record.body)) }
                    return true
                }
            }
            return found
        }
    }

    private func value<M: Model>(
        _ type: M.Type, _ entity: Int, _ id: ObjectID
    ) throws -> M.Snapshot? {
        if let object = context.table(ofEntity: entity).object(id, as: type), object.hasChanges {
            return object.isDeleted ? nil : object._$snapshot
        }
        return try context.store.file.read { reader in
            try reader.withRecord(ofEntity: entity, id, asOf: context.revision) { record in
                try M._$decode(id, record.body)
            }
        }
    }

    /// What a validator gets of a read that failed; the save throws the error.
    private func reading<Result>(_ failed: Result, _ body: () throws -> Result) -> Result {
        do {
            return try body()
        } catch {
            if context.failure == nil { context.failure = error }
            return failed
        }
    }
}
