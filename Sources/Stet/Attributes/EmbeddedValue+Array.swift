// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only.

public import StetStore

// Embedded values as the elements of an array, each of which is a record within that of the owner.

extension EmbeddedValue {
    @inlinable public static var _elementType: ValueType { .embedded }

    public static var _embeddedMembers: _ElementMembers? {
        let described = _$members.map(\.described)
        return _ElementMembers(
            elements: EmbeddedElements(members: described.map(\.property), identity: identity),
            origins: described.map(\.origin))
    }

    /// The slot of the member `id` of an `Identifiable` value; nil when it has no such member.
    private static var identity: Slot? {
        guard self is any Identifiable.Type else { return nil }
        return _$members.map(\.described.property).slotted.first { _, member in
            member.name == "id" && !member.isOptional
        }?.0
    }

    public static func _readArray(
        _ reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> [Self] {
        guard let readers = try? reader.elements(slot: slot, memberCount: _$memberCount) else {
            throw _UnreadableValue(slot: slot)
        }
        var array: [Self] = []
        array.reserveCapacity(readers.count)
        for var members in readers {
            guard let element = try? Self(_$reader: &members, slot: 0), !members.isDamaged else {
                throw _UnreadableValue(slot: slot)
            }
            array.append(element)
        }
        return array
    }

    public static func _writeArray(_ array: [Self], _ writer: inout RecordWriter, slot: Slot) {
        writer.writeElements(count: array.count, memberCount: _$memberCount, slot: slot) {
            array[$0]._$encode(into: &$1, slot: 0)
        }
    }

    /// Returns the array with the members normalised of all elements that it does not share with
    /// `base`.
    public static func _normalizedArray(_ array: [Self], since base: [Self]?) -> [Self]? {
        if _$members.allSatisfy(\.described.normalizers.isEmpty) { return nil }
        let base = base ?? []
        // Most edits leave the elements before and after them as they are.
        let start = zip(array, base).prefix { $0 == $1 }.count
        let (rest, former) = (array[start...], base[start...])
        let end = array.count - zip(rest.reversed(), former.reversed()).prefix { $0 == $1 }.count
        let changed = base[start..<(base.count - (array.count - end))]
        var normalized = array
        for index in start..<end where !changed.contains(array[index]) {
            normalized[index]._$normalize(since: nil)
        }
        return normalized == array ? nil : normalized
    }

    public static func _decodeElement(
        _ array: inout any UnkeyedDecodingContainer
    ) throws -> Self { try array.decode(EmbeddedCoding<Self>.self).value }

    public func _encodeElement(_ array: inout any UnkeyedEncodingContainer) throws {
        try array.encode(EmbeddedCoding(value: self))
    }

    public var _value: Value {
        .dictionary(
            Dictionary(
                uniqueKeysWithValues: zip(Self._$members, _$values).map {
                    (.string($0.described.property.name), $1)
                }))
    }

    public init?(_value: Value) {
        guard case .dictionary(let members) = _value, members.count == Self._$memberCount else {
            return nil
        }
        var values: [Value] = []
        for member in Self._$members {
            guard let value = members[.string(member.described.property.name)] else { return nil }
            values.append(value)
        }
        self.init(_$values: values)
    }
}
