// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

public import StetStore

extension Array: _Storable, _OptionalStorable, StoredValue, _SnapshotField,
    _OptionalSnapshotField, AttributeValue,
    `RawAttribute, CodableAttribute, @Embedded or @Model`
where Element: _ArrayElement {
    public static var _valueType: ValueType { .list }
    public static var _elementTypes: [ValueType] { [Element._elementType] }
    public static var _elementMembers: _ElementMembers? { Element._embeddedMembers }
    public static func _read(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> [Element] {
        try Element._readArray(&reader, slot: slot)
    }
    public func _write(_ writer: inout RecordWriter, slot: Slot) {
        Element._writeArray(self, &writer, slot: slot)
    }
    public var _value: StetStore.Value { .list(map(\._value)) }
    public init?(_value: StetStore.Value) {
        guard case .list(let values) = _value else { return nil }
        self.init()
        reserveCapacity(values.count)
        for value in values {
            guard let element = Element(_value: value) else { return nil }
            append(element)
        }
    }

    public static func _normalized(
        _ storage: borrowing [Element], since base: [Element]?
    ) -> [Element]? { Element._normalizedArray(copy storage, since: base) }

    public static func _normalized(
        optional storage: borrowing [Element]?, since base: [Element]??
    ) -> [Element]?? {
        guard let array = copy storage else { return nil }
        return Element._normalizedArray(array, since: base ?? nil).map { .some($0) }
    }

    // MARK: As the field of a snapshot

    public static func _decode<Key: CodingKey>(
        _ values: KeyedDecodingContainer<Key>, _ key: Key
    ) throws -> [Element] {
        var array: any UnkeyedDecodingContainer = try values.nestedUnkeyedContainer(forKey: key)
        var elements: [Element] = []
        while !array.isAtEnd { elements.append(try Element._decodeElement(&array)) }
        return elements
    }

    public static func _decode<Key: CodingKey>(
        optional values: KeyedDecodingContainer<Key>, _ key: Key
    ) throws -> [Element]? {
        guard values.contains(key), try !values.decodeNil(forKey: key) else { return nil }
        return try _decode(values, key)
    }

    public func _encode<Key: CodingKey>(
        _ values: inout KeyedEncodingContainer<Key>, _ key: Key
    ) throws {
        var array: any UnkeyedEncodingContainer = values.nestedUnkeyedContainer(forKey: key)
        for element in self { try element._encodeElement(&array) }
    }

    public static func _encode<Key: CodingKey>(
        optional value: [Element]?, _ values: inout KeyedEncodingContainer<Key>, _ key: Key
    ) throws { try value?._encode(&values, key) }
}

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
