public import FoundationEssentials
public import StetStore

/// What `@Model` tells of a class: its properties in the order of their slots.
///
/// Used by the code that `@Model` writes.
public final class ModelDescription<M: Model>: Sendable {
    let entity: Entity
    /// Slots by the key path of the snapshot's field.
    private let slots: [AnySendableKeyPath: Slot]
    /// The fields of references, by slot; key paths that capture nothing, and never change.
    nonisolated(unsafe) private let referenceFields: [KeyPath<M.Snapshot, ObjectID?>?]
    /// What changes a value before it is validated, by slot.
    private let normalizers: [[@Sendable (Value) -> Value]]
    /// True when some of that is code of the model, which is not run twice.
    let hasCustomNormalizers: Bool
    /// True when a save has stamps to set.
    let isStamped: Bool
    /// Those to many, in the order of declaration.
    let relationships: [ModelRelationship]
    /// What the model was called; nil when it never had another name.
    let originalName: String?
    /// What the properties were called, and what gives their values where there are none.
    let origins: [PropertyOrigin]

    /// A description of these properties and relationships, and of indexes beyond those that the
    /// properties' options ask for.
    public convenience init(
        name: String, originalName: String? = nil, properties: [ModelProperty<M>],
        indexes: [ModelIndex] = [], relationships: [ModelRelationship] = []
    ) {
        let names = properties.map(\.property.name)
        let single = properties.flatMap { property in
            property.indexes.map { $0.index(of: [property.property], names) }
        }
        self.init(
            entity: Entity(
                name: name, properties: properties.map(\.property),
                indexes: single + indexes.map { $0.index(of: properties.map(\.property), names) }),
            keyPaths: properties.map(\.keyPath), relationships: relationships,
            normalizers: properties.map(\.normalizers), originalName: originalName,
            origins: properties.map(\.origin))
    }

    /// A description of an entity whose properties are shown by these fields of the snapshot.
    init(
        entity: Entity, keyPaths: [PartialKeyPath<M.Snapshot>],
        relationships: [ModelRelationship] = [],
        normalizers: [[@Sendable (Value) -> Value]] = [], originalName: String? = nil,
        origins: [PropertyOrigin] = []
    ) {
        self.entity = entity
        self.relationships = relationships
        self.originalName = originalName
        self.origins = origins
        slots = Dictionary(
            uniqueKeysWithValues: keyPaths.slotted.map { slot, keyPath in
                (AnySendableKeyPath(keyPath: keyPath), slot)
            })
        referenceFields = keyPaths.map { $0 as? KeyPath<M.Snapshot, ObjectID?> }
        isStamped = entity.properties.contains { $0.stamp != nil }
        self.normalizers = normalizers
        hasCustomNormalizers = entity.properties.contains { $0.normalizers.contains(.custom) }
    }

    /// A value as its normalisers leave it.
    func normalized(_ value: Value, slot: Slot) -> Value {
        normalizers[slot].reduce(value) { $1($0) }
    }

    /// The field of the snapshot that shows a reference; nil for an attribute.
    func referenceField(in slot: Slot) -> KeyPath<M.Snapshot, ObjectID?>? { referenceFields[slot] }

    /// The slot of a field of the snapshot; nil for a key path that is no field.
    func slot(of keyPath: PartialKeyPath<M.Snapshot>) -> Slot? {
        slots[AnySendableKeyPath(keyPath: keyPath)]
    }
}

/// One property, as `@Model` tells of it.
public struct ModelProperty<M: Model>: Sendable {
    let property: Property
    let origin: PropertyOrigin
    /// Those that its options ask for.
    let indexes: [ModelIndex]
    let normalizers: [@Sendable (Value) -> Value]
    /// A key path without captured values, which is what `@Model` writes; never changed.
    nonisolated(unsafe) let keyPath: PartialKeyPath<M.Snapshot>

    /// A property of type `type`.
    public init<T: Storable>(
        _ name: String, _ type: T.Type, _ keyPath: KeyPath<M.Snapshot, T._SnapshotValue>,
        _ options: [AttributeOption] = [], relationship: [RelationshipOption] = [],
        deleteRule: DeleteRule = .nullify, originalName: String? = nil,
        default value: (@Sendable () -> T)? = nil
    ) {
        self.keyPath = keyPath
        normalizers = options.compactMap(\.normalizer?.change)
        var initial: (@Sendable () -> Value)?
        if let value {
            initial = {
                var state = ModelState()
                return T._snapshotValue(T._initialStorage(value(), slot: 0, &state))._value
            }
        }
        origin = PropertyOrigin(name: name, originalName: originalName, value: initial)
        indexes = options.compactMap(\.index).map { option in
            ModelIndex(isUnique: option.isUnique, [name], comparing: option.folding)
        }
        property = Property(
            name: name, type: T._SnapshotValue._valueType,
            elements: T._SnapshotValue._elementTypes, isOptional: T._SnapshotValue._isOptional,
            target: T._targetName,
            rules: options.compactMap { $0.rule?.fitted(to: T._SnapshotValue._valueType) }
                + relationship.compactMap(\.rule),
            normalizers: options.compactMap(\.normalizer?.kind),
            stamp: options.compactMap(\.stamp).last, deleteRule: deleteRule)
    }
}

/// What a property says of stores that do not have it as it is.
struct PropertyOrigin: Sendable {
    let name: String
    let originalName: String?
    /// Gives the value of objects that have none: the default value of the declaration.
    let value: (@Sendable () -> Value)?
}

/// An index over several properties, as `@Model` tells of it.
public struct ModelIndex: Sendable {
    private let isUnique: Bool
    private let properties: [String]
    private let folding: TextFolding

    /// An index over properties with these names.
    public init(isUnique: Bool, _ properties: [String], comparing folding: TextFolding = []) {
        self.isUnique = isUnique
        self.properties = properties
        self.folding = folding
    }

    /// `names` are those of all properties, by slot.
    ///
    /// In an index over several properties the folding is that of those that are text.
    fileprivate func index(of described: [Property], _ names: [String]) -> EntityIndex {
        let isCompound = properties.count > 1
        return EntityIndex(
            properties.map { name in
                let isText = described.contains { $0.name == name && $0.type == .string }
                return EntityIndex.Part(
                    // A name that is none makes a schema that is refused.
                    slot: Slot(names.firstIndex(of: name) ?? names.count),
                    folding: isCompound && !isText ? [] : folding)
            }, isUnique: isUnique)
    }
}

/// Key paths that `@Model` writes capture nothing, so they may be shared.
private struct AnySendableKeyPath: Hashable, @unchecked Sendable {  // constant
    let keyPath: AnyKeyPath
}

/// What an attribute asks for: rules, normalisation, stamps.
public struct AttributeOption: Sendable {
    var rule: Rule?
    var normalizer: (kind: Normalizer, change: @Sendable (Value) -> Value)?
    var stamp: Stamp?
    var index: (isUnique: Bool, folding: TextFolding)?

    /// No two objects of the model have the same value.
    ///
    /// Nil is not the same as nil. Text is compared as `String` compares it; -0 is 0, and NaN is
    /// the same as NaN. Code 1551; the violation names the object that has the value.
    public static let unique = AttributeOption(index: (true, []))

    /// The same for text that is compared in another way.
    public static func unique(_ comparing: TextFolding) -> AttributeOption {
        AttributeOption(index: (true, comparing))
    }

    /// Objects are found by the value without looking at all of them.
    public static let indexed = AttributeOption(index: (false, []))

    /// The same for text that is compared in another way.
    public static func indexed(_ comparing: TextFolding) -> AttributeOption {
        AttributeOption(index: (false, comparing))
    }

    /// The value must not be nil when it is saved.
    ///
    /// Code 1570.
    public static let required = AttributeOption(rule: .required)

    /// A string, data, array or dictionary must not be empty.
    ///
    /// Code 1670.
    public static let notEmpty = AttributeOption(rule: .notEmpty)

    /// A string has so many characters (grapheme clusters, as `count` says), data so many bytes, an
    /// array or dictionary so many elements.
    ///
    /// Codes 1670 and 1660.
    public static func length(_ range: ClosedRange<Int>) -> AttributeOption {
        AttributeOption(rule: .length(minimum: range.lowerBound, maximum: range.upperBound))
    }

    /// A string has at least so many characters, data so many bytes, an array or dictionary so many
    /// elements.
    ///
    /// Code 1670.
    public static func length(_ range: PartialRangeFrom<Int>) -> AttributeOption {
        AttributeOption(rule: .length(minimum: range.lowerBound, maximum: nil))
    }

    /// A string has at most so many characters, data so many bytes, an array or dictionary so many
    /// elements.
    ///
    /// Code 1660.
    public static func length(_ range: PartialRangeThrough<Int>) -> AttributeOption {
        AttributeOption(rule: .length(minimum: nil, maximum: range.upperBound))
    }

    /// A number or date lies between two bounds, both included; NaN does not.
    ///
    /// Codes 1620 and 1610, dates 1640 and 1630.
    public static func range<Bound: RangeBound>(_ range: ClosedRange<Bound>) -> AttributeOption {
        AttributeOption(
            rule: .range(minimum: range.lowerBound._value, maximum: range.upperBound._value))
    }

    /// A number or date is not below a bound.
    ///
    /// Code 1620, for dates 1640.
    public static func range<Bound: RangeBound>(
        _ range: PartialRangeFrom<Bound>
    ) -> AttributeOption {
        AttributeOption(rule: .range(minimum: range.lowerBound._value, maximum: nil))
    }

    /// A number or date is not above a bound.
    ///
    /// Code 1610, for dates 1630.
    public static func range<Bound: RangeBound>(
        _ range: PartialRangeThrough<Bound>
    ) -> AttributeOption {
        AttributeOption(rule: .range(minimum: nil, maximum: range.upperBound._value))
    }

    /// A `Date` is set to the time of the save.
    ///
    /// Such a property needs no value in `init`.
    public static func stamped(_ stamp: Stamp) -> AttributeOption {
        AttributeOption(stamp: stamp)
    }
}

/// What a stamped attribute holds until its first save.
///
/// Used by the code that `@Model` writes.
public protocol _Stampable {
    static var _unstamped: Self { get }
    init(_stamp: Date)
}

extension Date: _Stampable {
    /// The reference date.
    public static var _unstamped: Date { Date(timeIntervalSinceReferenceDate: 0) }
    /// The date itself.
    public init(_stamp: Date) { self = _stamp }
}

extension Optional: _Stampable where Wrapped == Date {
    /// Nil.
    public static var _unstamped: Date? { nil }
    /// The date itself.
    public init(_stamp: Date) { self = .some(_stamp) }
}

/// The type of stamps, under a name that generated code finds without an import of Foundation.
public typealias StampDate = Date
