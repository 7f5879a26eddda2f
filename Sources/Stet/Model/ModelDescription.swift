public import StetStore

/// The description of a class that `@Model` writes: its properties in the order of their slots.
///
/// Used by the code that `@Model` writes.
public final class _ModelDescription<M: Model>: Sendable {
    let entity: Entity
    /// The slots, by the key path of the snapshot's field.
    private let slots: [AnySendableKeyPath: [Slot]]
    /// The fields of references, by slot; key paths that capture nothing and never change.
    nonisolated(unsafe) private let referenceFields: [KeyPath<M.Snapshot, ObjectID?>?]
    /// The functions that change a value before it is validated, by slot.
    private let normalizers: [[@Sendable (Value) -> Value]]
    /// True when some normalisers are code of the model, which does not run twice.
    let hasCustomNormalizers: Bool
    /// True when a save has stamps to set.
    let isStamped: Bool
    /// The attributes whose words are indexed.
    let searchable: [TextMatch.Attribute]
    /// The to-many relationships, in the order of declaration.
    let relationships: [_ModelRelationship]
    /// The previous name of the model; nil when it never had another one.
    let originalName: String?
    /// The previous names of the properties, and the default values for objects that have none.
    let origins: [PropertyOrigin]

    /// The labels that values of the sealed attributes may have; nil without such attributes.
    @usableFromInline let sealLabels: Unmanaged<SealLabels>?

    /// Creates a description from properties, relationships, and the indexes that the options of
    /// the properties do not declare.
    public init(
        name: String, originalName: String? = nil, properties: [_ModelProperty<M>],
        indexes: [_ModelIndex] = [], relationships: [_ModelRelationship] = []
    ) {
        let parts = properties.flatMap(\.parts)
        let described = parts.map(\.described)
        let single = described.flatMap(\.indexes)
        let all = described.map(\.property)
        let names = all.map(\.name)
        searchable = described.slotted.compactMap { slot, property in
            property.search.map { TextMatch.Attribute(slot: slot, weight: $0.weight) }
        }
        let words = described.slotted.compactMap { slot, property in
            property.search.map { EntityIndex.Part(slot: slot, language: $0.language) }
        }
        entity = Entity(
            name: name, properties: all,
            indexes: (single + indexes).map { $0.index(of: all, names) }
                + (words.isEmpty ? [] : [EntityIndex(words: words)]))
        self.relationships = relationships
        self.originalName = originalName
        origins = described.map(\.origin)
        var slots: [AnySendableKeyPath: [Slot]] = [:]
        for (slot, part) in parts.slotted {
            slots[AnySendableKeyPath(keyPath: part.keyPath)] = [slot]
            guard let whole = part.embedded else { continue }
            slots[AnySendableKeyPath(keyPath: whole), default: []].append(slot)
        }
        self.slots = slots
        referenceFields = parts.map { $0.keyPath as? KeyPath<M.Snapshot, ObjectID?> }
        isStamped = all.contains { $0.stamp != nil }
        sealLabels = SealLabels(described.map { $0.property.seal == nil ? [] : $0.sealNames })
            .map(Unmanaged.passRetained)
        normalizers = described.map(\.normalizers)
        hasCustomNormalizers = all.contains { $0.normalizers.contains(.custom) }
    }

    func hasNormalizers(slot: Slot) -> Bool { !normalizers[slot].isEmpty }

    /// Returns a value after its normalisers have run.
    func normalized(_ value: Value, slot: Slot) -> Value {
        normalizers[slot].reduce(value) { $1($0) }
    }

    /// Returns the field of the snapshot that shows a reference; nil for an attribute.
    func referenceField(in slot: Slot) -> KeyPath<M.Snapshot, ObjectID?>? { referenceFields[slot] }

    /// Returns the slot of a field of the snapshot; nil for a key path that is not a field, and for
    /// an embedded value as a whole.
    func slot(of keyPath: PartialKeyPath<M.Snapshot>) -> Slot? {
        guard let slots = slots[AnySendableKeyPath(keyPath: keyPath)], slots.count == 1 else {
            return nil
        }
        return slots[0]
    }

    /// Returns the slots of a field of the snapshot: those of all members for an embedded value,
    /// none for a key path that is not a field.
    func slots(of keyPath: PartialKeyPath<M.Snapshot>) -> [Slot] {
        slots[AnySendableKeyPath(keyPath: keyPath)] ?? []
    }
}

/// The description of one property that `@Model` writes: one attribute or reference, or the members
/// of an embedded value.
public struct _ModelProperty<M: Model>: Sendable {
    /// A property of the entity.
    struct Part: Sendable {
        let described: DescribedProperty
        /// A key path without captured values, as `@Model` writes it; it never changes.
        nonisolated(unsafe) let keyPath: PartialKeyPath<M.Snapshot>
        /// The embedded value that the property is a member of; nil for any other property.
        nonisolated(unsafe) var embedded: PartialKeyPath<M.Snapshot>?
    }
    /// The properties of the entity, in the order of their slots.
    let parts: [Part]

    /// Creates a description of a property of type `type`.
    public init<T: _Storable>(
        _ name: String, _ type: T.Type, _ keyPath: KeyPath<M.Snapshot, T._SnapshotValue>,
        _ options: [AttributeOption] = [], relationship: [RelationshipOption] = [],
        deleteRule: DeleteRule = .nullify, originalName: String? = nil,
        default value: (@Sendable () -> T)? = nil
    ) where T._SnapshotValue: StoredValue {
        var described = DescribedProperty(
            name, type, options, relationship: relationship, deleteRule: deleteRule)
        described.origin.names = originalName.map { [$0] } ?? []
        if let value { described.origin.value = { DescribedProperty.stored(value()) } }
        parts = [Part(described: described, keyPath: keyPath)]
    }

    init(parts: [Part]) { self.parts = parts }

    /// Returns the property as one that is derived by an expression.
    public func derived(
        by expression: (M.Fields) -> any _DerivedExpression
    ) -> _ModelProperty {
        let node = expression(M.fields)._derivation.node
        return _ModelProperty(
            parts: parts.map { part in
                var described = part.described
                described.property = described.property.derived(by: node)
                return Part(described: described, keyPath: part.keyPath, embedded: part.embedded)
            })
    }
}

/// A property as a model or an embedded value declares it.
struct DescribedProperty: Sendable {
    var property: Property
    var origin: PropertyOrigin
    /// The indexes that its options declare.
    var indexes: [_ModelIndex]
    /// The search of its words; nil when they are not indexed.
    let search: AttributeOption.Search?
    let normalizers: [@Sendable (Value) -> Value]

    init<T: _Storable>(
        _ name: String, _ type: T.Type, _ options: [AttributeOption],
        relationship: [RelationshipOption] = [], deleteRule: DeleteRule = .nullify
    ) where T._SnapshotValue: StoredValue {
        origin = PropertyOrigin(name: name)
        normalizers = options.compactMap(\.normalizer?.change)
        search = options.compactMap(\.search).last
        indexes = options.compactMap(\.index).map { _ModelIndex($0, name) }
        property = Property(
            name: name, type: T._SnapshotValue._valueType,
            elements: T._SnapshotValue._elementTypes, isOptional: T._SnapshotValue._isOptional,
            target: T._targetName,
            rules: options.compactMap { $0.rule?.fitted(to: T._SnapshotValue._valueType) }
                + relationship.compactMap(\.rule),
            normalizers: options.compactMap(\.normalizer?.kind),
            stamp: options.compactMap(\.stamp).last, deleteRule: deleteRule,
            isHidden: options.contains(where: \.isHidden)
                || T._SnapshotValue._elementMembers?.hasHidden ?? false,
            isCounter: options.contains(where: \.isCounter),
            seal: Self.seal(of: T._SnapshotValue.self, name, options),
            isLarge: T._SnapshotValue._isLarge)
        guard let members = T._SnapshotValue._elementMembers else { return }
        property = property.array(of: members.elements)
        origin.members = members.origins
    }

    private static func seal<T: StoredValue>(
        of type: T.Type, _ name: String, _ options: [AttributeOption]
    ) -> Seal? {
        let seal = options.compactMap(\.seal).last
        trap(
            unless: seal == nil || T._isSealed,
            "'.sealed(by:)' belongs to a 'Sealed' value, which '\(name)' is not")
        trap(
            unless: !T._isSealed || !T._isLarge,
            "'\(name)' is large data, which can't be sealed: encrypt its bytes yourself")
        return T._isSealed ? seal ?? .own : nil
    }

    /// The present and previous names of the property.
    fileprivate var sealNames: [String] { [property.name] + origin.names }

    /// Returns an initial value in its stored form.
    static func stored<T: _Storable>(_ value: T) -> Value where T._SnapshotValue: StoredValue {
        var state = _ModelState()
        return T._snapshotValue(T._initialStorage(value, slot: 0, &state))._value
    }

    /// Returns the property of a model that shows this member of an embedded value.
    ///
    /// - Parameters:
    ///   - owner: the name of the embedded value.
    ///   - formerOwner: its previous name; nil when it never had another one.
    ///   - isHidden: true when all members are hidden.
    ///   - isInOptional: true when the embedded value can be absent, and its members with it.
    /// - Returns: the property, which has a default value if the member has one.
    func member(
        of owner: String, formerly formerOwner: String?, isHidden: Bool, isInOptional: Bool = false
    ) -> DescribedProperty {
        let name = "\(owner).\(property.name)"
        var member = self
        member.property = Property(
            name: name, type: property.type, elements: property.elements,
            isOptional: property.isOptional || isInOptional,
            rules: property.rules + (isInOptional && !property.isOptional ? [.required] : []),
            normalizers: property.normalizers, stamp: property.stamp,
            isHidden: property.isHidden || isHidden, isCounter: property.isCounter,
            isLarge: property.isLarge)
        member.indexes = indexes.map { $0.named(name) }
        let former = "\(formerOwner ?? owner).\(origin.names.first ?? property.name)"
        // A member may have been a property of the model itself.
        member.origin = PropertyOrigin(
            name: name, names: (former == name ? [] : [former]) + origin.names,
            value: origin.value)
        return member
    }
}

/// The previous names and default value of a property, for stores of earlier versions.
struct PropertyOrigin: Sendable {
    let name: String
    /// The previous names, of which the first one that the store has counts.
    var names: [String] = []
    /// Returns the value for objects that have none: the default value of the declaration.
    var value: (@Sendable () -> Value)?
    /// The previous names and defaults of the members of an array's elements.
    var members: [PropertyOrigin] = []
}

/// The description of an index over several properties that `@Model` writes.
public struct _ModelIndex: Sendable {
    private let isUnique: Bool
    private let properties: [String]
    private let folding: TextFolding
    private let isOfSubstrings: Bool
    /// The condition of the objects in the index.
    private let condition: QueryNode

    /// Creates an index over the properties with these names, of the objects that satisfy a
    /// condition.
    public init<M: Model>(
        of model: M.Type, isUnique: Bool, _ properties: [String],
        comparing folding: TextFolding = [],
        where condition: ((M.Fields) -> any _DerivedExpression)? = nil
    ) {
        self.isUnique = isUnique
        self.properties = properties
        self.folding = folding
        isOfSubstrings = false
        self.condition = condition?(M.fields)._derivation.node ?? .everything
    }

    /// Creates the index that an option of the property with a name declares.
    fileprivate init(_ option: AttributeOption.Index, _ name: String) {
        isUnique = option.isUnique
        properties = [name]
        folding = option.folding
        isOfSubstrings = option.isOfSubstrings
        condition = .everything
    }

    /// Returns the index over one property with another name.
    fileprivate func named(_ name: String) -> _ModelIndex {
        _ModelIndex(
            AttributeOption.Index(
                isUnique: isUnique, folding: folding, isOfSubstrings: isOfSubstrings), name)
    }

    /// Returns the index of the entity; `names` contains the names of all properties, by slot.
    ///
    /// In an index over several properties, the folding applies to those that are text.
    fileprivate func index(of described: [Property], _ names: [String]) -> EntityIndex {
        let isCompound = properties.count > 1
        let parts = properties.map { name in
            let isText = described.contains { $0.name == name && $0.type == .string }
            return EntityIndex.Part(
                // An unknown name gives an invalid slot, and opening the store refuses the schema.
                slot: Slot(names.firstIndex(of: name) ?? names.count),
                folding: isCompound && !isText ? [] : folding)
        }
        if isOfSubstrings { return EntityIndex(substringsOf: parts[0].slot) }
        return EntityIndex(parts, isUnique: isUnique).only(where: condition)
    }
}

/// A key path that `@Model` writes; it captures nothing, so it may be shared.
private struct AnySendableKeyPath: Hashable, @unchecked Sendable {  // constant
    let keyPath: AnyKeyPath
}
