public import FoundationEssentials
public import Logging
public import Metrics
public import StetStore

/// A journal of commits and the state that follows from it, in one file.
///
/// A store may be used from any number of tasks; each works in a context of its own. A process
/// opens a file once: opening it again gives a store that shares everything with the first.
public final class Store: Sendable {
    package let file: StoreFile
    /// By number of the entity; nil where one was removed.
    let modelTypes: [(any Model.Type)?]
    let relationships: StoreRelationships
    /// True when a model has a hook that may edit during a save.
    let hasEditingHooks: Bool
    let configuration: StoreConfiguration
    let repeatedEdits = RepeatedEdits()

    private init(file: StoreFile, _ graph: ModelGraph, _ configuration: StoreConfiguration) {
        self.file = file
        modelTypes = file.schema.entities.map { graph.types[$0.name] }
        relationships = StoreRelationships(file.schema)
        hasEditingHooks = modelTypes.contains { $0?._$hasEditingHook ?? false }
        self.configuration = configuration
    }

    /// Opens the store at `path`, or creates it when there is no file.
    ///
    /// A store of earlier models is migrated, in one commit, where that needs no code: models,
    /// attributes, references and indexes that were added or removed, or renamed with
    /// `originalName:`; attributes that are new and not optional, or are not optional any more, and
    /// have a default value in the model; wider numbers; another order. Records stay as they are
    /// and are read as those of the new models, so that only indexes that are built and references
    /// in other places take time. `plan(at:for:)` tells all of it beforehand. A store that was
    /// migrated away from `models` is refused. Whoever still has the store open with earlier models
    /// gets `.modelMismatch` from the next call on.
    ///
    /// Which files stand beside `path` is not part of the contract. New files are for their owner
    /// only. A file that is refused is left as it is.
    ///
    /// Who may write to the directory is trusted: between the look at the files and their opening
    /// they could be exchanged. So a directory that every user may write to is refused, unless it
    /// is like `/tmp`, where nobody can take another's files away; there the files must belong to
    /// this process's user or to root.
    ///
    /// - Parameters:
    ///   - path: of a file on a local file system; its directory exists, and may be a symbolic
    ///     link. The file may not be one, and has no second name.
    ///   - models: every model of the store.
    ///   - seed: the path of a store whose contents a new one begins with, which may lie where
    ///     nobody can write; nil for an empty one. It is looked at only when there is no file at
    ///     `path`, and nobody may write to it meanwhile. The new store has its journal and an id of
    ///     its own, is verified, and is there whole or not at all; of two processes that try at
    ///     once one makes it, and both open it. A seed of earlier models is migrated like a store.
    ///   - configuration: sizes, what is allowed, and the clock.
    /// - Returns: the store.
    /// - Throws: `StoreError`: `.invalidPath` for a directory, a symbolic link or a name that
    ///   cannot be, `.unsafePlace` for a directory that others may write to, a file with a second
    ///   name and the file systems of other machines and of programs (NFS, SMB, FUSE, …),
    ///   `.notFound`, `.noPermission`, `.notAStore`, `.newerFormat`, `.modelMismatch` when the
    ///   store was made for other models from which no such way leads here, `.migrationFailed` when
    ///   its values are in the way, `.invalidSchema`, `.damaged`, `.diskFull`, `.inputOutput`.
    public static func open(
        at path: String, for models: any Model.Type..., seededFrom seed: String? = nil,
        configuration: StoreConfiguration = StoreConfiguration()
    ) throws -> Store {
        try open(at: path, for: models, seededFrom: seed, configuration: configuration)
    }

    /// The same for an array of models.
    public static func open(
        at path: String, for models: [any Model.Type], seededFrom seed: String? = nil,
        configuration: StoreConfiguration = StoreConfiguration()
    ) throws -> Store {
        let graph = try ModelGraph(models)
        return try open(at: path, graph, graph.origins, seededFrom: seed, configuration)
    }

    /// Makes a new, empty store in memory: for tests, previews and caches.
    ///
    /// It is a store like any other, with rules, undo, journal, observers and `verify()`, but it
    /// has no file that anybody could find: nothing is synced, no other process sees it, and its
    /// memory is free again after `close()`, or when nobody holds it any more, also when the
    /// process is killed. `compact(to:)` makes a file of it; `compactInPlace()` throws.
    ///
    /// ```swift
    /// let store = try Store.inMemory(for: Notebook.self, Article.self)
    /// ```
    ///
    /// Its bytes are in `/dev/shm`, whose size limits it (64 MiB in a container, unless
    /// `--shm-size` says more); where there is none, in a file of the temporary directory.
    ///
    /// - Parameters:
    ///   - models: every model of the store.
    ///   - configuration: sizes and the clock; what concerns places has no effect.
    /// - Returns: the store; each call makes another.
    /// - Throws: `StoreError`: `.invalidSchema`, `.diskFull`, `.inputOutput`.
    public static func inMemory(
        for models: any Model.Type..., configuration: StoreConfiguration = StoreConfiguration()
    ) throws -> Store {
        try inMemory(for: models, configuration: configuration)
    }

    /// The same for an array of models.
    public static func inMemory(
        for models: [any Model.Type], configuration: StoreConfiguration = StoreConfiguration()
    ) throws -> Store {
        let graph = try ModelGraph(models)
        let schema = try graph.schema()
        try schema.checkPatterns()
        return Store(file: try MemoryStore.make(schema, configuration.ofFile), graph, configuration)
    }

    static func open(
        at path: String, _ graph: ModelGraph, _ origins: SchemaOrigins,
        seededFrom seed: String? = nil, _ configuration: StoreConfiguration
    ) throws -> Store {
        let schema = try graph.schema()
        try schema.checkPatterns()
        let file = try StoreFile.open(
            at: path, schema: schema, origins: origins,
            seededFrom: seed, configuration.ofFile)
        return Store(file: file, graph, configuration)
    }

    /// The path that the store was opened with.
    public var path: String { file.path }

    /// A new unit of work at the last commit.
    ///
    /// - Parameters:
    ///   - author: who makes its commits, at most 255 bytes; nil when nobody is to be named.
    ///   - scope: the part of the author's work that they belong to, at most 255 bytes.
    /// - Returns: a context for the isolation that asks for it.
    public func context(author: String? = nil, scope: String? = nil) -> sending ManagedContext {
        do {
            let head = try file.head().revision
            return ManagedContext(store: self, author: author, scope: scope, revision: head)
        } catch {
            // Told by the first call that can throw, as for every read inside an accessor.
            let context = ManagedContext(store: self, author: author, scope: scope, revision: .zero)
            context.core.setFailure(error)
            return context
        }
    }

    /// The number of the last commit.
    ///
    /// - Throws: `StoreError`.
    public func revision() throws -> Revision {
        try file.head().revision
    }

    /// The outcome of the commit with an id, in this process or another: after a crash, or after
    /// `UnknownOutcomeError`.
    ///
    /// A save of this process that is under way with the id, from its call on, is `.unknown`. Of
    /// another process that still runs only what it has committed is known: `.notCommitted` is
    /// final once that process has ended.
    ///
    /// - Complexity: O(commits since the id was made).
    public func outcome(of id: CommitID) -> Outcome {
        file.outcome(of: id)
    }

    /// The commits between two revisions, both included, oldest first; without bounds all of them,
    /// from `.first` all that the journal still has.
    ///
    /// - Throws: `StoreError`; `.historyTrimmed` when one of them was trimmed.
    /// - Complexity: O(bytes of the commits), in time and memory.
    public func journal(from first: Revision = 1, to last: Revision? = nil) throws -> [Commit] {
        try file.read { reader in
            let end = min(last ?? .init(.max), try reader.head().revision)
            let first = first == .first ? try reader.floor().next : first
            guard first <= end else { return [] }
            return try (first.number...end.number).map { try reader.commit(Revision($0)) }
        }
    }

    /// Sizes of the store, who reads it now, and what waits.
    ///
    /// - Throws: `StoreError`.
    /// - Complexity: O(readers + entries of the free list).
    public func statistics() throws -> StoreStatistics {
        try file.statistics()
    }

    /// Rebuilds the state from the journal alone and compares it with what is stored.
    ///
    /// Run it on a copy, or in a process of its own, when the file may be damaged: LMDB ends a
    /// process that meets a damaged page.
    ///
    /// - Throws: `StoreError` when the store cannot be read at all.
    /// - Complexity: O(journal) time, memory for the values of all objects.
    public func verify() throws -> VerificationReport {
        try file.verify()
    }

    /// Looks at a store's file page by page without opening it, which is safe for a file that may
    /// be damaged.
    ///
    /// Nobody may write to it meanwhile.
    ///
    /// - Throws: `StoreError`: `.notAStore` for a file of another kind, `.newerFormat`,
    ///   `.invalidPath`, `.notFound`, `.noPermission`, `.inputOutput`.
    /// - Complexity: O(pages).
    public static func inspect(_ path: String) throws -> StoreInspection {
        try StoreInspection.inspect(path)
    }

    /// Ends the store for everybody who has it open in this process: later calls throw
    /// `storeClosed`, observers end.
    ///
    /// Closing twice does nothing.
    public func close() {
        file.close()
    }
}

/// Sizes of a store, what is allowed where it stands, and where it takes the time from.
public struct StoreConfiguration: Sendable {
    /// Bytes of address space for the map, which is the largest size that the file can reach; 1 TiB
    /// by default.
    ///
    /// Space on the disk is taken as it is used.
    public var mapByteCount = StoreFile.Configuration().mapByteCount
    /// Reads that may be open at once, over all processes; 510 by default.
    public var readerCount = 510
    /// Lets two kinds of places pass that are refused otherwise; false by default.
    ///
    /// A directory that every user may write to: any of them can put another file in the place of
    /// the store's, or have this process write to one of theirs. A file system of another machine
    /// or of a program (NFS, SMB, FUSE, …): where its locks do not hold, two writers destroy the
    /// store, and where its memory lags behind, readers see what never was; one process at a time
    /// is safer, not safe. Symbolic links and files with a second name are refused all the same.
    public var allowsUnsafePlace = false
    /// Looks at every page of the file before any of them is used; false by default.
    ///
    /// A damaged page, which may end the process of who meets it, then gives a `StoreError`
    /// (`.damaged`) that names it. Opening takes O(pages), and writers wait meanwhile.
    public var inspectsPages = false
    /// How many objects others may have changed since a context's revision while it still reads
    /// that; 100,000 by default.
    ///
    /// Beyond it, reads that need to know them throw `SnapshotTooOldError`: to-many relationships.
    public var maximumLag = 100_000
    /// Which commits stay in the journal; all of them by default.
    ///
    /// To set it is the confirmation that the others may go. Each process that has the store open
    /// trims by its own: where they differ, a commit goes when any of them lets it go. Within a
    /// process the first to open the store decides, and the log tells the others.
    public var retention = Retention.forever
    /// Is told how far a migration is, on the thread that opens the store; what it throws
    /// interrupts the migration, and opening throws it.
    ///
    /// What is done stays done for the next attempt, unless others write to the store meanwhile.
    public var migrationProgress: (@Sendable (MigrationProgress) throws -> Void)?
    /// Makes the commits of the store those of a migration.
    var isMigration = false
    /// Where stamps and commits take the time from.
    public var clock: @Sendable () -> Date = { Date() }

    /// Checks of properties that are put together at run time; asked after the rules of the models.
    public var chains: [ValidationChain] = []
    /// Rules for all changes of a save together; asked when nothing else is wrong, on the isolation
    /// of the context.
    public var changeSetValidators: [@Sendable (_ validation: inout ChangeSetValidation) -> Void] =
        []
    /// The language of violations; English by default.
    public var messages = MessageTable.english

    /// Where the store's metrics go: save latency, batch size, waiting and refused saves, the lag
    /// of observers, reads that hold pages back, use of the map; by default to the system that
    /// the process has set up.
    ///
    /// Their labels begin with `stet.`; ARCHITECTURE.md lists them.
    public var metricsFactory: any MetricsFactory = MetricsSystem.factory
    /// Where the store's log goes: failures of the disk, growth, reads that are stuck; by
    /// default a logger labelled `stet`.
    ///
    /// Values of objects are never logged.
    public var logger = Logger(label: "stet")
    /// Where the ages of readers are taken from: any monotonic clock; nil means the system's.
    package var uptime: (@Sendable () -> Duration)?

    /// The usual configuration.
    public init() {}

    var ofFile: StoreFile.Configuration {
        var configuration = StoreFile.Configuration()
        configuration.mapByteCount = mapByteCount
        configuration.readerCount = readerCount
        configuration.metricsFactory = metricsFactory
        configuration.logger = logger
        if let uptime { configuration.uptime = uptime }
        let clock = clock
        configuration.time = { clock().timeIntervalSinceReferenceDate }
        configuration.allowsUnsafePlace = allowsUnsafePlace
        configuration.isMigration = isMigration
        configuration.retention = retention
        if let migrationProgress {
            configuration.progress = { work, doneCount, count in
                try migrationProgress(
                    MigrationProgress(work: work, doneCount: doneCount, count: count))
            }
        }
        configuration.inspectsPages = inspectsPages
        return configuration
    }
}
