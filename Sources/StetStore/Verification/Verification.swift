import StetLMDB

/// Folds a journal and compares the result with the projection.
///
/// It shares only decoders with the code that commits.
struct Verification: ~Copyable {
    let file: StoreFile
    let transaction: ReadTransaction
    var report = VerificationReport()
    var states: [[ObjectID: State]]
    /// The states of links according to the journal.
    var links: [LinkKey: LinkState] = [:]
    /// The schemas up to the one of the entry that is being folded.
    private(set) var era: SchemaHistory
    var stacks: [UndoOwner: UndoHeads] = [:]
    /// The beginning of the journal; nil when it is complete.
    let floor: JournalFloor?
    /// The digest of the state that is reached by walking back from records and links.
    var reachedDigest = StateDigest()
    private var chunkCount = 0
    /// The number of changes of entities that are not removed.
    private(set) var presentChangeCount = 0
    /// The number of changes of links that are not removed.
    private(set) var presentLinkChangeCount = 0

    /// The state of one object according to the journal.
    struct State {
        var revision: Revision
        /// The body; nil when the object was deleted.
        var body: [UInt8]?
        /// The revision of the schema with which the body was written.
        var schemaRevision: Int
    }

    init(_ file: StoreFile, _ transaction: borrowing ReadTransaction) throws {
        let floor = try JournalFloor.read(in: transaction)
        let first = file.history.migrations.first?.from ?? file.schema
        let revision = floor.map { Int($0.schemaRevision) } ?? first.revision
        let era = try SchemaHistory(file.history, upTo: revision)
        self.file = file
        self.transaction = transaction.shared()
        self.floor = floor
        self.era = era
        states = Array(repeating: [:], count: file.schema.entities.count)
    }

    mutating func run(_ check: () throws -> Void) throws -> VerificationReport {
        let head = try Head.read(in: transaction)
        try foldJournal(upTo: head, check)
        try compareJournalExtent()
        if let floor {
            try compareRecords(backTo: floor)
        } else {
            for entity in states.numbers { try compareRecords(ofEntity: entity) }
        }
        try compareMembers()
        if let floor { compareDigest(of: floor) }
        try compareRelationships()
        try SealVerification(self).problems.forEach { note($0) }
        try LargeValueVerification(self, upTo: head).problems.forEach { note($0) }
        try DerivedValueCheck(file, transaction).problems().forEach { note($0) }
        try OptionalValueCheck(file, transaction).problems().forEach { note($0) }
        try compareIndexes()
        try compareStacks()
        let floor = floor?.revision ?? .zero
        try SubscriptionTable.problems(after: floor, upTo: head.revision, in: transaction)
            .forEach { note($0) }
        return report
    }

    mutating func note(_ problem: String) {
        if report.problems.count < VerificationReport.problemLimit {
            report.problems.append(problem)
        }
    }

    // MARK: Fold

    private mutating func foldJournal(upTo head: Head, _ check: () throws -> Void) throws {
        var hash = floor?.hash ?? .zero
        var revision = floor?.revision ?? .zero
        var time = floor?.time ?? -.infinity
        var backdated = Revision.zero
        let last = try file.journal.lastRevision(in: transaction)
        if last < head.revision { note("The journal ends at \(last), before the head.") }
        while revision < min(head.revision, last),
            report.problems.count < VerificationReport.problemLimit
        {
            revision = revision.next
            try check()
            do {
                let (envelope, body) = try file.journal.entry(revision, in: transaction)
                chunkCount += envelope.chunkCount
                if envelope.previousHash != hash {
                    note("The entry of revision \(revision) does not follow the one before it.")
                }
                if envelope.time < time { backdated = revision }
                if time - CommitDate.tolerance <= envelope.time, envelope.time < time {
                    note("Time runs backwards at revision \(revision).")
                }
                hash = envelope.hash
                time = envelope.time
                try fold(
                    Commit(
                        envelope: envelope, body: body, history: file.history, store: file.storeID))
            } catch let failure as DecodingFailure {
                note("Revision \(revision): \(failure).")
            }
            report.commitCount += 1
        }
        report.revision = revision
        report.hash = hash.hexadecimal
        if hash != head.hash { note("The head's hash is not that of the last entry.") }
        if era.current.revision != file.schema.revision {
            note("The journal ends with schema \(era.current.revision).")
        }
        if head.schemaRevision != UInt32(file.schema.revision) {
            note("The head's schema is another than the store's.")
        }
        let isTrimmed = head.lastBackdated <= floor?.revision ?? .zero
        if backdated != (isTrimmed ? .zero : head.lastBackdated) {
            note("The head's last backdated commit is another than the journal's.")
        }
        if time != head.time { note("The head's time is not that of the last entry.") }
    }

    private mutating func fold(_ commit: Commit) throws {
        try commit.validate()
        if commit.cause == .migration { try foldMigration(commit) }
        guard commit.schema.revision == era.current.revision else {
            return note("Revision \(commit.revision) was written with another schema.")
        }
        var last: (EntityNumber, ObjectID)?
        try commit.forEachChange { change in
            if let last, last >= (change.entity, change.id) {
                note("The changes of revision \(commit.revision) are out of order.")
            }
            last = (change.entity, change.id)
            // In a trimmed journal the earlier states are unknown, and are followed back from the
            // present.
            if floor == nil {
                try foldLinks(of: change, commit.revision)
                return try fold(change, commit.revision)
            }
            report.changeCount += 1
            if file.schema.entity(numbered: change.entity) != nil {
                if change.changesRecord { presentChangeCount += 1 }
                presentLinkChangeCount += try presentLinks(of: change).count
            }
        }
        try foldStacks(commit)
    }

    /// Continues with the schema of a migration; a step in code keeps the schema.
    private mutating func foldMigration(_ commit: Commit) throws {
        guard let bytes = commit.migration else { return }
        let migration = try bytes.withUnsafeBytes { try Migration(decoding: $0) }
        guard migration.from.revision == era.current.revision,
            migration.to.entities.count <= states.count
        else { return note("Revision \(commit.revision) migrates from another schema.") }
        era = try SchemaHistory(migration.to, era.migrations + [migration])
        for entity in migration.removedEntities { states[entity] = [:] }
        migrateLinks(to: migration.to)
    }

    private mutating func fold(_ change: JournalChange, _ revision: Revision) throws {
        report.changeCount += 1
        if !change.changesRecord { return }
        let entity = era.current.entities[change.entity]
        let state = states[change.entity][change.id]
        if change.previous != state?.revision ?? .zero {
            note("The chain of object \(change.id) breaks at revision \(revision).")
        }
        var body: [UInt8]?
        switch change.kind {
        case .insert:
            if state?.body != nil {
                note("Revision \(revision) inserts \(change.id) a second time.")
            }
            body = Array(change.payload)
        case .update:
            guard let before = try state.flatMap({ try values(of: $0, change.entity, era) }) else {
                return note("Revision \(revision) updates \(change.id), which does not exist.")
            }
            try compareBefore(change, before, entity, revision)
            body = try FoldedBody.applying(change, \.after, to: before, of: entity)
        case .delete:
            let before = try state.flatMap { try values(of: $0, change.entity, era) }
            if try FoldedBody.clearing(change.redactedSlots, of: entity, in: before)
                != Array(change.payload)
            {
                note("Revision \(revision) deletes \(change.id) with other values than it had.")
            }
        }
        states[change.entity][change.id] = State(
            revision: revision, body: body, schemaRevision: era.current.revision)
    }

    /// Returns the body of an object in the last of some schemas; nil when it was deleted.
    func values(
        of state: State, _ entity: EntityNumber, _ schemas: SchemaHistory
    ) throws -> [UInt8]? {
        try state.body?.withUnsafeBytes { bytes in
            try schemas.withBody(bytes, ofEntity: entity, from: state.schemaRevision) { Array($0) }
        }
    }

    /// Checks that the old values of an update are those that the object had.
    private mutating func compareBefore(
        _ change: JournalChange, _ before: [UInt8], _ entity: Entity, _ revision: Revision
    ) throws {
        let isSame = try before.withUnsafeBytes { bytes in
            let body = try RecordBody(bytes, of: entity)
            return try change.changedCells().allSatisfy { cell in
                try cell.isBeforeRedacted
                    || Cell.areEqual(try body.cell(cell.slot), cell.before)
            }
        }
        if !isSame {
            note("Revision \(revision) changes other values of \(change.id) than it had.")
        }
    }

    /// Checks that the journal contains nothing but the chunks of its entries.
    private mutating func compareJournalExtent() throws {
        let count = try transaction.count(of: file.journal.table)
        if count != chunkCount {
            note("The journal has \(count) chunks where its entries name \(chunkCount).")
        }
    }

    // MARK: Comparison

    private mutating func compareRecords(ofEntity entity: EntityNumber) throws {
        var remaining = states[entity]
        let name = file.schema.entities[entity].name
        let transaction = transaction.shared()
        try transaction.scan(file.projection.records[entity]) { key, value in
            guard key.count == 16 else {
                note("A record key of \(name) has \(key.count) bytes.")
                return true
            }
            let id = ObjectID(bytes: key)
            do {
                let header = try RecordHeader(decoding: value)
                try header.verify(value, of: id)
                let expected = remaining.removeValue(forKey: id)
                let body = value[RecordLayout.headerByteCount...]
                if header.revision != expected?.revision {
                    note("\(name) \(id) was last changed by another revision than its record says.")
                } else if let problem = try schemaProblem(of: header, expected) {
                    note("The record of \(name) \(id) was written with \(problem).")
                } else if header.isTombstone != (expected?.body == nil) {
                    note("The record of \(name) \(id) is not what the journal says.")
                } else if let expected, try !body.elementsEqual(bytes(expected, entity, header)) {
                    note("The record of \(name) \(id) is not what the journal says.")
                }
            } catch {
                remaining.removeValue(forKey: id)
                note("\(name): \(error).")
            }
            return true
        }
        countObjects(ofEntity: entity)
        for id in remaining.keys.sorted() { note("The record of \(name) \(id) is missing.") }
    }

    /// Returns a problem unless a record has the schema of the object's last change, or a later one
    /// to which a copy has converted it.
    private func schemaProblem(of header: RecordHeader, _ expected: State?) throws -> String? {
        let found = Int(header.schemaRevision)
        guard let expected, (expected.schemaRevision...file.schema.revision).contains(found),
            !header.isTombstone || found == expected.schemaRevision
        else { return "another schema" }
        return nil
    }

    /// Returns the body that a record must have, in the schema that it names.
    private func bytes(
        _ expected: State, _ entity: EntityNumber, _ header: RecordHeader
    ) throws -> [UInt8] {
        let revision = Int(header.schemaRevision)
        if revision == expected.schemaRevision { return expected.body ?? [] }
        let schemas = try SchemaHistory(file.history, upTo: revision)
        return try values(of: expected, entity, schemas) ?? []
    }

    mutating func countObjects(ofEntity entity: EntityNumber) {
        report.objectCount += states[entity].values.count { $0.body != nil }
    }

    func exists(_ id: ObjectID, _ entity: String?) -> Bool {
        guard let entity, let number = file.schema.number(ofEntity: entity) else { return false }
        return states[number][id]?.body != nil
    }
}

/// The result of `verify`: whether the state of a store equals its journal.
///
/// ```swift
/// let report = try store.verify()
/// if !report.isClean { problems += report.problems }
/// ```
public struct VerificationReport: Sendable, Hashable {
    /// The last commit that was checked.
    public internal(set) var revision = Revision.zero
    /// The number of commits that were checked.
    public internal(set) var commitCount = 0
    /// The number of changes that were folded.
    public internal(set) var changeCount = 0
    /// The number of existing objects.
    public internal(set) var objectCount = 0
    /// The number of references between them.
    public internal(set) var referenceCount = 0
    /// The number of links between them.
    public internal(set) var linkCount = 0
    /// The number of index entries.
    public internal(set) var indexEntryCount = 0
    /// The problems, each as a sentence; at most 100.
    public internal(set) var problems: [String] = []
    /// The indexes of texts that were not checked because this program lacks the rules by which
    /// they were made, each with its reason as a clause.
    public internal(set) var uncheckedIndexes: [String] = []
    /// The hash of the last commit, in hexadecimal digits.
    public internal(set) var hash = ""

    /// True when there are no problems.
    public var isClean: Bool { problems.isEmpty }

    static let problemLimit = 100
}

extension VerificationReport: CustomStringConvertible {
    /// A verdict in one line, then the problems and the indexes that were not checked.
    public var description: String {
        let counts = [
            (commitCount, "commit", "commits"), (changeCount, "change", "changes"),
            (objectCount, "object", "objects"), (referenceCount, "reference", "references"),
            (linkCount, "link", "links"), (indexEntryCount, "index entry", "index entries"),
        ]
        // Parts that many stores do not have are reported only if present.
        let extent = counts.enumerated().filter { $0.offset < 4 || $0.element.0 > 0 }.map(\.element)
            .map { "\($0) \($0 == 1 ? $1 : $2)" }.joined(separator: ", ")
        let unchecked = uncheckedIndexes.map { "not checked: \($0)" }
        let verdict =
            isClean ? "verified: state equals journal (\(extent))" : "NOT VERIFIED (\(extent)):"
        return ([verdict] + problems + unchecked).joined(separator: "\n  ")
    }
}

extension StoreFile {
    /// Rebuilds the state from the journal alone and compares it with what is stored: hashes and
    /// digests, records byte for byte, lists of members, indexes, the head.
    ///
    /// `check` is called for each commit; an error that it throws ends the verification.
    ///
    /// - Complexity: O(journal + large values) in time, O(bodies of all objects) in memory.
    /// - Throws: `StoreError` when the store cannot be read at all; the report contains any damage.
    package func verify(_ check: () throws -> Void = {}) throws -> VerificationReport {
        try StoreError.wrapping(path: path) {
            try environment.read { transaction in
                // Compares with the stored schema: a damaged head is reported as damage.
                guard try StoreTables.schema(in: transaction).revision == schema.revision else {
                    throw StoreError.migratedElsewhere(path: path)
                }
                var verification = try Verification(self, transaction)
                return try verification.run(check)
            }
        }
    }
}
