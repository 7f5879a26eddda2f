// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only.

public import FoundationEssentials
public import StetStore

// An optional embedded value: a slot that shows whether it is present, before those of its members.

// MARK: - What the generated code of models calls

extension EmbeddedValue {
    @inlinable public static var _optionalSlotCount: Int { 1 &+ _$memberCount }

    public static func _field(optionalOf object: _QueryObject, slot: Slot) -> Fields? {
        Fields(
            _object: _QueryObject(object.place, presence: slot), slot: Slot(slot.index &+ 1))
    }

    public static func _normalized(
        optional storage: borrowing Self?, since base: Self??
    ) -> Self?? {
        guard let value = copy storage else { return nil }
        return _normalized(value, since: base ?? nil).map { .some($0) }
    }

    public static func _stamped(
        optional storage: borrowing Self?, _ date: Date, isInsert: Bool
    ) -> Self?? {
        guard let value = copy storage else { return nil }
        return _stamped(value, date, isInsert: isInsert).map { .some($0) }
    }
}

// MARK: - As the field of a snapshot

extension EmbeddedValue {
    @inlinable
    public static func _field(
        optional reader: inout RecordReader, slot: Slot
    ) throws(_UnreadableValue) -> Self? {
        reader.isNull(slot: slot)
            ? nil : try Self(_$reader: &reader, slot: Slot(slot.index &+ 1))
    }

    @inlinable
    public static func _write(optional value: Self?, _ writer: inout RecordWriter, slot: Slot) {
        if let value {
            writer.write(word: 1, slot: slot)
            value._$encode(into: &writer, slot: Slot(slot.index &+ 1))
        } else {
            for offset in 0..._$memberCount { writer.writeNull(slot: Slot(slot.index &+ offset)) }
        }
    }

    public static func _decode<Key: CodingKey>(
        optional values: KeyedDecodingContainer<Key>, _ key: Key
    ) throws -> Self? {
        try values.decodeIfPresent(EmbeddedCoding<Self>.self, forKey: key)?.value
    }

    public static func _encode<Key: CodingKey>(
        optional value: Self?, _ values: inout KeyedEncodingContainer<Key>, _ key: Key
    ) throws {
        try values.encodeIfPresent(value.map(EmbeddedCoding.init), forKey: key)
    }
}

// MARK: - As properties of a model

extension EmbeddedValue {
    /// Returns the properties of an optional value, in the order of their slots: its presence, and
    /// its members.
    static func _$described(
        _ name: String, formerly originalName: String? = nil, isHidden: Bool = false,
        default value: (@Sendable () -> Self?)? = nil
    ) -> [DescribedProperty] {
        var presence = DescribedProperty(name, Bool?.self, isHidden ? [.hidden] : [])
        presence.origin.names = originalName.map { [$0] } ?? []
        if let value { presence.origin.value = { value() == nil ? .null : .bool(true) } }
        let members = _$members.map { member in
            var described = member.described.member(
                of: name, formerly: originalName, isHidden: isHidden, isInOptional: true)
            if let value { described.origin.value = { value().map(member.value) ?? .null } }
            return described
        }
        return [presence] + members
    }
}

extension _ModelProperty {
    /// Creates a description of the presence and the members of an optional embedded value.
    public init<T: EmbeddedValue>(
        _ name: String, _ type: T?.Type, _ keyPath: KeyPath<M.Snapshot, T?>,
        _ options: [AttributeOption] = [], relationship: [RelationshipOption] = [],
        deleteRule: DeleteRule = .nullify, originalName: String? = nil,
        default value: (@Sendable () -> T?)? = nil
    ) {
        let described = T._$described(
            name, formerly: originalName, isHidden: options.contains(where: \.isHidden),
            default: value)
        let members = zip(T._$members, described.dropFirst()).map { member, described in
            guard
                let whole = (keyPath as PartialKeyPath<M.Snapshot>)
                    .appending(path: member.optionalKeyPath)
            else { trap("\(T.self) describes a member that it does not have") }
            return Part(described: described, keyPath: whole, embedded: keyPath)
        }
        self.init(parts: [Part(described: described[0], keyPath: keyPath)] + members)
    }
}
