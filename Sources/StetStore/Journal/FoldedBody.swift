/// Assembles the body of a record from cells, as docs/FileFormat.md describes it.
///
/// Folding the journal and reading the past use it instead of the encoder of saves, so that
/// verification does not repeat an error of that encoder.
package enum FoldedBody {
    /// Returns the body with one side of an update's cells.
    ///
    /// - Throws: `DecodingFailure` when a cell does not belong to the entity.
    package static func applying(
        _ change: JournalChange, _ side: KeyPath<JournalChange.ChangedCell, Cell?>,
        to body: [UInt8], of entity: Entity
    ) throws -> [UInt8] {
        try body.withUnsafeBytes { bytes in
            var cells = try RecordBody(bytes, of: entity).cells()
            for cell in try change.changedCells() {
                guard entity.properties.element(at: cell.slot)?.type == cell.type else {
                    throw DecodingFailure("a cell that is not one of \(entity.name)")
                }
                cells[cell.slot] = cell[keyPath: side]
            }
            return assemble(cells, entity)
        }
    }

    /// Returns the body without the values of some slots.
    static func clearing(
        _ slots: [Slot], of entity: Entity, in body: [UInt8]?
    ) throws -> [UInt8]? {
        guard let body, !slots.isEmpty else { return body }
        return try body.withUnsafeBytes { bytes in
            var cells = try RecordBody(bytes, of: entity).cells()
            for slot in slots where cells.indices.contains(slot.index) { cells[slot] = nil }
            return assemble(cells, entity)
        }
    }

    /// Returns the body with empty values for properties that need one and were redacted:
    /// `false`, 0, the first moment of 2001, no text, no bytes, no elements, a `UUID` of zeros.
    ///
    /// A URL and a Codable value have no empty value: they stay without a value.
    static func filling(_ body: [UInt8], of entity: Entity) throws -> [UInt8] {
        let zeros = [UInt8](repeating: 0, count: 16)
        return try zeros.withUnsafeBytes { zeros in
            try body.withUnsafeBytes { bytes in
                var cells = try RecordBody(bytes, of: entity).cells()
                for (slot, property) in entity.properties.slotted
                where cells[slot] == nil && entity.needsValue(slot, in: cells) {
                    let count: Int
                    switch property.type {
                    case .uuid: count = 16
                    case .decimal: count = 2
                    case .string, .data, .list, .dictionary: count = 0
                    case .url, .codable, .reference: continue
                    default:
                        cells[slot] = .word(0)
                        continue
                    }
                    cells[slot] = .bytes(UnsafeRawBufferPointer(rebasing: zeros[..<count]))
                }
                return assemble(cells, entity)
            }
        }
    }

    /// Returns the body with these cells, in the order of the slots.
    package static func assemble(_ cells: [Cell?], _ entity: Entity) -> [UInt8] {
        var nulls = [UInt8](repeating: 0, count: (cells.count + 63) / 64 * 8)
        var slots: [UInt8] = []
        var tail: [UInt8] = []
        for (slot, cell) in cells.slotted {
            var word: UInt64 = 0
            switch cell {
            case nil: nulls[slot.index / 8] |= 1 << UInt8(slot.index % 8)
            case .word(let value): word = value
            case .bytes(let bytes):
                let offset = nulls.count + cells.count * 8 + tail.count
                word = UInt64(offset) | UInt64(bytes.count) << 32
                if entity.properties[slot].type == .string, isKnownNormalized(bytes) {
                    word |= 1 << 63
                }
                tail += bytes
            }
            withUnsafeBytes(of: word.littleEndian) { slots += $0 }
        }
        return nulls + slots + tail
    }

    private static func isKnownNormalized(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        var span = text.utf8Span
        return span.checkForNFC(quickCheck: true)
    }
}
