// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

public import FoundationEssentials
public import StetStore

/// A value as snapshots and records hold it.
///
/// Used by the code that `@Model` writes.
public protocol StoredValue: Sendable, Codable, Equatable {
    static var _valueType: ValueType { get }
    static var _isOptional: Bool { get }
    static func _read(_ reader: inout RecordReader, slot: Int) -> Self
    func _write(_ writer: inout RecordWriter, slot: Int)
    /// The same value without its type.
    var _value: Value { get }
    /// nil when the value is of another type.
    init?(_value: Value)
}

extension StoredValue {
    @inlinable public static var _isOptional: Bool { false }
}

extension Bool: AttributeValue {
    @inlinable public static var _valueType: ValueType { .bool }
    @inlinable public static func _read(_ reader: inout RecordReader, slot: Int) -> Bool {
        reader.word(slot: slot) != 0
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Int) {
        writer.write(word: self ? 1 : 0, slot: slot)
    }
    public var _value: Value { .bool(self) }
    public init?(_value: Value) {
        guard case .bool(let value) = _value else { return nil }
        self = value
    }
}

extension Int: AttributeValue {
    @inlinable public static var _valueType: ValueType { .int }
    @inlinable public static func _read(_ reader: inout RecordReader, slot: Int) -> Int {
        Int(truncatingIfNeeded: reader.word(slot: slot))
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Int) {
        writer.write(word: UInt64(bitPattern: Int64(self)), slot: slot)
    }
    public var _value: Value { .int(self) }
    public init?(_value: Value) {
        guard case .int(let value) = _value else { return nil }
        self = value
    }
}

extension Double: AttributeValue {
    @inlinable public static var _valueType: ValueType { .double }
    @inlinable public static func _read(_ reader: inout RecordReader, slot: Int) -> Double {
        Double(bitPattern: reader.word(slot: slot))
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Int) {
        writer.write(word: bitPattern, slot: slot)
    }
    public var _value: Value { .double(self) }
    public init?(_value: Value) {
        guard case .double(let value) = _value else { return nil }
        self = value
    }
}

extension Date: AttributeValue {
    @inlinable public static var _valueType: ValueType { .date }
    @inlinable public static func _read(_ reader: inout RecordReader, slot: Int) -> Date {
        Date(timeIntervalSinceReferenceDate: Double(bitPattern: reader.word(slot: slot)))
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Int) {
        writer.write(word: timeIntervalSinceReferenceDate.bitPattern, slot: slot)
    }
    public var _value: Value { .date(self) }
    public init?(_value: Value) {
        guard case .date(let value) = _value else { return nil }
        self = value
    }
}

extension String: AttributeValue {
    @inlinable public static var _valueType: ValueType { .string }
    @inlinable public static func _read(_ reader: inout RecordReader, slot: Int) -> String {
        reader.string(slot: slot)
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Int) {
        writer.write(string: self, slot: slot)
    }
    public var _value: Value { .string(self) }
    public init?(_value: Value) {
        guard case .string(let value) = _value else { return nil }
        self = value
    }
}

extension Data: AttributeValue {
    @inlinable public static var _valueType: ValueType { .data }
    @inlinable public static func _read(_ reader: inout RecordReader, slot: Int) -> Data {
        Data(reader.bytes(slot: slot))
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Int) {
        withUnsafeBytes { writer.write(bytes: $0, slot: slot) }
    }
    public var _value: Value { .data(self) }
    public init?(_value: Value) {
        guard case .data(let value) = _value else { return nil }
        self = value
    }
}

extension UUID: AttributeValue {
    @inlinable public static var _valueType: ValueType { .uuid }
    @inlinable public static func _read(_ reader: inout RecordReader, slot: Int) -> UUID {
        reader.id(slot: slot).uuid
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Int) {
        writer.write(id: ObjectID(self), slot: slot)
    }
    public var _value: Value { .uuid(self) }
    public init?(_value: Value) {
        guard case .uuid(let value) = _value else { return nil }
        self = value
    }
}

extension ObjectID: StoredValue {
    @inlinable public static var _valueType: ValueType { .reference }
    @inlinable public static func _read(_ reader: inout RecordReader, slot: Int) -> ObjectID {
        reader.id(slot: slot)
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Int) {
        writer.write(id: self, slot: slot)
    }
    public var _value: Value { .reference(self) }
    public init?(_value: Value) {
        guard case .reference(let value) = _value else { return nil }
        self = value
    }
}

extension Optional: StoredValue where Wrapped: StoredValue {
    @inlinable public static var _valueType: ValueType { Wrapped._valueType }
    @inlinable public static var _isOptional: Bool { true }
    @inlinable public static func _read(_ reader: inout RecordReader, slot: Int) -> Wrapped? {
        reader.isNull(slot: slot) ? nil : Wrapped._read(&reader, slot: slot)
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Int) {
        switch self {
        case .some(let value): value._write(&writer, slot: slot)
        case .none: writer.writeNull(slot: slot)
        }
    }
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
