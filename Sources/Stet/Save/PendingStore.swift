public import StetStore

/// The store as it will be when the save has been made: for rules over several objects.
///
/// It gives snapshots, not objects, so that nothing can be edited. What is looked up is noted, and
/// compared by the writer: a save whose validators have seen what others have changed meanwhile is
/// validated anew. It is valid only while the validator runs that was given it.
public final class PendingStore {
    private let store: Store
    private let revision: Revision
    /// The changes on top; nil when the validators have run.
    private var changes: UnsafePointer<NetChanges>?
    private var lookups = Lookups()
    private var failure: (any Error)?

    private init(_ store: Store, _ revision: Revision, _ changes: UnsafePointer<NetChanges>) {
        self.store = store
        self.revision = revision
        self.changes = changes
        lookups.revision = revision
    }

    /// Runs validators with the store as changes will make it.
    ///
    /// - Returns: what `body` returns, and what was looked up.
    /// - Throws: what `body` throws; the error of a look that failed.
    static func withStore<Result>(
        _ store: Store, _ revision: Revision, _ changes: borrowing NetChanges,
        _ body: (PendingStore) throws -> Result
    ) throws -> (Result, Lookups) {
        try withUnsafePointer(to: changes) { changes in
            let view = PendingStore(store, revision, changes)
            defer { view.changes = nil }
            let result = try body(view)
            if let failure = view.failure { throw failure }
            return (result, view.lookups)
        }
    }

    /// The object with an id; nil when there will be none.
    ///
    /// When it cannot be read this is nil, too, and the save throws the error.
    ///
    /// - Complexity: one read.
    public func object<M: Model>(_ type: M.Type, id: ObjectID) -> M.Snapshot? {
        let entity = number(of: type)
        lookups.note(entity: entity, id)
        return reading(nil) { changes in
            if let item = changes.item(entity, id) { return try snapshot(item, changes, type) }
            return try store.file.read { reader in
                try reader.withRecord(ofEntity: entity, id, asOf: revision) { record in
                    try M._$decode(id, record.body)
                }
            }
        }
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
        let entity = number(of: type)
        let index = store.uniqueIndex(of: type, property, entity)
        let found = reading(nil) { try find(value._value, index, $0, type) }
        if let found {
            lookups.note(entity: entity, found.id)
        } else {
            lookups.note(entity: entity)
        }
        return found
    }

    private func find<M: Model>(
        _ value: Value, _ index: NumberedIndex, _ changes: borrowing NetChanges, _ type: M.Type
    ) throws -> M.Snapshot? {
        if value == .null { return nil }
        let wanted = try index.index.key(of: [value])
        let description = store.file.schema.entities[index.entity - 1]
        let slots = index.index.parts.map(\.slot)
        for item in changes.items where item.entity == index.entity && item.kind != .delete {
            let body = try RecordBody(changes.body(item.after), of: description)
            guard try index.index.key(of: slots.map { try body.value($0) }) == wanted else {
                continue
            }
            return try snapshot(item, changes, type)
        }
        return try store.file.read { reader in
            let ids = try reader.objects(of: index, with: [value], asOf: revision)
            for id in ids where changes.item(index.entity, id) == nil {
                return try reader.withRecord(ofEntity: index.entity, id, asOf: revision) {
                    try M._$decode(id, $0.body)
                }
            }
            return nil
        }
    }

    /// All objects of a model, in no particular order.
    ///
    /// A save whose validators look through a model is validated anew when others have changed any
    /// object of it meanwhile.
    ///
    /// - Complexity: O(objects).
    public func fetch<M: Model>(_ type: M.Type) -> [M.Snapshot] {
        let entity = number(of: type)
        lookups.note(entity: entity)
        return reading([]) { changes in
            var found: [M.Snapshot] = []
            var changed: Set<ObjectID> = []
            for item in changes.items where item.entity == entity {
                changed.insert(item.id)
                if let snapshot = try snapshot(item, changes, type) { found.append(snapshot) }
            }
            try store.file.read { reader in
                try reader.forEachRecord(ofEntity: entity, asOf: revision) { id, record in
                    if !changed.contains(id) { found.append(try M._$decode(id, record.body)) }
                    return true
                }
            }
            return found
        }
    }

    private func snapshot<M: Model>(
        _ item: NetChanges.Item, _ changes: borrowing NetChanges, _ type: M.Type
    ) throws -> M.Snapshot? {
        item.kind == .delete ? nil : try M._$decode(item.id, changes.body(item.after))
    }

    private func number<M: Model>(of type: M.Type) -> Int {
        guard let number = store.file.schema.number(ofEntity: M._$name) else {
            trap(
                "\(M.self) is not a model of this store: name it in Store.open(at:for:)")
        }
        return number
    }

    /// What a validator gets of a read that failed; the save throws the error.
    private func reading<Result>(
        _ failed: Result, _ body: (borrowing NetChanges) throws -> Result
    ) -> Result {
        guard let changes else {
            trap(
                "a PendingStore was used after its validator had returned: keep what you read")
        }
        do {
            return try body(changes.pointee)
        } catch {
            if failure == nil { failure = error }
            return failed
        }
    }
}

extension NetChanges {
    /// The change of an object, when all are sorted.
    ///
    /// - Complexity: O(log changes).
    fileprivate borrowing func item(_ entity: Int, _ id: ObjectID) -> Item? {
        let index = items.partitionPoint { ($0.entity, $0.id) < (entity, id) }
        guard let item = items.element(at: index), item.entity == entity, item.id == id else {
            return nil
        }
        return item
    }
}

extension Store {
    /// The index of a property whose values are unique.
    ///
    /// - Precondition: there is one.
    func uniqueIndex<M: Model, T: StoredValue>(
        of type: M.Type, _ property: KeyPath<M.Snapshot, T>, _ entity: Int
    ) -> NumberedIndex {
        let slot = M._$description.slot(of: property)
        let index = file.schema.indexes(ofEntity: entity).first {
            $0.index.isUnique && $0.index.parts.map(\.slot) == [slot]
        }
        guard let index else {
            trap("object(_:where:is:) needs a property that is '.unique'")
        }
        return index
    }
}
