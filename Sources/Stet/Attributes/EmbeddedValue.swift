// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

public import FoundationEssentials
public import StetStore

/// A struct whose members are attributes of the models that contain it.
///
/// ```swift
/// @Embedded struct Address: EmbeddedValue {
///     var street: String = ""
///     @Attribute(.indexed) var city: String = ""
///     var zip: String?
/// }
/// @Model final class Person {
///     var name: String
///     var address: Address = Address()
///     init(name: String) { self.name = name }
/// }
/// ```
///
/// The model has the attributes `address.street`, `address.city` and `address.zip`. Each has its
/// own rules, normalisers and indexes; queries, validators, changes and the tool name it by itself,
/// and edits of different members merge.
///
/// `var site: Address?` has the attribute `site`, which is true or nil, before `site.street` and
/// the others. It appears and disappears as a whole.
///
/// Do not conform to it by hand: `@Embedded` writes everything that begins with an underscore.
public protocol EmbeddedValue: _Storable, _OptionalStorable, _OptionalSnapshotField,
    _ArrayElement, CustomReflectable, `RawAttribute, CodableAttribute, @Embedded or @Model`
where
    _Storage == Self, _SnapshotValue == Self, _Field == Fields, _OptionalStorage == Self?,
    _OptionalSnapshotValue == Self?, _OptionalField == Fields?
{
    /// The members as queries name them; written by `@Embedded`.
    associatedtype Fields: _EmbeddedFields where Fields.Value == Self

    static var _$members: [_EmbeddedMember<Self>] { get }
    static var _$memberCount: Int { get }
    /// Reads the members from a run of slots.
    init(_$reader reader: inout RecordReader, slot: Slot) throws(_UnreadableValue)
    /// Writes the members into a run of slots.
    func _$encode(into writer: inout RecordWriter, slot: Slot)
    /// Decodes the members, as the snapshot of a model contains them.
    init(_$decoder decoder: any Decoder) throws
    /// Encodes the members that are not hidden.
    func _$encode(to encoder: any Encoder) throws
    /// Normalises the members that differ from those of another value.
    mutating func _$normalize(since base: Self?)
    mutating func _$stamp(_ date: Date, isInsert: Bool)
}

/// The members of an embedded value as queries name them.
///
/// `@Embedded` writes a type with an expression of the same name for each member.
public protocol _EmbeddedFields: Sendable {
    /// The embedded value.
    associatedtype Value: EmbeddedValue
    /// Used by the code that `@Embedded` writes.
    var _object: _QueryObject { get }
    /// Used by the code that `@Embedded` writes.
    var _slot: Slot { get }
    /// Used by the code that `@Embedded` writes.
    init(_object: _QueryObject, slot: Slot)
}

extension _EmbeddedFields {
    /// Returns whether all members are equal to those of a value.
    public static func == (left: Self, right: Value) -> QueryExpression<Bool> {
        QueryExpression<Bool>(
            .all(
                zip(left.memberSlots, right._$values).map { slot, value in
                    .comparison(
                        .equal, .property(left._object.place, slot: slot), .constant(value))
                }))
    }

    /// Returns whether any member differs from that of a value.
    public static func != (left: Self, right: Value) -> QueryExpression<Bool> { !(left == right) }

    /// The slots of the value, among them that of the presence of an optional one.
    var slots: [Slot] { (_object.presence.map { [$0] } ?? []) + memberSlots }

    /// The slots of the members.
    var memberSlots: [Slot] { (0..<Value._$memberCount).map { Slot(_slot.index + $0) } }
}

/// The description of one member of an embedded value that `@Embedded` writes.
public struct _EmbeddedMember<Value: EmbeddedValue>: Sendable {
    let described: DescribedProperty
    /// A key path without captured values, as `@Embedded` writes it; it never changes.
    nonisolated(unsafe) let keyPath: PartialKeyPath<Value>
    /// The key path of the member of an optional value.
    nonisolated(unsafe) let optionalKeyPath: PartialKeyPath<Value?>
    let value: @Sendable (Value) -> StetStore.Value

    /// Creates a description of a member of type `type`.
    public init<T: _Storable>(
        _ name: String, _ type: T.Type, _ keyPath: KeyPath<Value, T>,
        _ optionalKeyPath: PartialKeyPath<Value?>, _ options: [AttributeOption] = [],
        originalName: String? = nil, default value: (@Sendable () -> T)? = nil
    ) where T: StoredValue, T._SnapshotValue == T {
        var described = DescribedProperty(name, type, options)
        described.origin.names = originalName.map { [$0] } ?? []
        if let value { described.origin.value = { value()._value } }
        self.described = described
        self.keyPath = keyPath
        self.optionalKeyPath = optionalKeyPath
        // As above.
        nonisolated(unsafe) let path = keyPath
        self.value = { $0[keyPath: path]._value }
    }

    /// Creates a description of a member that the compiler has refused.
    public init<T>(
        _ name: String, _ type: _RefusedProperty<T>.Type, _ keyPath: KeyPath<Value, T>,
        _ optionalKeyPath: PartialKeyPath<Value?>, _ options: [AttributeOption] = [],
        originalName: String? = nil, default value: (@Sendable () -> T)? = nil
    ) {
        trap("a member of a type that does not compile")
    }
}

// MARK: - What the generated code of models calls

extension EmbeddedValue {
    @inlinable public static var _slotCount: Int { _$memberCount }

    public static func _field(_ object: _QueryObject, slot: Slot) -> Fields {
        Fields(_object: object, slot: slot)
    }

    public static func _normalized(_ storage: borrowing Self, since base: Self?) -> Self? {
        var value = copy storage
        value._$normalize(since: base)
        return value == storage ? nil : value
    }

    public static func _stamped(
        _ storage: borrowing Self, _ date: Date, isInsert: Bool
    ) -> Self? {
        var value = copy storage
        value._$stamp(date, isInsert: isInsert)
        return value == storage ? nil : value
    }
}

// MARK: - As the field of a snapshot

extension EmbeddedValue {
    @inlinable
    public static func _field(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> Self {
        try Self(_$reader: &reader, slot: slot)
    }

    @inlinable
    public func _write(_ writer: inout RecordWriter, slot: Slot) {
        _$encode(into: &writer, slot: slot)
    }

    public static func _decode<Key: CodingKey>(
        _ values: KeyedDecodingContainer<Key>, _ key: Key
    ) throws -> Self {
        try values.decode(EmbeddedCoding<Self>.self, forKey: key).value
    }

    public func _encode<Key: CodingKey>(
        _ values: inout KeyedEncodingContainer<Key>, _ key: Key
    ) throws {
        try values.encode(EmbeddedCoding(value: self), forKey: key)
    }

    /// The members that are not hidden.
    public var customMirror: Mirror {
        let children = zip(Self._$members, _$values).filter { !$0.0.described.property.isHidden }
        return Mirror(
            self,
            children: children.map { member, _ in
                (member.described.property.name as String?, self[keyPath: member.keyPath])
            }, displayStyle: .struct)
    }

    /// The values of the members, in the order of their slots.
    var _$values: [Value] { Self._$members.map { $0.value(self) } }

    /// Creates the value with these values of the members; nil when a member cannot have its value.
    init?(_$values values: [Value]) {
        guard
            let body = try? EncodedBody(propertyCount: values.count, { $0.write(values) }),
            let value = try? body.bytes.withUnsafeBytes({ bytes in
                var reader = try RecordReader(body: bytes, propertyCount: values.count)
                return try Self(_$reader: &reader, slot: 0)
            })
        else { return nil }
        self = value
    }
}

/// The encoding of an embedded value in the snapshot of its owner, whichever conformances to
/// `Codable` the struct has of its own.
struct EmbeddedCoding<Value: EmbeddedValue>: Codable {
    let value: Value

    init(value: Value) { self.value = value }

    init(from decoder: any Decoder) throws { value = try Value(_$decoder: decoder) }

    func encode(to encoder: any Encoder) throws { try value._$encode(to: encoder) }
}

// MARK: - As properties of a model

extension _ModelProperty {
    /// Creates a description of the members of an embedded value.
    public init<T: EmbeddedValue>(
        _ name: String, _ type: T.Type, _ keyPath: KeyPath<M.Snapshot, T>,
        _ options: [AttributeOption] = [], relationship: [RelationshipOption] = [],
        deleteRule: DeleteRule = .nullify, originalName: String? = nil,
        default value: (@Sendable () -> T)? = nil
    ) {
        let isHidden = options.contains(where: \.isHidden)
        self.init(
            parts: T._$members.map { member in
                guard
                    let whole = (keyPath as PartialKeyPath<M.Snapshot>)
                        .appending(path: member.keyPath)
                else { trap("\(T.self) describes a member that it does not have") }
                var described = member.described.member(
                    of: name, formerly: originalName, isHidden: isHidden)
                if let value { described.origin.value = { member.value(value()) } }
                return Part(described: described, keyPath: whole, embedded: keyPath)
            })
    }
}

// The types in which an embedded value can't be used.
extension EmbeddedValue {
    public typealias _Attribute = Self

    public typealias _OptionalAttribute = Self?

    @available(
        *, unavailable,
        message: "write the rules of an embedded value at its members, in the struct"
    )
    public typealias _RuledAttribute = _RefusedProperty<Self>

    @available(
        *, unavailable,
        message: "write the rules of an embedded value at its members, in the struct"
    )
    public typealias _OptionalRuledAttribute = _RefusedProperty<Self?>

    @available(
        *, unavailable,
        message: "write the rules of an embedded value at its members, in the struct"
    )
    public typealias _IndexedAttribute = _RefusedProperty<Self>

    @available(
        *, unavailable,
        message: "write the rules of an embedded value at its members, in the struct"
    )
    public typealias _OptionalIndexedAttribute = _RefusedProperty<Self?>

    @available(
        *, unavailable,
        message: "an embedded value can't contain another: write the members of that one"
    )
    public typealias _Member = _RefusedProperty<Self>

    @available(
        *, unavailable,
        message: "an embedded value can't contain another: write the members of that one"
    )
    public typealias _OptionalMember = _RefusedProperty<Self?>

    public typealias _List = [Self]

    public typealias _OptionalList = [Self]?

    @available(
        *, unavailable,
        message: "an embedded value can't contain others: write an array of them in the model"
    )
    public typealias _MemberList = _RefusedProperty<[Self]>

    @available(
        *, unavailable,
        message: "an embedded value can't contain others: write an array of them in the model"
    )
    public typealias _OptionalMemberList = _RefusedProperty<[Self]?>

    @available(
        *, unavailable,
        message: "a dictionary can't contain embedded values: write a 'CodableAttribute'"
    )
    public typealias _Element = Int
}

/// The type of an embedded value, which an index names by a member.
///
/// Used by the code that `@Model` writes.
public typealias _EmbeddedType<T: EmbeddedValue> = T

// MARK: - Members

// What the code of `@Embedded` calls for each member; a member that the compiler has refused has
// the same functions, so that it reports nothing else.

extension StoredValue {
    @inlinable
    public static func _member(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> Self {
        // The slot of a member of an optional value may be empty.
        if !_isOptional, reader.isNull(slot: slot) { throw _UnreadableValue(slot: slot) }
        return try _field(&reader, slot: slot)
    }

    @inlinable
    public static func _write(_ member: Self, _ writer: inout RecordWriter, slot: Slot) {
        member._write(&writer, slot: slot)
    }

    public static func _encode<Key: CodingKey>(
        _ member: Self, _ values: inout KeyedEncodingContainer<Key>, _ key: Key
    ) throws { try member._encode(&values, key) }

    public static func _decodeMember<Key: CodingKey>(
        _ values: KeyedDecodingContainer<Key>, _ key: Key
    ) throws -> Self { try _decode(values, key) }
}

extension _RefusedProperty {
    public static func _member(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> T { throw _UnreadableValue(slot: slot) }

    public static func _write(_ member: T, _ writer: inout RecordWriter, slot: Slot) {}

    public static func _encode<Key: CodingKey>(
        _ member: T, _ values: inout KeyedEncodingContainer<Key>, _ key: Key
    ) throws {}

    public static func _decodeMember<Key: CodingKey>(
        _ values: KeyedDecodingContainer<Key>, _ key: Key
    ) throws -> T { throw _UnreadableValue(slot: 0) }
}
