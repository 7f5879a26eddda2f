public import StetStore

/// A journal of commits and the state derived from it, in one file.
///
/// A store may be used from any number of tasks; each works in its own context. A process opens a
/// file once: opening it again returns a store that shares everything with the first.
///
/// ```swift
/// let store = try Store.open(at: path, for: Notebook.self, Article.self)
/// let context = store.context(author: "lala")
/// context.insert(Article(title: "Macros"))
/// try context.save("first article")
/// try store.undo(author: "lala")
/// ```
public final class Store: Sendable {
    package let file: StoreFile
    /// The models by number of the entity; nil where one was removed.
    let modelTypes: [(any Model.Type)?]
    let relationships: StoreRelationships
    /// True when a model has a hook that may edit during a save.
    let hasEditingHooks: Bool
    let configuration: Store.Configuration
    let repeatedEdits = RepeatedEdits()
    package let recentViews = RecentViews()

    private init(file: StoreFile, _ graph: ModelGraph, _ configuration: Store.Configuration) {
        self.file = file
        modelTypes = file.schema.entities.map { graph.types[$0.name] }
        relationships = StoreRelationships(file.schema)
        hasEditingHooks = modelTypes.contains { $0?._$hasEditingHook ?? false }
        self.configuration = configuration
    }

    /// Opens the store at `path`, or creates it when there is no file.
    ///
    /// A store of earlier models is migrated, in one commit, where that needs no code: models,
    /// attributes, references and indexes that were added, removed, or renamed with
    /// `originalName:` (a model is removed only if `removedModels` of the configuration names it);
    /// attributes that are new and not optional, or no longer optional, and have a default value in
    /// the model; wider numbers; another order. Records are not rewritten but read as records of
    /// the new models, so that only building indexes and moving references takes time.
    /// `plan(at:for:)` reports all of it beforehand. A store that was migrated away from `models`
    /// is refused. Whoever still has the store open with earlier models gets `.modelMismatch` from
    /// the next call on.
    ///
    /// The names of the files beside `path` are not part of the contract. New files are accessible
    /// to their owner only. A file that is refused is not changed.
    ///
    /// Users who may write to the directory are trusted: they could replace the files between the
    /// check and the opening. A directory that every user may write to is therefore refused, unless
    /// it is like `/tmp`, where users cannot remove each other's files; there the files must belong
    /// to this process's user or to root.
    ///
    /// - Parameters:
    ///   - path: the path of a file on a local file system. Its directory must exist and may be a
    ///     symbolic link; the file itself may not be one, and may not have a second hard link.
    ///   - models: every model of the store.
    ///   - seed: the path of a store whose contents a new store begins with, possibly in a
    ///     read-only place; nil for an empty store. It is read only when there is no file at
    ///     `path`, and must not be written to at that time. The new store has the seed's journal
    ///     and its own id, is verified, and exists complete or not at all; of two processes that
    ///     try at once, one makes it and both open it. A seed of earlier models is migrated like a
    ///     store. The first node of a shared journal that does not exist yet begins with it.
    ///   - journal: the shared journal of which the store is a node; nil for a store whose journal
    ///     is in its own file. A file that does not exist is made from the journal's copy, or with
    ///     a new journal. A node that cannot reach its journal can be read.
    ///   - configuration: sizes, allowed places, and the clock.
    /// - Returns: the store.
    /// - Throws: `StoreError`: `.invalidPath` for a directory, a symbolic link or an impossible
    ///   name, `.unsafePlace` for a directory that others may write to, a file with a second hard
    ///   link, and network and user-space file systems (NFS, SMB, FUSE, …), `.notFound`,
    ///   `.noPermission`, `.notAStore`, `.newerFormat`, `.modelMismatch` when the store was made
    ///   for other models that cannot be migrated without code, or has one that is left out,
    ///   `.migrationFailed`, `.invalidSchema`, `.damaged`, `.diskFull`, `.inputOutput`. With a
    ///   shared journal: `.journalUnavailable` when there is no file yet, `.journalDiverged`, and
    ///   `.sharedJournal` for a store that is no node of one.
    public static func open(
        at path: String, for models: any Model.Type..., seededFrom seed: String? = nil,
        journal: (any SharedJournal)? = nil,
        configuration: Store.Configuration = Store.Configuration()
    ) throws -> Store {
        try open(
            at: path, for: models, seededFrom: seed, journal: journal, configuration: configuration)
    }

    /// Opens the store at `path` with an array of models, or creates it when there is no file.
    ///
    /// It behaves like `open(at:for:seededFrom:journal:configuration:)` with a list of models, and
    /// throws the same errors.
    ///
    /// - Throws: the errors of the form with a list of models.
    public static func open(
        at path: String, for models: [any Model.Type], seededFrom seed: String? = nil,
        journal: (any SharedJournal)? = nil,
        configuration: Store.Configuration = Store.Configuration()
    ) throws -> Store {
        let graph = try ModelGraph(models, removing: configuration.removedModels)
        return try open(
            at: path, graph, graph.origins, seededFrom: seed, configuration.sharing(journal))
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
        for models: any Model.Type..., configuration: Store.Configuration = Store.Configuration()
    ) throws -> Store {
        try inMemory(for: models, configuration: configuration)
    }

    /// Creates a store in memory for an array of models.
    ///
    /// - Throws: the errors of the form with a list of models.
    public static func inMemory(
        for models: [any Model.Type], configuration: Store.Configuration = Store.Configuration()
    ) throws -> Store {
        let graph = try ModelGraph(models, removing: nil)
        let schema = try graph.schema()
        try schema.checkPatterns()
        return Store(file: try MemoryStore.make(schema, configuration.ofFile), graph, configuration)
    }

    static func open(
        at path: String, _ graph: ModelGraph, _ origins: SchemaOrigins,
        seededFrom seed: String? = nil, _ configuration: Store.Configuration
    ) throws -> Store {
        let schema = try graph.schema()
        try schema.checkPatterns()
        return Store(
            file: try StoreFile.open(
                at: path, schema: schema, origins: origins, seededFrom: seed, configuration.ofFile),
            graph, configuration)
    }

    /// The path that the store was opened with.
    public var path: String { file.path }

    /// Returns a new unit of work at the last commit.
    ///
    /// If reading the store fails, the first call of the context that can throw reports it.
    ///
    /// - Parameters:
    ///   - author: the author of its commits, at most 255 bytes; nil for commits without an author.
    ///   - scope: the part of the author's work that they belong to, at most 255 bytes.
    /// - Returns: a context for the caller's isolation.
    public func context(author: String? = nil, scope: String? = nil) -> sending ManagedContext {
        do {
            let head = try file.head().revision
            return ManagedContext(store: self, author: author, scope: scope, revision: head)
        } catch {
            // The first call that can throw reports the error, as for any failed read in an
            // accessor.
            let context = ManagedContext(store: self, author: author, scope: scope, revision: .zero)
            context.core.setFailure(error)
            return context
        }
    }

    /// Returns the number of the last commit.
    ///
    /// - Throws: `StoreError`.
    public func revision() throws -> Revision { try file.head().revision }

    /// Returns the outcome of the commit with an id, in this process or another, after a crash or
    /// an `UnknownOutcomeError`.
    ///
    /// A save in progress in this process with the id is `.unknown`, from its call on. For another
    /// process that still runs, only its commits are known: `.notCommitted` is final once that
    /// process has ended.
    ///
    /// - Complexity: O(commits since the id was made).
    public func outcome(of id: CommitID) -> Outcome {
        file.outcome(of: id)
    }

    /// Returns the commits between two revisions, both included, oldest first; by default all of
    /// them, or from `.earliest` all that the journal still contains.
    ///
    /// - Throws: `StoreError`; `.historyTrimmed` when one of them was trimmed.
    /// - Complexity: O(bytes of the commits), in time and memory.
    public func journal(
        from first: Revision.Bound = 1, to last: Revision.Bound = .latest
    ) throws -> [Commit] {
        try file.read { try $0.commits(from: first, to: last) }
    }

    /// Returns sizes of the store, its current readers, and the waiting saves.
    ///
    /// - Throws: `StoreError`.
    /// - Complexity: O(readers + entries of the free list).
    public func statistics() throws -> StoreStatistics {
        try file.statistics()
    }

    /// Rebuilds the state from the journal alone and compares it with what is stored.
    ///
    /// Run it on a copy, or in a separate process, when the file may be damaged: LMDB ends a
    /// process that reads a damaged page.
    ///
    /// - Throws: `StoreError` when the store cannot be read at all.
    /// - Complexity: O(journal + bytes of large data) in time, O(values of all objects) in memory.
    public func verify() throws -> VerificationReport {
        try file.verify()
    }

    /// Inspects a store's file page by page without opening it, which is safe for a file that may
    /// be damaged.
    ///
    /// The file must not be written to during the inspection.
    ///
    /// - Throws: `StoreError`: `.notAStore` for a file of another kind, `.newerFormat`,
    ///   `.invalidPath`, `.notFound`, `.noPermission`, `.inputOutput`.
    /// - Complexity: O(pages).
    public static func inspect(_ path: String) throws -> StoreInspection {
        try StoreInspection.inspect(path)
    }

    /// Makes all commits of this process durable, whatever the durability of the store is.
    ///
    /// - Throws: `StoreError`: whether they are durable is unknown.
    /// - Complexity: one sync of the disk; nothing where each commit is durable.
    public func sync() throws { try file.sync() }

    /// Closes the store for everyone who has it open in this process: later calls throw
    /// `.storeClosed`, observers end.
    ///
    /// Closing again does nothing.
    public func close() { file.close() }
}

extension StoreReader {
    fileprivate func commits(
        from first: Revision.Bound, to last: Revision.Bound
    ) throws -> [Commit] {
        let start = max(1, try commit(at: first))
        let end = min(try commit(at: last), try head().revision)
        guard start <= end else { return [] }
        return try (start.number...end.number).map { try commit(Revision($0)) }
    }
}
