import StetLMDB

/// What `verify` found: whether the state of a store equals its journal.
public struct VerificationReport: Sendable, Hashable {
    /// The last commit that was looked at.
    public internal(set) var revision = Revision.zero
    /// The commits, changes, objects and references that were compared.
    public internal(set) var commitCount = 0
    /// The changes that were folded.
    public internal(set) var changeCount = 0
    /// The objects that exist.
    public internal(set) var objectCount = 0
    /// The references between them.
    public internal(set) var referenceCount = 0
    /// The links between them.
    public internal(set) var linkCount = 0
    /// The entries of indexes.
    public internal(set) var indexEntryCount = 0
    /// Each thing that is wrong, as a sentence; at most 100.
    public internal(set) var problems: [String] = []
    /// The hash of the last commit, in hexadecimal digits.
    public internal(set) var hash = ""

    /// True when nothing is wrong.
    public var isClean: Bool { problems.isEmpty }

    static let problemLimit = 100
}

extension VerificationReport: CustomStringConvertible {
    /// A verdict in one line, then the problems.
    public var description: String {
        let counts = [
            (commitCount, "commit", "commits"), (changeCount, "change", "changes"),
            (objectCount, "object", "objects"), (referenceCount, "reference", "references"),
            (linkCount, "link", "links"), (indexEntryCount, "index entry", "index entries"),
        ]
        // What not every store can have is named where there is some.
        let extent = counts.enumerated().filter { $0.offset < 4 || $0.element.0 > 0 }.map(\.element)
            .map { "\($0) \($0 == 1 ? $1 : $2)" }.joined(separator: ", ")
        guard !isClean else { return "verified: state equals journal (\(extent))" }
        return (["NOT VERIFIED (\(extent)):"] + problems).joined(separator: "\n  ")
    }
}

extension StoreFile {
    /// Rebuilds the state from the journal alone and compares it with what is stored: hashes and
    /// digests, records byte for byte, lists of members, indexes, the head.
    ///
    /// - Complexity: O(journal) time; memory for the bodies of all objects.
    /// - Throws: `StoreError` when the store cannot be read at all; damage that was found is in the
    ///   report.
    package func verify() throws -> VerificationReport {
        try StoreError.wrapping(path: path) {
            try environment.read { transaction in
                // A head that was damaged is another matter.
                guard try StoreTables.schema(in: transaction).revision == schema.revision else {
                    throw StoreError.migratedElsewhere(path: path)
                }
                var verification = try Verification(self, transaction)
                return try verification.run()
            }
        }
    }
}

/// The fold of a journal, and its comparison with the projection.
///
/// Shares only decoders with the path that commits.
struct Verification: ~Copyable {
    let file: StoreFile
    let transaction: ReadTransaction
    var report = VerificationReport()
    var states: [[ObjectID: State]]
    /// What the journal says of links.
    var links: [LinkKey: LinkState] = [:]
    /// The schemas up to that of the entry that is being folded.
    private(set) var era: SchemaHistory
    var stacks: [UndoOwner: UndoHeads] = [:]
    /// Where the journal begins; nil when it is whole.
    let floor: JournalFloor?
    /// Of the state that records and links lead back to.
    var reachedDigest = StateDigest()
    private var chunkCount = 0
    /// The changes of entities that are not removed.
    private(set) var presentChangeCount = 0
    /// The changes of links that are not removed.
    private(set) var presentLinkChangeCount = 0

    /// What the journal says of one object.
    struct State {
        var revision: Revision
        /// nil when it was deleted.
        var body: [UInt8]?
        /// That the body was written with.
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

    mutating func run() throws -> VerificationReport {
        let head = try Head.read(in: transaction)
        try foldJournal(upTo: head)
        try compareJournalExtent()
        if let floor {
            try compareRecords(backTo: floor)
        } else {
            for entity in states.numbers { try compareRecords(ofEntity: entity) }
        }
        try compareMembers()
        if let floor { compareDigest(of: floor) }
        try compareRelationships()
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

    private mutating func foldJournal(upTo head: Head) throws {
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
            // Where the journal begins later the states are not known: they are walked back to.
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

    /// Goes on with the schema that a migration leads to; a step in code keeps the schema.
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

    /// The body of an object in the last of some schemas; nil when it was deleted.
    func values(
        of state: State, _ entity: EntityNumber, _ schemas: SchemaHistory
    ) throws -> [UInt8]? {
        try state.body?.withUnsafeBytes { bytes in
            try schemas.withBody(bytes, ofEntity: entity, from: state.schemaRevision) { Array($0) }
        }
    }

    /// The old values that an update names must be those that the object had.
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

    /// Nothing may stand in the journal but the chunks of its entries.
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

    /// A record has the schema of the object's last change, or a later one that it was brought to
    /// by a copy.
    private func schemaProblem(of header: RecordHeader, _ expected: State?) throws -> String? {
        let found = Int(header.schemaRevision)
        guard let expected, (expected.schemaRevision...file.schema.revision).contains(found),
            !header.isTombstone || found == expected.schemaRevision
        else { return "another schema" }
        return nil
    }

    /// The body that a record must have, in the schema that it names.
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
