import StetStore

/// The rows that are committed together, and the problems of rejected ones.
struct ImportBatch {
    let store: StoreFile
    private(set) var rows: [ImportRow] = []
    /// The problems of rejected rows, by line.
    private(set) var rejected: [Int: [ImportProblem]] = [:]
    private var lines: [ObjectKey: Int] = [:]
    /// The bytes of large data that the store does not have; nil when there are none.
    private let largeData: LargeDataFolder?
    private let conversion: ImportConversion
    /// The last commit at the beginning of the batch.
    let base: Revision

    /// Creates an empty batch of objects of one entity, or of any; `time` is in seconds since 2001.
    init(
        _ store: StoreFile, entity: String? = nil, time: Double, largeData: LargeDataFolder? = nil
    ) throws {
        self.store = store
        self.largeData = largeData
        base = try store.read { try $0.head().revision }
        conversion = ImportConversion(store.schema, entity: entity, time: time, at: base)
    }

    /// The number of rows, including rejected ones.
    var count: Int { rows.count + rejected.count }

    /// Adds the records of a file.
    mutating func add(_ records: [ImportRecord]) throws {
        try store.read { reader in
            for record in records {
                let (row, problems) = try conversion.row(record, reader)
                guard let row else {
                    rejected[record.line] = problems
                    continue
                }
                let missing = try missingBytes(of: row, reader)
                if !missing.isEmpty {
                    rejected[row.line] = missing
                } else if let other = lines[row.key] {
                    rejected[row.line] = [ImportProblem("it has the id of line \(other)")]
                } else {
                    lines[row.key] = row.line
                    rows.append(row)
                }
            }
        }
    }

    /// Returns a problem for each large value of a row whose bytes are neither in the store nor in
    /// the folder.
    private func missingBytes(
        of row: ImportRow, _ reader: borrowing StoreReader
    ) throws -> [ImportProblem] {
        try largeValues(of: row).compactMap { property, value in
            if try reader.hasBytes(of: value) || largeData?.contains(value) == true { return nil }
            return ImportProblem(
                "\(property) is large data whose bytes the store does not have; export them, and "
                    + "import them, with --large-data", property: property)
        }
    }

    /// Returns the large data of a row, with the names of the properties.
    private func largeValues(
        of row: ImportRow
    ) throws -> [(property: String, value: LargeValue)] {
        if !store.schema.hasLargeValues || row.hasSameBody { return [] }
        let entity = store.schema.entities[row.key.entity]
        let values = try row.after.withUnsafeBytes { try RecordBody($0, of: entity).values() }
        return entity.largeValues(of: values)
    }

    /// Writes the bytes of large data of the rows that the store does not have to it.
    func loadLargeData() throws {
        guard let largeData else { return }
        for row in rows {
            try largeData.load(Set(largeValues(of: row).map(\.value)), into: store)
        }
    }

    /// Rejects rows that cannot be committed, until none is left.
    mutating func check() throws {
        while true {
            let found = try store.read { try ImportCheck.problems(of: self, $0) }
            if found.isEmpty { return }
            rejected.merge(found) { $0 + $1 }
            rows.removeAll { found[$0.line] != nil }
        }
    }

    /// Returns the changes of the rows, with the derived attributes that follow from them.
    func changes(_ reader: borrowing StoreReader) throws -> ChangeSetBuilder {
        var changes = ChangeSetBuilder(schema: store.schema, expectedCount: rows.count)
        for row in rows {
            for link in row.links { changes.append(link) }
            if row.hasSameBody { continue }
            let before = row.before.map { body in body.withUnsafeBytes { changes.copy($0) } }
            let after = row.after.withUnsafeBytes { changes.copy($0) }
            changes.append(
                ChangeSetBuilder.Item(
                    kind: before == nil ? .insert : .update, entity: row.key.entity,
                    id: row.key.id, base: row.base, before: before ?? 0..<0, after: after))
        }
        try changes.derive(reader, at: base)
        changes.sort()
        return changes
    }
}

/// A batch to be committed.
struct ImportWork: CommitWork {
    /// The error of a batch whose base others have changed.
    struct Overtaken: Error {}

    let batch: ImportBatch
    let attributes: CommitAttributes
    /// The time of the commit, in seconds since 2001.
    let time: Double

    var isRetry: Bool { false }
    var contention: any Error { Overtaken() }

    func prepare() throws -> EncodedChangeSet? {
        let token = try batch.store.token(at: batch.base)
        return try batch.store.read { reader in
            let changes = try batch.changes(reader)
            if changes.isEmpty { return nil }
            return try changes.encoded(
                attributes: attributes, base: batch.base, token: token,
                time: time, for: CommitPurpose(cause: .import, isUndoable: false))
        }
    }

    /// Throws, because changes of others are not overwritten.
    func follow(_ refusal: CommitRefusal) throws { throw contention }

    /// Commits the rows; returns nil when they change nothing.
    ///
    /// - Throws: `Overtaken` when the store has changed since they were made.
    func commit() throws -> Commit? {
        var work = self
        var preparation = Preparation(batch.store)
        return try preparation.run(&work)
    }
}
