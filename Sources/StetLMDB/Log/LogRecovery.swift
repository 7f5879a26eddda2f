import CLMDB
import Glibc

/// Restores a data file whose last process did not close it, from the log beside it: LMDB's pages
/// since the last checkpoint may be on the disk or not.
///
/// The caller has the right to open, and nobody else has the file open. Whatever interrupts it, the
/// next recovery begins again: until the mark is removed, nothing that the checkpoint needs is
/// overwritten.
struct LogRecovery {
    let path: String
    let data: Int32
    let configuration: Environment.Configuration
    private let mark: LogMark

    /// Creates a recovery; nil for a file that needs none.
    init?(_ path: String, _ data: Int32, _ configuration: Environment.Configuration) {
        guard let mark = LogMark.read(data) else { return nil }
        self.path = path
        self.data = data
        self.configuration = configuration
        self.mark = mark
    }

    /// The number of bytes of frames that one transaction of LMDB applies.
    private static let stepByteCount = 8 << 20

    /// Restores the last checkpoint and what the log has after it.
    ///
    /// - Returns: the number of transactions of the log.
    /// - Throws: `LMDBError`: `unsynced`, `missingLog`, `damagedLog`, `busy` when a program that is
    ///   not this package has the file open.
    func run() throws(LMDBError) -> Int {
        guard mark.kind == .logged else {
            throw LMDBError(
                .openEnvironment, code: LMDBError.unsynced, path: path,
                detail: "the process that wrote it without durability has not closed it")
        }
        let files = try LogFiles.open(path)
        guard let slot = try CommitLog.newestSlot(of: files, seed: mark.number),
            let page = slot.metaPages.first.flatMap({ MetaPage($0, 0) })
        else { throw LMDBError(missingLogOf: path) }
        // A power cut now must not leave an older slot beside newer pages.
        try CommitLog.syncSlot(of: slot.generation, in: files)
        let (handle, pin) = try openCheckpoint(slot, page.pageByteCount)
        defer { mdb_env_close(handle) }
        // Before the handle is closed.
        defer { mdb_txn_abort(pin) }
        let count = try replay(files, slot, handle)
        try check(mdb_env_sync(handle, 1), .commit, path)
        try LogMark.write(nil, data, pageByteCount: page.pageByteCount, path)
        LogFiles.remove(path)
        return count
    }

    // MARK: The checkpoint

    /// The number of tables that frames may name, whatever the caller needs of them.
    private static let tableLimit = 4_096
    /// The time for which a process that is just dying may hold LMDB's lock.
    private static let openingLimit = Duration.seconds(5)

    /// Restores the meta pages of a slot, and opens its tree.
    ///
    /// - Returns: LMDB's handle, and a read of the tree.
    private func openCheckpoint(
        _ slot: LogSlot, _ pageByteCount: Int
    ) throws(LMDBError) -> (handle: OpaquePointer, pin: OpaquePointer) {
        let end = systemUptime() + Self.openingLimit
        while true {
            try restore(slot, pageByteCount)
            // A page that is missing would end this process.
            let inspection = try FileInspection.inspect(
                InspectedFile(duplicating: data, path), walkingPages: false)
            guard inspection.damages.isEmpty else {
                throw LMDBError(.openEnvironment, code: LMDBError.corrupted, path: path)
            }
            var configuration = configuration
            configuration.skipsSync = true
            configuration.tableCount = max(configuration.tableCount, Self.tableLimit)
            let handle = try EnvironmentRegistry.open(path, configuration)
            var pin: OpaquePointer?
            let code = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &pin)
            if code == 0, let pin, UInt64(mdb_txn_id(pin)) == slot.transaction {
                return (handle, pin)
            }
            if code == 0 { mdb_txn_abort(pin) }
            mdb_env_close(handle)
            try check(code, .begin, path)
            guard systemUptime() < end else {
                throw LMDBError(
                    .openEnvironment, code: LMDBError.busy, path: path,
                    detail: "it needs recovery, and a program that uses LMDB alone has it open")
            }
            var pause = timespec(tv_sec: 0, tv_nsec: 1_000_000)
            nanosleep(&pause, nil)
        }
    }

    private func restore(_ slot: LogSlot, _ pageByteCount: Int) throws(LMDBError) {
        for (number, bytes) in slot.metaPages.enumerated() {
            let count = pwrite(data, bytes, bytes.count, number * pageByteCount)
            guard count == bytes.count else {
                throw LMDBError(.openEnvironment, code: count < 0 ? errno : EIO, path: path)
            }
        }
        try check(fdatasync(data) == 0 ? 0 : errno, .openEnvironment, path)
    }

    // MARK: The log

    /// Applies the frames after a slot; returns their number.
    private func replay(
        _ files: [LogFileOnDisk], _ slot: LogSlot, _ handle: OpaquePointer
    ) throws(LMDBError) -> Int {
        var transaction: OpaquePointer?
        var byteCount = 0
        var count = 0
        func commit() throws(LMDBError) {
            guard let open = transaction else { return }
            transaction = nil
            byteCount = 0
            try check(mdb_txn_commit(open), .commit, path)
        }
        do throws(LMDBError) {
            try CommitLog.replay(files, after: slot, seed: mark.number) {
                (entry) throws(LMDBError) in
                if transaction == nil {
                    try check(mdb_txn_begin(handle, nil, 0, &transaction), .begin, path)
                }
                guard let open = transaction else { return }
                try OperationReplay(transaction: open, path: path).apply(entry.payload)
                count += 1
                byteCount += entry.payload.count
                if byteCount > Self.stepByteCount { try commit() }
            }
            try commit()
        } catch {
            if let open = transaction { mdb_txn_abort(open) }
            throw error
        }
        return count
    }
}
