/// The values of one object as stored bytes, as records contain them and decisions use them.
package struct EncodedBody: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = Array(bytes)
    }

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Creates a body with the values that a closure writes; references in `placedSlots` have
    /// positions.
    ///
    /// - Throws: `EncodingFailure` for a value that has no stored form.
    package init(
        propertyCount: Int, placedSlots: [Slot] = [], _ write: (inout RecordWriter) -> Void
    ) throws(EncodingFailure) {
        var writer = RecordWriter(capacity: 256)
        writer.begin(propertyCount: propertyCount, placedSlots: placedSlots)
        write(&writer)
        if let failure = writer.failures.first { throw failure.reason }
        bytes = Array(writer.buffer.bytes)
    }

    /// Creates a body of an entity with values in the order of slots.
    ///
    /// - Throws: `EncodingFailure` for a value that has no stored form.
    package init(_ values: [Value], of entity: Entity) throws(EncodingFailure) {
        try self.init(
            propertyCount: entity.properties.count, placedSlots: entity.placedSlots
        ) { $0.write(values, of: entity) }
    }

    /// Calls `body` with the bytes decoded as a body of an entity.
    ///
    /// - Throws: `DecodingFailure` when they are not one, and the error of `body`.
    package func read<Result>(
        as entity: Entity, _ body: (RecordBody) throws -> Result
    ) throws -> Result {
        try bytes.withUnsafeBytes { try body(try RecordBody($0, of: entity)) }
    }

    /// Returns the values of all properties.
    package func values(of entity: Entity) throws -> [Value] {
        try read(as: entity) { try $0.values() }
    }

    /// Returns the body with other cells in some slots.
    func replacing(_ cells: [Slot: Cell?], of entity: Entity) throws -> EncodedBody {
        try read(as: entity) { body in
            var all = try body.cells()
            for (slot, cell) in cells { all[slot] = cell }
            return EncodedBody(bytes: FoldedBody.assemble(all, entity))
        }
    }

    /// Returns the body of `theirs` with the changes of `mine` from this one, and the slots of the
    /// counters whose sum has no stored form, which stay as they are in `theirs`.
    package func merged(
        mine: EncodedBody, theirs: EncodedBody, as entity: Entity
    ) throws -> (body: EncodedBody, overflowing: [Slot]) {
        try read(as: entity) { base in
            try mine.read(as: entity) { mine in
                try theirs.read(as: entity) { present in
                    var cells: [Slot: Cell?] = [:]
                    var arrays: [Slot: Value] = [:]
                    var overflowing: [Slot] = []
                    let parts = try entity.mergeParts { value in
                        try value.decide(
                            base: base.cell, mine: mine.cell, theirs: present.cell, Cell.areEqual)
                    }
                    for part in parts {
                        guard case .property(let slot) = part else {
                            for slot in part.wanted { cells[slot] = .some(try mine.cell(slot)) }
                            continue
                        }
                        let property = entity.properties[slot]
                        let edited = try mine.cell(slot)
                        switch try ThreeWay.decide(
                            base: try base.cell(slot), mine: edited, theirs: try present.cell(slot),
                            of: property, favorsMine: true)
                        {
                        case .theirs: break
                        case .mine, .contested: cells[slot] = .some(edited)
                        case .counted(let sum): cells[slot] = .word(sum)
                        case .overflowing: overflowing.append(slot)
                        case .merged(let array), .mergedInPart(let array): arrays[slot] = array
                        }
                    }
                    var body = try theirs.replacing(cells, of: entity)
                    for (slot, array) in arrays {
                        body = try body.replacing(array, slot: slot, of: entity)
                    }
                    return (body, overflowing)
                }
            }
        }
    }

    /// Returns the body with a value in a slot.
    ///
    /// - Throws: `EncodingFailure` for a value that has no stored form.
    package func replacing(
        _ value: Value, slot: Slot, of entity: Entity
    ) throws -> EncodedBody {
        var values = try values(of: entity)
        values[slot] = value
        return try EncodedBody(values, of: entity)
    }
}
