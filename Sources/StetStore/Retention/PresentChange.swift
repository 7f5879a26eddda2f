/// One property's part of a change, as the present schema tells it.
struct PresentCell {
    let slot: Slot
    /// nil for no value, and for one that was taken out.
    let before: Cell?
    let after: Cell?
    var isBeforeRedacted = false
    var isAfterRedacted = false
}

extension SchemaHistory {
    /// Calls `body` with each property's part of a change, in ascending order of the slots: for an
    /// insert and a delete all of them, with the values on one side.
    ///
    /// Values of the parts are valid for `body` only. The entity is one that is not removed.
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
            // The default of the schema stands for a value that was nil, not for one that is gone.
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
