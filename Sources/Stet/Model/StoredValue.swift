// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

public import FoundationEssentials
public import StetStore

/// The field of a snapshot: one value, or an embedded value, which consists of several.
///
/// Used by the code that `@Model` writes.
public protocol _SnapshotField: Sendable, Equatable {
    /// Reads the field from the slots of a record that begin with `slot`.
    static func _field(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> Self
    /// Writes the field into the slots of a record that begin with `slot`.
    func _write(_ writer: inout RecordWriter, slot: Slot)
    static func _decode<Key: CodingKey>(
        _ values: KeyedDecodingContainer<Key>, _ key: Key
    ) throws -> Self
    func _encode<Key: CodingKey>(_ values: inout KeyedEncodingContainer<Key>, _ key: Key) throws
}

/// The field of a snapshot that can be optional.
///
/// Used by the code that `@Model` writes.
public protocol _OptionalSnapshotField: _SnapshotField {
    /// Reads the field from the slots of a record that begin with `slot`.
    static func _field(
        optional reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> Self?
    /// Writes the field into the slots of a record that begin with `slot`.
    static func _write(optional value: Self?, _ writer: inout RecordWriter, slot: Slot)
    /// Decodes the field; nil when it has no key, or is null.
    static func _decode<Key: CodingKey>(
        optional values: KeyedDecodingContainer<Key>, _ key: Key
    ) throws -> Self?
    /// Encodes the field, as the compiler derives it: nil has no key.
    static func _encode<Key: CodingKey>(
        optional value: Self?, _ values: inout KeyedEncodingContainer<Key>, _ key: Key
    ) throws
}

extension Optional: _SnapshotField where Wrapped: _OptionalSnapshotField {
    @inlinable
    public static func _field(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> Self {
        try Wrapped._field(optional: &reader, slot: slot)
    }

    @inlinable
    public func _write(_ writer: inout RecordWriter, slot: Slot) {
        Wrapped._write(optional: self, &writer, slot: slot)
    }

    @inlinable
    public static func _decode<Key: CodingKey>(
        _ values: KeyedDecodingContainer<Key>, _ key: Key
    ) throws -> Self { try Wrapped._decode(optional: values, key) }

    @inlinable
    public func _encode<Key: CodingKey>(
        _ values: inout KeyedEncodingContainer<Key>, _ key: Key
    ) throws { try Wrapped._encode(optional: self, &values, key) }
}

/// A value in the form that snapshots and records contain.
///
/// Used by the code that `@Model` writes.
public protocol StoredValue: _OptionalSnapshotField {
    static var _valueType: ValueType { get }
    /// The type of the elements of a list; the types of the keys and values of a dictionary.
    static var _elementTypes: [ValueType] { get }
    /// The members of the elements of an array of embedded values; nil for any other type.
    static var _elementMembers: _ElementMembers? { get }
    static var _isOptional: Bool { get }
    /// True for a value that is stored encrypted.
    static var _isSealed: Bool { get }
    /// True for a value whose bytes are outside of the records.
    static var _isLarge: Bool { get }
    static func _read(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> Self
    /// The value without its static type.
    var _value: Value { get }
    /// Creates a value from `_value`; nil when that is of another type.
    init?(_value: Value)
}

/// The error for a stored value that its type cannot represent: a raw value without a case, or JSON
/// that does not decode.
///
/// Used by the code that `@Model` writes, and reported as a `StoreError` (`.unreadableValue`).
public struct _UnreadableValue: Error {
    /// The slot of the value.
    public let slot: Slot

    /// Creates an error for the value in a slot.
    public init(slot: Slot) { self.slot = slot }
}

extension StoredValue {
    @inlinable public static var _elementTypes: [ValueType] { [] }
    @inlinable public static var _elementMembers: _ElementMembers? { nil }
    @inlinable public static var _isOptional: Bool { false }
    @inlinable public static var _isSealed: Bool { false }
    @inlinable public static var _isLarge: Bool { false }

    /// Reads a value as `_read` does; generated code calls it for types whose `_read` may throw and
    /// for those whose cannot.
    @inlinable
    public static func _field(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> Self {
        try _read(&reader, slot: slot)
    }

    @inlinable
    public static func _field(
        optional reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> Self? {
        reader.isNull(slot: slot) ? nil : try _read(&reader, slot: slot)
    }

    @inlinable
    public static func _write(optional value: Self?, _ writer: inout RecordWriter, slot: Slot) {
        switch value {
        case .some(let value): value._write(&writer, slot: slot)
        case .none: writer.writeNull(slot: slot)
        }
    }

    /// Reads a value from the tail of a record by way of `Value`.
    static func readTail(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> Self {
        guard let value = try? reader.value(slot: slot, type: _valueType),
            let result = Self(_value: value)
        else { throw _UnreadableValue(slot: slot) }
        return result
    }
}

extension StoredValue where Self: Codable {
    /// Decodes the field of a snapshot.
    @inlinable
    public static func _decode<Key: CodingKey>(
        _ values: KeyedDecodingContainer<Key>, _ key: Key
    ) throws -> Self {
        try values.decode(Self.self, forKey: key)
    }

    /// Encodes the field of a snapshot.
    @inlinable
    public func _encode<Key: CodingKey>(
        _ values: inout KeyedEncodingContainer<Key>, _ key: Key
    ) throws {
        try values.encode(self, forKey: key)
    }

    @inlinable
    public static func _decode<Key: CodingKey>(
        optional values: KeyedDecodingContainer<Key>, _ key: Key
    ) throws -> Self? { try values.decodeIfPresent(Self.self, forKey: key) }

    @inlinable
    public static func _encode<Key: CodingKey>(
        optional value: Self?, _ values: inout KeyedEncodingContainer<Key>, _ key: Key
    ) throws { try values.encodeIfPresent(value, forKey: key) }
}

/// An attribute type whose values can be elements of an array or a dictionary.
///
/// Adopt `RawAttribute` or `CodableAttribute` instead.
public protocol _AttributeElement: AttributeValue, _ArrayElement, Codable {}

extension Bool: _AttributeElement {
    @inlinable public static var _valueType: ValueType { .bool }
    @inlinable public static func _read(_ reader: inout RecordReader, slot: Slot) -> Bool {
        reader.word(slot: slot) != 0
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Slot) {
        writer.write(word: self ? 1 : 0, slot: slot)
    }
    public var _value: Value { .bool(self) }
    public init?(_value: Value) {
        guard case .bool(let value) = _value else { return nil }
        self = value
    }
}

extension Int: _AttributeElement {
    @inlinable public static var _valueType: ValueType { .int }
    @inlinable public static func _read(_ reader: inout RecordReader, slot: Slot) -> Int {
        Int(truncatingIfNeeded: reader.word(slot: slot))
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Slot) {
        writer.write(word: UInt64(bitPattern: Int64(self)), slot: slot)
    }
    public var _value: Value { .int(self) }
    public init?(_value: Value) {
        guard case .int(let value) = _value else { return nil }
        self = value
    }
}

extension Double: _AttributeElement {
    @inlinable public static var _valueType: ValueType { .double }
    @inlinable public static func _read(_ reader: inout RecordReader, slot: Slot) -> Double {
        Double(bitPattern: reader.word(slot: slot))
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Slot) {
        writer.write(word: bitPattern, slot: slot)
    }
    public var _value: Value { .double(self) }
    public init?(_value: Value) {
        guard case .double(let value) = _value else { return nil }
        self = value
    }
}

extension Date: _AttributeElement {
    @inlinable public static var _valueType: ValueType { .date }
    @inlinable public static func _read(_ reader: inout RecordReader, slot: Slot) -> Date {
        Date(timeIntervalSinceReferenceDate: Double(bitPattern: reader.word(slot: slot)))
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Slot) {
        writer.write(word: timeIntervalSinceReferenceDate.bitPattern, slot: slot)
    }
    public var _value: Value { .date(self) }
    public init?(_value: Value) {
        guard case .date(let value) = _value else { return nil }
        self = value
    }
}

extension String: _AttributeElement {
    @inlinable public static var _valueType: ValueType { .string }
    @inlinable public static func _read(_ reader: inout RecordReader, slot: Slot) -> String {
        reader.string(slot: slot)
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Slot) {
        writer.write(string: self, slot: slot)
    }
    public var _value: Value { .string(self) }
    public init?(_value: Value) {
        guard case .string(let value) = _value else { return nil }
        self = value
    }
}

extension Data: _AttributeElement {
    @inlinable public static var _valueType: ValueType { .data }
    @inlinable public static func _read(_ reader: inout RecordReader, slot: Slot) -> Data {
        Data(reader.bytes(slot: slot))
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Slot) {
        withUnsafeBytes { writer.write(bytes: $0, slot: slot) }
    }
    public var _value: Value { .data(self) }
    public init?(_value: Value) {
        guard case .data(let value) = _value else { return nil }
        self = value
    }
}

extension UUID: _AttributeElement {
    @inlinable public static var _valueType: ValueType { .uuid }
    @inlinable public static func _read(_ reader: inout RecordReader, slot: Slot) -> UUID {
        reader.id(slot: slot).uuid
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Slot) {
        writer.write(id: ObjectID(self), slot: slot)
    }
    public var _value: Value { .uuid(self) }
    public init?(_value: Value) {
        guard case .uuid(let value) = _value else { return nil }
        self = value
    }
}

extension Decimal: _AttributeElement {
    public static var _valueType: ValueType { .decimal }
    public static func _read(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> Decimal {
        try readTail(&reader, slot: slot)
    }
    public func _write(_ writer: inout RecordWriter, slot: Slot) {
        writer.write(_value, slot: slot)
    }
    public var _value: Value { .decimal(self) }
    public init?(_value: Value) {
        guard case .decimal(let value) = _value else { return nil }
        self = value
    }
}

extension URL: _AttributeElement {
    public static var _valueType: ValueType { .url }
    public static func _read(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> URL {
        try readTail(&reader, slot: slot)
    }
    public func _write(_ writer: inout RecordWriter, slot: Slot) {
        writer.write(_value, slot: slot)
    }
    public var _value: Value { .url(self) }
    public init?(_value: Value) {
        guard case .url(let value) = _value else { return nil }
        self = value
    }
}

extension ObjectID: StoredValue {
    @inlinable public static var _valueType: ValueType { .reference }
    @inlinable public static func _read(_ reader: inout RecordReader, slot: Slot) -> ObjectID {
        reader.id(slot: slot)
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Slot) {
        writer.write(id: self, slot: slot)
    }
    public var _value: Value { .reference(self) }
    public init?(_value: Value) {
        guard case .reference(let value) = _value else { return nil }
        self = value
    }
}

extension Optional: StoredValue, _OptionalSnapshotField where Wrapped: StoredValue {
    @inlinable public static var _valueType: ValueType { Wrapped._valueType }
    @inlinable public static var _isOptional: Bool { true }
    @inlinable public static var _isSealed: Bool { Wrapped._isSealed }
    @inlinable public static var _isLarge: Bool { Wrapped._isLarge }
    @inlinable public static var _elementTypes: [ValueType] { Wrapped._elementTypes }
    @inlinable public static var _elementMembers: _ElementMembers? { Wrapped._elementMembers }
    @inlinable public static func _read(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> Wrapped? {
        try Wrapped._field(optional: &reader, slot: slot)
    }
    @inlinable
    public static func _decode<Key: CodingKey>(
        optional values: KeyedDecodingContainer<Key>, _ key: Key
    ) throws -> Self? { try Wrapped._decode(optional: values, key) }
    @inlinable
    public static func _encode<Key: CodingKey>(
        optional value: Self?, _ values: inout KeyedEncodingContainer<Key>, _ key: Key
    ) throws { try Wrapped._encode(optional: value ?? nil, &values, key) }
    public var _value: Value { self?._value ?? .null }
    public init?(_value: Value) {
        if case .null = _value {
            self = Optional.none
            return
        }
        guard let value = Wrapped(_value: _value) else { return nil }
        self = Optional.some(value)
    }
}
