import StetLMDB

/// The number of references to each large value: by the present values of objects, and by the
/// changes of the journal that contain it as the value before or after.
///
/// A value whose number is 0 is in use nowhere.
struct LargeValueCounts {
    /// The numbers, or their changes, by digest.
    private(set) var counts: [Digest: Int] = [:]

    /// True when nothing is counted.
    var isEmpty: Bool { counts.isEmpty }

    /// Adds the effect of a change that is committed: an entry of the journal and new values of an
    /// object.
    mutating func add(committed change: JournalChange, of entity: Entity) throws {
        try Self.forEachValue(of: change, entity) { value, isBefore in
            // The value before is a reference of the journal from now on, in place of the object.
            if !isBefore { counts[value.digest, default: 0] += 2 }
        }
    }

    /// Adds a number for each value that a change of the journal contains.
    mutating func add(_ number: Int, forEachValueOf change: JournalChange, _ entity: Entity) throws
    {
        try Self.forEachValue(of: change, entity) { value, _ in
            counts[value.digest, default: 0] += number
        }
    }

    /// Adds the values of an object.
    mutating func add(valuesOf body: RecordBody) throws {
        for slot in body.entity.largeSlots {
            if let value = try Self.value(try body.cell(slot)) {
                counts[value.digest, default: 0] += 1
            }
        }
    }

    /// Removes one reference by a cell of a change.
    mutating func remove(_ cell: Cell) throws {
        if let value = try Self.value(cell) { counts[value.digest, default: 0] -= 1 }
    }

    /// Adds the numbers of other counts.
    static func += (counts: inout LargeValueCounts, other: LargeValueCounts) {
        counts.counts.merge(other.counts, uniquingKeysWith: +)
    }

    /// Calls `body` for each large value in a change, and whether it is the value before.
    static func forEachValue(
        of change: JournalChange, _ entity: Entity,
        _ body: (_ value: LargeValue, _ isBefore: Bool) throws -> Void
    ) throws {
        if entity.largeSlots.isEmpty || !change.changesRecord { return }
        switch change.kind {
        case .insert, .delete:
            let record = try RecordBody(change.payload, of: entity)
            for slot in entity.largeSlots {
                if let value = try value(try record.cell(slot)) {
                    try body(value, change.kind == .delete)
                }
            }
        case .update:
            for cell in try change.changedCells()
            where entity.properties.element(at: cell.slot)?.isLarge ?? false {
                if let value = try value(cell.before) { try body(value, true) }
                if let value = try value(cell.after) { try body(value, false) }
            }
        }
    }

    private static func value(_ cell: Cell?) throws(DecodingFailure) -> LargeValue? {
        guard case .bytes(let bytes)? = cell else { return nil }
        guard let value = LargeValue(stored: bytes) else {
            throw DecodingFailure("a large value of \(bytes.count) bytes")
        }
        return value
    }
}

extension LargeValueCounts {
    /// Counts the references of all objects, and of all entries of the journal behind its floor.
    ///
    /// - Complexity: O(objects with large values + bytes of the journal).
    init(
        _ history: SchemaHistory, _ journal: Journal, records: [Table], through last: Revision,
        in transaction: borrowing ReadTransaction
    ) throws {
        self.init()
        let schema = history.current
        for (number, entity) in schema.entities.numbered where !entity.largeSlots.isEmpty {
            try transaction.scan(records[number]) { _, value in
                let header = try RecordHeader(decoding: value)
                if header.isTombstone { return true }
                let stored = UnsafeRawBufferPointer(
                    rebasing: value[RecordLayout.headerByteCount...])
                try history.withBody(
                    stored, ofEntity: number, from: Int(header.schemaRevision)
                ) { try add(valuesOf: try RecordBody($0, of: entity)) }
                return true
            }
        }
        var revision = try JournalFloor.read(in: transaction)?.revision ?? .zero
        while revision < last {
            revision = revision.next
            let (envelope, body) = try journal.entry(revision, in: transaction)
            let commit = try Commit(envelope: envelope, body: body, history: history, store: .none)
            try add(1, forEachValueOf: commit)
        }
    }

    /// Counts the references in a store again.
    static func renew(in file: StoreFile) throws {
        guard let table = file.projection.largeValues else { return }
        try file.environment.writeGrowing { transaction in
            let last = try Head.read(in: transaction.reading).revision
            let counts = try LargeValueCounts(
                file.history, file.journal, records: file.projection.records, through: last,
                in: transaction.reading)
            try table.replaceCounts(by: counts, in: transaction)
        }
    }

    /// Adds a number for each value that a commit contains.
    mutating func add(_ number: Int, forEachValueOf commit: Commit) throws {
        guard commit.schema.hasLargeValues else { return }
        try commit.forEachChange { change in
            try add(number, forEachValueOf: change, commit.schema.entities[change.entity])
        }
    }
}
