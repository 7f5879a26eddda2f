// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

public import StetStore

/// An attribute that is stored as its raw value: an enum, or an option set.
///
/// ```swift
/// enum Status: String, RawAttribute { case draft, published }
/// ```
///
/// A stored raw value without a case, which newer code may have written, makes the object
/// unreadable: reading it throws a `StoreError` (`.unreadableValue`) that names the property.
public protocol RawAttribute: _AttributeElement, RawRepresentable
where RawValue: _AttributeElement {}

extension RawAttribute {
    @inlinable public static var _valueType: ValueType { RawValue._valueType }
    @inlinable public static func _read(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> Self {
        guard let value = Self(rawValue: try RawValue._read(&reader, slot: slot)) else {
            throw _UnreadableValue(slot: slot)
        }
        return value
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Slot) {
        rawValue._write(&writer, slot: slot)
    }
    public var _value: Value { rawValue._value }
    public init?(_value: Value) {
        guard let raw = RawValue(_value: _value) else { return nil }
        self.init(rawValue: raw)
    }
}
