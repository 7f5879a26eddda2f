import StetLMDB

/// Migrates a store that is being opened to the schema of the declared models.
struct SchemaUpdate {
    private let environment: Environment
    private let journal: Journal
    private let declared: DeclaredModels?
    private let configuration: StoreFile.Configuration

    init(
        _ environment: Environment, _ declared: DeclaredModels?,
        _ configuration: StoreFile.Configuration
    ) throws {
        guard let table = try environment.tables([Journal.tableName])[0] else {
            throw DecodingFailure("a table is missing")
        }
        self.environment = environment
        self.declared = declared
        self.configuration = configuration
        journal = Journal(table: table)
    }

    /// Performs the part of a migration that can run beside other processes, and reports its
    /// progress.
    ///
    /// Nobody waits for it, and the caller holds no lock, because the receiver of the progress is
    /// users' code, which may open the store itself.
    func prepare() throws {
        guard let declared else { return }
        let history = try environment.read { try journal.schemaHistory(in: $0) }
        guard let migration = try migration(to: declared, after: history) else { return }
        try StoreTracer(configuration.tracer).span("stet.migrate") {
            try IndexBuild(migration, after: history, journal, configuration.progress)
                .run(in: environment)
        }
    }

    /// Returns the schemas of the store, the last of which is that of the declared models: if it is
    /// not, the store is migrated first, durably.
    func run() throws -> SchemaHistory {
        while true {
            let history = try environment.read { try journal.schemaHistory(in: $0) }
            guard let declared else { return history }
            guard let migration = try migration(to: declared, after: history) else {
                let comparison = try declared.comparison(with: history.current)
                return try renew(comparison.schema, history)
            }
            try StoreTracer(configuration.tracer).span("stet.migrate") {
                try migrate(history, migration)
            }
        }
    }

    /// Returns the migration from the store's schema to that of declared models; nil when none is
    /// needed.
    private func migration(
        to declared: DeclaredModels, after history: SchemaHistory
    ) throws -> Migration? {
        let comparison = try declared.comparison(with: history.current)
        try comparison.refuseProblems(environment.path)
        try Self.refuseEarlier(declared, history, environment.path)
        try comparison.refuseMissing(environment.path)
        return try comparison.migration()
    }

    /// Stores the parts of a schema that do not change the meaning of bytes: rules and stamps.
    private func renew(
        _ schema: Schema, _ history: SchemaHistory
    ) throws -> SchemaHistory {
        if schema.encoded() != history.current.encoded() {
            try environment.write { transaction in
                let stored = try StoreTables.schema(in: transaction.reading)
                guard stored.revision == schema.revision else {
                    throw StoreError.migratedElsewhere(path: environment.path)
                }
                try StoreTables.put(schema, in: transaction)
            }
        }
        return try SchemaHistory(schema, history.migrations)
    }

    /// Refuses models from which the store was migrated away.
    private static func refuseEarlier(
        _ declared: DeclaredModels, _ history: SchemaHistory, _ path: String
    ) throws {
        guard let problem = try problem(ofEarlier: declared, history) else { return }
        throw StoreError(
            .modelMismatch, path: path,
            message: "\(problem.prefix(1).uppercased())"
                + "\(problem.dropFirst()).",
            advice: "Open it with the models it has now, or later ones.")
    }

    /// Returns the reason why earlier models of the store cannot be restored; nil when the store
    /// has not had them.
    fileprivate static func problem(
        ofEarlier declared: DeclaredModels, _ history: SchemaHistory
    ) throws -> String? {
        if try declared.comparison(with: history.current).steps.isEmpty { return nil }
        for migration in history.migrations {
            let then = try SchemaComparison(of: migration.from, with: declared.schema)
            guard then.steps.isEmpty, then.problems.isEmpty else { continue }
            return "the store was migrated from these models to later ones (it has schema "
                + "\(history.current.revision), and they are schema \(migration.from.revision))"
        }
        return nil
    }

    /// Migrates the store in one commit, unless another process has done so.
    private func migrate(_ history: SchemaHistory, _ migration: Migration) throws {
        // Repeats only what other commits have made necessary since `prepare`.
        let build = IndexBuild(migration, after: history, journal, nil)
        try build.run(in: environment)
        try environment.writeGrowing { transaction in
            var head = try Head.read(in: transaction.reading)
            guard head.schemaRevision == UInt32(migration.from.revision) else { return }
            let before = head
            let writer = try MigrationWriter(migration, after: history, journal, in: transaction)
            let isBuilt = try build.finish(head, in: transaction)
            try writer.write(
                &head, time: configuration.time(), isBuilt: isBuilt, in: transaction)
            // A working copy of a migration is adopted, and shared, as a whole.
            if configuration.isMigration { return }
            let store = try StoreTables.identity(in: transaction.reading)
            try SharedLink.append(
                to: configuration.link(of: store, path: environment.path), after: before,
                through: head, from: journal, in: transaction)
        }
    }
}

extension StoreFile {
    /// Returns the differences between the store's schema and a declared one.
    package func comparison(with schema: Schema) throws -> SchemaComparison {
        try SchemaComparison(of: self.schema, with: schema)
    }

    /// Returns the steps of opening the store at `path` with declared models, and the problems that
    /// prevent it.
    ///
    /// - Throws: `StoreError`.
    package static func outline(
        at path: String, schema: Schema, origins: SchemaOrigins, _ configuration: Configuration
    ) throws -> (steps: [String], problems: [String]) {
        try StoreFile.open(at: path, configuration).outline(schema: schema, origins: origins)
    }

    /// Returns the steps of opening the store with declared models, and the problems that prevent
    /// it.
    package func outline(
        schema: Schema, origins: SchemaOrigins
    ) throws -> (steps: [String], problems: [String]) {
        try read { _ in }
        let declared = DeclaredModels(schema: schema, origins: origins)
        let comparison = try declared.comparison(with: history.current)
        let earlier = try SchemaUpdate.problem(ofEarlier: declared, history)
        let missing = comparison.missingEntities.map {
            "the store has \($0), which is neither among the models nor among removedModels"
        }
        return (
            comparison.steps, comparison.problems + (earlier.map { [$0] } ?? missing)
        )
    }

    /// Returns the number of a store's entities, as far as it can be found before the store is
    /// opened.
    static func entityCount(ofFileAt path: String) -> Int {
        let schema = try? StoreTables.schema { key in
            try FileInspection.value(of: Array(key.utf8), inFileAt: path)
        }
        return schema?.entities.count ?? 0
    }
}

extension StoreTables {
    private static let migrationsKey: StaticString = "migrations"

    /// Returns the revisions of the commits that migrated the store, in ascending order.
    static func migrations(in transaction: borrowing ReadTransaction) throws -> [Revision] {
        guard let value = try transaction.get(migrationsKey, in: .unnamed) else { return [] }
        var reader = ByteReader(value)
        var revisions: [Revision] = []
        while reader.remaining > 0 { revisions.append(Revision(try reader.read())) }
        return revisions
    }

    private static let migrationPrefix = Array("migration.".utf8)

    /// Stores the migration of a commit that is trimmed, because records may have earlier schemas.
    static func put(
        migration: [UInt8], at revision: Revision, in transaction: borrowing WriteTransaction
    ) throws {
        var value = ByteBuffer(capacity: migration.count + 8)
        migration.withUnsafeBytes { value.append($0) }
        value.append(Checksum.hash(value.bytes, seed: 0))
        try migrationKey(revision).withUnsafeBytes { key in
            try transaction.put(value.bytes, for: key, in: .unnamed)
        }
    }

    /// Returns the migration of a commit that was trimmed.
    static func migration(
        at revision: Revision, in transaction: borrowing ReadTransaction
    ) throws -> [UInt8] {
        let value = try migrationKey(revision).withUnsafeBytes { key in
            try transaction.get(key, in: .unnamed)
        }
        guard let value, value.count > 8 else {
            throw DecodingFailure("the migration of revision \(revision) is missing")
        }
        let migration = UnsafeRawBufferPointer(rebasing: value.dropLast(8))
        var checksum = ByteReader(UnsafeRawBufferPointer(rebasing: value.suffix(8)))
        guard try checksum.read() == Checksum.hash(migration, seed: 0) else {
            throw DecodingFailure(
                "the migration of revision \(revision) does not match its checksum")
        }
        return Array(migration)
    }

    private static func migrationKey(_ revision: Revision) -> [UInt8] {
        migrationPrefix + withUnsafeBytes(of: revision.number.bigEndian) { Array($0) }
    }

    static func put(migrations: [Revision], in transaction: borrowing WriteTransaction) throws {
        var buffer = ByteBuffer(capacity: 64)
        for revision in migrations { buffer.append(revision.number) }
        try transaction.put(buffer.bytes, for: migrationsKey, in: .unnamed)
    }
}

extension Journal {
    /// Returns the schemas of the store, from its current one and the entries of its migrations.
    ///
    /// - Complexity: O(bytes of these entries).
    func schemaHistory(in transaction: borrowing ReadTransaction) throws -> SchemaHistory {
        let revisions = try StoreTables.migrations(in: transaction)
        let floor = try JournalFloor.read(in: transaction)?.revision ?? .zero
        var migrations: [Migration] = []
        for revision in revisions {
            let bytes =
                revision <= floor
                ? try StoreTables.migration(at: revision, in: transaction)
                : try migration(at: revision, in: transaction)
            migrations.append(try bytes.withUnsafeBytes { try Migration(decoding: $0) })
        }
        return try SchemaHistory(try StoreTables.schema(in: transaction), migrations)
    }

    /// Returns the migration of an entry.
    private func migration(
        at revision: Revision, in transaction: borrowing ReadTransaction
    ) throws -> [UInt8] {
        let (envelope, body) = try entry(revision, in: transaction)
        guard envelope.cause == .migration else {
            throw DecodingFailure("revision \(revision) is no migration")
        }
        var reader = ByteReader(body.bytes)
        let attributes = try CommitAttributes(
            decoding: try JournalChange.readBlock(&reader, minimum: 4))
        guard let bytes = attributes.migration else {
            throw DecodingFailure("the migration of revision \(revision) is missing")
        }
        return bytes
    }
}
