import FoundationEssentials

/// The body of a record decoded by the schema alone, for code that does not know the model's class.
package struct RecordBody {
    package private(set) var bytes: UnsafeRawBufferPointer
    package let entity: Entity

    /// - Throws: `DecodingFailure` when the body does not belong to this entity.
    package init(_ bytes: UnsafeRawBufferPointer, of entity: Entity) throws(DecodingFailure) {
        self.bytes = bytes
        self.entity = entity
        _ = try RecordReader(body: bytes, propertyCount: entity.properties.count)
    }

    /// Creates a body without bytes, from which nothing can be read before it is moved.
    init(emptyOf entity: Entity) {
        bytes = UnsafeRawBufferPointer(start: nil, count: 0)
        self.entity = entity
    }

    /// Moves to the bytes of another body.
    ///
    /// - Throws: `DecodingFailure` when it does not belong to this entity.
    mutating func move(to bytes: UnsafeRawBufferPointer) throws(DecodingFailure) {
        _ = try RecordReader(body: bytes, propertyCount: entity.properties.count)
        self.bytes = bytes
    }

    /// A reader of the values, made for each use: a smaller body is copied faster.
    private var reader: RecordReader {
        RecordReader(checked: bytes, propertyCount: entity.properties.count)
    }

    /// Returns the stored bytes of a property, without the mark of a normalised string; nil when it
    /// has no value.
    package func cell(_ slot: Slot) throws(DecodingFailure) -> Cell? {
        var reader = reader
        return try cell(slot, &reader)
    }

    /// Returns the stored bytes of all properties, which together are no longer than the body.
    package func cells() throws(DecodingFailure) -> [Cell?] {
        var reader = reader
        var cells: [Cell?] = []
        cells.reserveCapacity(entity.properties.count)
        for slot in entity.properties.slots { cells.append(try cell(slot, &reader)) }
        return cells
    }

    private func cell(
        _ slot: Slot, _ reader: inout RecordReader
    ) throws(DecodingFailure) -> Cell? {
        if reader.isNull(slot: slot) { return nil }
        let type = entity.properties[slot].type
        if type.isInline { return .word(reader.word(slot: slot)) }
        let bytes = reader.bytes(slot: slot)
        guard !reader.isDamaged, entity.properties[slot].hasSize(bytes.count) else {
            throw DecodingFailure("\(entity.name).\(entity.properties[slot].name) is damaged")
        }
        return .bytes(bytes)
    }

    /// Returns the value of a property.
    package func value(_ slot: Slot) throws(DecodingFailure) -> Value {
        try entity.properties[slot].value(try cell(slot))
    }

    /// Returns the values of all properties.
    package func values() throws(DecodingFailure) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(entity.properties.count)
        for (property, cell) in zip(entity.properties, try cells()) {
            values.append(try property.value(cell))
        }
        return values
    }

    /// Returns the id of the object that a reference points to.
    package func reference(_ slot: Slot) throws(DecodingFailure) -> ObjectID? {
        guard case .bytes(let bytes)? = try cell(slot), bytes.count >= 16 else { return nil }
        return ObjectID(bytes: bytes)
    }

    /// Returns the position of the object among the members that it belongs to by a reference.
    package func position(_ slot: Slot) throws(DecodingFailure) -> ListPosition? {
        guard case .bytes(let bytes)? = try cell(slot), bytes.count > 16 else { return nil }
        guard let position = ListPosition(bytes: bytes[16...]) else {
            throw DecodingFailure("\(entity.name).\(entity.properties[slot].name) has no position")
        }
        return position
    }

    /// Calls `body` for each reference that is not nil.
    package func forEachReference(
        _ body: (_ slot: Slot, _ target: ObjectID) throws -> Void
    ) throws {
        for slot in entity.referenceSlots {
            if let target = try reference(slot) { try body(slot, target) }
        }
    }
}

extension Property {
    /// Returns whether a value of the type can have a size in the tail of a body.
    fileprivate func hasSize(_ byteCount: Int) -> Bool {
        switch type {
        case .uuid: byteCount == 16
        case .reference: hasPosition ? byteCount > 16 : byteCount == 16
        case .data where isLarge: byteCount == LargeValue.storedByteCount
        default: true
        }
    }
}

/// The stored bytes of one value.
package enum Cell {
    case word(UInt64)
    case bytes(UnsafeRawBufferPointer)

    package static func == (one: Cell, other: Cell) -> Bool {
        switch (one, other) {
        case (.word(let one), .word(let other)): one == other
        case (.bytes(let one), .bytes(let other)): one.hasSameBytes(as: other)
        default: false
        }
    }

    /// Returns whether both have no value, or the same bytes.
    package static func areEqual(_ one: Cell?, _ other: Cell?) -> Bool {
        switch (one, other) {
        case (nil, nil): true
        case (let one?, let other?): one == other
        default: false
        }
    }

    package var byteCount: Int {
        switch self {
        case .word: 8
        case .bytes(let bytes): bytes.count
        }
    }
}

extension Value {
    /// Creates the value that is stored as these bytes; `.null` for none.
    package init(_ cell: Cell?, type: ValueType) throws(DecodingFailure) {
        guard let cell else {
            self = .null
            return
        }
        try self.init(cell, type: type)
    }

    private init(_ cell: Cell, type: ValueType) throws(DecodingFailure) {
        switch cell {
        case .word(let word) where type.isInline: try self.init(inlineWord: word, type: type)
        case .bytes(let bytes) where !type.isInline: try self.init(tailBytes: bytes, type: type)
        default: throw DecodingFailure("a value that is no \(type)")
        }
    }
}

extension OptionalValue {
    /// Returns whether the value is present with all that it requires, or absent without members.
    func isWhole(in cells: [Cell?]) -> Bool {
        switch cells[presence] {
        case nil: members.allSatisfy { cells[$0] == nil }
        case .word(1): required.allSatisfy { cells[$0] != nil }
        default: false
        }
    }
}

extension Entity {
    /// Returns whether a body must have a value in a slot.
    func needsValue(_ slot: Slot, in cells: [Cell?]) -> Bool {
        guard let value = optionalValue(at: slot) else { return !properties[slot].isOptional }
        return cells[value.presence] != nil && value.required.contains(slot)
    }
}
