import StetStore

/// The rows that are committed together, and what is wrong with the others.
struct ImportBatch {
    let store: StoreFile
    private(set) var rows: [ImportRow] = []
    /// What is wrong with rows, by line.
    private(set) var rejected: [Int: [ImportProblem]] = [:]
    private var lines: [ObjectKey: Int] = [:]
    private let conversion: ImportConversion
    /// The last commit when the batch was begun.
    let base: Revision

    /// An empty batch of objects of an entity, or of any; `time` is in seconds since 2001.
    init(_ store: StoreFile, entity: String? = nil, time: Double) throws {
        self.store = store
        base = try store.read { try $0.head().revision }
        conversion = ImportConversion(store.schema, entity: entity, time: time, at: base)
    }

    /// The rows that are in it, good or bad.
    var count: Int { rows.count + rejected.count }

    /// Adds what a file says.
    mutating func add(_ records: [ImportRecord]) throws {
        try store.read { reader in
            for record in records {
                let (row, problems) = try conversion.row(record, reader)
                guard let row else {
                    rejected[record.line] = problems
                    continue
                }
                if let other = lines[row.key] {
                    rejected[row.line] = [ImportProblem("it has the id of line \(other)")]
                } else {
                    lines[row.key] = row.line
                    rows.append(row)
                }
            }
        }
    }

    /// Moves rows that cannot be committed to those that are rejected, until none is left.
    mutating func check() throws {
        while true {
            let found = try store.read { try ImportCheck.problems(of: self, $0) }
            if found.isEmpty { return }
            rejected.merge(found) { $0 + $1 }
            rows.removeAll { found[$0.line] != nil }
        }
    }

    /// What the rows change.
    func changes() -> NetChanges {
        var changes = NetChanges(schema: store.schema, expectedCount: rows.count)
        for row in rows {
            for link in row.links { changes.append(link) }
            if row.hasSameBody { continue }
            let before = row.before.map { body in body.withUnsafeBytes { changes.copy($0) } }
            let after = row.after.withUnsafeBytes { changes.copy($0) }
            changes.append(
                NetChanges.Item(
                    kind: before == nil ? .insert : .update, entity: row.key.entity,
                    id: row.key.id, base: row.base, before: before ?? 0..<0, after: after))
        }
        changes.sort()
        return changes
    }
}

/// A batch on its way into the journal.
struct ImportWork: CommitWork {
    /// Others have changed what the rows were compared with.
    struct Overtaken: Error {}

    let batch: ImportBatch
    let attributes: CommitAttributes
    /// In seconds since 2001.
    let time: Double

    var isRetry: Bool { false }
    var contention: any Error { Overtaken() }

    func prepare() throws -> EncodedChangeSet? {
        let changes = batch.changes()
        if changes.isEmpty { return nil }
        return try changes.encoded(
            attributes: attributes, base: batch.base, token: .random(in: .min ... .max),
            time: time, for: CommitPurpose(cause: .import, isUndoable: false))
    }

    /// What others have changed is not written over.
    func follow(_ refusal: CommitRefusal) throws { throw contention }

    /// Commits the rows; nil when they change nothing.
    ///
    /// - Throws: `Overtaken` when the store has moved since they were made.
    func commit() throws -> Commit? {
        var work = self
        var preparation = Preparation(batch.store)
        return try preparation.run(&work)
    }
}
