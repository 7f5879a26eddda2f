public import FoundationEssentials
public import Logging
public import Metrics
public import StetStore
public import Tracing

extension Store {
    /// The sizes of a store, the places that are allowed, its clock, rules, log and metrics.
    public struct Configuration: Sendable {
        /// The number of bytes of address space for the map, which is the largest size that the
        /// file can reach; 1 TiB by default.
        ///
        /// Disk space is allocated as it is used.
        public var mapByteCount = StoreFile.Configuration().mapByteCount
        /// The number of reads that may be open at once, over all processes; 510 by default.
        public var readerCount = 510
        /// Whether two kinds of unsafe places are allowed; false by default.
        ///
        /// A directory that every user may write to: any of them can replace the store's file, or
        /// make this process write to another file. A network or user-space file system (NFS, SMB,
        /// FUSE, …): if its locks do not work, two writers destroy the store, and if its memory
        /// maps lag behind, readers see states that never existed; one process at a time is safer,
        /// but not safe. Symbolic links and files with a second hard link are refused in any case.
        public var allowsUnsafePlace = false
        /// Whether every page of the file is inspected before any of them is used; false by
        /// default.
        ///
        /// A damaged page, which would otherwise end the process that reads it, then throws a
        /// `StoreError` (`.damaged`) that names it. Opening takes O(pages), and writers wait for
        /// it.
        public var inspectsPages = false

        /// The shared journal of which the store is a node, as `journal:` of
        /// `open(at:for:seededFrom:journal:configuration:)`; nil by default.
        public var sharedJournal: (any SharedJournal)?
        /// The key file by which sealed attributes are sealed; nil by default.
        ///
        /// Without one, a save that has a new sealed value throws `SealingError`
        /// (`.keyFileNotOpen`).
        public var keys: KeyFile?
        /// The time for which a lost connection to it is tried again before an outcome is unknown.
        package var settleLimit = Duration.seconds(5)
        /// The pause between two looks at it.
        package var followingPause = Duration.milliseconds(200)
        /// The greatest number of objects that others may have changed since a context's revision
        /// for its to-many relationships to be readable; 100,000 by default.
        ///
        /// Beyond it, reads of to-many relationships throw `StoreError.Code.snapshotTooOld`.
        public var maximumLag = 100_000
        /// The time at which commits are on the disk; `synced` by default.
        ///
        /// Within a process the first to open the store decides.
        public var durability = Durability.usual
        /// Whether saves wait while another process writes the store with the durability `logged`,
        /// `relaxed` or `none`, instead of throwing `StoreError` (`.writtenElsewhere`); false by
        /// default.
        public var waitsForOtherWriter = StoreFile.Configuration().waitsForOtherWriter
        /// Whether a store is opened whose log is missing, or that was written with the durability
        /// `none` and not closed; false by default.
        ///
        /// All of it is verified first, which takes O(journal), and its last commits may be
        /// missing. A store that does not verify throws `StoreError` (`.damaged`).
        public var recoversWithoutLog = false
        /// The commits that stay in the journal; all of them by default.
        ///
        /// Setting it confirms that the others may be removed. Each process that has the store open
        /// trims by its own setting: where they differ, a commit is removed as soon as one of them
        /// allows it. Within a process the first to open the store decides, and a log message
        /// informs the others.
        public var retention = Retention.forever
        /// The names of models that the program no longer has, and that opening the store removes
        /// from it with all of their objects; none by default.
        ///
        /// A model of the store that is neither among the models nor in here makes opening throw
        /// `StoreError` (`.modelMismatch`), for it may have been left out by mistake. Names that
        /// the store does not have are ignored. The versions of a `MigrationPlan` need no entry:
        /// what a later version lacks is removed.
        public var removedModels: Set<String> = []
        /// A closure that receives the progress of a migration, on the thread that opens the store;
        /// an error that it throws interrupts the migration, and opening throws it.
        ///
        /// Completed work is kept for the next attempt, unless others write to the store before it.
        public var migrationProgress: (@Sendable (MigrationPlan.Progress) throws -> Void)?
        /// True when the commits of the store are those of a migration.
        var isMigration = false
        /// The clock for stamps and commits.
        public var clock: @Sendable () -> Date = { Date() }

        /// The checks of properties that are composed at run time; they run after the rules of the
        /// models.
        public var chains: [ValidationChain] = []
        /// The rules for all changes of a save together; they run when nothing else is wrong, on
        /// the isolation of the context.
        public var changeSetValidators:
            [@Sendable (_ validation: inout ChangeSet.Validation) -> Void] =
                []
        /// The language of violations; English by default.
        public var messages = MessageTable.english

        /// The factory of the store's metrics: save latency, batch size, waiting and refused saves,
        /// the lag of observers, reads that keep pages from being reused, and use of the map;
        /// defaults to the system that the process has set up.
        ///
        /// Their labels begin with `stet.`; <doc:Deployment> lists them.
        public var metricsFactory: any MetricsFactory = MetricsSystem.factory
        /// The tracer of the store: spans of saves with their phases, queries, migrations and
        /// checkpoints; defaults to the system that the process has set up.
        ///
        /// The names of spans begin with `stet.`; <doc:Deployment> lists them.
        public var tracer: any Tracer = InstrumentationSystem.tracer
        /// The logger of the store, for failures of the disk, growth and reads that are stuck;
        /// defaults to a logger labelled `stet`.
        ///
        /// Values of objects are never logged.
        public var logger = Logger(label: "stet")
        /// The monotonic clock for the ages of readers; nil means the system's.
        package var uptime: (@Sendable () -> Duration)?

        /// Creates the default configuration.
        public init() {}

        /// Returns the configuration of a node of a shared journal, unless that is nil.
        func sharing(_ journal: (any SharedJournal)?) -> Self {
            var configuration = self
            configuration.sharedJournal = journal ?? sharedJournal
            return configuration
        }

        var ofFile: StoreFile.Configuration {
            var configuration = StoreFile.Configuration()
            configuration.mapByteCount = mapByteCount
            configuration.readerCount = readerCount
            configuration.metricsFactory = metricsFactory
            configuration.tracer = tracer
            configuration.logger = logger
            if let uptime { configuration.uptime = uptime }
            let clock = clock
            configuration.time = { clock().timeIntervalSinceReferenceDate }
            configuration.allowsUnsafePlace = allowsUnsafePlace
            configuration.isMigration = isMigration
            configuration.durability = durability
            configuration.waitsForOtherWriter = waitsForOtherWriter
            configuration.recoversWithoutLog = recoversWithoutLog
            configuration.retention = retention
            if let migrationProgress {
                configuration.progress = { work, doneCount, count in
                    try migrationProgress(
                        MigrationPlan.Progress(work: work, doneCount: doneCount, count: count))
                }
            }
            configuration.inspectsPages = inspectsPages
            configuration.sharedJournal = isMigration ? nil : sharedJournal
            configuration.settleLimit = settleLimit
            configuration.followingPause = followingPause
            return configuration
        }
    }
}
