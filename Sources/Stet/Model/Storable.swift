// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

public import FoundationEssentials
public import StetStore

/// A type that a property of a model can have; see `@Model`.
///
/// Used by the code that `@Model` writes.
public protocol _Storable: SendableMetatype {
    /// The representation in the object.
    associatedtype _Storage
    /// The representation in snapshots and records.
    associatedtype _SnapshotValue: _SnapshotField
    /// The representation in a query.
    associatedtype _Field
    /// The number of slots: one, except for an embedded value.
    static var _slotCount: Int { get }

    /// Returns the representation of the object's property in a query.
    static func _field(_ object: _QueryObject, slot: Slot) -> _Field
    /// The entity that a reference points to; nil for attributes.
    static var _targetName: String? { get }
    /// Returns the storage for an initial value; the state retains an uninserted object that it
    /// refers to.
    static func _initialStorage(_ value: Self, slot: Slot, _ state: inout _ModelState) -> _Storage
    /// Returns the storage for a value that was read.
    static func _storage(from value: _SnapshotValue) -> _Storage
    /// Returns the storage after an assignment; nil when the assignment is refused.
    static func _storage<M: Model>(
        assigning value: Self, replacing storage: borrowing _Storage, in owner: M, slot: Slot
    ) -> _Storage?
    /// Returns the value of the property.
    static func _value<M: Model>(of storage: _Storage, in owner: M, slot: Slot) -> Self
    /// Returns the value in the form that snapshots contain.
    static func _snapshotValue(_ storage: _Storage) -> _SnapshotValue
    /// Returns the id of the object that a reference refers to; `.none` for nil and for attributes.
    static func _reference(_ storage: _Storage) -> ObjectID
    /// Sets the target of a reference; this does not count as an edit.
    static func _setReference(_ storage: inout _Storage, _ id: ObjectID)
    /// Returns the storage after the members of an embedded value were normalised; nil for others.
    static func _normalized(_ storage: borrowing _Storage, since base: _SnapshotValue?) -> _Storage?
    /// Returns the storage after the members of an embedded value were stamped; nil for others.
    static func _stamped(
        _ storage: borrowing _Storage, _ date: Date, isInsert: Bool
    ) -> _Storage?
}

extension _Storable {
    @inlinable public static var _slotCount: Int { 1 }

    @inlinable
    public static func _normalized(
        _ storage: borrowing _Storage, since base: _SnapshotValue?
    ) -> _Storage? { nil }

    @inlinable
    public static func _stamped(
        _ storage: borrowing _Storage, _ date: Date, isInsert: Bool
    ) -> _Storage? { nil }
}

/// Returns the slot that comes some slots after those of a property.
///
/// Used by the code that `@Model` writes.
@inlinable
public func _slot<T: _Storable>(after slot: Slot, _ type: T.Type, _ distance: Int = 0) -> Slot {
    Slot(slot.index &+ T._slotCount &+ distance)
}

/// A type that a property can have when it is optional.
public protocol _OptionalStorable {
    /// The representation in the object.
    associatedtype _OptionalStorage
    /// The representation in snapshots and records.
    associatedtype _OptionalSnapshotValue: _SnapshotField
    associatedtype _OptionalField
    /// The number of slots: one, except for an embedded value.
    static var _optionalSlotCount: Int { get }

    static func _field(optionalOf object: _QueryObject, slot: Slot) -> _OptionalField
    static var _optionalTargetName: String? { get }
    static func _initialStorage(
        optional value: Self?, slot: Slot, _ state: inout _ModelState
    ) -> _OptionalStorage
    static func _storage(fromOptional value: _OptionalSnapshotValue) -> _OptionalStorage
    static func _storage<M: Model>(
        assigningOptional value: Self?, replacing storage: borrowing _OptionalStorage, in owner: M,
        slot: Slot
    ) -> _OptionalStorage?
    static func _optionalValue<M: Model>(
        of storage: _OptionalStorage, in owner: M, slot: Slot
    ) -> Self?
    static func _optionalSnapshotValue(_ storage: _OptionalStorage) -> _OptionalSnapshotValue
    static func _reference(optional storage: _OptionalStorage) -> ObjectID
    static func _setReference(optional storage: inout _OptionalStorage, _ id: ObjectID)
    /// Returns the storage after the members of an embedded value were normalised; nil for others.
    static func _normalized(
        optional storage: borrowing _OptionalStorage, since base: _OptionalSnapshotValue?
    ) -> _OptionalStorage?
    /// Returns the storage after the members of an embedded value were stamped; nil for others.
    static func _stamped(
        optional storage: borrowing _OptionalStorage, _ date: Date, isInsert: Bool
    ) -> _OptionalStorage?
}

extension _OptionalStorable {
    @inlinable public static var _optionalSlotCount: Int { 1 }

    @inlinable
    public static func _normalized(
        optional storage: borrowing _OptionalStorage, since base: _OptionalSnapshotValue?
    ) -> _OptionalStorage? { nil }

    @inlinable
    public static func _stamped(
        optional storage: borrowing _OptionalStorage, _ date: Date, isInsert: Bool
    ) -> _OptionalStorage? { nil }
}

extension Optional: _Storable where Wrapped: _OptionalStorable {
    public typealias _Storage = Wrapped._OptionalStorage
    public typealias _SnapshotValue = Wrapped._OptionalSnapshotValue
    public typealias _Field = Wrapped._OptionalField

    @inlinable public static var _slotCount: Int { Wrapped._optionalSlotCount }

    public static func _field(_ object: _QueryObject, slot: Slot) -> _Field {
        Wrapped._field(optionalOf: object, slot: slot)
    }

    @inlinable public static var _targetName: String? { Wrapped._optionalTargetName }

    @inlinable
    public static func _initialStorage(
        _ value: Self, slot: Slot, _ state: inout _ModelState
    ) -> _Storage {
        Wrapped._initialStorage(optional: value, slot: slot, &state)
    }

    @inlinable
    public static func _storage(from value: _SnapshotValue) -> _Storage {
        Wrapped._storage(fromOptional: value)
    }

    @inlinable
    public static func _storage<M: Model>(
        assigning value: Self, replacing storage: borrowing _Storage, in owner: M, slot: Slot
    ) -> _Storage? {
        Wrapped._storage(assigningOptional: value, replacing: storage, in: owner, slot: slot)
    }

    @inlinable
    public static func _value<M: Model>(of storage: _Storage, in owner: M, slot: Slot) -> Self {
        Wrapped._optionalValue(of: storage, in: owner, slot: slot)
    }

    @inlinable
    public static func _snapshotValue(_ storage: _Storage) -> _SnapshotValue {
        Wrapped._optionalSnapshotValue(storage)
    }

    @inlinable
    public static func _reference(_ storage: _Storage) -> ObjectID {
        Wrapped._reference(optional: storage)
    }

    @inlinable
    public static func _setReference(_ storage: inout _Storage, _ id: ObjectID) {
        Wrapped._setReference(optional: &storage, id)
    }

    @inlinable
    public static func _normalized(
        _ storage: borrowing _Storage, since base: _SnapshotValue?
    ) -> _Storage? { Wrapped._normalized(optional: storage, since: base) }

    @inlinable
    public static func _stamped(
        _ storage: borrowing _Storage, _ date: Date, isInsert: Bool
    ) -> _Storage? { Wrapped._stamped(optional: storage, date, isInsert: isInsert) }
}

// MARK: - Attributes

/// The types that an object contains as they are.
extension _Storable where _Storage == Self, _SnapshotValue == Self {
    @inlinable public static var _targetName: String? { nil }
    @inlinable
    public static func _initialStorage(
        _ value: Self, slot: Slot, _ state: inout _ModelState
    ) -> Self { value }
    @inlinable public static func _storage(from value: Self) -> Self { value }

    @inlinable
    public static func _storage<M: Model>(
        assigning value: Self, replacing storage: borrowing Self, in owner: M, slot: Slot
    ) -> Self? {
        owner._$willChange() ? value : nil
    }

    @inlinable
    public static func _value<M: Model>(of storage: Self, in owner: M, slot: Slot) -> Self {
        storage
    }
    @inlinable public static func _snapshotValue(_ storage: Self) -> Self { storage }
    @inlinable public static func _reference(_ storage: Self) -> ObjectID { .none }
    @inlinable public static func _setReference(_ storage: inout Self, _ id: ObjectID) {}
}

/// A type of attribute; the object contains the value itself.
public protocol AttributeValue: _Storable, _OptionalStorable, StoredValue,
    `RawAttribute, CodableAttribute, @Embedded or @Model`
where
    _Storage == Self, _SnapshotValue == Self, _Field == QueryExpression<Self>,
    _OptionalStorage == Self?, _OptionalSnapshotValue == Self?,
    _OptionalField == QueryExpression<Self?>
{}

extension AttributeValue {
    public static func _field(_ object: _QueryObject, slot: Slot) -> QueryExpression<Self> {
        QueryExpression(.property(object.place, slot: slot))
    }

    public static func _field(
        optionalOf object: _QueryObject, slot: Slot
    ) -> QueryExpression<Self?> {
        QueryExpression(.property(object.place, slot: slot))
    }
}

/// The types that an object contains as they are, or nil.
extension _OptionalStorable where _OptionalStorage == Self?, _OptionalSnapshotValue == Self? {
    @inlinable public static var _optionalTargetName: String? { nil }
    @inlinable
    public static func _initialStorage(
        optional value: Self?, slot: Slot, _ state: inout _ModelState
    ) -> Self? { value }
    @inlinable public static func _storage(fromOptional value: Self?) -> Self? { value }

    @inlinable
    public static func _storage<M: Model>(
        assigningOptional value: Self?, replacing storage: borrowing Self?, in owner: M, slot: Slot
    ) -> Self?? {
        owner._$willChange() ? .some(value) : nil
    }

    @inlinable
    public static func _optionalValue<M: Model>(
        of storage: Self?, in owner: M, slot: Slot
    ) -> Self? { storage }
    @inlinable public static func _optionalSnapshotValue(_ storage: Self?) -> Self? { storage }
    @inlinable public static func _reference(optional storage: Self?) -> ObjectID { .none }
    @inlinable public static func _setReference(optional storage: inout Self?, _ id: ObjectID) {}
}

/// The representation of a property of this type in an object.
///
/// Used by the code that `@Model` writes.
public typealias _StorageOf<T: _Storable> = T._Storage

/// The representation of a property of this type in snapshots and records.
///
/// Used by the code that `@Model` writes.
public typealias _SnapshotValueOf<T: _Storable> = T._SnapshotValue

/// The representation of a property of this type in a query.
///
/// Used by the code that `@Model` writes.
public typealias _FieldOf<T: _Storable> = T._Field

/// The id that belongs to no object.
///
/// Used by the code that `@Model` writes.
@inlinable public var _noObject: ObjectID { .none }

// MARK: - The elements of arrays

/// A type of which an array can consist: that of an attribute, or an embedded value.
///
/// Used by the code that `@Model` writes.
public protocol _ArrayElement: Sendable, Equatable {
    /// The type of an element in a record.
    static var _elementType: ValueType { get }
    /// The members of an embedded value; nil for other elements.
    static var _embeddedMembers: _ElementMembers? { get }
    /// Reads an array from a slot.
    static func _readArray(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> [Self]
    /// Writes an array into a slot.
    static func _writeArray(_ array: [Self], _ writer: inout RecordWriter, slot: Slot)
    /// Returns the array after members of elements were normalised; nil when nothing changes.
    static func _normalizedArray(_ array: [Self], since base: [Self]?) -> [Self]?
    /// Decodes an element as the snapshot of its owner contains it.
    static func _decodeElement(_ array: inout any UnkeyedDecodingContainer) throws -> Self
    /// Encodes the element in the snapshot of its owner.
    func _encodeElement(_ array: inout any UnkeyedEncodingContainer) throws
    /// The element without its static type.
    var _value: Value { get }
    /// Creates an element from `_value`; nil when that is of another type.
    init?(_value: Value)
}

/// The members of the elements of an array of embedded values.
///
/// Used by the code that `@Model` writes.
public struct _ElementMembers: Sendable {
    let elements: EmbeddedElements
    /// The previous names and the defaults of the members.
    let origins: [PropertyOrigin]

    /// True when a member is hidden: then the array is hidden as a whole.
    var hasHidden: Bool { elements.entity.properties.contains(where: \.isHidden) }
}

extension _AttributeElement {
    @inlinable public static var _elementType: ValueType { _valueType }
    @inlinable public static var _embeddedMembers: _ElementMembers? { nil }
    public static func _readArray(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> [Self] { try [Self].readTail(&reader, slot: slot) }
    public static func _writeArray(_ array: [Self], _ writer: inout RecordWriter, slot: Slot) {
        writer.write(array._value, slot: slot)
    }
    @inlinable
    public static func _normalizedArray(_ array: [Self], since base: [Self]?) -> [Self]? { nil }
    public static func _decodeElement(
        _ array: inout any UnkeyedDecodingContainer
    ) throws -> Self { try array.decode(Self.self) }
    public func _encodeElement(_ array: inout any UnkeyedEncodingContainer) throws {
        try array.encode(self)
    }
}
