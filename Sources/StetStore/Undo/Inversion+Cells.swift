// The three-way rule for each cell of a commit that is undone.

extension Inversion {
    /// Inverts a commit, cell by cell.
    mutating func invert(_ commit: Commit) throws {
        subjects.append(commit.revision)
        state.reserve(commit.changeCount)
        try commit.forEachChange { change in
            guard schema.entity(numbered: change.entity) != nil else {
                let former = commit.schema.entities.element(at: change.entity)?.name ?? ""
                let conflict = UndoConflict(
                    kind: .schema, entity: former, object: change.id, property: nil)
                _ = conflicts.decide(conflict, allows: [.keep], subject: commit.revision)
                return
            }
            let key = ObjectKey(change.entity, change.id)
            if change.changesRecord {
                try noteRemovedProperties(of: change, commit)
                switch change.kind {
                case .insert: try invertInsertion(of: key, change, commit)
                case .update: try invertUpdate(of: key, change, commit)
                case .delete: try invertDeletion(of: key, change, commit)
                }
            }
            try invertLinks(of: change)
        }
    }

    /// Reports the values that would be restored if the models still had a property for them.
    private mutating func noteRemovedProperties(
        of change: JournalChange, _ commit: Commit
    ) throws {
        guard change.kind != .insert,
            let upcast = try file.history.upcast(
                ofEntity: change.entity, from: Int(commit.envelope.schemaRevision))
        else { return }
        for property in try ObjectChange(change, commit.schema).properties {
            let slot = upcast.from.slot(of: property.name)
            if upcast.slots.contains(slot) || property.old == .null { continue }
            if let slot, upcast.from.properties[slot].isDerived { continue }
            var conflict = UndoConflict(
                kind: .schema, entity: upcast.to.name, object: change.id, property: property.name,
                before: property.old, after: property.new)
            conflict.isHidden = property.isHidden
            conflicts.skip(conflict)
        }
    }

    /// Returns whether every writer changes a cell, by a stamp or a derivation: it is never in
    /// conflict.
    func isStamped(_ slot: Slot, of entity: Entity) -> Bool {
        entity.properties[slot].stamp != nil || entity.properties[slot].isDerived
    }

    // MARK: Updates

    private mutating func invertUpdate(
        of key: ObjectKey, _ change: JournalChange, _ commit: Commit
    ) throws {
        guard let body = try state.object(key).body else {
            // A change of position or derived values alone needs no action for a deleted object.
            if try !isMove(change, commit) {
                _ = try decide(.gone, of: key, allows: [.keep], subject: commit.revision)
            }
            return
        }
        let entity = entity(key)
        var result = InvertedCells()
        try body.read(as: entity) { body in
            var wholes: [OptionalValue: [PresentCell]] = [:]
            try file.history.forEachCell(of: change, from: commit.schema.revision) { cell in
                if let value = entity.optionalValue(at: cell.slot) {
                    wholes[value, default: []].append(result.keep(cell))
                } else {
                    try invert(cell, of: key, in: body, commit.revision, &result)
                }
            }
            for (value, cells) in wholes.sorted(by: { $0.key.presence < $1.key.presence }) {
                try invert(value, cells, of: key, in: body, commit.revision, &result)
            }
        }
        if !result.cells.isEmpty {
            try state.set(try body.replacing(result.cells, of: entity), of: key)
        }
        withExtendedLifetime(result) {}
        for (slot, value) in result.values { try state.set(value, slot, of: key) }
    }

    /// Inverts the change of one cell.
    mutating func invert(
        _ cell: PresentCell, of key: ObjectKey, in body: RecordBody, _ subject: Revision,
        _ result: inout InvertedCells
    ) throws {
        let entity = entity(key)
        let property = entity.properties[cell.slot]
        let current = try body.cell(cell.slot)
        let decision = try ThreeWay.decide(
            base: cell.after, mine: cell.before, theirs: current, of: property, favorsMine: false)
        switch decision {
        case .theirs: return
        case .mine: result.restore(cell)
        case .counted(let sum): result.cells[cell.slot] = .word(sum)
        case .merged(let array): result.values[cell.slot] = array
        case .contested where isStamped(cell.slot, of: entity): return
        case .contested, .overflowing, .mergedInPart:
            switch try decide(
                about: cell, of: key, property, current, overflows: decision == .overflowing,
                subject)
            {
            case .restore: try result.restore(cell, over: current, of: property)
            case .set(let others): result.values.merge(others) { $1 }
            case .keep, .failed: break
            }
        }
    }

    /// Decides about a cell that was changed since; increments of a counter are never overwritten.
    private mutating func decide(
        about cell: PresentCell, of key: ObjectKey, _ property: Property, _ current: Cell?,
        overflows: Bool, _ subject: Revision
    ) throws -> UndoConflicts.Decision {
        try decide(
            overflows ? .overflow : .changed, of: key, property: property.name,
            before: property.value(cell.before), after: property.value(cell.after),
            current: property.value(current),
            allows: overflows ? [.keep, .set] : [.keep, .restore, .set], subject: subject)
    }

    /// Returns whether an update changes nothing but the positions of references, and derived
    /// attributes.
    private func isMove(_ change: JournalChange, _ commit: Commit) throws -> Bool {
        var isMove = true
        let entity = schema.entities[change.entity]
        try file.history.forEachCell(of: change, from: commit.schema.revision) { cell in
            if entity.properties[cell.slot].isDerived { return }
            if !entity.properties[cell.slot].hasPosition
                || cell.before?.target != cell.after?.target
            {
                isMove = false
            }
        }
        return isMove
    }

    // MARK: Insertions

    private mutating func invertInsertion(
        of key: ObjectKey, _ change: JournalChange, _ commit: Commit
    ) throws {
        guard let body = try state.object(key).body else { return }
        let entity = entity(key)
        var isModified = false
        try body.read(as: entity) { body in
            try file.history.forEachCell(of: change, from: commit.schema.revision) { cell in
                if isModified || isStamped(cell.slot, of: entity) { return }
                let current = try body.cell(cell.slot)
                isModified =
                    entity.properties[cell.slot].hasPosition
                    ? current?.target != cell.after?.target
                    : !Cell.areEqual(current, cell.after)
            }
        }
        if isModified {
            let decision = try decide(
                .modified, of: key, allows: [.keep, .restore], subject: commit.revision)
            if case .keep = decision {
                kept.insert(key)
                return
            }
        }
        try state.set(nil, of: key)
    }

    // MARK: Deletions

    private mutating func invertDeletion(
        of key: ObjectKey, _ change: JournalChange, _ commit: Commit
    ) throws {
        let entity = entity(key)
        let upcast = try file.history.upcast(
            ofEntity: change.entity, from: Int(commit.envelope.schemaRevision))
        let restored = EncodedBody(
            bytes: try upcast?.apply(to: change.payload) ?? Array(change.payload))
        guard let present = try state.object(key).body else {
            try state.set(restored, of: key)
            return
        }
        // The object was restored by another commit.
        let (wanted, current) = (try restored.values(of: entity), try present.values(of: entity))
        for part in entity.mergeParts({ $0.decide(base: nil, mine: wanted, theirs: current) }) {
            let place: (name: String, slots: [Slot], before: Value, current: Value)
            switch part {
            case .property(let slot):
                let property = entity.properties[slot]
                // The deletion has incremented nothing.
                if property.isCounter || isStamped(slot, of: entity) { continue }
                let (before, now) = (wanted[slot], current[slot])
                if property.hasPosition ? before.target == now.target : before == now { continue }
                place = (property.name, [slot], before, now)
            case .whole(let value, _):
                place = (
                    entity.properties[value.presence].name, value.slots,
                    entity.whole(value, of: wanted), entity.whole(value, of: current)
                )
                if place.before == place.current { continue }
            }
            let decision = try decide(
                .changed, of: key, property: place.name, before: place.before,
                current: place.current, allows: [.keep, .restore, .set], subject: commit.revision)
            switch decision {
            case .restore: for slot in place.slots { try state.set(wanted[slot], slot, of: key) }
            case .set(let others):
                for (slot, value) in others { try state.set(value, slot, of: key) }
            case .keep, .failed: break
            }
        }
    }

    // MARK: Links

    /// Inverts the changes of links; a membership is never in conflict, because it is either as the
    /// commit left it or as it was before.
    private mutating func invertLinks(of change: JournalChange) throws {
        for change in try change.links() {
            guard let type = schema.link(numbered: change.key.link),
                let change = change.upcast(to: type)
            else { continue }
            let current = try state.link(change.key).membership
            let decision = ThreeWay.decide(
                base: change.after, mine: change.before, theirs: current, favorsMine: false)
            if decision == .mine { try state.set(change.before, of: change.key) }
        }
    }
}

/// The values that the inversion of an update gives an object.
struct InvertedCells {
    /// The restored cells.
    var cells: [Slot: Cell?] = [:]
    /// The values that an answer to a conflict sets.
    var values: [Slot: Value] = [:]
    private let arena = CellArena()

    /// Restores the earlier value of a cell.
    mutating func restore(_ cell: PresentCell) {
        cells[cell.slot] = .some(cell.before.map(arena.keep))
    }

    /// Restores the earlier value of a cell over one that was changed since: of an array, the
    /// elements that others have changed stay.
    mutating func restore(_ cell: PresentCell, over current: Cell?, of property: Property) throws {
        let decision = try ThreeWay.decide(
            base: cell.after, mine: cell.before, theirs: current, of: property, favorsMine: true)
        guard case .mergedInPart(let array) = decision else { return restore(cell) }
        values[cell.slot] = array
    }

    /// Returns the change of a cell with bytes that stay valid as long as this does.
    func keep(_ cell: PresentCell) -> PresentCell {
        PresentCell(
            slot: cell.slot, before: cell.before.map(arena.keep),
            after: cell.after.map(arena.keep), isBeforeRedacted: cell.isBeforeRedacted,
            isAfterRedacted: cell.isAfterRedacted)
    }
}

extension CellArena {
    /// Returns the cell with bytes that stay valid.
    func keep(_ cell: Cell) -> Cell {
        switch cell {
        case .word: cell
        case .bytes(let bytes): .bytes(keep(Array(bytes)))
        }
    }
}
