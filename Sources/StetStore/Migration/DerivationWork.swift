import StetLMDB

/// The computation of the derived attributes of an entity's objects, a batch in each commit.
struct DerivationWork: CommitWork {
    private static let batchCount = 1_000
    /// The number of bytes of objects after which a batch ends, too.
    private static let batchByteCount = 16 << 20

    /// Computes the derived attributes of all objects after a migration, which may have changed the
    /// expressions, or what they read.
    ///
    /// It commits in batches; if the process ends before the last one, the next process that opens
    /// the store computes the rest.
    ///
    /// - Complexity: O(objects with derived attributes).
    static func perform(on file: StoreFile) throws {
        guard try file.environment.read({ try StoreTables.isUnderived(in: $0) }) else { return }
        for (number, entity) in file.schema.entities.numbered where !entity.derivedSlots.isEmpty {
            var work = DerivationWork(file, number)
            while !work.isDone {
                var preparation = Preparation(file)
                _ = try preparation.run(&work)
            }
        }
        try file.environment.writeGrowing { try StoreTables.markDerived(file.schema, in: $0) }
    }

    private let file: StoreFile
    private let entity: EntityNumber
    /// The last object of the batches before.
    private var last = ObjectID.none
    /// True when all objects have been examined.
    private(set) var isDone = false

    private init(_ file: StoreFile, _ entity: EntityNumber) {
        self.file = file
        self.entity = entity
    }

    var isRetry: Bool { false }
    var contention: any Error {
        StoreError(
            .migrationFailed, path: file.path,
            message: "Derived attributes can't be computed while other processes keep changing "
                + "the objects.", advice: "Open the store again.")
    }

    mutating func prepare() throws -> EncodedChangeSet? {
        var net = ChangeSetBuilder(schema: file.schema)
        var base = Revision.zero
        var (count, byteCount) = (0, 0)
        var next = last
        isDone = true
        try file.read { reader in
            base = try reader.head().revision
            try reader.forEachRecord(ofEntity: entity, asOf: base, from: last) { id, record in
                if id == last { return true }
                let body = net.copy(record.body)
                net.append(
                    ChangeSetBuilder.Item(
                        kind: .update, entity: entity, id: id, base: record.revision, before: body,
                        after: body))
                (count, next) = (count + 1, id)
                byteCount += record.body.count
                isDone = count < Self.batchCount && byteCount < Self.batchByteCount
                return isDone
            }
            try net.derive(reader, at: base, fillsMissing: true)
        }
        let changed = net.items.filter { !net.areEqual($0.before, $0.after) }
        net.replaceItems(with: changed)
        last = next
        if net.isEmpty { return nil }
        net.sort()
        return try net.encoded(
            attributes: CommitAttributes(label: "derive \(file.schema.entities[entity].name)"),
            base: base, token: try file.token(at: base), time: file.time(),
            for: CommitPurpose(cause: .edit, isUndoable: false))
    }

    /// Begins the entity again.
    mutating func follow(_ refusal: CommitRefusal) throws {
        for case .notUnique(let conflict) in refusal.reasons {
            throw StoreError(
                .migrationFailed, path: file.path,
                message: "The derived attributes of \(file.schema.entities[entity].name) can't "
                    + "be computed: \(conflict.object) and \(conflict.other) would have the same "
                    + "values of a unique index.",
                advice: "Open the store with models in which the attribute is not unique, and "
                    + "change one of the objects.")
        }
        (last, isDone) = (.none, false)
    }
}

extension StoreTables {
    private static let underivedKey: StaticString = "underived"

    /// Records that the derived attributes of all objects are yet to be computed.
    static func markUnderived(in transaction: borrowing WriteTransaction) throws {
        try [1 as UInt8].withUnsafeBytes { bytes in
            try transaction.put(bytes, for: underivedKey, in: .unnamed)
        }
    }

    /// Records that derived attributes have their values.
    ///
    /// Another process may have migrated the store since, which must compute them again.
    fileprivate static func markDerived(
        _ schema: Schema, in transaction: borrowing WriteTransaction
    ) throws {
        let head = try Head.read(in: transaction.reading)
        guard head.schemaRevision == UInt32(schema.revision) else {
            throw StoreError.migratedElsewhere(path: transaction.reading.environment.path)
        }
        try [0 as UInt8].withUnsafeBytes { bytes in
            try transaction.put(bytes, for: underivedKey, in: .unnamed)
        }
    }

    /// Returns whether the derived attributes of all objects are yet to be computed.
    static func isUnderived(in transaction: borrowing ReadTransaction) throws -> Bool {
        try transaction.get(underivedKey, in: .unnamed)?.first == 1
    }
}
