import CLMDB
import Glibc

/// A failure of LMDB or of the file system below it: the operation, the code, and the path.
package struct LMDBError: Error, Hashable, Sendable {
    /// The operation that failed.
    package enum Operation: String, Hashable, Sendable, CaseIterable {
        case openEnvironment, openTable, begin, get, put, delete, cursor, commit, setMapSize
        case environmentStatistics, checkReaders, copy, create, inspect
        /// A commit that succeeded and was then reported as failed: for injected failures only.
        case reportOfCommit
        /// A notification of the system about writes, whose loss has little effect: for injected
        /// failures only.
        case watch
        /// The opening, reading, writing and syncing of a log, and of its mark in the data file.
        case openLog, readLog, writeLog, syncLog
        /// The syncs of a data file that has a log: at a checkpoint, and when the log is left.
        case checkpoint, leaveLog
    }

    package let operation: Operation
    /// An `MDB_…` code (negative) or an `errno` (positive).
    package let code: Int32
    /// The path of the environment's data file.
    package let path: String
    /// True when a commit failed in a way that leaves it unknown whether its data are on the disk.
    package var isOutcomeOpen = false
    /// A description of the cause, if the code alone is not enough.
    private let detail: String?

    package init(_ operation: Operation, code: Int32, path: String, detail: String? = nil) {
        self.operation = operation
        self.code = code
        self.path = path
        self.detail = detail
    }

    /// Creates the error for a lock file beside `path` that processes with another data file use.
    init(movedAwayFrom path: String) {
        self.init(
            .openEnvironment, code: Self.moved, path: path,
            detail: "other processes still have the file open that was here before")
    }

    /// Creates the error for another process that has the right to write and does not release it.
    init(writing holder: Int32?, for duration: Duration, path: String) {
        self.init(
            .commit, code: Self.busy, path: path,
            detail: "process \(holder.map(String.init) ?? "?") has been writing to it for "
                + "\(duration.components.seconds) seconds")
    }

    /// The operation that failed, in the words of a user of the store: "can't be …".
    package var attempt: String {
        switch operation {
        case .openEnvironment, .openTable, .inspect, .openLog, .readLog: "opened"
        case .watch: "watched"
        case .put, .delete, .commit, .reportOfCommit, .writeLog, .syncLog,
            .checkpoint, .leaveLog:
            "written"
        case .begin, .get, .cursor: "used"
        case .setMapSize: "enlarged"
        case .environmentStatistics, .checkReaders: "looked at"
        case .copy: "copied"
        case .create: "made"
        }
    }

    /// The cause; by default LMDB's or the system's text for `code`.
    package var reason: String {
        if let detail { return detail }
        return code == Self.otherNamespace
            ? "processes of another PID namespace (another container) have it open"
            : String(cString: mdb_strerror(code))
    }
}

// The codes that higher layers distinguish. LMDB's macros are imported as `Int32`.
extension LMDBError {
    package static let mapFull = MDB_MAP_FULL
    package static let readersFull = MDB_READERS_FULL
    package static let corrupted = MDB_CORRUPTED
    package static let pageNotFound = MDB_PAGE_NOTFOUND
    package static let panic = MDB_PANIC
    package static let invalidFile = MDB_INVALID
    package static let versionMismatch = MDB_VERSION_MISMATCH
    package static let badValueSize = MDB_BAD_VALSIZE
    package static let keyExists = MDB_KEYEXIST
    package static let notFound = MDB_NOTFOUND
    /// The code for an environment that has been closed.
    package static let closed = EBADF
    /// The code for a child process that was forked after the environment was opened.
    package static let forked = ECHILD
    /// The code for a path that no longer names the open file.
    package static let moved = ESTALE
    /// The code for processes of two PID namespaces that would share a file.
    package static let otherNamespace = EREMOTE
    /// The code for another process that does not release a lock.
    package static let busy = ETIMEDOUT
    /// The code for a cancelled task that waited for a lock.
    package static let cancelled = ECANCELED
    /// Used by this package when a file that has no name would have to be found by it.
    package static let unnamed = ENODEV
    /// The code for a data file whose log is missing.
    package static let missingLog = ENOTUNIQ
    /// The code for a log whose contents contradict each other.
    package static let damagedLog = EBADMSG
    /// The code for a data file that a process wrote without syncs, and did not close.
    package static let unsynced = ENODATA
    /// The code for another process that writes the file through its log.
    package static let owned = EUSERS
    package static let noSpace = ENOSPC
    package static let quotaExceeded = EDQUOT
    package static let fileTooLarge = EFBIG
    package static let noAccess = EACCES
    package static let notPermitted = EPERM
    package static let readOnlyFileSystem = EROFS
    package static let noEntry = ENOENT
    package static let nameTooLong = ENAMETOOLONG
    package static let notADirectory = ENOTDIR
    package static let isADirectory = EISDIR
    package static let isALink = ELOOP
    package static let inputOutput = EIO

    /// Advice to the person who runs the process.
    package var advice: String {
        switch code {
        case MDB_MAP_FULL: "Raise the map size in the configuration, or free space by trimming."
        case MDB_READERS_FULL:
            "Too many reads at once: raise the reader limit, or end reads that are stuck."
        case MDB_CORRUPTED, MDB_PAGE_NOTFOUND:
            "The file is damaged: run verify, and restore from a backup."
        case MDB_INVALID: "The file is not a store, or its first pages are damaged."
        case MDB_VERSION_MISMATCH:
            "The file has another format of LMDB: open it with the program that wrote it."
        case MDB_PANIC: "A write of the meta page failed: close the store and open it again."
        case MDB_MAP_RESIZED:
            "Another process has grown the file: close the store and open it again."
        case ENOENT: "Create the directory first, or correct the path."
        case EISDIR, ELOOP: "Name a file: not a directory, and not a link."
        case ENOTDIR: "Correct the path: a part of it is not a directory."
        case ENAMETOOLONG: "Choose a shorter path."
        case EACCES, EPERM, EROFS:
            "Give this process the right to read and write the file and its directory."
        case ENOSPC, EDQUOT, EFBIG: "Free space on the disk, then try again."
        case ENOMEM: "Lower the map size, or raise the limit of address space."
        case EIO: "The disk reports errors: check it before going on."
        case EBADF: "The store was closed: open it again."
        case ECHILD:
            "This process was forked after the store had been opened: open it in the child, or "
                + "start the child by another program."
        case ESTALE:
            "Nothing was written. End or close every use of the store that began before, then open "
                + "it again; to put another file in its place, close it everywhere first."
        case EREMOTE:
            "Process ids mean nothing across PID namespaces, and LMDB relies on them: let the "
                + "processes share one (--pid), give each container a store of its own, or "
                + "hand out copies made by backup."
        case ETIMEDOUT:
            "Let that process go on (it may be stopped, or in a debugger), or end it."
        case Self.missingLog:
            "Put the log beside the file that it belongs to, or restore from a backup. A store "
                + "that verifies can be opened without: see Store.Configuration.recoversWithoutLog."
        case Self.damagedLog: "Restore from a backup."
        case Self.unsynced:
            "Make it again, or restore from a backup. A store that verifies can also be opened: "
                + "see Store.Configuration.recoversWithoutLog."
        case Self.owned: "Write through that process, or close the store there first."
        case ENODEV: "Copy what can still be read, and open another one."
        case ECANCELED: "Nothing was written."
        default: "See the code's meaning in lmdb.h or errno(3)."
        }
    }
}

extension LMDBError {
    /// A file without a name can be neither opened again nor replaced.
    init(unnamed path: String) {
        self.init(
            .openEnvironment, code: Self.unnamed, path: path,
            detail: "it is in memory, and its file has no name")
    }
}

extension LMDBError: CustomStringConvertible {
    package var description: String {
        "\(operation.rawValue) failed on \(path): \(reason) (code \(code)). \(advice)"
    }
}

extension LMDBError {
    /// Refuses a version of the library other than 0.9.
    package static func checkVersion(
        _ major: Int32, _ minor: Int32, _ path: String
    ) throws(LMDBError) {
        if (major, minor) == (0, 9) { return }
        throw LMDBError(
            .openEnvironment, code: MDB_VERSION_MISMATCH, path: path,
            detail: "this program has version \(major).\(minor) of LMDB, and knows 0.9 only")
    }
}

/// Throws when `code` is not `MDB_SUCCESS`.
@inline(__always)
func check(
    _ code: Int32, _ operation: LMDBError.Operation, _ path: @autoclosure () -> String
) throws(LMDBError) {
    if code != 0 { throw LMDBError(operation, code: code, path: path()) }
}
