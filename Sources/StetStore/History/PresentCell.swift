/// The change of one property in the current schema.
struct PresentCell {
    let slot: Slot
    /// The value before; nil for no value and for a redacted one.
    let before: Cell?
    let after: Cell?
    var isBeforeRedacted = false
    var isAfterRedacted = false
}

extension SchemaHistory {
    /// Calls `body` with the change of each property, in ascending order of the slots; an insert or
    /// a delete has all properties, with values on one side.
    ///
    /// The values are valid for `body` only.
    ///
    /// - Precondition: the entity is not removed.
    func forEachCell(
        of change: JournalChange, from revision: Int, _ body: (PresentCell) throws -> Void
    ) throws {
        guard let entity = current.entity(numbered: change.entity) else {
            throw DecodingFailure("a change of entity \(change.entity), which is not there")
        }
        let upcast = try upcast(ofEntity: change.entity, from: revision)
        guard change.kind == .update else {
            guard let upcast else {
                return try Self.forEachCell(of: change, change.payload, entity, { $0 }, body)
            }
            return try upcast.apply(to: change.payload).withUnsafeBytes { payload in
                try Self.forEachCell(of: change, payload, entity, { upcast.slots[$0] }, body)
            }
        }
        if let upcast { return try upcast.forEachPresentCell(of: change, body) }
        for cell in try change.changedCells() {
            guard entity.properties.element(at: cell.slot)?.type == cell.type else {
                throw DecodingFailure("a changed cell that is not one of \(entity.name)")
            }
            try body(
                PresentCell(
                    slot: cell.slot, before: cell.before, after: cell.after,
                    isBeforeRedacted: cell.isBeforeRedacted, isAfterRedacted: cell.isAfterRedacted))
        }
    }

    private static func forEachCell(
        of change: JournalChange, _ payload: UnsafeRawBufferPointer, _ entity: Entity,
        _ source: (Slot) -> Slot?, _ body: (PresentCell) throws -> Void
    ) throws {
        let redacted = Set(change.redactedSlots)
        for (slot, cell) in try RecordBody(payload, of: entity).cells().slotted {
            let isRedacted = source(slot).map(redacted.contains) ?? false
            // A default replaces a value that was nil, but not a redacted one.
            let cell = isRedacted ? nil : cell
            try body(
                change.kind == .insert
                    ? PresentCell(
                        slot: slot, before: nil, after: cell, isAfterRedacted: isRedacted)
                    : PresentCell(
                        slot: slot, before: cell, after: nil, isBeforeRedacted: isRedacted))
        }
    }
}
