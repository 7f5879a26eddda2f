package import StetLMDB

/// A store could not be opened, read or written: what failed, on which file, and what to do.
public struct StoreError: Error, Hashable, Sendable {
    /// What went wrong.
    ///
    /// More codes may be added; compare with those you handle.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String

        /// A code with this name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the code.
        public var description: String { rawValue }

        /// The store was closed.
        public static let storeClosed = Code(rawValue: "storeClosed")
        /// The file is not a Stet store.
        public static let notAStore = Code(rawValue: "notAStore")
        /// The path cannot be that of a store's file: a directory, a symbolic link, a name that is
        /// too long.
        public static let invalidPath = Code(rawValue: "invalidPath")
        /// The store would be in danger where it is: others may exchange its files, it has a second
        /// name, the file system does not keep what LMDB relies on, or processes of another PID
        /// namespace have it open.
        public static let unsafePlace = Code(rawValue: "unsafePlace")
        /// The file was written by a newer version of Stet, or in another format of LMDB.
        public static let newerFormat = Code(rawValue: "newerFormat")
        /// The file is shorter than it says, or its contents contradict themselves.
        public static let damaged = Code(rawValue: "damaged")
        /// The declared models are not usable together.
        public static let invalidSchema = Code(rawValue: "invalidSchema")
        /// The store was made for other models.
        public static let modelMismatch = Code(rawValue: "modelMismatch")
        /// The values of the store do not allow its migration: nothing was changed.
        public static let migrationFailed = Code(rawValue: "migrationFailed")
        /// No commit has made this revision yet.
        public static let noSuchRevision = Code(rawValue: "noSuchRevision")
        /// A stored value means nothing to its type: a raw value without a case, JSON that does not
        /// decode.
        public static let unreadableValue = Code(rawValue: "unreadableValue")
        /// A value or a commit is larger than its limit (`Limits`).
        public static let limitExceeded = Code(rawValue: "limitExceeded")
        /// The map has no room left.
        public static let mapFull = Code(rawValue: "mapFull")
        /// The disk has no room left.
        public static let diskFull = Code(rawValue: "diskFull")
        /// The process may not read or write the file.
        public static let noPermission = Code(rawValue: "noPermission")
        /// The file or its directory does not exist.
        public static let notFound = Code(rawValue: "notFound")
        /// Where a copy was to be made there is a file already.
        public static let alreadyExists = Code(rawValue: "alreadyExists")
        /// As many reads are open as the store allows, over all processes.
        public static let readersFull = Code(rawValue: "readersFull")
        /// The right to write could not be had: another process does not let go of it, or the save
        /// was called by the store's own writer (a log handler), which would wait for itself.
        public static let storeBusy = Code(rawValue: "storeBusy")
        /// The path no longer names the files that are open: they were removed, renamed or
        /// replaced, or other processes still have those open that were there before.
        public static let storeMoved = Code(rawValue: "storeMoved")
        /// The store is in memory, and what was asked for needs a file with a name.
        public static let inMemory = Code(rawValue: "inMemory")
        /// The system has no thread left for the store's writer.
        public static let noThread = Code(rawValue: "noThread")
        /// The store was opened before this process was forked.
        public static let forked = Code(rawValue: "forked")
        /// The commits in question were trimmed: the journal begins later.
        public static let historyTrimmed = Code(rawValue: "historyTrimmed")
        /// Values that would be needed were redacted.
        public static let erased = Code(rawValue: "erased")
        /// The present value of a property is one of those that are to be redacted.
        public static let valueInUse = Code(rawValue: "valueInUse")
        /// A commit id belongs to another store, or to a later state of it than this copy has.
        public static let wrongStore = Code(rawValue: "wrongStore")
        /// A commit id belongs to a commit of another kind: a save, an undo, a redo or a revert.
        public static let commitIDInUse = Code(rawValue: "commitIDInUse")
        /// The file system or LMDB reports another failure.
        public static let inputOutput = Code(rawValue: "inputOutput")
    }

    /// What went wrong.
    public let code: Code
    /// The path of the store, where one is concerned.
    public let path: String?
    /// What failed, as a sentence.
    public let message: String
    /// What to do about it, as a sentence.
    public let advice: String
    /// The code of LMDB (negative) or of the system (`errno`, positive), where one was given.
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
    /// Message and advice.
    public var description: String {
        advice.isEmpty ? message : "\(message) \(advice)"
    }
}

extension StoreError {
    /// The error that users see for one of LMDB or the file system.
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
            case LMDBError.corrupted, LMDBError.pageNotFound: .damaged
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

    /// A store whose contents contradict themselves.
    package static func damaged(_ what: String, path: String?) -> StoreError {
        StoreError(
            .damaged, path: path, message: "The store is damaged: \(what).",
            advice: "Run verify on a copy, and restore from a backup.")
    }

    /// A save on the thread that would have to make it.
    static func waitingForItself(path: String) -> StoreError {
        StoreError(
            .storeBusy, path: path,
            message: "The save would wait for itself: it was called on the store's writer thread.",
            advice: "Save in a task where a log handler or a metrics backend saves.")
    }

    /// The system refuses the writer's thread.
    static func noThread(path: String, systemCode: Int32) -> StoreError {
        StoreError(
            .noThread, path: path,
            message: "The store \(path) can't be written: no thread is left for its writer.",
            advice: "Nothing was written. Raise the limit of threads (ulimit -u, pids.max), or end "
                + "some.",
            systemCode: systemCode)
    }

    /// A revision that the journal does not reach back to.
    package static func historyTrimmed(
        _ revision: Revision, floor: Revision, path: String?
    ) -> StoreError {
        StoreError(
            .historyTrimmed, path: path,
            message: "Commit \(revision) was trimmed: the journal begins after \(floor).",
            advice: "Ask for what came after \(floor), or look into a backup.")
    }

    /// A revision that no commit has yet.
    package static func noSuchRevision(
        _ revision: Revision, head: Revision, path: String?
    ) -> StoreError {
        StoreError(
            .noSuchRevision, path: path,
            message: "The last commit is \(head); there is no \(revision).",
            advice: "Ask for a revision up to the last one.")
    }

    /// A commit id that another store has made.
    static func otherStore(path: String) -> StoreError {
        StoreError(
            .wrongStore, path: path, message: "The commit id was made for another store.",
            advice: "Use ids of makeCommitID() with the store that made them.")
    }

    /// A commit id with which something else was done.
    static func commitIDInUse(by commit: Commit, path: String) -> StoreError {
        StoreError(
            .commitIDInUse, path: path,
            message: "The commit id belongs to commit \(commit.revision), which does something "
                + "else.",
            advice: "Make an id with makeCommitID() for each save, undo, redo and revert.")
    }

    /// A commit that was prepared where the journal had commits that it does not have here.
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

    /// A store whose schema another process has changed meanwhile.
    package static func migratedElsewhere(path: String) -> StoreError {
        StoreError(
            .modelMismatch, path: path,
            message: "Another process has changed the schema of the store.",
            advice: "Close the store and open it with the models it has now.")
    }

    /// A store that others write to while it is migrated.
    package static func movesOn(path: String) -> StoreError {
        StoreError(
            .migrationFailed, path: path,
            message: "The store can't be migrated: others go on saving to it.",
            advice: "Nothing was changed. End the programs that use it with its earlier models.")
    }

    /// Runs `body`, turning the errors of the layers below into this type.
    package static func wrapping<Result>(
        path: String, _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch {
            throw wrapped(error, path: path)
        }
    }

    /// An error of the layers below as this type; any other as it is.
    static func wrapped(_ error: any Error, path: String) -> any Error {
        switch error {
        case let error as LMDBError where error.code == LMDBError.cancelled: CancellationError()
        case let error as LMDBError: StoreError(error)
        case let failure as DecodingFailure: damaged(failure.description, path: path)
        default: error
        }
    }
}
