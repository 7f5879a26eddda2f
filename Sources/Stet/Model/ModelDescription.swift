public import FoundationEssentials
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
            seal: Self.seal(of: T._SnapshotValue.self, name, options))
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
            isHidden: property.isHidden || isHidden, isCounter: property.isCounter)
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
    /// Those of the members of an array's elements.
    var members: [PropertyOrigin] = []
}

/// The description of an index over several properties that `@Model` writes.
public struct _ModelIndex: Sendable {
    private let isUnique: Bool
    private let properties: [String]
    private let folding: TextFolding
    private let isOfSubstrings: Bool

    /// Creates an index over the properties with these names.
    public init(isUnique: Bool, _ properties: [String], comparing folding: TextFolding = []) {
        self.isUnique = isUnique
        self.properties = properties
        self.folding = folding
        isOfSubstrings = false
    }

    /// Creates the index that an option of the property with a name declares.
    fileprivate init(_ option: AttributeOption.Index, _ name: String) {
        isUnique = option.isUnique
        properties = [name]
        folding = option.folding
        isOfSubstrings = option.isOfSubstrings
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
        return isOfSubstrings
            ? EntityIndex(substringsOf: parts[0].slot) : EntityIndex(parts, isUnique: isUnique)
    }
}

/// A key path that `@Model` writes; it captures nothing, so it may be shared.
private struct AnySendableKeyPath: Hashable, @unchecked Sendable {  // constant
    let keyPath: AnyKeyPath
}

/// An option of an attribute: a rule, a normaliser, a stamp or an index.
public struct AttributeOption: Sendable {
    var rule: Rule?
    var normalizer: (kind: Normalizer, change: @Sendable (Value) -> Value)?
    var stamp: Stamp?
    var index: Index?
    var search: Search?
    var isHidden = false
    var isCounter = false
    /// The object by whose key the value is sealed.
    var seal: Seal?

    /// A kind of index of a string, besides that of its value.
    public enum TextIndex: Sendable {
        /// The parts of the string, by which `contains` finds it.
        case substring
    }

    /// An index that an option declares.
    struct Index: Sendable {
        var isUnique = false
        var folding: TextFolding = []
        var isOfSubstrings = false
    }

    /// The search of the words of an attribute.
    struct Search: Sendable {
        var language: TextLanguage?
        var weight = 1.0
    }

    /// Keeps the value out of encoded snapshots and change sets, of debug text, of violations and
    /// of what `stet` prints: for password hashes, tokens and the like.
    ///
    /// The value is stored and read like any other. An encoder with
    /// `userInfo[.encodesHiddenValues] = true` encodes it in change sets, but never in snapshots. A
    /// snapshot is decoded without it if it is optional, and otherwise not without it.
    public static let hidden: AttributeOption = {
        var option = AttributeOption()
        option.isHidden = true
        return option
    }()

    /// Adds up the changes of an integer: what counts is by how much it was changed, not to what.
    ///
    /// ```swift
    /// @Attribute(.counter, .range(0...)) var views: Int = 0
    /// ```
    ///
    /// `article.views += 1` is an increment by 1, and an assignment one by the difference to the
    /// value that the context showed. Contexts and processes that increment a counter at the same
    /// time do not conflict, under any merge policy: the store gets the sum. An undo subtracts the
    /// increment, and leaves those of others. Two contexts that reset a counter to 0 both subtract
    /// its value: a `.range(0...)` refuses the second one.
    ///
    /// The sum must satisfy the rules, like every value that is saved. A sum that the type cannot
    /// represent is a `ConflictError` (`.overflow`), or an `UndoConflict` (`.overflow`), and
    /// nothing is written. The attribute can't be optional.
    public static let counter: AttributeOption = {
        var option = AttributeOption()
        option.isCounter = true
        return option
    }()

    /// Requires that no two objects of the model have equal values.
    ///
    /// Nil values are exempt. Text is compared as `String` compares it; -0 equals 0, and NaN equals
    /// NaN. Code 1551; the violation names the object that already has the value.
    public static let unique = AttributeOption(index: Index(isUnique: true))

    /// Requires that no two objects of the model have equal values, where text is compared with a
    /// folding.
    public static func unique(_ comparing: TextFolding) -> AttributeOption {
        AttributeOption(index: Index(isUnique: true, folding: comparing))
    }

    /// Adds an index by which objects are found by the value without reading every object.
    public static let indexed = AttributeOption(index: Index())

    /// Adds an index by which objects are found by the value, where text is compared with a
    /// folding.
    public static func indexed(_ comparing: TextFolding) -> AttributeOption {
        AttributeOption(index: Index(folding: comparing))
    }

    /// Adds an index of the parts of a string.
    ///
    /// ```swift
    /// @Attribute(.indexed(.substring)) var title: String
    /// ```
    ///
    /// Queries with `contains`, `hasPrefix` and `hasSuffix` use it, also where they ignore case or
    /// diacritics, if the text that they search for has at least three characters. A save writes an
    /// entry for each three characters in succession that a changed string gains or loses. An
    /// attribute can have this index and one of its values.
    public static func indexed(_ kind: TextIndex) -> AttributeOption {
        switch kind {
        case .substring: AttributeOption(index: Index(isOfSubstrings: true))
        }
    }

    /// Adds the words of a string to those that `matching(_:)` searches.
    ///
    /// ```swift
    /// @Attribute(.searchable(weight: 3)) var title: String
    /// @Attribute(.searchable) var text: String
    /// ```
    ///
    /// Words are found at Unicode's word boundaries; case and diacritics make no difference.
    public static let searchable = AttributeOption(search: Search())

    /// Adds the words of a string to those that `matching(_:)` searches, with a weight: an
    /// occurrence of a word in an attribute of weight 3 counts as three in one of weight 1 when
    /// hits are ranked.
    ///
    /// A different weight takes effect at once, without a migration.
    ///
    /// - Precondition: `weight` is positive and finite.
    public static func searchable(weight: Double) -> AttributeOption {
        searchable(nil, weight)
    }

    /// Adds the words of a string to those that `matching(_:)` searches, and reduces them to their
    /// stems by the rules of a language: a search for `session` finds `sessions`.
    ///
    /// ```swift
    /// import StetStemming
    ///
    /// @Attribute(.searchable(language: .english, weight: 3)) var title: String
    /// ```
    ///
    /// The words of a search are reduced to their stems in the same way, for each attribute by its
    /// own language. With another language, or other rules of it, the index is built again when the
    /// store is opened.
    ///
    /// - Precondition: `weight` is positive and finite.
    public static func searchable(
        language: TextLanguage, weight: Double = 1
    ) -> AttributeOption {
        searchable(language, weight)
    }

    private static func searchable(
        _ language: TextLanguage?, _ weight: Double
    ) -> AttributeOption {
        trap(
            unless: weight > 0 && weight.isFinite,
            "a weight of searchable words must be positive and finite")
        return AttributeOption(search: Search(language: language, weight: weight))
    }

    /// Requires that the value is not nil when it is saved.
    ///
    /// Code 1570.
    public static let required = AttributeOption(rule: .required)

    /// Requires that a string, data, an array or a dictionary is not empty.
    ///
    /// Code 1670.
    public static let notEmpty = AttributeOption(rule: .notEmpty)

    /// Limits the length: characters (grapheme clusters, as `count` counts them) of a string, bytes
    /// of data, elements of an array or dictionary.
    ///
    /// Codes 1670 and 1660.
    public static func length(_ range: ClosedRange<Int>) -> AttributeOption {
        AttributeOption(rule: .length(minimum: range.lowerBound, maximum: range.upperBound))
    }

    /// Requires a minimum length: characters of a string, bytes of data, elements of an array or
    /// dictionary.
    ///
    /// Code 1670.
    public static func length(_ range: PartialRangeFrom<Int>) -> AttributeOption {
        AttributeOption(rule: .length(minimum: range.lowerBound, maximum: nil))
    }

    /// Requires a maximum length: characters of a string, bytes of data, elements of an array or
    /// dictionary.
    ///
    /// Code 1660.
    public static func length(_ range: PartialRangeThrough<Int>) -> AttributeOption {
        AttributeOption(rule: .length(minimum: nil, maximum: range.upperBound))
    }

    /// Requires that a number or date is within two inclusive bounds; NaN is not.
    ///
    /// Codes 1620 and 1610, dates 1640 and 1630.
    public static func range<Bound: _RangeBound>(_ range: ClosedRange<Bound>) -> AttributeOption {
        AttributeOption(
            rule: .range(minimum: range.lowerBound._value, maximum: range.upperBound._value))
    }

    /// Requires that a number or date is not below a bound.
    ///
    /// Code 1620, for dates 1640.
    public static func range<Bound: _RangeBound>(
        _ range: PartialRangeFrom<Bound>
    ) -> AttributeOption {
        AttributeOption(rule: .range(minimum: range.lowerBound._value, maximum: nil))
    }

    /// Requires that a number or date is not above a bound.
    ///
    /// Code 1610, for dates 1630.
    public static func range<Bound: _RangeBound>(
        _ range: PartialRangeThrough<Bound>
    ) -> AttributeOption {
        AttributeOption(rule: .range(minimum: nil, maximum: range.upperBound._value))
    }

    /// Sets a `Date` to the time of the save.
    ///
    /// Such a property needs no value in `init`.
    public static func stamped(_ stamp: Stamp) -> AttributeOption {
        AttributeOption(stamp: stamp)
    }
}

/// A type that a stamped attribute can have: `Date` or `Date?`.
///
/// Used by the code that `@Model` writes.
public protocol _Stampable {
    static var _unstamped: Self { get }
    init(_stamp: Date)
}

extension Date: _Stampable {
    /// The reference date, which a stamped property has until its first save.
    public static var _unstamped: Date { Date(timeIntervalSinceReferenceDate: 0) }
    /// Creates the date of a stamp.
    public init(_stamp: Date) { self = _stamp }
}

extension Optional: _Stampable where Wrapped == Date {
    /// Nil, which a stamped property has until its first save.
    public static var _unstamped: Date? { nil }
    /// Creates the date of a stamp.
    public init(_stamp: Date) { self = .some(_stamp) }
}

/// The type of stamps, under a name that generated code finds without an import of Foundation.
public typealias _StampDate = Date
