import FoundationEssentials

/// Encodes the bodies of records, one after another, into one buffer.
///
/// Used by the code that `@Model` writes.
public struct RecordWriter: ~Copyable {
    @usableFromInline package var buffer: ByteBuffer
    /// The offset of the body that is being written.
    @usableFromInline package var start = 0
    /// The offset of its slots.
    @usableFromInline package var slots = 0
    /// The values that could not be written.
    package internal(set) var failures: [Failure] = []
    /// The positions of the references of the body that is being written, by slot.
    @usableFromInline package var positions: [(slot: Slot, position: ListPosition)] = []
    /// The slots of the references that have positions; one without a given position gets the first
    /// position of a list.
    @usableFromInline package var placedSlots: [Slot] = []

    /// A value that cannot be stored.
    package struct Failure: Sendable {
        /// The offset of its body.
        package let start: Int
        package let slot: Slot
        package let reason: EncodingFailure
    }

    package init(capacity: Int = 1_024) {
        buffer = ByteBuffer(capacity: capacity)
    }

    /// Begins a body with a number of properties; every slot is 0 and not null until it is written.
    ///
    /// References in `placedSlots` have positions.
    package mutating func begin(propertyCount: Int, placedSlots: [Slot] = []) {
        positions = []
        self.placedSlots = placedSlots
        start = buffer.count
        slots = start + RecordLayout.bitmapByteCount(propertyCount)
        buffer.appendZeros(RecordLayout.fixedByteCount(propertyCount))
    }

    /// Writes a value that fits its slot.
    @inlinable
    public mutating func write(word: UInt64, slot: Slot) {
        buffer.overwrite(word, at: slots &+ slot.index &* 8)
    }

    /// Marks a property as having no value.
    @inlinable
    public mutating func writeNull(slot: Slot) {
        let byte = start &+ slot.index / 8
        let bit = UInt8(1) << UInt8(slot.index % 8)
        let present = buffer.base.load(fromByteOffset: byte, as: UInt8.self)
        buffer.overwrite(present | bit, at: byte)
    }

    /// Writes bytes to the tail.
    @inlinable
    public mutating func write(
        bytes: UnsafeRawBufferPointer, slot: Slot, isNormalized: Bool = false
    ) {
        let offset = buffer.count &- start
        write(
            word: RecordLayout.tailSlot(
                offset: offset, byteCount: bytes.count, isNormalized: isNormalized),
            slot: slot)
        buffer.append(bytes)
    }

    /// Writes the UTF-8 bytes of a string, and whether they are known to be in normal form C.
    @inlinable
    public mutating func write(string: String, slot: Slot) {
        var string = string
        let isASCII = string.withUTF8 { utf8 in
            write(bytes: UnsafeRawBufferPointer(utf8), slot: slot, isNormalized: true)
            return UnsafeRawBufferPointer(utf8).isASCII
        }
        if !isASCII { markNormalization(of: string, slot: slot) }
    }

    @usableFromInline
    mutating func markNormalization(of string: String, slot: Slot) {
        var span = string.utf8Span
        if span.checkForNFC(quickCheck: true) { return }
        let offset = slots + slot.index * 8
        let word = UInt64(
            littleEndian: buffer.base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        buffer.overwrite(word & ~(1 << 63), at: offset)
    }

    /// Writes an id to the tail, with its position if the reference has one.
    @inlinable
    public mutating func write(id: ObjectID, slot: Slot) {
        if !(positions.isEmpty && placedSlots.isEmpty), let position = position(in: slot) {
            return write(id: id, at: position, slot: slot)
        }
        write(
            word: RecordLayout.tailSlot(
                offset: buffer.count &- start, byteCount: 16, isNormalized: false),
            slot: slot)
        buffer.append(id)
    }

    @usableFromInline
    func position(in slot: Slot) -> ListPosition? {
        positions.first { $0.slot == slot }?.position
            ?? (placedSlots.contains(slot) ? ListPosition.first : nil)
    }

    @usableFromInline
    mutating func write(id: ObjectID, at position: ListPosition, slot: Slot) {
        write(
            word: RecordLayout.tailSlot(
                offset: buffer.count - start, byteCount: 16 + position.bytes.count,
                isNormalized: false),
            slot: slot)
        buffer.append(id)
        position.bytes.withUnsafeBytes { buffer.append($0) }
    }
}

/// Reads one body that was checked to be long enough for its slots.
///
/// A damaged tail returns empty values and sets `isDamaged`; nothing traps. Used by the code that
/// `@Model` writes.
public struct RecordReader {
    @usableFromInline let base: UnsafeRawPointer
    @usableFromInline let byteCount: Int
    @usableFromInline let slots: Int
    /// True when a value is outside the body: the values that were read must not be used.
    @inlinable public var isDamaged: Bool { foundDamage }
    @usableFromInline var foundDamage: Bool
    /// The number of bytes of the tail that no value has used yet: overlapping values would let a
    /// small body decode to large ones.
    @usableFromInline var remainingByteCount: Int
    /// The object of the record, and the labels of its sealed attributes, if they are to be
    /// compared.
    @usableFromInline var object = ObjectID.none
    @usableFromInline var labels: Unmanaged<SealLabels>?

    /// - Throws: `DecodingFailure` when the body is too short for the number of properties.
    @inlinable
    package init(body: UnsafeRawBufferPointer, propertyCount: Int) throws(DecodingFailure) {
        guard body.count >= RecordLayout.fixedByteCount(propertyCount) else {
            throw DecodingFailure(tooShortBody: body.count, propertyCount)
        }
        self.init(checked: body, propertyCount: propertyCount)
    }

    /// Creates a reader of a body that is long enough for the number of properties.
    @inlinable
    package init(checked body: UnsafeRawBufferPointer, propertyCount: Int) {
        // An empty buffer may have no base address. A record without properties is never read.
        base = body.baseAddress ?? UnsafeRawPointer(bitPattern: 8)!
        byteCount = body.count
        slots = RecordLayout.bitmapByteCount(propertyCount)
        foundDamage = false
        remainingByteCount = body.count &- RecordLayout.fixedByteCount(propertyCount)
    }

    /// Returns whether the property has no value.
    @inlinable @inline(__always)
    public func isNull(slot: Slot) -> Bool {
        base.load(fromByteOffset: slot.index / 8, as: UInt8.self) & 1 << UInt8(slot.index % 8) != 0
    }

    /// Returns the 8 bytes of a slot.
    @inlinable @inline(__always)
    public func word(slot: Slot) -> UInt64 {
        UInt64(
            littleEndian: base.loadUnaligned(
                fromByteOffset: slots &+ slot.index &* 8, as: UInt64.self))
    }

    /// Returns the bytes that a slot points to; each value of a body may be read once.
    @inlinable @inline(__always)
    public mutating func bytes(slot: Slot) -> UnsafeRawBufferPointer {
        let word = word(slot: slot)
        let offset = RecordLayout.offset(word)
        let count = RecordLayout.byteCount(word)
        remainingByteCount &-= count
        guard offset &+ count <= byteCount, remainingByteCount >= 0 else {
            markDamaged()
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return UnsafeRawBufferPointer(start: base + offset, count: count)
    }

    @usableFromInline
    mutating func markDamaged() { foundDamage = true }

    /// Returns whether a string is known to be in normal form C.
    func isNormalized(slot: Slot) -> Bool { word(slot: slot) >> 63 != 0 }

    /// Returns the string in a slot.
    @inlinable
    public mutating func string(slot: Slot) -> String {
        String(decoding: bytes(slot: slot), as: UTF8.self)
    }

    /// Returns the id in a slot.
    @inlinable
    public mutating func id(slot: Slot) -> ObjectID {
        let bytes = bytes(slot: slot)
        guard bytes.count >= 16 else {
            markDamaged()
            return .none
        }
        return ObjectID(bytes: bytes)
    }
}

extension RecordWriter {
    /// Writes the values of all properties, in the order of their slots.
    package mutating func write(_ values: [Value]) {
        for (slot, value) in values.slotted { write(value, slot: slot) }
    }

    /// Writes the values of all properties of an entity, among them arrays of embedded values.
    package mutating func write(_ values: [Value], of entity: Entity) {
        for (slot, property) in entity.properties.slotted {
            write(values[slot], slot: slot, of: property)
        }
    }

    /// Writes the value of a property, which may be an array of embedded values.
    mutating func write(_ value: Value, slot: Slot, of property: Property) {
        guard let embedded = property.embedded, case .list(let elements) = value else {
            return write(value, slot: slot)
        }
        do throws(EncodingFailure) {
            let bytes = try embedded.bytes(of: elements)
            bytes.withUnsafeBytes { write(bytes: $0, slot: slot) }
        } catch {
            fail(error, slot: slot)
        }
    }

    /// Writes a value of any type; a value that cannot be stored becomes a failure and is written
    /// as null.
    package mutating func write(_ value: Value, slot: Slot) {
        switch value {
        case .null: writeNull(slot: slot)
        case .string(let text): write(string: text, slot: slot)
        case .data(let data): data.withUnsafeBytes { write(bytes: $0, slot: slot) }
        case .uuid(let uuid): write(id: ObjectID(uuid), slot: slot)
        case .reference(let id): write(id: id, slot: slot)
        case .placed(let id, let position): write(id: id, at: position, slot: slot)
        default:
            if let word = value.inlineWord { return write(word: word, slot: slot) }
            do throws(EncodingFailure) {
                let bytes = try value.tailBytes()
                bytes.withUnsafeBytes { write(bytes: $0, slot: slot) }
            } catch {
                fail(error, slot: slot)
            }
        }
    }

    /// Records that a value cannot be stored; the body must not be saved.
    package mutating func fail(_ reason: EncodingFailure, slot: Slot) {
        writeNull(slot: slot)
        failures.append(Failure(start: start, slot: slot, reason: reason))
    }
}

extension RecordReader {
    /// Returns the value in a slot, of a type whose values are in the tail.
    package mutating func value(
        slot: Slot, type: ValueType
    ) throws(DecodingFailure) -> Value {
        try Value(tailBytes: bytes(slot: slot), type: type)
    }
}
