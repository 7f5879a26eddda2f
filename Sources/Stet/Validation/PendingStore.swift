public import StetStore

/// The store as it will be after the save, for rules over several objects.
///
/// It returns snapshots, not objects, so that nothing can be edited. Look-ups are recorded and
/// compared by the writer: a save whose validators have read objects that others have changed since
/// is validated again. The value may be used only until the validator that received it returns.
public final class PendingStore {
    private let store: Store
    private let revision: Revision
    /// The revision with the changes on top, created by the first look-up.
    private var state: WorkingState?
    /// The changes; nil after the validators have run.
    private var changes: UnsafePointer<ChangeSetBuilder>?
    /// The changed objects by their values in the unique indexes in which something was looked up.
    private var values: [Int: PendingValues] = [:]
    private var lookups = Lookups()
    private var failure: (any Error)?

    private init(_ store: Store, _ revision: Revision, _ changes: UnsafePointer<ChangeSetBuilder>) {
        self.store = store
        self.revision = revision
        self.changes = changes
        lookups.revision = revision
    }

    /// Runs validators with the store as it will be after changes.
    ///
    /// - Returns: the result of `body`, and the look-ups.
    /// - Throws: the error of `body`; the error of a look-up that failed.
    static func withStore<Result>(
        _ store: Store, _ revision: Revision, _ changes: borrowing ChangeSetBuilder,
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

    /// Returns the object with an id; nil when there will be none.
    ///
    /// It also returns nil when the object cannot be read; the save then throws the error.
    ///
    /// - Complexity: one read.
    public func object<M: Model>(_ type: M.Type, id: ObjectID) -> M.Snapshot? {
        let entity = number(of: type)
        lookups.note(entity: entity, id)
        return reading(nil) { state in
            try state.row(entity, id).map { try M._$decode($0.id, $0.body) }
        }
    }

    /// Returns the object with a unique value, or with the values of a compound unique index; nil
    /// when there will be none, and for a nil value.
    ///
    /// The objects have been normalised; the values are compared with theirs as they are given.
    ///
    /// - Precondition: the property is `.unique`, or the properties are those of a `#Unique`
    ///   without condition.
    /// - Complexity: a few reads; the first call for a property also reads the changes, and those
    ///   in the store since the context's revision.
    public func object<M: Model, T: StoredValue, each Other: StoredValue>(
        _ type: M.Type, where property: KeyPath<M.Snapshot, T>,
        _ otherProperties: repeat KeyPath<M.Snapshot, each Other>, is value: T,
        _ otherValues: repeat each Other
    ) -> M.Snapshot? {
        let entity = number(of: type)
        let fields = UniqueField.all(
            of: type, property, repeat each otherProperties, are: value, repeat each otherValues)
        let values = UniqueValues(fields, in: store.file.schema, entity)
        let found = reading(nil) { state in
            try state.object(
                of: values.index, with: values.wanted, pending: self.values(in: values.index)
            ).map { try M._$decode($0.id, $0.body) }
        }
        if let found {
            lookups.note(entity: entity, found.id)
        } else {
            lookups.note(entity: entity)
        }
        return found
    }

    /// Returns all objects of a model, in no particular order.
    ///
    /// A save whose validators read a whole model is validated again when others have changed any
    /// object of it since.
    ///
    /// - Complexity: O(objects).
    public func all<M: Model>(_ type: M.Type) -> [M.Snapshot] {
        let entity = number(of: type)
        lookups.note(entity: entity)
        return reading([]) { state in
            var found: [M.Snapshot] = []
            let all = StoreQuery(entity: entity)
            try QueryRun(state, all).forEachMatch { row in
                found.append(try M._$decode(row.id, row.body))
                return true
            }
            return found
        }
    }

    private func values(in index: NumberedIndex) throws -> PendingValues {
        if let values = values[index.number] { return values }
        let values = try changes?.pointee.values(in: index) ?? PendingValues()
        self.values[index.number] = values
        return values
    }

    private func number<M: Model>(of type: M.Type) -> EntityNumber {
        guard let number = store.file.schema.number(ofEntity: M._$name) else {
            trap(
                "\(M.self) is not a model of this store: name it in Store.open(at:for:)")
        }
        return number
    }

    /// Runs a read; one that fails returns `failed`, and the save throws the error.
    private func reading<Result>(
        _ failed: Result, _ body: (QueryState) throws -> Result
    ) -> Result {
        guard let changes else {
            trap(
                "a PendingStore was used after its validator had returned: keep what you read")
        }
        do {
            let state =
                try self.state
                ?? WorkingState(store.file.schema, at: revision, with: changes.pointee)
            self.state = state
            let view = QueryState.View(
                state, pending: { changes.pointee.bodies(ofEntity: $0) },
                change: { changes.pointee.body(of: $0) })
            return try store.file.read { reader in try body(QueryState(reader, view)) }
        } catch {
            if failure == nil { failure = error }
            return failed
        }
    }
}
