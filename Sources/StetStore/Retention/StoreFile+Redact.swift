import Logging
import StetLMDB

extension RedactionRequest {
    /// Returns the request with the members of each optional embedded value instead of its
    /// presence: it was there, but nothing in it is known any more.
    package func ofMembers(in schema: Schema) -> RedactionRequest {
        let all = schema.entities[entity]
        return RedactionRequest(
            entity: entity, object: object,
            slots: slots.flatMap { slot in
                all.optionalValue(at: slot).flatMap { $0.presence == slot ? $0.members : nil }
                    ?? [slot]
            })
    }
}

/// The effect of a redaction.
package struct RedactionPlan: Hashable, Sendable {
    /// The commits whose values would be redacted, the last one first; they could not be undone.
    package private(set) var revisions: [Revision] = []
    package private(set) var valueCount = 0

    fileprivate mutating func add(_ other: RedactionPlan) {
        revisions = Set(revisions).union(other.revisions).sorted(by: >)
        valueCount += other.valueCount
    }
}

extension StoreFile {
    /// Returns the effect that redactions would have.
    ///
    /// - Throws: as `redact`.
    package func redactionPlan(_ requests: [RedactionRequest]) throws -> RedactionPlan {
        let requests = requests.map { $0.ofMembers(in: schema) }
        return try read {
            try RedactionWork.perform(requests, self, $0.transaction) { _, _ in }.plan
        }
    }

    /// Redacts all values of some properties of objects in the journal, before- and after-images,
    /// except the current ones, in one transaction, and then in drafts.
    ///
    /// When drafts cannot be written, the journal is redacted; redacting again completes it.
    ///
    /// - Throws: `StoreError`: `.notFound` when there never was such an object; `.valueInUse` when
    ///   a current value is one of those to redact, or the only one. Nothing was changed.
    /// - Complexity: O(bytes of the entries that change the objects), in time and on the disk.
    @discardableResult
    package func redact(_ requests: [RedactionRequest]) throws -> RedactionPlan {
        let requests = requests.map { $0.ofMembers(in: schema) }
        let plan = try StoreError.wrapping(path: path) {
            // Even after a failure.
            defer { forgetValues() }
            return try environment.writeGrowing { transaction in
                try AttachedMark.refuse("its journal is redacted on all nodes", in: transaction)
                let head = try Head.read(in: transaction.reading)
                guard head.schemaRevision == UInt32(schema.revision) else {
                    throw StoreError.migratedElsewhere(path: path)
                }
                return try RedactionWork.carryOut(requests, self, refuses: true, in: transaction)
            }
        }
        try DraftFiles(of: path).redact(requests, schema)
        return plan
    }

    /// Removes values of the journal from memory and the log, so that observers read the journal.
    func forgetValues() {
        feed.forgetRing()
        // If that fails, the log's files are removed when the store is closed.
        do { try environment.log.leave(erasing: true) } catch {
            logger.error("The log could not be overwritten after a redaction.")
        }
    }

    /// Returns the effect that a redaction would have.
    package func redactionPlan(_ request: RedactionRequest) throws -> RedactionPlan {
        try redactionPlan([request])
    }

    /// Redacts values of one object.
    @discardableResult
    package func redact(_ request: RedactionRequest) throws -> RedactionPlan {
        try redact([request])
    }
}

/// Walks back along the changes of an object and redacts them.
struct RedactionWork: ~Copyable {
    private let request: RedactionRequest
    private let file: StoreFile
    private let transaction: ReadTransaction
    /// The body of the object in the current schema; nil when it is deleted.
    private let present: [UInt8]?
    /// The slots whose current values have not been found yet in the change that has set them.
    private var ahead: Set<Slot>
    private var revision: Revision
    private var revisions: [Revision] = []
    private var valueCount = 0
    /// The slots that had a value to redact, or a redacted one.
    private var found: Set<Slot> = []
    /// Whether values in use are refused, as they are unless another node has redacted them.
    private let refuses: Bool
    /// The contributions of the changes as they were, minus those that they have now.
    private(set) var lostEffect = StateDigest()
    /// The references to large values that changes lose.
    private(set) var lostValues = LargeValueCounts()

    var plan: RedactionPlan { RedactionPlan(revisions: revisions, valueCount: valueCount) }

    /// Redacts values in the journal and its floor.
    static func carryOut(
        _ requests: [RedactionRequest], _ file: StoreFile, refuses: Bool,
        in transaction: borrowing WriteTransaction
    ) throws -> RedactionPlan {
        let done = try perform(requests, file, transaction.reading, refuses: refuses) {
            try file.journal.replace($0, $1, in: transaction)
        }
        try file.projection.largeValues?
            .change(done.lostValues, removesUnused: true, in: transaction)
        if !done.plan.revisions.isEmpty,
            var floor = try JournalFloor.read(in: transaction.reading)
        {
            floor.digest += done.lostEffect
            try floor.write(in: transaction)
        }
        return done.plan
    }

    /// Redacts the values of all requests, one after another.
    ///
    /// - Returns: The effect, and what changes lose in the digest of the state.
    static func perform(
        _ requests: [RedactionRequest], _ file: StoreFile,
        _ transaction: borrowing ReadTransaction, refuses: Bool = true,
        _ replace: (Envelope, Journal.Content) throws -> Void
    ) throws -> (plan: RedactionPlan, lostEffect: StateDigest, lostValues: LargeValueCounts) {
        var done = (
            plan: RedactionPlan(), lostEffect: StateDigest(), lostValues: LargeValueCounts()
        )
        for request in requests {
            var work = try RedactionWork(request, file, transaction, refuses: refuses)
            try work.run(replace)
            done.plan.add(work.plan)
            done.lostEffect += work.lostEffect
            done.lostValues += work.lostValues
        }
        return done
    }

    init(
        _ request: RedactionRequest, _ file: StoreFile, _ transaction: borrowing ReadTransaction,
        refuses: Bool
    ) throws {
        let reader = StoreReader(transaction, file)
        guard let (header, stored) = try reader.stored(request.entity, request.object) else {
            throw StoreError(
                .notFound, path: file.path, message: "There is no object \(request.object).",
                advice: "Nothing was changed.")
        }
        let present =
            header.isTombstone
            ? nil : try reader.withBody(header, stored, request.entity) { Array($0) }
        self.request = request
        self.file = file
        self.refuses = refuses
        self.transaction = transaction.shared()
        self.present = present
        revision = header.revision
        ahead = present == nil ? [] : Set(request.slots)
    }

    /// Passes each entry without the values to `replace`, from the last one on.
    mutating func run(
        _ replace: (Envelope, Journal.Content) throws -> Void
    ) throws {
        let floor = try JournalFloor.read(in: transaction)?.revision ?? .zero
        while revision > floor {
            let (envelope, body) = try file.journal.entry(revision, in: transaction)
            let commit = try Commit(
                envelope: envelope, body: body, history: file.history, store: file.storeID)
            let rest = try redact(commit)
            guard rest.previous < revision else {
                throw DecodingFailure(
                    "the chain of changes of object \(request.object) breaks at \(revision)")
            }
            if let content = rest.content {
                revisions.append(revision)
                var envelope = envelope
                envelope.isRedacted = true
                try replace(envelope, content)
            }
            revision = rest.previous
        }
        // A trimmed journal may have contained other values.
        if refuses, revision == .zero { try refuseUntouched() }
    }

    /// Returns the body of a commit without the values, and the revision of the previous change.
    private mutating func redact(
        _ commit: Commit
    ) throws -> (content: Journal.Content?, previous: Revision) {
        var body = ByteBuffer(capacity: commit.body.count + 64)
        var reader = ByteReader(commit.body.bytes)
        body.append(try JournalChange.readBlock(&reader, minimum: 4))
        var ranges: [Range<Int>] = []
        var previous: Revision?
        var hasChanged = false
        while reader.remaining > 0 {
            let change = try JournalChange(decoding: &reader)
            let start = body.count
            if change.entity == request.entity, change.id == request.object {
                previous = change.previous
                if let block = try redacted(change, commit) {
                    body.append(block.bytes)
                    hasChanged = true
                } else {
                    body.append(change.bytes)
                }
            } else {
                body.append(change.bytes)
            }
            ranges.append(start..<body.count)
        }
        guard let previous else {
            throw DecodingFailure(
                "revision \(commit.revision) does not change object \(request.object)")
        }
        let content = Journal.Content(body: body.finish(), changes: ranges)
        return (hasChanged ? content : nil, previous)
    }

    private mutating func redacted(
        _ change: JournalChange, _ commit: Commit
    ) throws -> ByteStorage? {
        let schemaRevision = commit.schema.revision
        let upcast = try file.history.upcast(ofEntity: change.entity, from: schemaRevision)
        let entity = commit.schema.entities[change.entity]
        // The slots of the values in the schema with which the change was written.
        var targets: [Slot: Slot] = [:]
        for slot in request.slots {
            if let source = upcast.map({ $0.slots[slot] }) ?? slot { targets[source] = slot }
        }
        found.formUnion(try change.slotsWithoutValues().compactMap { targets[$0] })
        var met: Set<Slot> = []
        let block = try change.redacted(of: entity) { source, isBefore, cell in
            guard let slot = targets[source] else { return false }
            if !isBefore, ahead.contains(slot) {
                met.insert(slot)
                return false
            }
            let arena = CellArena()
            try refuseUsed(try upcast?.widened(cell, from: source, to: slot, arena) ?? cell, slot)
            withExtendedLifetime(arena) {}
            found.insert(slot)
            valueCount += 1
            if entity.properties[source].isLarge { try lostValues.remove(cell) }
            return true
        }
        ahead.subtract(try written(by: change, targets).union(met))
        guard let block else { return nil }
        let (old, new) = (
            try effect(of: change, commit),
            try effect(ofBlock: block, commit)
        )
        lostEffect += old - new
        return block
    }

    /// Returns the slots that a change has set to a value or nil.
    private func written(by change: JournalChange, _ targets: [Slot: Slot]) throws -> Set<Slot> {
        guard change.kind == .update else { return Set(targets.values) }
        return Set(try change.changedCells().compactMap { targets[$0.slot] })
    }

    private func effect(of change: JournalChange, _ commit: Commit) throws -> StateDigest {
        try StateDigest.effect(
            of: change, at: commit.revision, file.history, from: commit.schema.revision)
    }

    private func effect(ofBlock block: ByteStorage, _ commit: Commit) throws -> StateDigest {
        var reader = ByteReader(block.bytes)
        return try effect(of: try JournalChange(decoding: &reader), commit)
    }

    // MARK: Refusals

    private func presentCell<Result>(
        _ slot: Slot, _ body: (Cell?) throws -> Result
    ) throws -> Result {
        guard let present else { return try body(nil) }
        let entity = file.schema.entities[request.entity]
        return try present.withUnsafeBytes { bytes in
            try body(try RecordBody(bytes, of: entity).cell(slot))
        }
    }

    /// Refuses to redact the current value of the object.
    private func refuseUsed(_ cell: Cell, _ slot: Slot) throws {
        guard refuses else { return }
        try presentCell(slot) { now in
            if let now, now == cell { throw inUse(slot) }
        }
    }

    /// Refuses to do nothing when a value is only current, because the caller would believe it
    /// redacted.
    private func refuseUntouched() throws {
        for slot in request.slots where !found.contains(slot) {
            try presentCell(slot) { now in if now != nil { throw inUse(slot) } }
        }
    }

    private func inUse(_ slot: Slot) -> StoreError {
        let entity = file.schema.entities[request.entity]
        return StoreError(
            .valueInUse, path: file.path,
            message: "\(entity.name).\(entity.properties[slot].name) of \(request.object) still "
                + "has a value that would be redacted.",
            advice: "Give it another value or none, or delete the object, save, and redact then.")
    }
}
