/// One change in the form of the body of an entry.
package struct JournalChange {
    package static let saltOffset = 4
    package static let saltByteCount = 16
    package static let headerByteCount = 48
    private static let redactedFlag: UInt8 = 1
    private static let linksFlag: UInt8 = 2
    /// The number for the kind of a change that leaves the object's record unchanged.
    private static let linksOnly: UInt8 = 4

    /// The kind; an update where only links change.
    package let kind: ChangeKind
    /// False where only links of the object change, and its record does not.
    package let changesRecord: Bool
    package let entity: EntityNumber
    package let id: ObjectID
    /// The revision of the object's previous change; 0 when there was none.
    package let previous: Revision
    /// The redaction of the change; nil for a change that is as it was written.
    package let redaction: Redaction?
    /// The whole body of the record for an insert or delete; the changed cells for an update.
    package let payload: UnsafeRawBufferPointer
    /// The changed links whose source is the object, encoded.
    package let linkBytes: UnsafeRawBufferPointer
    /// All bytes of the change, including length and salt.
    package let bytes: UnsafeRawBufferPointer

    /// Reads the change at the reader's position.
    package init(decoding reader: inout ByteReader) throws(DecodingFailure) {
        bytes = try Self.readBlock(&reader, minimum: Self.headerByteCount)
        var fields = ByteReader(bytes)
        _ = try fields.read(byteCount: Self.saltOffset + Self.saltByteCount)
        let number: UInt8 = try fields.read()
        changesRecord = number != Self.linksOnly
        guard let kind = changesRecord ? ChangeKind(rawValue: number) : .update else {
            throw DecodingFailure("a change of an unknown kind")
        }
        self.kind = kind
        let flags: UInt8 = try fields.read()
        guard flags & ~(Self.redactedFlag | Self.linksFlag) == 0,
            changesRecord || flags == Self.linksFlag
        else { throw DecodingFailure("a change of a later format") }
        entity = EntityNumber(try fields.read(UInt16.self))
        id = try fields.readObjectID()
        previous = Revision(try fields.read())
        redaction =
            flags & Self.redactedFlag == 0
            ? nil : try Redaction(decoding: &fields, of: bytes, kind)
        linkBytes =
            flags & Self.linksFlag == 0
            ? UnsafeRawBufferPointer(start: nil, count: 0)
            : try fields.read(byteCount: Int(try fields.read(UInt32.self)))
        payload = try fields.read(byteCount: fields.remaining)
        guard changesRecord || (payload.isEmpty && previous == .zero) else {
            throw DecodingFailure("a change of links with values")
        }
    }

    /// True when links change whose source is the object.
    package var changesLinks: Bool { !linkBytes.isEmpty }

    /// Returns the changed links whose source is the object, in ascending order.
    package func links() throws(DecodingFailure) -> [LinkChange] {
        linkBytes.isEmpty ? [] : try LinkChange.decode(linkBytes, from: id)
    }

    /// Appends the header before the payload; its length and salt are zeros, to be filled in.
    static func appendHeader(
        _ kind: ChangeKind?, _ entity: EntityNumber, _ id: ObjectID, _ previous: Revision,
        redaction: ByteStorage? = nil, links: some Collection<LinkChange>,
        to buffer: inout ByteBuffer
    ) {
        buffer.append(UInt32(0))
        buffer.appendZeros(saltByteCount)
        buffer.append(kind?.rawValue ?? linksOnly)
        buffer.append(
            (redaction == nil ? 0 : redactedFlag) | (links.isEmpty ? 0 : linksFlag))
        buffer.append(UInt16(entity.rawValue))
        buffer.append(id)
        buffer.append(previous.number)
        if let redaction { buffer.append(redaction.bytes) }
        if links.isEmpty { return }
        let start = buffer.count
        buffer.append(UInt32(0))
        LinkChange.append(links, to: &buffer)
        buffer.overwrite(UInt32(buffer.count - start - 4), at: start)
    }

    /// Reads a block that begins with its own length.
    static func readBlock(
        _ reader: inout ByteReader, minimum: Int
    ) throws(DecodingFailure) -> UnsafeRawBufferPointer {
        var ahead = reader
        let count = Int(try ahead.read(UInt32.self))
        guard count >= minimum else { throw DecodingFailure("a block of \(count) bytes") }
        return try reader.read(byteCount: count)
    }

    /// Returns the object of the change at a reader's position, without reading the change.
    @inline(__always)
    static func key(
        ahead reader: ByteReader
    ) throws(DecodingFailure) -> (entity: EntityNumber, id: ObjectID) {
        var fields = reader
        _ = try fields.read(byteCount: saltOffset + saltByteCount + 2)
        return (EntityNumber(try fields.read(UInt16.self)), try fields.readObjectID())
    }

    /// Returns the digest of a block in the journal's hash chain: over everything after its length.
    package static func digest(of block: UnsafeRawBufferPointer) -> Digest {
        Digest(of: UnsafeRawBufferPointer(rebasing: block[saltOffset...]))
    }

    /// The digest of this change, which redaction does not alter.
    package var digest: Digest { redaction?.digest ?? Self.digest(of: bytes) }

    /// One property's part of an update.
    package struct ChangedCell {
        package let slot: Slot
        package let type: ValueType
        package let before: Cell?
        package let after: Cell?
        /// True when the value was redacted; `before` is nil then.
        package var isBeforeRedacted = false
        package var isAfterRedacted = false
    }

    /// Returns the slots that an update changes; all for an insert, a delete, and a change without
    /// some of its cells.
    package func changedSlots() throws(DecodingFailure) -> SlotSet {
        guard kind == .update, redaction == nil else { return .all }
        return SlotSet(try changedCells().lazy.map(\.slot))
    }

    /// Returns the changed cells of an update, in ascending order of slot.
    package func changedCells() throws(DecodingFailure) -> [ChangedCell] {
        if !changesRecord { return [] }
        var reader = ByteReader(payload)
        let count = try reader.read(UInt16.self)
        var cells: [ChangedCell] = []
        for _ in 0..<count {
            let cell = try ChangedCell(decoding: &reader)
            guard cells.last.map({ $0.slot < cell.slot }) ?? true else {
                throw DecodingFailure("changed cells out of order")
            }
            guard redaction != nil || !(cell.isBeforeRedacted || cell.isAfterRedacted) else {
                throw DecodingFailure("a redacted cell in a change that is not")
            }
            cells.append(cell)
        }
        try reader.expectEnd()
        return cells
    }
}

extension JournalChange.ChangedCell {
    private static let hasBefore: UInt8 = 1
    private static let hasAfter: UInt8 = 2
    private static let beforeIsRedacted: UInt8 = 4
    private static let afterIsRedacted: UInt8 = 8

    package static func append(
        slot: Slot, type: ValueType, before: Cell?, after: Cell?, to buffer: inout ByteBuffer
    ) {
        Self(slot: slot, type: type, before: before, after: after).append(to: &buffer)
    }

    package func append(to buffer: inout ByteBuffer) {
        buffer.append(UInt16(slot.index))
        buffer.append(type.rawValue)
        buffer.append(
            (before == nil ? 0 : Self.hasBefore) | (after == nil ? 0 : Self.hasAfter)
                | (isBeforeRedacted ? Self.beforeIsRedacted : 0)
                | (isAfterRedacted ? Self.afterIsRedacted : 0))
        for cell in [before, after] {
            switch cell {
            case nil: break
            case .word(let word): buffer.append(word)
            case .bytes(let bytes):
                buffer.append(UInt32(bytes.count))
                buffer.append(bytes)
            }
        }
    }

    fileprivate init(decoding reader: inout ByteReader) throws(DecodingFailure) {
        slot = Slot(try reader.read(UInt16.self))
        guard let type = ValueType(rawValue: try reader.read()) else {
            throw DecodingFailure("a cell of an unknown type")
        }
        self.type = type
        let flags: UInt8 = try reader.read()
        isBeforeRedacted = flags & Self.beforeIsRedacted != 0
        isAfterRedacted = flags & Self.afterIsRedacted != 0
        guard flags < Self.afterIsRedacted << 1,
            !isBeforeRedacted || flags & Self.hasBefore == 0,
            !isAfterRedacted || flags & Self.hasAfter == 0
        else { throw DecodingFailure("a cell of a later format") }
        func cell(_ flag: UInt8) throws(DecodingFailure) -> Cell? {
            if flags & flag == 0 { return nil }
            if type.isInline { return .word(try reader.read()) }
            return .bytes(try reader.read(byteCount: Int(try reader.read(UInt32.self))))
        }
        before = try cell(Self.hasBefore)
        after = try cell(Self.hasAfter)
    }
}
