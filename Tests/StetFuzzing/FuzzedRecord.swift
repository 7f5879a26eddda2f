import StetStore

/// Control byte (1 = the checksum is repaired, then the entity's index), the record as a frame,
/// then the cells of an update.
enum FuzzedRecord {
    static func decode(_ input: inout HostileInput) throws {
        let control = input.byte()
        let index = Int(control >> 1) % FuzzSchema.schema.entities.count
        var record = input.frame()
        if control & 1 != 0 { repair(&record, of: FuzzSchema.object) }
        let cells = input.remainder()
        try record.withUnsafeBytes { bytes in
            let header = try RecordHeader(decoding: bytes)
            try header.verify(bytes, of: FuzzSchema.object)
            let body = UnsafeRawBufferPointer(rebasing: bytes[RecordLayout.headerByteCount...])
            try checkHeader(header, bytes, body)
            if header.isTombstone { return }
            try check(body, ofEntity: EntityNumber(index: index))
            try checkUpdate(body, cells, FuzzSchema.schema.entities[index])
        }
    }

    /// Gives a record known flags and the checksum of its bytes.
    static func repair(_ record: inout [UInt8], of id: ObjectID) {
        guard record.count >= RecordLayout.headerByteCount else { return }
        record[0] = RecordHeader.format
        record[1] &= 1
        record.withUnsafeMutableBytes { bytes in
            let body = UnsafeRawBufferPointer(rebasing: bytes[RecordLayout.headerByteCount...])
            let hash = RecordHeader.bodyHash(body, of: id)
            let header = try? RecordHeader(decoding: UnsafeRawBufferPointer(bytes))
            header?.store(bodyHash: hash, to: bytes.baseAddress!)
        }
    }

    private static func checkHeader(
        _ header: RecordHeader, _ record: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer
    ) throws {
        var again = [UInt8](repeating: 0, count: RecordLayout.headerByteCount)
        again.withUnsafeMutableBytes { bytes in
            header.store(
                bodyHash: RecordHeader.bodyHash(body, of: FuzzSchema.object),
                to: bytes.baseAddress!)
        }
        try promise(again.elementsEqual(record.prefix(again.count)), "another header: \(header)")
    }

    /// Everything that is made of a body.
    private static func check(_ bytes: UnsafeRawBufferPointer, ofEntity number: EntityNumber) throws
    {
        let entity = FuzzSchema.schema.entities[number]
        let isReadable = try readAsModelsDo(bytes, entity)
        try checkChangeSet(bytes, ofEntity: number)
        let body = try RecordBody(bytes, of: entity)
        try body.forEachReference { _, _ in }
        for slot in entity.properties.slots { try checkValue(slot, body) }
        try promise(isReadable, "models find damage in a body that has none")
        let cells = try OwnedCell.all(of: body)
        let folded = FoldedBody.assemble(
            try entity.properties.slots.map { try body.cell($0) }, entity)
        try promise(folded.count <= bytes.count, "\(bytes.count) bytes have become \(folded.count)")
        try folded.withUnsafeBytes { folded in
            let again = try OwnedCell.all(of: RecordBody(folded, of: entity))
            try promise(again == cells, "the fold has changed a body")
        }
    }

    /// Checks that the decoded value of a newer type is encoded as the same bytes.
    private static func checkValue(_ slot: Slot, _ body: RecordBody) throws {
        let value = try body.value(slot)
        _ = value.description
        guard case .bytes(let bytes)? = try body.cell(slot),
            body.entity.properties[slot].type.rawValue > 8
        else { return }
        let again = try? value.tailBytes()
        try promise(again?.elementsEqual(bytes) ?? false, "\(value) is written in another way")
    }

    private static func readAsModelsDo(
        _ body: UnsafeRawBufferPointer, _ entity: Entity
    ) throws -> Bool {
        var reader = try RecordReader(body: body, propertyCount: entity.properties.count)
        for (slot, property) in entity.properties.slotted where !reader.isNull(slot: slot) {
            switch property.type {
            case .string: _ = reader.string(slot: slot)
            case .data: _ = reader.bytes(slot: slot).last
            case .uuid, .reference: _ = reader.id(slot: slot)
            case let type where type.isInline: _ = reader.word(slot: slot)
            case let type: _ = try? reader.value(slot: slot, type: type)
            }
        }
        return !reader.isDamaged
    }

    /// A save that inserts, changes and deletes such an object.
    private static func checkChangeSet(
        _ bytes: UnsafeRawBufferPointer, ofEntity number: EntityNumber
    ) throws {
        var changes = ChangeSetBuilder(schema: FuzzSchema.schema)
        let body = changes.copy(bytes)
        let blank = changes.encode(entity: number) { writer in
            for slot in FuzzSchema.schema.entities[number].properties.slots {
                writer.writeNull(slot: slot)
            }
        }
        let kinds: [(ChangeKind, Range<Int>, Range<Int>)] = [
            (.insert, 0..<0, body), (.update, blank, body), (.update, body, blank),
            (.delete, body, 0..<0),
        ]
        for (offset, (kind, before, after)) in kinds.enumerated() {
            let id = ObjectID(high: FuzzSchema.object.high, low: 1 << 63 | UInt64(offset))
            changes.append(
                ChangeSetBuilder.Item(
                    kind: kind, entity: number, id: id, base: 0, before: before, after: after))
        }
        let violations = try changes.violations()
        _ = violations.map(\.description)
        let shown = try changes.changeSet()
        let encoded = try changes.encoded(
            attributes: CommitAttributes(), base: 0, token: 0, time: 0)
        try promise(
            try encoded.changeSet().changes.map(\.description) == shown.changes.map(\.description),
            "the journal says something else than the change set")
    }

    /// An update of the body by hostile cells.
    private static func checkUpdate(
        _ bytes: UnsafeRawBufferPointer, _ payload: [UInt8], _ entity: Entity
    ) throws {
        let block = [UInt8](changeOf: 1, FuzzSchema.object, kind: .update, payload)
        try block.withUnsafeBytes { block in
            var reader = ByteReader(block)
            let change = try JournalChange(decoding: &reader)
            let cells = try change.changedCells()
            let sides: [KeyPath<JournalChange.ChangedCell, Cell?>] = [\.before, \.after]
            for side in sides {
                let result = try FoldedBody.applying(change, side, to: Array(bytes), of: entity)
                try promise(
                    result.count <= bytes.count + payload.count,
                    "\(bytes.count) and \(payload.count) bytes have become \(result.count)")
                var expected = try OwnedCell.all(of: RecordBody(bytes, of: entity))
                for cell in cells { expected[cell.slot] = cell[keyPath: side].map(OwnedCell.init) }
                let found = try result.withUnsafeBytes { result in
                    try OwnedCell.all(of: RecordBody(result, of: entity))
                }
                try promise(found == expected, "an update has become another")
            }
        }
    }
}

extension [UInt8] {
    /// Creates a change as in the body of an entry, with a salt of zeros.
    init(changeOf entity: EntityNumber, _ id: ObjectID, kind: ChangeKind, _ payload: [UInt8]) {
        var buffer = ByteBuffer()
        buffer.append(kind.rawValue)
        buffer.append(UInt8(0))
        buffer.append(UInt16(entity.rawValue))
        buffer.append(id)
        buffer.append(UInt64(0))
        self.init(block: Array(buffer.bytes) + payload)
    }

    /// A block of an entry: length, a salt of zeros, contents.
    init(block contents: [UInt8]) {
        let salt = [UInt8](repeating: 0, count: JournalChange.saltByteCount)
        let count = JournalChange.saltOffset + salt.count + contents.count
        self = UInt32(count).littleEndianBytes + salt + contents
    }
}

/// The stored bytes of a value, apart from the body that they stood in.
enum OwnedCell: Hashable {
    case word(UInt64)
    case bytes([UInt8])

    init(_ cell: Cell) {
        switch cell {
        case .word(let word): self = .word(word)
        case .bytes(let bytes): self = .bytes(Array(bytes))
        }
    }

    static func all(of body: RecordBody) throws -> [OwnedCell?] {
        try body.entity.properties.slots.map { try body.cell($0).map(OwnedCell.init) }
    }
}
