// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

public import StetStore

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
