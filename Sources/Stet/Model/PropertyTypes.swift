// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only.

public import StetStore

// How generated code names the type of a property: an error about it appears once, at the line of
// the property, and says what to write.

/// A type of which a property of a model can consist.
///
/// Its name is what a compiler's error says. Used by the code that `@Model` writes.
public protocol `RawAttribute, CodableAttribute, @Embedded or @Model` {}

/// The type of a property, or of the elements of one.
///
/// Used by the code that `@Model` writes.
public typealias _PropertyType<T: `RawAttribute, CodableAttribute, @Embedded or @Model`> = T

extension AttributeValue {
    public typealias _Attribute = Self
    public typealias _OptionalAttribute = Self?
    /// The type of a property with options.
    public typealias _RuledAttribute = Self
    public typealias _OptionalRuledAttribute = Self?
    /// The type of a property with an index and no other options.
    public typealias _IndexedAttribute = Self
    public typealias _OptionalIndexedAttribute = Self?
    /// The type of a member of an embedded value.
    public typealias _Member = Self
    public typealias _OptionalMember = Self?
}

extension _AttributeElement {
    public typealias _Element = Self
    public typealias _List = [Self]
    public typealias _OptionalList = [Self]?
    /// The type of an array as the member of an embedded value.
    public typealias _MemberList = [Self]
    public typealias _OptionalMemberList = [Self]?
}

extension Optional: `RawAttribute, CodableAttribute, @Embedded or @Model`
where Wrapped: `RawAttribute, CodableAttribute, @Embedded or @Model` {}

extension Optional where Wrapped: _OptionalStorable {
    public typealias _Attribute = Self
}

extension Model {
    public typealias _OptionalAttribute = Self?
    public typealias _OptionalRuledAttribute = Self?
    public typealias _OptionalIndexedAttribute = Self?

    @available(
        *, unavailable, message: "a relationship to one is optional: write 'Owner?' for 'Owner'"
    )
    public typealias _Attribute = _RefusedProperty<Self>

    @available(
        *, unavailable, message: "a relationship to one is optional: write 'Owner?' for 'Owner'"
    )
    public typealias _IndexedAttribute = _RefusedProperty<Self>

    @available(
        *, unavailable, message: "a relationship to one is optional: write 'Owner?' for 'Owner'"
    )
    public typealias _RuledAttribute = _RefusedProperty<Self>

    @available(
        *, unavailable, message: "an embedded value has no relationships: write it in the model"
    )
    public typealias _Member = _RefusedProperty<Self>

    @available(
        *, unavailable, message: "an embedded value has no relationships: write it in the model"
    )
    public typealias _OptionalMember = _RefusedProperty<Self?>

    @available(
        *, unavailable,
        message: "a relationship to many is a 'ToMany<Tag>' or 'OrderedToMany<Tag>', not an array"
    )
    public typealias _List = _RefusedProperty<[Self]>

    @available(
        *, unavailable,
        message: "a relationship to many is a 'ToMany<Tag>' or 'OrderedToMany<Tag>', not an array"
    )
    public typealias _OptionalList = _RefusedProperty<[Self]?>

    @available(
        *, unavailable, message: "an embedded value has no relationships: write it in the model"
    )
    public typealias _MemberList = _RefusedProperty<[Self]>

    @available(
        *, unavailable, message: "an embedded value has no relationships: write it in the model"
    )
    public typealias _OptionalMemberList = _RefusedProperty<[Self]?>

    @available(*, unavailable, message: "a dictionary contains values, not models")
    public typealias _Element = Int
}

/// The type of a property that the compiler has refused, so that it reports nothing else.
public enum _RefusedProperty<T>: _Storable {
    case refused

    public static func _field(_ object: _QueryObject, slot: Slot) -> QueryExpression<Int> {
        QueryExpression(.property(object.place, slot: slot))
    }
    public static var _targetName: String? { nil }
    public static func _initialStorage(
        _ value: Self, slot: Slot, _ state: inout _ModelState
    ) -> Int? { nil }
    public static func _initialStorage(
        _ value: T, slot: Slot, _ state: inout _ModelState
    ) -> Int? { nil }
    public static func _storage(from value: Int?) -> Int? { value }
    public static func _storage<M: Model>(
        assigning value: Self, replacing storage: borrowing Int?, in owner: M, slot: Slot
    ) -> Int?? { nil }
    public static func _storage<M: Model>(
        assigning value: T, replacing storage: borrowing Int?, in owner: M, slot: Slot
    ) -> Int?? { nil }
    public static func _value<M: Model>(of storage: Int?, in owner: M, slot: Slot) -> Self {
        .refused
    }
    public static func _value<M: Model>(of storage: Int?, in owner: M, slot: Slot) -> T {
        trap("a property of this type, which does not compile, is read")
    }
    public static func _snapshotValue(_ storage: Int?) -> Int? { storage }
    public static func _reference(_ storage: Int?) -> ObjectID { .none }
    public static func _setReference(_ storage: inout Int?, _ id: ObjectID) {}
}

extension _ModelProperty {
    /// Creates a description of a property that the compiler has refused.
    public init<T>(
        _ name: String, _ type: _RefusedProperty<T>.Type, _ keyPath: KeyPath<M.Snapshot, Int?>,
        _ options: [AttributeOption] = [], relationship: [RelationshipOption] = [],
        deleteRule: DeleteRule = .nullify, originalName: String? = nil,
        default value: @escaping @Sendable () -> T
    ) {
        self.init(name, type, keyPath, default: { .refused })
    }
}

/// A class that is a superclass of no other: a class that inherits cannot also inherit from this.
///
/// Used by the code that `@Model` writes.
open class _ModelWithoutSuperclass {}
