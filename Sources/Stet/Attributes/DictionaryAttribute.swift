// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

public import StetStore

extension Dictionary: _Storable, _OptionalStorable, StoredValue, _SnapshotField,
    _OptionalSnapshotField, AttributeValue,
    `RawAttribute, CodableAttribute, @Embedded or @Model`
where Key: _AttributeElement, Value: _AttributeElement {
    public static var _valueType: ValueType { .dictionary }
    public static var _elementTypes: [ValueType] { [Key._valueType, Value._valueType] }
    public static func _read(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> [Key: Value] {
        try readTail(&reader, slot: slot)
    }
    public func _write(_ writer: inout RecordWriter, slot: Slot) {
        let value = _value
        guard case .dictionary(let values) = value, values.count == count else {
            let reason = EncodingFailure("has two keys that are stored as the same bytes")
            return writer.fail(reason, slot: slot)
        }
        writer.write(value, slot: slot)
    }
    public var _value: StetStore.Value {
        .dictionary(
            [StetStore.Value: StetStore.Value](
                map { ($0._value, $1._value) }, uniquingKeysWith: { $1 }))
    }
    public init?(_value: StetStore.Value) {
        guard case .dictionary(let values) = _value else { return nil }
        self.init(minimumCapacity: values.count)
        for (key, value) in values {
            guard let key = Key(_value: key), let value = Value(_value: value),
                updateValue(value, forKey: key) == nil
            else { return nil }
        }
    }
}
