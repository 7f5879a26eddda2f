/// The conversion of a record of an earlier schema to a later one.
///
/// A value comes from a slot of the earlier schema; where there is none, or it is nil, it is the
/// default. Members of an optional embedded value that is absent are nil.
package struct Upcast: Hashable, Sendable {
    package let from: Entity
    package let to: Entity
    /// The slots of `from` that the values come from, by slot of `to`; nil for an added property.
    package let slots: [Slot?]
    /// A body of `to` with the default values.
    package let defaults: [UInt8]
    /// The conversions of the elements of arrays of embedded values, by slot of `to`.
    package let elements: [Slot: Upcast]
    /// The defaults of members whose embedded value an object of `from` lacks; nil when they have
    /// those that the others have.
    private let absences: Absences?
    /// True when every body has the same meaning in both.
    let isIdentity: Bool

    /// - Throws: `DecodingFailure` when a value comes from a slot that does not exist, or has
    ///   another type.
    package init(
        from: Entity, to: Entity, slots: [Slot?], defaults: [UInt8],
        elements: [Slot: Upcast] = [:]
    ) throws {
        try self.init(
            from: from, to: to, slots: slots, defaults: defaults, elements: elements, absences: nil)
    }

    private init(
        from: Entity, to: Entity, slots: [Slot?], defaults: [UInt8], elements: [Slot: Upcast],
        absences: Absences?
    ) throws {
        self.from = from
        self.to = to
        self.slots = slots
        self.defaults = defaults
        self.elements = elements
        self.absences = absences
        guard slots.count == to.properties.count else {
            throw DecodingFailure("a migration of \(to.name) with \(slots.count) properties")
        }
        for (slot, property) in to.properties.slotted {
            guard let source = slots[slot] else { continue }
            guard let old = from.properties.element(at: source), property.canHoldValues(of: old),
                (elements[slot] == nil) == (property.embedded == nil)
            else { throw DecodingFailure("a migration that makes \(to.name).\(property.name)") }
        }
        let hasDefault = try defaults.withUnsafeBytes { bytes in
            try RecordBody(bytes, of: to).cells().map { $0 != nil }
        }
        isIdentity =
            absences == nil && from.properties.count == to.properties.count
            && elements.values.allSatisfy(\.isIdentity)
            && slots.slotted.allSatisfy { slot, source in
                let (old, new) = (from.properties[slot], to.properties[slot])
                // A version in between may have had a value for nil.
                let keepsNil = new.isOptional && (to.isRequiredMember(slot) || !hasDefault[slot])
                return source == slot && (keepsNil || !old.isOptional)
                    && (from.isRequiredMember(slot) || !to.isRequiredMember(slot))
                    && ((old.type == new.type && old.hasPosition == new.hasPosition)
                        || (old.type.isInteger && new.type.isInteger))
            }
    }

    /// Returns a body of `from` converted to `to`.
    ///
    /// - Throws: `DecodingFailure` when it is not a body of `from`.
    package func apply(to body: UnsafeRawBufferPointer) throws -> [UInt8] {
        try converted(body, settlingMembers: true) { _ in false }
    }

    /// Returns a converted body; `mayBePresent` returns whether members of an embedded value that a
    /// slot shows as absent have the defaults of one that is present.
    private func converted(
        _ body: UnsafeRawBufferPointer, settlingMembers: Bool, mayBePresent: (Slot) -> Bool
    ) throws -> [UInt8] {
        let old = try RecordBody(body, of: from).cells()
        let arena = CellArena()
        return try withDefaults { defaults in
            var cells = to.properties.slots.map { slot in
                let presence = presence(of: slot)
                let isPresent = presence.map { old[$0] != nil || mayBePresent($0) } ?? true
                return defaults.cell(slot, isPresent: isPresent)
            }
            for (slot, source) in slots.slotted {
                guard let source, let cell = old[source] else { continue }
                cells[slot] = try widened(cell, from: source, to: slot, arena)
            }
            if settlingMembers { settleMembers(&cells, defaults) }
            return withExtendedLifetime(arena) { FoldedBody.assemble(cells, to) }
        }
    }

    /// Returns the state before an update that was written with `from`; both states are bodies of
    /// `to`.
    func stateBefore(_ change: JournalChange, _ state: [UInt8]) throws -> [UInt8] {
        try state.withUnsafeBytes { bytes in
            var cells = try RecordBody(bytes, of: to).cells()
            let arena = CellArena()
            return try withDefaults { defaults in
                try forEachCell(of: change, defaults, arena) { cell in
                    let isPresent = try presence(of: cell.slot, change).before
                    cells[cell.slot] =
                        cell.before ?? defaults.cell(cell.slot, isPresent: isPresent)
                }
                settleMembers(&cells, defaults)
                return withExtendedLifetime(arena) { FoldedBody.assemble(cells, to) }
            }
        }
    }

    /// Calls `body` with each cell of an update that was written with `from` and that `to` can
    /// express, in ascending order of the slots of `to`; defaults replace nil.
    func forEachPresentCell(
        of change: JournalChange, _ body: (PresentCell) throws -> Void
    ) throws {
        let arena = CellArena()
        try withDefaults { defaults in
            try forEachCell(of: change, defaults, arena) { cell in
                let (wasPresent, isPresent) = try presence(of: cell.slot, change)
                let before = cell.before ?? defaults.cell(cell.slot, isPresent: wasPresent)
                let after = cell.after ?? defaults.cell(cell.slot, isPresent: isPresent)
                try body(
                    PresentCell(
                        slot: cell.slot, before: cell.isBeforeRedacted ? nil : before,
                        after: cell.isAfterRedacted ? nil : after,
                        isBeforeRedacted: cell.isBeforeRedacted,
                        isAfterRedacted: cell.isAfterRedacted))
            }
        }
        withExtendedLifetime(arena) {}
    }

    /// Calls `body` with each cell that `to` can express, and that of each member that appears or
    /// disappears with its default; the cells have no defaults.
    private func forEachCell(
        of change: JournalChange, _ defaults: DefaultCells, _ arena: CellArena,
        _ body: (PresentCell) throws -> Void
    ) throws {
        let changed = try change.changedCells()
        for cell in changed where from.properties.element(at: cell.slot)?.type != cell.type {
            throw DecodingFailure("a changed cell that is not one of \(from.name)")
        }
        for (slot, source) in slots.slotted {
            guard let source, let cell = changed.first(where: { $0.slot == source }) else {
                if defaults.hasAny(slot), try isPresenceChanged(of: slot, change) {
                    try body(PresentCell(slot: slot, before: nil, after: nil))
                }
                continue
            }
            let before = try cell.before.map { try widened($0, from: source, to: slot, arena) }
            let after = try cell.after.map { try widened($0, from: source, to: slot, arena) }
            // Skips a change of a position that the current schema does not have.
            if to.properties[slot].type == .reference, Cell.areEqual(before, after) { continue }
            try body(
                PresentCell(
                    slot: slot, before: before, after: after,
                    isBeforeRedacted: cell.isBeforeRedacted, isAfterRedacted: cell.isAfterRedacted))
        }
    }

    /// Returns a value of `from` converted to the slot of `to`.
    func widened(
        _ cell: Cell, from source: Slot, to slot: Slot, _ arena: CellArena
    ) throws -> Cell {
        let (old, new) = (from.properties[source], to.properties[slot])
        switch cell {
        case .word(let word): return .word(try new.type.word(widening: word, of: old.type))
        case .bytes(let bytes) where old.hasPosition && !new.hasPosition:
            return .bytes(UnsafeRawBufferPointer(rebasing: bytes.prefix(16)))
        case .bytes(let bytes) where !old.hasPosition && new.hasPosition:
            // Members of a newly ordered relationship are ordered by id.
            return .bytes(arena.keep(Array(bytes) + ListPosition.first.bytes))
        case .bytes(let bytes):
            guard let element = elements[slot], !element.isIdentity else { return cell }
            let bodies = try ElementBodies(bytes).map(element.apply)
            return .bytes(arena.keep(ElementBodies.joined(bodies)))
        }
    }

    /// Removes the members of absent embedded values, and gives the members of present ones their
    /// defaults.
    private func settleMembers(_ cells: inout [Cell?], _ defaults: DefaultCells) {
        for value in to.optionalValues {
            let isPresent = cells[value.presence] != nil
            for slot in value.members {
                cells[slot] =
                    isPresent ? cells[slot] ?? defaults.cell(slot, isPresent: true) : nil
            }
        }
    }

    /// Returns the slot of `from` that shows whether an object has the embedded value that a slot
    /// belongs to; nil for other slots.
    private func presence(of slot: Slot) -> Slot? {
        if let presence = absences?.presences[slot] { return presence }
        guard let value = to.optionalValue(at: slot), slot != value.presence else { return nil }
        return slots[value.presence]
    }

    /// Returns whether the embedded value of a slot was present before a change and after it; true
    /// for a slot of no optional value.
    private func presence(
        of slot: Slot, _ change: JournalChange
    ) throws -> (before: Bool, after: Bool) {
        guard let source = presence(of: slot),
            let cell = try change.changedCells().first(where: { $0.slot == source })
        else { return (true, true) }
        return (cell.before != nil, cell.after != nil)
    }

    /// Returns whether the embedded value of a member appears or disappears in an update.
    private func isPresenceChanged(of slot: Slot, _ change: JournalChange) throws -> Bool {
        let (before, after) = try presence(of: slot, change)
        return before != after
    }

    private func withDefaults<Result>(_ body: (DefaultCells) throws -> Result) throws -> Result {
        try defaults.withUnsafeBytes { bytes in
            let cells = try RecordBody(bytes, of: to).cells()
            guard let absences else { return try body(DefaultCells(cells, absent: [:])) }
            return try absences.defaults.withUnsafeBytes { bytes in
                let absent = try RecordBody(bytes, of: to).cells()
                return try body(
                    DefaultCells(
                        cells,
                        absent: Dictionary(
                            uniqueKeysWithValues: absences.presences.keys.map { ($0, absent[$0]) })
                    ))
            }
        }
    }

    /// Returns the upcast that applies this one, which is that of one migration, and then another.
    func followed(by next: Upcast) throws -> Upcast {
        var elements: [Slot: Upcast] = [:]
        for (slot, second) in next.elements {
            guard let source = next.slots[slot] else { continue }
            elements[slot] = try self.elements[source]?.followed(by: second)
        }
        // Members keep their defaults where the default of the embedded value is nil.
        let defaults = try self.defaults.withUnsafeBytes { bytes in
            try next.converted(bytes, settlingMembers: false) { slots[$0] != nil }
        }
        return try Upcast(
            from: from, to: next.to, slots: next.slots.map { slot in slot.flatMap { slots[$0] } },
            defaults: defaults, elements: elements, absences: try absences(before: next, defaults))
    }

    /// Returns the defaults of members that every object has in the next schema, and of which this
    /// migration has given others to objects that have the embedded value.
    private func absences(before next: Upcast, _ defaults: [UInt8]) throws -> Absences? {
        var presences: [Slot: Slot] = [:]
        let bytes = try defaults.withUnsafeBytes { bytes in
            let present = try RecordBody(bytes, of: next.to).cells()
            return try next.withDefaults { defaults in
                let cells = next.to.properties.slots.map { slot -> Cell? in
                    guard let former = next.formerPresence(of: slot), let presence = slots[former]
                    else { return nil }
                    let isPresent = next.absences?.presences[slot] == nil
                    let cell = defaults.cell(slot, isPresent: isPresent)
                    if Cell.areEqual(cell, present[slot]) { return nil }
                    presences[slot] = presence
                    return cell
                }
                return FoldedBody.assemble(cells, next.to)
            }
        }
        return presences.isEmpty ? nil : Absences(presences: presences, defaults: bytes)
    }

    /// Returns the slot of `from` that shows whether an object has the embedded value that a slot
    /// was a member of, if every object has its value now; nil for other slots.
    private func formerPresence(of slot: Slot) -> Slot? {
        if let presence = absences?.presences[slot] { return presence }
        guard let source = slots[slot], let value = from.optionalValue(at: source),
            source != value.presence, presence(of: slot) != value.presence
        else { return nil }
        return value.presence
    }
}

/// The defaults of members of which an object of an earlier schema lacks the embedded value, where
/// they differ from those of other objects.
private struct Absences: Hashable {
    /// The slots that show whether an object has the embedded value, by slot of the member.
    let presences: [Slot: Slot]
    /// A body with the defaults.
    let defaults: [UInt8]
}

/// The default values of an upcast as cells.
private struct DefaultCells {
    private let cells: [Cell?]
    private let absent: [Slot: Cell?]

    init(_ cells: [Cell?], absent: [Slot: Cell?]) {
        self.cells = cells
        self.absent = absent
    }

    /// Returns the default of a slot whose embedded value is present or absent.
    func cell(_ slot: Slot, isPresent: Bool) -> Cell? {
        isPresent ? cells[slot] : absent[slot] ?? nil
    }

    /// Returns whether a slot has a default, wherever its embedded value is present or absent.
    func hasAny(_ slot: Slot) -> Bool { cells[slot] != nil || absent[slot] != nil }
}

extension Property {
    /// Returns whether the property can have each value of another one, except nil.
    func canHoldValues(of other: Property) -> Bool {
        if (seal == nil) != (other.seal == nil) || isLarge != other.isLarge { return false }
        return (type == other.type && elements == other.elements) || other.type.widens(to: type)
    }
}

extension ValueType {
    /// The number of bits of an integer without its sign; nil for other types.
    private var magnitudeBits: Int? {
        switch self {
        case .int8: 7
        case .int16: 15
        case .int32: 31
        case .int: 63
        case .uint8: 8
        case .uint16: 16
        case .uint32: 32
        case .uint: 64
        default: nil
        }
    }

    /// Returns whether each number of this type is also one of a larger type.
    package func widens(to other: ValueType) -> Bool {
        switch other {
        case .double: self == .float || magnitudeBits.map { $0 <= 53 } ?? false
        case .float: magnitudeBits.map { $0 <= 24 } ?? false
        default:
            if let bits = magnitudeBits, let otherBits = other.magnitudeBits {
                bits < otherBits && (widest == .uint || other.widest == .int)
            } else {
                false
            }
        }
    }

    /// Returns the 8 bytes of a number of this type, from those of a smaller one.
    fileprivate func word(
        widening word: UInt64, of type: ValueType
    ) throws(DecodingFailure) -> UInt64 {
        // Integers have the same bytes in every width.
        guard self == .double || self == .float, type != self else { return word }
        let number: Double
        switch try Value(inlineWord: word, type: type) {
        case .int(let value): number = Double(value)
        case .uint(let value): number = Double(value)
        case .float(let value): number = Double(value)
        default: throw DecodingFailure("a number that does not widen to \(self)")
        }
        return (self == .double ? Value.double(number) : .float(Float(number))).inlineWord ?? 0
    }
}

/// Owns bytes of cells that are made while a record is read, as long as they are needed.
final class CellArena {
    private var kept: [UnsafeMutableRawBufferPointer] = []

    func keep(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
        copy.copyBytes(from: bytes)
        kept.append(copy)
        return UnsafeRawBufferPointer(copy)
    }

    deinit {
        for bytes in kept { bytes.deallocate() }
    }
}
