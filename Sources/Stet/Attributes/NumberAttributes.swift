// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

public import StetStore

/// An integer with at most 64 bits, signed or unsigned, that is stored in its slot as 64 bits.
public protocol _IntegerAttribute: _AttributeElement, FixedWidthInteger {}

extension _IntegerAttribute {
    @inlinable public static func _read(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> Self {
        let word = reader.word(slot: slot)
        let value = Self(truncatingIfNeeded: word)
        guard UInt64(truncatingIfNeeded: value) == word else { throw _UnreadableValue(slot: slot) }
        return value
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Slot) {
        writer.write(word: UInt64(truncatingIfNeeded: self), slot: slot)
    }
    public var _value: Value {
        Self.isSigned
            ? .int(Int(truncatingIfNeeded: self)) : .uint(UInt64(truncatingIfNeeded: self))
    }
    public init?(_value: Value) {
        switch _value {
        case .int(let value) where Self.isSigned: self.init(exactly: value)
        case .uint(let value) where !Self.isSigned: self.init(exactly: value)
        default: return nil
        }
    }
}

extension Int8: _IntegerAttribute {
    @inlinable public static var _valueType: ValueType { .int8 }
}

extension Int16: _IntegerAttribute {
    @inlinable public static var _valueType: ValueType { .int16 }
}

extension Int32: _IntegerAttribute {
    @inlinable public static var _valueType: ValueType { .int32 }
}

extension Int64: _IntegerAttribute {
    @inlinable public static var _valueType: ValueType { .int }
}

extension UInt: _IntegerAttribute {
    @inlinable public static var _valueType: ValueType { .uint }
}

extension UInt8: _IntegerAttribute {
    @inlinable public static var _valueType: ValueType { .uint8 }
}

extension UInt16: _IntegerAttribute {
    @inlinable public static var _valueType: ValueType { .uint16 }
}

extension UInt32: _IntegerAttribute {
    @inlinable public static var _valueType: ValueType { .uint32 }
}

extension UInt64: _IntegerAttribute {
    @inlinable public static var _valueType: ValueType { .uint }
}

extension Float: _AttributeElement {
    @inlinable public static var _valueType: ValueType { .float }
    @inlinable public static func _read(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> Float {
        guard let bits = UInt32(exactly: reader.word(slot: slot)) else {
            throw _UnreadableValue(slot: slot)
        }
        return Float(bitPattern: bits)
    }
    @inlinable public func _write(_ writer: inout RecordWriter, slot: Slot) {
        writer.write(word: UInt64(bitPattern), slot: slot)
    }
    public var _value: Value { .float(self) }
    public init?(_value: Value) {
        guard case .float(let value) = _value else { return nil }
        self = value
    }
}
