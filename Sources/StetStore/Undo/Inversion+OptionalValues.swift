// Optional embedded values, which a commit that removes or sets one changes as a whole.

extension Inversion {
    /// Inverts the changed cells of an optional value: member by member if it is present on all
    /// sides, otherwise as a whole.
    mutating func invert(
        _ value: OptionalValue, _ cells: [PresentCell], of key: ObjectKey, in body: RecordBody,
        _ subject: Revision, _ result: inout InvertedCells
    ) throws {
        let entity = entity(key)
        let sides = ValueSides(value, cells, of: body)
        let decision = try value.decide(
            base: sides.after, mine: sides.before, theirs: body.cell, Cell.areEqual)
        switch decision {
        case nil:
            for cell in cells { try invert(cell, of: key, in: body, subject, &result) }
        case .mine:
            for slot in value.slots {
                result.restore(PresentCell(slot: slot, before: try sides.before(slot), after: nil))
            }
        case .contested:
            let name = entity.properties[value.presence].name
            let before = try before(value, sides, of: key, subject)
            let answer = try decide(
                .changed, of: key, property: name, before: entity.whole(value, of: before),
                after: entity.whole(value, of: try entity.values(sides.after)),
                current: entity.whole(value, of: try entity.values(body.cell)),
                allows: [.keep, .restore, .set], subject: subject)
            switch answer {
            case .restore: for slot in value.slots { result.values[slot] = before[slot] }
            case .set(let others): result.values.merge(others) { $1 }
            case .keep, .failed: break
            }
        case .theirs, .counted, .overflowing, .merged, .mergedInPart: break
        }
    }

    /// Returns the values of an object before a commit, as far as they belong to an optional value.
    ///
    /// The commit itself does not have the members that it has not changed; where the value was
    /// removed since, nor does the object.
    private func before(
        _ value: OptionalValue, _ sides: ValueSides, of key: ObjectKey, _ subject: Revision
    ) throws -> [Value] {
        let entity = entity(key)
        guard !sides.changesPresence, let previous = subject.previous else {
            return try entity.values(sides.before)
        }
        let earlier = try reader.withRecord(ofEntity: key.entity, key.id, asOf: previous) {
            try EncodedBody($0.body).values(of: entity)
        }
        return try earlier ?? entity.values(sides.before)
    }
}

extension Entity {
    fileprivate func values(_ cell: (Slot) throws -> Cell?) throws -> [Value] {
        try properties.slotted.map { try $1.value(try cell($0)) }
    }
}

/// An optional value before and after a commit, as far as the commit and the object show it.
private struct ValueSides {
    private let value: OptionalValue
    private let body: RecordBody
    private let cells: [Slot: PresentCell]

    init(_ value: OptionalValue, _ cells: [PresentCell], of body: RecordBody) {
        self.value = value
        self.body = body
        self.cells = Dictionary(uniqueKeysWithValues: cells.map { ($0.slot, $0) })
    }

    /// True when the commit has set or removed the value.
    var changesPresence: Bool { cells[value.presence] != nil }

    func before(_ slot: Slot) throws -> Cell? { try cell(slot, \.before) }
    func after(_ slot: Slot) throws -> Cell? { try cell(slot, \.after) }

    /// Returns a cell on one side.
    ///
    /// A commit that changes only members leaves the value present, and the other members as they
    /// are. One that sets or removes it has all members that are not nil.
    private func cell(_ slot: Slot, _ side: KeyPath<PresentCell, Cell?>) throws -> Cell? {
        if let cell = cells[slot] { return cell[keyPath: side] }
        if slot == value.presence { return .word(1) }
        return changesPresence || !value.members.contains(slot) ? nil : try body.cell(slot)
    }
}
