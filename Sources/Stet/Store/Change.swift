public import StetStore

/// The effect of a commit on one object of a model: the same value whether it comes from a save, an
/// observer or the journal.
public struct Change<M: Model>: Sendable, Equatable {
    /// What happened to the object.
    public let kind: ChangeKind
    /// The object.
    public let id: ObjectID
    /// The values before: for an update those of the changed properties, for a delete all, for an
    /// insert none.
    public let old: ChangedValues<M>
    /// The values after: for an update those of the changed properties, for an insert all, for a
    /// delete none.
    public let new: ChangedValues<M>

    /// For an update the names of the changed properties, for an insert and a delete of all.
    public let changedProperties: [String]

    /// The names of the properties with values that were redacted, which are in neither `old` nor
    /// `new`.
    public let redactedProperties: [String]

    /// All values of an inserted or deleted object; nil for an update, and when a value means
    /// nothing to its type or was redacted.
    public let snapshot: M.Snapshot?

    init(_ change: JournalChange, _ history: SchemaHistory, from revision: Int) throws {
        let plain = try ObjectChange(change, history, from: revision)
        kind = change.kind
        id = change.id
        changedProperties = plain.properties.map(\.name)
        redactedProperties = plain.properties.filter { $0.redacted != RedactedSides() }.map(\.name)
        old = ChangedValues(
            kind == .insert
                ? [] : plain.properties.filter { !$0.redacted.old }.map { ($0.name, $0.old) })
        new = ChangedValues(
            kind == .delete
                ? [] : plain.properties.filter { !$0.redacted.new }.map { ($0.name, $0.new) })
        if change.kind == .update || !redactedProperties.isEmpty {
            snapshot = nil
        } else {
            let upcast = try history.upcast(ofEntity: change.entity, from: revision)
            snapshot = try? (try upcast?.apply(to: change.payload) ?? Array(change.payload))
                .withUnsafeBytes { try M._$decode(change.id, $0) }
        }
    }
}

/// Values of some properties of an object, read by the field of the model's snapshot:
/// `change.old[\.title]`.
public struct ChangedValues<M: Model>: Sendable, Equatable {
    private let values: [String: Value]

    init(_ values: [(String, Value)]) {
        self.values = Dictionary(uniqueKeysWithValues: values)
    }

    /// The value of a property; nil when it is not among the changed ones, or means nothing to its
    /// type.
    public subscript<V: StoredValue>(_ keyPath: KeyPath<M.Snapshot, V>) -> V? {
        guard let slot = M._$description.slot(of: keyPath) else { return nil }
        return values[M._$description.entity.properties[slot].name].flatMap(V.init(_value:))
    }
}

extension Commit {
    /// The changes of the objects of one model, in ascending order of id.
    ///
    /// Those of a commit from before a migration are told as far as the model can express them.
    ///
    /// - Complexity: O(changes of the commit).
    public func changes<M: Model>(of type: M.Type) -> [Change<M>] {
        guard let entity = history.current.number(ofEntity: M._$name) else { return [] }
        let revision = schema.revision
        var changes: [Change<M>] = []
        // Cannot throw: the bytes were encoded by this process, or validated when they were read.
        try? forEachChange { change in
            if change.entity == entity {
                changes.append(try Change(change, history, from: revision))
            }
        }
        return changes
    }
}
