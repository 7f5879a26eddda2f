public import StetStore

/// The effect of a commit on one object of a model; the value is equal whether it comes from a
/// save, an observer or the journal.
///
/// ```swift
/// for commit in try store.journal() {
///     for change in commit.changes(of: Article.self) where change.kind == .update {
///         titles.append((change.old[\.title], change.new[\.title]))
///     }
/// }
/// ```
public struct Change<M: Model>: Sendable, Equatable {
    /// The kind of the change; a change of links alone is an update.
    public let kind: ChangeKind
    /// The id of the object.
    public let id: ObjectID
    /// The values before the commit: those of the changed properties for an update, all for a
    /// delete, none for an insert.
    public internal(set) var old: Change<M>.Values
    /// The values after the commit: those of the changed properties for an update, all for an
    /// insert, none for a delete.
    public internal(set) var new: Change<M>.Values

    /// The names of the changed properties for an update, of all properties for an insert or
    /// delete.
    public let changedProperties: [String]

    /// The changes of many-to-many relationships and of those without an inverse: a change at
    /// either end appears in the objects at both ends.
    public let relationships: [RelationshipChange]

    /// The names of the properties whose values were redacted and are in neither `old` nor `new`.
    public let redactedProperties: [String]

    init(
        _ change: JournalChange, _ history: SchemaHistory, from revision: Int,
        sources: [RelationshipChange] = []
    ) throws {
        let plain = try ObjectChange(change, history, from: revision)
        kind = change.kind
        id = change.id
        changedProperties = plain.properties.map(\.name)
        relationships = plain.relationships + sources
        redactedProperties = plain.properties.filter {
            $0.redacted != PropertyChange.RedactedSides()
        }.map(\.name)
        old = Change.Values(
            kind == .insert
                ? [] : plain.properties.filter { !$0.redacted.old }.map { ($0.name, $0.old) },
            without: redactedProperties)
        new = Change.Values(
            kind == .delete
                ? [] : plain.properties.filter { !$0.redacted.new }.map { ($0.name, $0.new) },
            without: redactedProperties)
        if kind == .update || !redactedProperties.isEmpty { return }
        let upcast = try history.upcast(ofEntity: change.entity, from: revision)
        let snapshot = try? (try upcast?.apply(to: change.payload) ?? Array(change.payload))
            .withUnsafeBytes { try M._$decode(change.id, $0) }
        if kind == .insert { new.snapshot = snapshot } else { old.snapshot = snapshot }
    }

    /// Creates the change of an object whose record is unchanged, while sources are linked to it or
    /// unlinked from it.
    init(_ id: ObjectID, sources: [RelationshipChange]) {
        kind = .update
        self.id = id
        old = Change.Values([])
        new = Change.Values([])
        changedProperties = []
        relationships = sources
        redactedProperties = []
    }

    /// Returns the change of the members of a relationship, as in `change.members(of: \.tags)`, or
    /// nil when it is not among `relationships`.
    ///
    /// Members that refer to the object by a reference appear as changes of the members instead.
    public func members<Member: Model>(
        of relationship: (M.Fields) -> ToManyField<Member>
    ) -> RelationshipChange? {
        let field = relationship(M.fields)
        let name = M._$description.relationships[field.relationship].name
        return relationships.first { $0.name == name }
    }
}

extension Change {
    /// The values of some properties of an object, read by the field of the model's snapshot:
    /// `change.old[\.title]`.
    public struct Values: Sendable, Equatable {
        fileprivate let values: [String: Value]
        /// The names of the properties whose values were redacted.
        private let withheld: Set<String>

        /// All values of the object: after an insert, before a delete and, if the observer has
        /// requested them, before and after an update.
        ///
        /// Nil otherwise, and when a value was redacted or is one that its type cannot represent.
        public internal(set) var snapshot: M.Snapshot?

        init(_ values: [(String, Value)], without withheld: [String] = []) {
            self.withheld = Set(withheld)
            self.values = Dictionary(uniqueKeysWithValues: values)
        }

        /// Returns the value of a property; nil when it is not among the changed ones, or when its
        /// type cannot represent it.
        public subscript<V: StoredValue>(_ keyPath: KeyPath<M.Snapshot, V>) -> V? {
            guard let slot = M._$description.slot(of: keyPath) else { return nil }
            return values[M._$description.entity.properties[slot].name].flatMap(V.init(_value:))
        }

        /// Returns an embedded value; nil when it is not known as a whole.
        ///
        /// An update contains the changed members alone, `change.new[\.address.city]`, unless all
        /// have changed or the observer has requested snapshots.
        public subscript<V: EmbeddedValue>(_ keyPath: KeyPath<M.Snapshot, V>) -> V? {
            if let snapshot { return snapshot[keyPath: keyPath] }
            let properties = M._$description.slots(of: keyPath).map {
                M._$description.entity.properties[$0]
            }
            let values = properties.compactMap { self.values[$0.name] }
            guard values.count == properties.count else { return nil }
            return V(_$values: values)
        }

        /// Returns an optional embedded value, which is nil where it is absent; nil when it is not
        /// known as a whole.
        ///
        /// An update that sets or removes it has it as a whole.
        public subscript<V: EmbeddedValue>(_ keyPath: KeyPath<M.Snapshot, V?>) -> V?? {
            if let snapshot { return snapshot[keyPath: keyPath] }
            let names = M._$description.slots(of: keyPath).map {
                M._$description.entity.properties[$0].name
            }
            guard let owner = names.first, withheld.isDisjoint(with: names) else { return nil }
            switch values[owner] {
            case .null?: return .some(nil)
            case nil where !names.dropFirst().allSatisfy { values[$0] != nil }: return nil
            default:
                // A member that the change of the whole value does not have is nil on both sides.
                return V(_$values: names.dropFirst().map { values[$0] ?? .null }).map { .some($0) }
            }
        }
    }
}

extension Change: Encodable {
    /// Encodes the change as an `ObjectChange`: `{"title": {"old": "a", "new": "b"}}`, without the
    /// values of hidden properties.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var change = ObjectChange(
            entity: M._$name, id: id, kind: kind, properties: [], relationships: relationships)
        let entity = M._$description.entity
        change.properties = changedProperties.map { name in
            var property = PropertyChange(
                name: name, old: old.values[name] ?? .null, new: new.values[name] ?? .null)
            property.isHidden = entity.properties.contains { $0.name == name && $0.isHidden }
            if redactedProperties.contains(name) {
                property.redacted.old = kind != .insert && old.values[name] == nil
                property.redacted.new = kind != .delete && new.values[name] == nil
            }
            return property
        }
        try change.encode(to: encoder)
    }
}

extension Commit {
    /// Returns the changes of the objects of one model, in ascending order of id.
    ///
    /// Changes from before a migration are returned as far as the model can express them.
    ///
    /// - Complexity: O(changes of the commit).
    public func changes<M: Model>(of type: M.Type) -> [Change<M>] {
        // Cannot throw: this process encoded the bytes, or validated them when it read them.
        (try? changes(of: type) { _ in true }) ?? []
    }

    /// Returns the changes of the wanted objects of a model, in ascending order of id; others are
    /// not decoded.
    ///
    /// `isWanted` decides by the header of a change; it is not called for objects that are only
    /// targets of changed links.
    func changes<M: Model>(
        of type: M.Type, where isWanted: (JournalChange) throws -> Bool
    ) throws -> [Change<M>] {
        guard let entity = history.current.number(ofEntity: M._$name) else { return [] }
        let revision = schema.revision
        var sources = try changesOfSources(ofEntity: entity)
        var changes: [Change<M>] = []
        try forEachChange { change in
            guard change.entity == entity else { return }
            let linked = sources.removeValue(forKey: change.id) ?? []
            guard try !linked.isEmpty || isWanted(change) else { return }
            changes.append(try Change(change, history, from: revision, sources: linked))
        }
        if sources.isEmpty { return changes }
        changes += sources.map { Change($0.key, sources: $0.value) }
        return changes.sorted { $0.id < $1.id }
    }
}
