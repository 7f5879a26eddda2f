import StetLMDB

// In a trimmed journal the first state cannot be rebuilt from entries. So each record is followed
// back along its changes, which must be consistent, and the remaining objects must have the digest
// that the trim computed from the removed entries.

extension Verification {
    mutating func compareRecords(backTo floor: JournalFloor) throws {
        var changeCount = 0
        let transaction = transaction.shared()
        for number in states.numbers {
            let name = file.schema.entities[number].name
            try transaction.scan(file.projection.records[number]) { key, value in
                guard key.count == 16 else {
                    note("A record key of \(name) has \(key.count) bytes.")
                    return true
                }
                let id = ObjectID(bytes: key)
                do {
                    var walk = try RecordWalk(file, number, id, value)
                    states[number][id] = State(
                        revision: walk.revision, body: walk.state,
                        schemaRevision: file.schema.revision)
                    if let problem = try walk.run(to: floor.revision, in: transaction) {
                        note("\(name) \(id): \(problem).")
                    }
                    changeCount += walk.changeCount
                    reachedDigest += try walk.digest()
                } catch let failure as DecodingFailure {
                    note("\(name) \(id): \(failure).")
                }
                return true
            }
            countObjects(ofEntity: number)
        }
        if changeCount != presentChangeCount {
            note("The journal has changes that no record leads back to.")
        }
    }

    /// Compares the state that is reached by walking back with the digest of the floor.
    mutating func compareDigest(of floor: JournalFloor) {
        if reachedDigest != floor.digest {
            note("The state that the journal begins with is not the one that it was trimmed to.")
        }
    }
}

/// An object that is walked back from its record to the beginning of the journal.
private struct RecordWalk {
    private let file: StoreFile
    private let number: EntityNumber
    private let id: ObjectID
    private let entity: Entity
    private let header: RecordHeader
    /// The revision of the next change to walk back over.
    private(set) var revision: Revision
    /// The body in the current schema; nil when the object does not exist.
    private(set) var state: [UInt8]?
    /// The slots whose values were redacted in the changes that have set them.
    private var unknown: Set<Slot> = []
    private(set) var changeCount = 0

    init(
        _ file: StoreFile, _ number: EntityNumber, _ id: ObjectID, _ record: UnsafeRawBufferPointer
    ) throws {
        self.file = file
        self.number = number
        self.id = id
        entity = file.schema.entities[number]
        header = try RecordHeader(decoding: record)
        try header.verify(record, of: id)
        revision = header.revision
        if header.isTombstone { return }
        let stored = UnsafeRawBufferPointer(rebasing: record[RecordLayout.headerByteCount...])
        let schemaRevision = Int(header.schemaRevision)
        state = try file.history.withBody(stored, ofEntity: number, from: schemaRevision) {
            Array($0)
        }
        let own = try file.history.schema(schemaRevision).entities[number]
        guard
            FoldedBody.assemble(try RecordBody(stored, of: own).cells(), own)
                .elementsEqual(stored)
        else { throw DecodingFailure("its record is not laid out as it should be") }
    }

    /// Walks back over all changes after `floor`; returns a problem with one of them.
    mutating func run(to floor: Revision, in transaction: borrowing ReadTransaction) throws
        -> String?
    {
        while revision > floor {
            let current = revision
            let found: (problem: String?, previous: Revision)? = try file.journal.withChange(
                ofEntity: number, id, at: current, in: transaction
            ) { change, schemaRevision in
                // Compaction rewrites records with the store's schema at that time.
                if current == header.revision,
                    header.isTombstone
                        ? schemaRevision != Int(header.schemaRevision)
                        : schemaRevision > Int(header.schemaRevision)
                {
                    return ("its record was written with another schema", change.previous)
                }
                return (try goBack(over: change, schemaRevision), change.previous)
            }
            guard let found, found.previous < current else {
                return "its chain of changes breaks at revision \(current)"
            }
            if let problem = found.problem { return "\(problem) (revision \(current))" }
            changeCount += 1
            revision = found.previous
        }
        return (revision == .zero) == (state == nil) || revision > .zero
            ? nil : "it was never inserted"
    }

    private mutating func goBack(
        over change: JournalChange, _ schemaRevision: Int
    ) throws -> String? {
        guard (state == nil) == (change.kind == .delete) else {
            return "it exists where it should not, or the other way round"
        }
        var isSame = true
        var taken: Set<Slot> = change.kind == .update ? unknown : []
        try (state ?? []).withUnsafeBytes { bytes in
            let body = state == nil ? nil : try RecordBody(bytes, of: entity)
            try file.history.forEachCell(of: change, from: schemaRevision) { cell in
                if change.kind != .delete, !cell.isAfterRedacted, !unknown.contains(cell.slot),
                    !Cell.areEqual(try body?.cell(cell.slot), cell.after)
                {
                    isSame = false
                }
                if cell.isBeforeRedacted {
                    taken.insert(cell.slot)
                } else {
                    taken.remove(cell.slot)
                }
            }
        }
        guard isSame else { return "it has other values than the journal says" }
        state = try change.stateBefore(
            state, of: entity, try file.history.upcast(ofEntity: number, from: schemaRevision))
        unknown = taken
        return nil
    }

    /// Returns the contribution of the object to the digest of the state that was reached.
    func digest() throws -> StateDigest {
        let last = StateDigest.lastChange(revision, ofEntity: number, id)
        guard let state else { return last }
        return try state.withUnsafeBytes { bytes in
            last
                + (try StateDigest.object(
                    ofEntity: number, id, try RecordBody(bytes, of: entity), unknown: unknown))
        }
    }
}
