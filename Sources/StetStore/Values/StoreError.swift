package import StetLMDB

/// The error of a store that could not be opened, read or written: what failed, on which file, and
/// what to do.
///
/// ```swift
/// do {
///     store = try Store.open(at: path, for: Notebook.self, Article.self)
/// } catch let error as StoreError where error.code == .notAStore {
///     message = "\(error.message) \(error.advice)"
/// }
/// ```
public struct StoreError: Error, Hashable, Sendable {
    /// The kind of an error.
    ///
    /// Later versions may add codes; compare with the codes that you handle.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String

        /// Creates a code with a name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the code.
        public var description: String { rawValue }

        /// The store was closed.
        public static let storeClosed = Code(rawValue: "storeClosed")
        /// The file is not a Stet store.
        public static let notAStore = Code(rawValue: "notAStore")
        /// The path cannot be the path of a store's file: a directory, a symbolic link, or a name
        /// that is too long.
        public static let invalidPath = Code(rawValue: "invalidPath")
        /// The place endangers the store: others may replace its files, it has a second hard link,
        /// the file system does not provide what LMDB needs, or processes of another PID namespace
        /// have it open.
        public static let unsafePlace = Code(rawValue: "unsafePlace")
        /// The file was written by a newer version of Stet, or in another format of LMDB.
        public static let newerFormat = Code(rawValue: "newerFormat")
        /// The file is shorter than it should be, or its contents contradict each other.
        public static let damaged = Code(rawValue: "damaged")
        /// The declared models are invalid or do not match each other.
        public static let invalidSchema = Code(rawValue: "invalidSchema")
        /// The store was made for other models.
        public static let modelMismatch = Code(rawValue: "modelMismatch")
        /// An index of texts was made by rules that this process does not have: of another version
        /// of Unicode, or of a language without a stemmer; nothing was changed.
        public static let textRulesMissing = Code(rawValue: "textRulesMissing")
        /// The values of the store prevent its migration; nothing was changed.
        public static let migrationFailed = Code(rawValue: "migrationFailed")
        /// No commit with this revision exists yet.
        public static let noSuchRevision = Code(rawValue: "noSuchRevision")
        /// A stored value is one that its type cannot represent: a raw value without a case, or
        /// JSON that does not decode.
        public static let unreadableValue = Code(rawValue: "unreadableValue")
        /// A value or a commit exceeds its limit (`Limits`).
        public static let limitExceeded = Code(rawValue: "limitExceeded")
        /// The map is full.
        public static let mapFull = Code(rawValue: "mapFull")
        /// The disk is full.
        public static let diskFull = Code(rawValue: "diskFull")
        /// The process may not read or write the file.
        public static let noPermission = Code(rawValue: "noPermission")
        /// The file or its directory does not exist.
        public static let notFound = Code(rawValue: "notFound")
        /// A file already exists where a store or a copy should be made.
        public static let alreadyExists = Code(rawValue: "alreadyExists")
        /// The maximum number of reads is open, over all processes.
        public static let readersFull = Code(rawValue: "readersFull")
        /// The writer lock could not be obtained: another process does not release it, or the save
        /// was called on the store's own writer (by a log handler), which would wait for itself.
        public static let storeBusy = Code(rawValue: "storeBusy")
        /// Another process writes the store through a log or without syncs (`Durability`): this one
        /// can only read it until the store is closed there.
        public static let writtenElsewhere = Code(rawValue: "writtenElsewhere")
        /// The log that contains the store's last commits is not beside its file.
        public static let logMissing = Code(rawValue: "logMissing")
        /// The store was written with the durability `none`, and not closed.
        public static let notSynced = Code(rawValue: "notSynced")
        /// The path no longer refers to the open files: they were removed, renamed or replaced, or
        /// other processes still have earlier files open.
        public static let storeMoved = Code(rawValue: "storeMoved")
        /// The store is in memory, and the operation needs a file with a name.
        public static let inMemory = Code(rawValue: "inMemory")
        /// The system could not create the store's writer thread.
        public static let noThread = Code(rawValue: "noThread")
        /// The store was opened before this process was forked.
        public static let forked = Code(rawValue: "forked")
        /// The requested commits, or the state that a context showed, were trimmed: the journal
        /// begins later.
        public static let historyTrimmed = Code(rawValue: "historyTrimmed")
        /// Too much has changed since the context's revision, or those changes were trimmed.
        ///
        /// Nothing is lost: `refresh()` moves the context, and a save does not need the data that
        /// could not be read.
        public static let snapshotTooOld = Code(rawValue: "snapshotTooOld")
        /// Required values were redacted.
        public static let erased = Code(rawValue: "erased")
        /// The current value of a property is one of those to be redacted.
        public static let valueInUse = Code(rawValue: "valueInUse")
        /// The store does not have the bytes of large data: they were not written to it, or removed
        /// because no object referred to them for a day.
        public static let largeDataMissing = Code(rawValue: "largeDataMissing")
        /// A commit id belongs to another store, or to a later state of it than this copy contains.
        public static let wrongStore = Code(rawValue: "wrongStore")
        /// A commit id belongs to a commit of another kind: a save, an undo, a redo or a revert.
        public static let commitIDInUse = Code(rawValue: "commitIDInUse")
        /// The shared journal cannot be reached; nothing was saved.
        public static let journalUnavailable = Code(rawValue: "journalUnavailable")
        /// The shared journal is not the one that the store's file is a node of, or has lost
        /// entries that this node has.
        public static let journalDiverged = Code(rawValue: "journalDiverged")
        /// The store is a node of a shared journal, and was opened without it.
        public static let journalRequired = Code(rawValue: "journalRequired")
        /// The operation is not available to nodes of a shared journal, or only to them.
        public static let sharedJournal = Code(rawValue: "sharedJournal")
        /// The file system or LMDB reported another failure.
        public static let inputOutput = Code(rawValue: "inputOutput")
    }

    /// The kind of the error.
    public let code: Code
    /// The path of the store, if known.
    public let path: String?
    /// A sentence that says what failed.
    public let message: String
    /// A sentence that says what to do about it.
    public let advice: String
    /// The code of LMDB (negative) or of the system (`errno`, positive), if any.
    public let systemCode: Int32?

    package init(
        _ code: Code, path: String? = nil, message: String, advice: String = "",
        systemCode: Int32? = nil
    ) {
        self.code = code
        self.path = path
        self.message = message
        self.advice = advice
        self.systemCode = systemCode
    }
}

extension StoreError: CustomStringConvertible {
    /// The message and the advice.
    public var description: String {
        advice.isEmpty ? message : "\(message) \(advice)"
    }
}

extension StoreError {
    /// Creates the error for an error of LMDB or of the file system.
    package init(_ error: LMDBError) {
        let code: Code =
            switch error.code {
            case LMDBError.closed: .storeClosed
            case LMDBError.mapFull: .mapFull
            case LMDBError.readersFull: .readersFull
            case LMDBError.forked: .forked
            case LMDBError.moved: .storeMoved
            case LMDBError.unnamed: .inMemory
            case LMDBError.busy: .storeBusy
            case LMDBError.otherNamespace: .unsafePlace
            case LMDBError.owned: .writtenElsewhere
            case LMDBError.missingLog: .logMissing
            case LMDBError.unsynced: .notSynced
            case LMDBError.corrupted, LMDBError.pageNotFound, LMDBError.damagedLog: .damaged
            case LMDBError.invalidFile: .notAStore
            case LMDBError.versionMismatch: .newerFormat
            case LMDBError.noSpace, LMDBError.quotaExceeded, LMDBError.fileTooLarge: .diskFull
            case LMDBError.noAccess, LMDBError.readOnlyFileSystem, LMDBError.notPermitted:
                .noPermission
            case LMDBError.noEntry: .notFound
            case LMDBError.nameTooLong, LMDBError.notADirectory, LMDBError.isADirectory,
                LMDBError.isALink:
                .invalidPath
            default: .inputOutput
            }
        let message =
            code == .storeClosed
            ? "The store \(error.path) is closed."
            : "The store \(error.path) can't be \(error.attempt): \(error.reason)."
        self.init(
            code, path: error.path, message: message,
            advice: code == .storeClosed ? "Open it again." : error.advice,
            systemCode: error.code)
    }

    /// Returns the error for a store whose contents contradict each other.
    package static func damaged(_ what: String, path: String?) -> StoreError {
        StoreError(
            .damaged, path: path, message: "The store is damaged: \(what).",
            advice: "Run verify on a copy, and restore from a backup.")
    }

    /// Returns the error for a read of a revision that is too far behind the last commit.
    package static func snapshotTooOld(revision: Revision, head: Revision) -> StoreError {
        StoreError(
            .snapshotTooOld,
            message: "Too much has changed between revision \(revision), which is shown, and "
                + "revision \(head).",
            advice: "Refresh the context, or raise maximumLag.")
    }

    /// Returns the error for a save on the thread that would have to perform it.
    static func waitingForItself(path: String) -> StoreError {
        StoreError(
            .storeBusy, path: path,
            message: "The save would wait for itself: it was called on the store's writer thread.",
            advice: "Save in a task where a log handler or a metrics backend saves.")
    }

    /// Returns the error for a system that refuses the writer's thread.
    static func noThread(path: String, systemCode: Int32) -> StoreError {
        StoreError(
            .noThread, path: path,
            message: "The store \(path) can't be written: no thread is left for its writer.",
            advice: "Nothing was written. Raise the limit of threads (ulimit -u, pids.max), or end "
                + "some.",
            systemCode: systemCode)
    }

    /// Returns the error for a revision that the journal no longer contains.
    package static func historyTrimmed(
        _ revision: Revision, floor: Revision, path: String?
    ) -> StoreError {
        StoreError(
            .historyTrimmed, path: path,
            message: "Commit \(revision) was trimmed: the journal begins after \(floor).",
            advice: "Ask for what came after \(floor), or look into a backup.")
    }

    /// Returns the error for a revision that does not exist yet.
    package static func noSuchRevision(
        _ revision: Revision, head: Revision, path: String?
    ) -> StoreError {
        StoreError(
            .noSuchRevision, path: path,
            message: "The last commit is \(head); there is no \(revision).",
            advice: "Ask for a revision up to the last one.")
    }

    /// Returns the error for a commit id that another store has made.
    static func otherStore(path: String) -> StoreError {
        StoreError(
            .wrongStore, path: path, message: "The commit id was made for another store.",
            advice: "Use ids of makeCommitID() with the store that made them.")
    }

    /// Returns the error for a commit that was prepared on a history that this journal does not
    /// have.
    static func otherHistory(
        base: Revision, head: Revision, path: String? = nil
    ) -> StoreError {
        StoreError(
            .wrongStore, path: path,
            message: base > head
                ? "The commit was prepared at revision \(base), but the last commit is "
                    + "\(head): the store is an earlier copy."
                : "The commit was prepared at a revision \(base) that the store does not have: it "
                    + "is an earlier copy, and has had other commits since.",
            advice: "Nothing was saved. Look for the commit in the store that the copy was made "
                + "of, and save with a new id.")
    }

    /// Returns the error for a store whose schema another process has changed.
    package static func migratedElsewhere(path: String) -> StoreError {
        StoreError(
            .modelMismatch, path: path,
            message: "Another process has changed the schema of the store.",
            advice: "Close the store and open it with the models it has now.")
    }

    /// Returns the error for a store whose models are none of the versions of a plan.
    package static func noVersionOfPlan(path: String) -> StoreError {
        StoreError(
            .modelMismatch, path: path,
            message: "The store has none of the versions of the migration plan.",
            advice: "Nothing was changed. If a later program has made it, use that one. Otherwise"
                + " add its models as a version, so that it is known which steps follow.")
    }

    /// Returns the error for a store that others write to while it is migrated.
    package static func movesOn(path: String) -> StoreError {
        StoreError(
            .migrationFailed, path: path,
            message: "The store can't be migrated: another process keeps saving to it.",
            advice: "Nothing was changed. Stop every process that uses the earlier models.")
    }

    /// Runs `body`, converting the errors of the layers below to this type.
    package static func wrapping<Result>(
        path: @autoclosure () -> String, _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch {
            throw wrapped(error, path: path())
        }
    }

    /// Returns an error of the layers below as this type; other errors unchanged.
    static func wrapped(_ error: any Error, path: String) -> any Error {
        switch error {
        case let error as LMDBError where error.code == LMDBError.cancelled: CancellationError()
        case let error as LMDBError: StoreError(error)
        case let failure as DecodingFailure: damaged(failure.description, path: path)
        default: error
        }
    }
}
