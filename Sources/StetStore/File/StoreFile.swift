import FoundationEssentials
import Logging
package import StetLMDB
import Synchronization

/// A store that is open in this process: its LMDB environment, its tables and its schema.
///
/// Everyone who opens the same file shares one.
///
/// State: constant after `open`, except for the feed, which guards itself.
package final class StoreFile: Sendable {
    package let environment: Environment
    package let schema: Schema
    /// The schemas that the store has had.
    package let history: SchemaHistory
    /// The revision of the schema, in the width of a record's header.
    let recordRevision: UInt16
    /// The cause of the commits that are made here.
    let cause: Cause
    package let storeID: ObjectID
    package let feed: CommitFeed
    package let refusals = RefusalFeed()
    let writer: WriterThread
    /// The shared journal of which the store is a node.
    package let shared: SharedLink?
    let metrics: StoreMetrics
    /// The spans of the store.
    package let tracer: StoreTracer
    let logger: Logger
    /// The commits that stay in the journal.
    let retention: Retention
    /// The clock: seconds since 2001.
    let time: @Sendable () -> Double
    /// LMDB's number of the last commit whose schema revision was compared with this one.
    private let checkedTransaction = Atomic(-1)
    /// The last head that was read, with LMDB's number of its commit.
    private let checkedHead = Monitor(
        (commit: Environment.CommitNumber(transaction: -1, reopeningCount: 0), head: Head()))
    /// The commit after the last pause that was logged; 0 for none.
    let lastUncountedPause = Atomic<UInt64>(0)
    package let savesUnderWay = SavesUnderWay()
    let journal: Journal
    /// The tables that are derived from the journal.
    package let projection: Projection

    package var path: String { environment.path }

    private init(
        environment: Environment, history: SchemaHistory, storeID: ObjectID, tables: StoreTables,
        head: Head, _ configuration: Configuration
    ) throws {
        self.environment = environment
        metrics = StoreMetrics(path: environment.path, factory: configuration.metricsFactory)
        tracer = StoreTracer(configuration.tracer)
        logger = configuration.logger
        retention = configuration.retention
        time = configuration.time
        self.history = history
        schema = history.current
        recordRevision = UInt16(truncatingIfNeeded: schema.revision)
        cause = configuration.isMigration ? .migration : .edit
        self.storeID = storeID
        journal = tables.journal
        projection = tables.projection
        feed = CommitFeed(head: head.revision)
        writer = try WriterThread(path: environment.path)
        shared = configuration.link(of: storeID, path: environment.path)
        writer.serve(self)
    }

    /// Ends writing; the environment is not closed here, because somebody may be opening the file
    /// at this moment.
    deinit { endWriting() }

    /// Opens the store at `path` for a schema; creates it, or copies the `seed`, when there is no
    /// file, and migrates it when it has an earlier schema.
    ///
    /// - Throws: `StoreError`.
    package static func open(
        at path: String, schema: Schema, origins: SchemaOrigins = SchemaOrigins(),
        seededFrom seed: String? = nil, _ configuration: Configuration = Configuration()
    ) throws -> StoreFile {
        try schema.refuseMissingStemmers(path: path)
        let declared = DeclaredModels(schema: schema, origins: origins)
        let creation = StoreCreation(
            path: path, declared: declared, seed: seed, configuration: configuration)
        return try NodeOpening.open(StoreOpening(creation: creation))
    }

    /// Creates the store of an environment; without declared models it has the stored schema.
    static func connect(
        _ environment: Environment, _ declared: DeclaredModels?, _ configuration: Configuration
    ) throws -> StoreFile {
        let identity = try environment.read { try StoreTables.identity(in: $0) }
        let history = try SchemaUpdate(environment, declared, configuration).run()
        let tables = try StoreTables.open(history.current, in: environment)
        let head = try environment.read { transaction in
            let head = try Head.read(in: transaction)
            try head.verify(against: tables.journal, history.current, in: transaction)
            return head
        }
        return try StoreFile(
            environment: environment, history: history, storeID: identity, tables: tables,
            head: head, configuration)
    }

    /// Closes the store: commits the writer's queue, then ends observers; later calls throw
    /// `.storeClosed`.
    package func close() {
        endWriting()
        environment.close()
    }

    private func endWriting() {
        // A forked child does not have the parent's thread.
        if environment.isForked { return }
        writer.finish()
        shared?.follower.end()
        feed.end()
        refusals.end()
    }

    package var isClosed: Bool { environment.isClosed }

    /// Makes all commits of this process durable.
    ///
    /// - Throws: `StoreError`: whether they are durable is unknown.
    package func sync() throws {
        try StoreError.wrapping(path: path) { try environment.log.sync() }
    }

    /// True from the beginning of `close()`; the writer's queue is still committed.
    package var isClosing: Bool { writer.isEnding }

    /// Lets the writer thread perform its duties now.
    package func attend() { try? writer.attend() }

    /// The number of times that the writer thread has performed its duties.
    package var idleRoundCount: Int { writer.roundCount }

    /// The number of change sets that wait for the writer, without those being committed.
    package var waitingCount: Int { writer.queueCount }

    /// Counts a save that was refused, for the metrics.
    package func countRefusedSave(_ code: String) {
        metrics.countRefused(code)
    }

    /// Runs `body` on a consistent view of the last commit.
    ///
    /// - Throws: `StoreError`, and the error of `body`.
    @_semantics("optimize.sil.specialize.generic.never")  // Swift 6.3.1 crashes where it does.
    package func read<Result>(
        _ body: (borrowing StoreReader) throws -> Result
    ) throws -> Result {
        defer { if environment.takeWishForKeeper() { attend() } }
        return try StoreError.wrapping(path: path) {
            try environment.read { transaction in
                try checkSchema(transaction)
                return try body(StoreReader(transaction, self))
            }
        }
    }

    /// Returns the last commit.
    ///
    /// - Throws: `StoreError`.
    /// - Complexity: one read after each commit; otherwise O(1), without a transaction.
    package func head() throws -> Head {
        let last = try StoreError.wrapping(path: path) { try environment.lastCommit() }
        let known = checkedHead.withLock { $0.commit == last ? $0.head : nil }
        return try known ?? read { try $0.head() }
    }

    /// Forgets LMDB's numbers of commits, which begin anew in another file.
    func forgetTransactions() { checkedTransaction.store(-1, ordering: .relaxed) }

    /// Refuses to read a commit of a process with a later schema; checked once per commit.
    func checkSchema(_ transaction: borrowing ReadTransaction) throws {
        let number = transaction.number
        // A commit before one with this schema has this schema, too.
        if checkedTransaction.load(ordering: .relaxed) >= number { return }
        let head = try Head.read(in: transaction)
        guard head.schemaRevision == UInt32(schema.revision) else {
            throw StoreError.migratedElsewhere(path: path)
        }
        // The file can be neither opened again nor replaced while a transaction is open.
        let commit = Environment.CommitNumber(
            transaction: number, reopeningCount: environment.reopeningCount)
        checkedHead.withLock { $0 = (commit, head) }
        checkedTransaction.store(number, ordering: .relaxed)
    }
}

/// The tables of a store, and the keys of the unnamed one.
struct StoreTables {
    let journal: Journal
    let projection: Projection

    /// The number of tables other than those of records, with some spare for later formats.
    static let fixedCount = 8
    static let indexesName = "indexes"
    private static let identityKey: StaticString = "stet"
    private static let schemaKey: StaticString = "schema"
    private static let schemaChecksumKey: StaticString = "schema.checksum"
    private static let magic: UInt32 = 0x5445_5453
    static let format: UInt16 = 1

    static func recordsName(_ entity: EntityNumber) -> String { "records.\(entity)" }

    /// Returns the store's id.
    static func identity(in transaction: borrowing ReadTransaction) throws -> ObjectID {
        let path = transaction.environment.path
        guard let value = try transaction.get(identityKey, in: .unnamed) else {
            throw notAStore(path)
        }
        return try identity(decoding: value, path)
    }

    /// Returns the store's id from the values that `read` returns for keys of the unnamed table;
    /// refuses a file that is not a store.
    @discardableResult
    static func checkIdentity(
        _ path: String, _ read: (String) throws -> [UInt8]?
    ) throws -> ObjectID {
        guard let value = try read("\(identityKey)") else { throw notAStore(path) }
        return try value.withUnsafeBytes { try identity(decoding: $0, path) }
    }

    private static func identity(
        decoding value: UnsafeRawBufferPointer, _ path: String
    ) throws -> ObjectID {
        var reader = ByteReader(value)
        guard value.count >= 4, try reader.read(UInt32.self) == magic else { throw notAStore(path) }
        let found: UInt16 = try reader.read()
        let flags: UInt16 = try reader.read()
        guard found == format, flags == 0 else {
            throw StoreError(
                .newerFormat, path: path,
                message: found == format
                    ? "The store has flags (\(flags)) that this version does not know."
                    : "The store has format \(found); this version reads format \(format).",
                advice: "Open it with the version of Stet that wrote it, or a later one.")
        }
        let identity = try reader.readObjectID()
        // The id is stored only here, so nothing else would show its damage.
        let checked = UnsafeRawBufferPointer(rebasing: value[..<reader.offset])
        guard try reader.read() == Checksum.hash(checked, seed: 0) else {
            throw DecodingFailure("its identity does not match its checksum")
        }
        try reader.expectEnd()
        return identity
    }

    private static func notAStore(_ path: String) -> StoreError {
        StoreError(
            .notAStore, path: path,
            message: "The file is an LMDB environment, but not a Stet store.",
            advice: "Correct the path; nothing was changed.")
    }

    static func create(_ schema: Schema, in transaction: borrowing WriteTransaction) throws {
        try putNewIdentity(in: transaction)
        try put(schema, in: transaction)
        var head = Head()
        head.schemaRevision = UInt32(schema.revision)
        try head.write(in: transaction)
        _ = try transaction.table(Journal.tableName)
        _ = try transaction.table(MemberTree.tableName)
        if !schema.indexes.isEmpty { _ = try transaction.table(indexesName) }
        if schema.hasLargeValues { _ = try transaction.table(LargeValueTable.name) }
        for index in 0..<max(schema.entities.count, 1) {
            _ = try transaction.table(recordsName(EntityNumber(index: index)))
        }
    }

    /// Gives the store a new id.
    static func putNewIdentity(in transaction: borrowing WriteTransaction) throws {
        var buffer = ByteBuffer(capacity: 32)
        buffer.append(magic)
        buffer.append(format)
        buffer.append(UInt16(0))
        buffer.append(ObjectID.ofStore())
        buffer.append(Checksum.hash(buffer.bytes, seed: 0))
        try transaction.put(buffer.bytes, for: identityKey, in: .unnamed)
    }

    static func put(_ schema: Schema, in transaction: borrowing WriteTransaction) throws {
        try schema.encoded().withUnsafeBytes { bytes in
            try transaction.put(bytes, for: schemaKey, in: .unnamed)
            var checksum = ByteBuffer(capacity: 8)
            checksum.append(Checksum.hash(bytes, seed: 0))
            try transaction.put(checksum.bytes, for: schemaChecksumKey, in: .unnamed)
        }
    }

    static func schema(in transaction: borrowing ReadTransaction) throws -> Schema {
        guard let value = try transaction.get(schemaKey, in: .unnamed) else {
            throw DecodingFailure("its schema is missing")
        }
        return try decode(
            schema: value, try transaction.get(schemaChecksumKey, in: .unnamed))
    }

    /// Decodes the schema from the values that `read` returns for keys of the unnamed table.
    static func schema(_ read: (String) throws -> [UInt8]?) throws -> Schema {
        guard let value = try read("\(schemaKey)") else {
            throw DecodingFailure("its schema is missing")
        }
        let checksum = try read("\(schemaChecksumKey)")
        return try value.withUnsafeBytes { value in
            guard let checksum else { return try decode(schema: value, nil) }
            return try checksum.withUnsafeBytes { try decode(schema: value, $0) }
        }
    }

    static func open(_ schema: Schema, in environment: Environment) throws -> StoreTables {
        let fixed = [Journal.tableName, MemberTree.tableName]
        let records = schema.entities.numbers.map(recordsName)
        let indexes = schema.indexes.isEmpty ? [] : [indexesName]
        let tables = try environment.tables(fixed + records + indexes + [LargeValueTable.name])
        let present = tables.dropLast().compactMap(\.self)
        let largeValues = tables.last?.map(LargeValueTable.init)
        guard present.count == tables.count - 1, largeValues != nil || !schema.hasLargeValues else {
            throw DecodingFailure("a table is missing")
        }
        return StoreTables(
            journal: Journal(table: present[0]),
            projection: Projection(
                schema: schema, members: MemberTree(table: present[1]),
                indexes: indexes.isEmpty ? nil : present.last, largeValues: largeValues,
                records: Array(present[fixed.count..<fixed.count + records.count])))
    }
}

extension ReadTransaction {
    /// Returns the value of a text key.
    func get(_ key: StaticString, in table: Table) throws -> UnsafeRawBufferPointer? {
        try get(key.bytes, in: table)
    }
}

extension WriteTransaction {
    func put(_ value: UnsafeRawBufferPointer, for key: StaticString, in table: Table) throws {
        try put(value, for: key.bytes, in: table)
    }
}

extension StaticString {
    fileprivate var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
    }
}
