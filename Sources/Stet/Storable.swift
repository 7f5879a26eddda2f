// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

/// A type that a property of a model can have; see `@Model`.
///
/// Used by the code that `@Model` writes.
public protocol Storable: SendableMetatype {
    /// What the object holds.
    associatedtype _Storage
    /// What snapshots and records hold.
    associatedtype _SnapshotValue: StoredValue
    /// What a query sees of it.
    associatedtype _Field

    /// What a query sees of the property of an object.
    static func _field(_ object: _QueryObject, slot: Int) -> _Field
    /// The entity that a reference points to; nil for attributes.
    static var _targetName: String? { get }
    /// What the object holds for its first value.
    static func _initialStorage(_ value: Self) -> _Storage
    /// What the object holds for a value that was read.
    static func _storage(from value: _SnapshotValue) -> _Storage
    /// What the object holds after an assignment; nil when the assignment is refused.
    static func _storage<M: Model>(
        assigning value: Self, replacing storage: borrowing _Storage, in owner: M, slot: Int
    ) -> _Storage?
    /// The value of the property.
    static func _value<M: Model>(of storage: _Storage, in owner: M) -> Self
    /// The value as snapshots hold it.
    static func _snapshotValue(_ storage: _Storage) -> _SnapshotValue
    /// Shows a reference to the visitor.
    static func _visit(_ storage: _Storage, slot: Int, _ visitor: inout ReferenceVisitor)
    /// Changes what the object holds of a reference, without noticing it as an edit.
    static func _mutate(_ storage: inout _Storage, slot: Int, _ mutation: ReferenceMutation)
}

/// A type that a property can have when it is optional.
public protocol OptionalStorable {
    /// What the object holds.
    associatedtype _OptionalStorage
    /// What snapshots and records hold.
    associatedtype _OptionalSnapshotValue: StoredValue
    associatedtype _OptionalField

    static func _field(optionalOf object: _QueryObject, slot: Int) -> _OptionalField
    static var _optionalTargetName: String? { get }
    static func _initialStorage(optional value: Self?) -> _OptionalStorage
    static func _storage(fromOptional value: _OptionalSnapshotValue) -> _OptionalStorage
    static func _storage<M: Model>(
        assigningOptional value: Self?, replacing storage: borrowing _OptionalStorage, in owner: M,
        slot: Int
    ) -> _OptionalStorage?
    static func _optionalValue<M: Model>(of storage: _OptionalStorage, in owner: M) -> Self?
    static func _optionalSnapshotValue(_ storage: _OptionalStorage) -> _OptionalSnapshotValue
    static func _visit(
        optional storage: _OptionalStorage, slot: Int, _ visitor: inout ReferenceVisitor)
    static func _mutate(
        optional storage: inout _OptionalStorage, slot: Int, _ mutation: ReferenceMutation)
}

extension Optional: Storable where Wrapped: OptionalStorable {
    public typealias _Storage = Wrapped._OptionalStorage
    public typealias _SnapshotValue = Wrapped._OptionalSnapshotValue
    public typealias _Field = Wrapped._OptionalField

    public static func _field(_ object: _QueryObject, slot: Int) -> _Field {
        Wrapped._field(optionalOf: object, slot: slot)
    }

    @inlinable public static var _targetName: String? { Wrapped._optionalTargetName }

    @inlinable
    public static func _initialStorage(_ value: Self) -> _Storage {
        Wrapped._initialStorage(optional: value)
    }

    @inlinable
    public static func _storage(from value: _SnapshotValue) -> _Storage {
        Wrapped._storage(fromOptional: value)
    }

    @inlinable
    public static func _storage<M: Model>(
        assigning value: Self, replacing storage: borrowing _Storage, in owner: M, slot: Int
    ) -> _Storage? {
        Wrapped._storage(assigningOptional: value, replacing: storage, in: owner, slot: slot)
    }

    @inlinable
    public static func _value<M: Model>(of storage: _Storage, in owner: M) -> Self {
        Wrapped._optionalValue(of: storage, in: owner)
    }

    @inlinable
    public static func _snapshotValue(_ storage: _Storage) -> _SnapshotValue {
        Wrapped._optionalSnapshotValue(storage)
    }

    @inlinable
    public static func _visit(
        _ storage: _Storage, slot: Int, _ visitor: inout ReferenceVisitor
    ) {
        Wrapped._visit(optional: storage, slot: slot, &visitor)
    }

    @inlinable
    public static func _mutate(
        _ storage: inout _Storage, slot: Int, _ mutation: ReferenceMutation
    ) {
        Wrapped._mutate(optional: &storage, slot: slot, mutation)
    }
}

// MARK: - Attributes

/// A type of attribute: the object holds the value itself.
public protocol AttributeValue: Storable, OptionalStorable, StoredValue
where
    _Storage == Self, _SnapshotValue == Self, _Field == QueryExpression<Self>,
    _OptionalStorage == Self?, _OptionalSnapshotValue == Self?,
    _OptionalField == QueryExpression<Self?>
{}

extension AttributeValue {
    public static func _field(_ object: _QueryObject, slot: Int) -> QueryExpression<Self> {
        QueryExpression(.property(object.place, slot: slot))
    }

    public static func _field(
        optionalOf object: _QueryObject, slot: Int
    ) -> QueryExpression<Self?> {
        QueryExpression(.property(object.place, slot: slot))
    }

    @inlinable public static var _targetName: String? { nil }
    @inlinable public static func _initialStorage(_ value: Self) -> Self { value }
    @inlinable public static func _storage(from value: Self) -> Self { value }

    @inlinable
    public static func _storage<M: Model>(
        assigning value: Self, replacing storage: borrowing Self, in owner: M, slot: Int
    ) -> Self? {
        owner._$willChange() ? value : nil
    }

    @inlinable
    public static func _value<M: Model>(of storage: Self, in owner: M) -> Self { storage }
    @inlinable public static func _snapshotValue(_ storage: Self) -> Self { storage }
    @inlinable
    public static func _visit(_ storage: Self, slot: Int, _ visitor: inout ReferenceVisitor) {}
    @inlinable
    public static func _mutate(_ storage: inout Self, slot: Int, _ mutation: ReferenceMutation) {}

    @inlinable public static var _optionalTargetName: String? { nil }
    @inlinable public static func _initialStorage(optional value: Self?) -> Self? { value }
    @inlinable public static func _storage(fromOptional value: Self?) -> Self? { value }

    @inlinable
    public static func _storage<M: Model>(
        assigningOptional value: Self?, replacing storage: borrowing Self?, in owner: M, slot: Int
    ) -> Self?? {
        owner._$willChange() ? .some(value) : nil
    }

    @inlinable
    public static func _optionalValue<M: Model>(of storage: Self?, in owner: M) -> Self? { storage }
    @inlinable public static func _optionalSnapshotValue(_ storage: Self?) -> Self? { storage }
    @inlinable
    public static func _visit(
        optional storage: Self?, slot: Int, _ visitor: inout ReferenceVisitor
    ) {}
    @inlinable
    public static func _mutate(
        optional storage: inout Self?, slot: Int, _ mutation: ReferenceMutation
    ) {}
}

/// What an object holds for a property of this type.
///
/// Used by the code that `@Model` writes.
public typealias _StorageOf<T: Storable> = T._Storage

/// What snapshots and records hold for a property of this type.
///
/// Used by the code that `@Model` writes.
public typealias _SnapshotValueOf<T: Storable> = T._SnapshotValue

/// What a query sees of a property of this type.
///
/// Used by the code that `@Model` writes.
public typealias _FieldOf<T: Storable> = T._Field
