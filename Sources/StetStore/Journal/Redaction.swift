import StetLMDB

/// The record of the values that were redacted in a change, with the digest that the change had
/// before, so that the journal's hash chain stays valid.
///
/// Such a change has a checksum in place of its salt, which is removed, too: with the salt and the
/// digest, a short value could be guessed.
package struct Redaction: Hashable, Sendable {
    /// The digest of the change as it was written.
    package let digest: Digest
    /// The redacted properties of an insert or a delete, ascending; empty for an update, whose
    /// cells record it themselves.
    package let slots: [Slot]

    /// Decodes the part between the header and the payload of a change, and compares the checksum
    /// of the whole block.
    init(
        decoding reader: inout ByteReader, of block: UnsafeRawBufferPointer, _ kind: ChangeKind
    ) throws(DecodingFailure) {
        var salt = ByteReader(block)
        _ = try salt.read(byteCount: JournalChange.saltOffset)
        let stored: UInt64 = try salt.read()
        guard stored == Self.checksum(of: block), try salt.read(UInt64.self) == 0 else {
            throw DecodingFailure("a redacted change that does not match its checksum")
        }
        digest = Digest(try reader.read(byteCount: Digest.byteCount))
        var slots: [Slot] = []
        if kind != .update {
            for _ in 0..<(try reader.read(UInt16.self)) {
                let slot = Slot(try reader.read(UInt16.self))
                guard slots.last.map({ $0 < slot }) ?? true else {
                    throw DecodingFailure("redacted properties out of order")
                }
                slots.append(slot)
            }
        }
        self.slots = slots
    }

    static func checksum(of block: UnsafeRawBufferPointer) -> UInt64 {
        let contents = JournalChange.saltOffset + JournalChange.saltByteCount
        return Checksum.hash(UnsafeRawBufferPointer(rebasing: block[contents...]), seed: 0)
    }
}

extension JournalChange {
    /// The redacted slots of an insert or a delete.
    var redactedSlots: [Slot] { redaction?.slots ?? [] }

    /// Returns the slots that have lost a value.
    func slotsWithoutValues() throws -> [Slot] {
        guard redaction != nil, kind == .update else { return redactedSlots }
        return try changedCells().filter { $0.isBeforeRedacted || $0.isAfterRedacted }.map(\.slot)
    }

    /// Returns the slots that have lost the value before the change.
    func slotsWithoutValueBefore() throws -> [Slot] {
        guard redaction != nil else { return [] }
        switch kind {
        case .insert: return []
        case .update: return try changedCells().filter(\.isBeforeRedacted).map(\.slot)
        case .delete: return redactedSlots
        }
    }

    /// Returns the change without the values to redact; nil when it has none of them.
    ///
    /// `isTaken` returns whether to redact a value. It receives the slot in `entity`, with which
    /// the change was written, whether it is the value before, and its bytes.
    func redacted(
        of entity: Entity, _ isTaken: (_ slot: Slot, _ isBefore: Bool, Cell) throws -> Bool
    ) throws -> ByteStorage? {
        var payload = ByteBuffer()
        var digestAndSlots = ByteBuffer()
        digest.append(to: &digestAndSlots)
        let hasChanged =
            kind == .update
            ? try appendCells(to: &payload, isTaken)
            : try appendBody(of: entity, to: &payload, &digestAndSlots, isTaken)
        guard hasChanged else { return nil }
        var block = ByteBuffer(capacity: Self.headerByteCount + Digest.byteCount + payload.count)
        Self.appendHeader(
            kind, self.entity, id, previous, redaction: digestAndSlots.finish(),
            links: try links(), to: &block)
        block.append(payload.bytes)
        block.overwrite(UInt32(block.count), at: 0)
        block.overwrite(Redaction.checksum(of: block.bytes), at: Self.saltOffset)
        return block.finish()
    }

    private func appendCells(
        to payload: inout ByteBuffer, _ isTaken: (Slot, Bool, Cell) throws -> Bool
    ) throws -> Bool {
        let cells = try changedCells()
        var hasChanged = false
        payload.append(UInt16(cells.count))
        for cell in cells {
            let takesBefore = try cell.before.map { try isTaken(cell.slot, true, $0) } ?? false
            let takesAfter = try cell.after.map { try isTaken(cell.slot, false, $0) } ?? false
            hasChanged = hasChanged || takesBefore || takesAfter
            ChangedCell(
                slot: cell.slot, type: cell.type, before: takesBefore ? nil : cell.before,
                after: takesAfter ? nil : cell.after,
                isBeforeRedacted: cell.isBeforeRedacted || takesBefore,
                isAfterRedacted: cell.isAfterRedacted || takesAfter
            ).append(to: &payload)
        }
        return hasChanged
    }

    private func appendBody(
        of entity: Entity, to payload: inout ByteBuffer, _ redactedSlots: inout ByteBuffer,
        _ isTaken: (Slot, Bool, Cell) throws -> Bool
    ) throws -> Bool {
        var cells = try RecordBody(self.payload, of: entity).cells()
        var slots = Set(self.redactedSlots)
        var hasChanged = false
        for (slot, cell) in cells.slotted {
            guard let cell, try isTaken(slot, kind == .delete, cell) else { continue }
            cells[slot] = nil
            slots.insert(slot)
            hasChanged = true
        }
        redactedSlots.append(UInt16(slots.count))
        for slot in slots.sorted() { redactedSlots.append(UInt16(slot.index)) }
        FoldedBody.assemble(cells, entity).withUnsafeBytes { payload.append($0) }
        return hasChanged
    }
}
