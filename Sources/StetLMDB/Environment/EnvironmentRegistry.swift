import CLMDB
import Glibc

/// The open environments of this process, by device and inode.
///
/// Opening a file twice in a process and closing one of the two clears the reader table of the
/// other, while LMDB reports success; so there is one environment per file.
///
/// State: `open`, guarded by its mutex, which is held while a file is opened or closed.
final class EnvironmentRegistry: Sendable {
    static let shared = EnvironmentRegistry()

    private struct Registration {
        /// Retained only where the reference outlives the use of the registry: whoever releases the
        /// last reference closes the file, for which the registry must not be locked.
        weak var environment: Environment?
        let lockIdentity: FileIdentity
        let forkGeneration = ProcessFork.generation
    }

    private struct State: @unchecked Sendable {  // reached only under `open`'s mutex
        var registrations: [FileIdentity: Registration] = [:]
        /// The files whose last commit may be only in memory, since a failure of the disk.
        var unsettled: Set<FileIdentity> = []
    }

    private let open = Monitor(State())

    /// The open environment of a file, or the reason why it cannot be opened yet.
    private enum Found {
        case environment(Environment)
        /// The last user has released the environment and is about to close it on another thread,
        /// or another process has replaced the file while this one waited.
        case nothingYet
    }

    func environment(
        at path: String, _ configuration: Environment.Configuration
    ) throws(LMDBError) -> Environment {
        while true {
            var retained: Environment?
            defer { withExtendedLifetime(retained) {} }
            let found = try open.withLock { (state) throws(LMDBError) -> Found in
                try Self.find(path, configuration, &state, &retained)
            }
            switch found {
            case .environment(let environment): return environment
            case .nothingYet: sched_yield()
            }
        }
    }

    private static func find(
        _ path: String, _ configuration: Environment.Configuration, _ state: inout State,
        _ retained: inout Environment?
    ) throws(LMDBError) -> Found {
        // Registrations from before a fork belong to the parent.
        let generation = ProcessFork.generation
        state.registrations = state.registrations.filter { $0.value.forkGeneration == generation }
        if let found = try present(path, state, &retained) { return found }
        // Closing a second descriptor of the lock file would release LMDB's locks in this process.
        try refuseInUse(lockFileOf: path, state)
        let locks = try FileLocks(
            at: path, readerCount: configuration.slotCount,
            createsFile: configuration.createsFile)
        try locks.takeOpening(openingLimit)
        defer { locks.release(.opening) }
        guard locks.isInPlace else { return .nothingYet }
        try locks.claim()
        let lacksLog = try recover(locks, configuration)
        let isUnsettled = state.unsettled.contains(locks.identity)
        if isUnsettled, !lacksLog, LogMark.read(locks.dataDescriptor) != nil {
            throw LMDBError(heldAfterFailure: locks.path)
        }
        let handle = try open(path, configuration, locks, isUnsettled: isUnsettled)
        state.unsettled.remove(locks.identity)
        if configuration.removesNames { locks.removeNames() }
        let environment = Environment(
            handle: handle, path: path, locks: locks, lacksLog: lacksLog,
            configuration: configuration)
        state.registrations[locks.identity] = Registration(
            environment: environment, lockIdentity: locks.lockIdentity)
        return .environment(environment)
    }

    /// Returns the environment that this process has, or the reason to wait; nil when it has none.
    private static func present(
        _ path: String, _ state: borrowing State, _ retained: inout Environment?
    ) throws(LMDBError) -> Found? {
        let identity = FileIdentity(path: path)
        guard let identity, let present = state.registrations[identity] else { return nil }
        retained = present.environment
        guard let environment = retained else { return .nothingYet }
        // Another thread closes the file, or is replacing the present one with it.
        if environment.isBeingClosed || environment.locks.identity != identity {
            return .nothingYet
        }
        // The environment is closed, but has an open transaction, so the file must not be opened
        // again.
        if environment.isClosed { throw LMDBError(.openEnvironment, code: EBUSY, path: path) }
        try environment.locks.checkPlace(.openEnvironment)
        return .environment(environment)
    }

    /// Opens the environment of a file whose locks are held, and settles the outcome of a commit
    /// that failed before.
    private static func open(
        _ path: String, _ configuration: Environment.Configuration, _ locks: FileLocks,
        isUnsettled: Bool
    ) throws(LMDBError) -> OpaquePointer {
        let handle = try open(path, configuration)
        do throws(LMDBError) {
            try locks.holdOpen(true)
            try locks.watchReaders()
            try check(prepareUnnamedTable(handle), .openEnvironment, path)
            try locks.checkPlace(.openEnvironment)
            if isUnsettled { try settle(handle, locks) }
        } catch {
            mdb_env_close(handle)
            throw error
        }
        return handle
    }

    /// Syncs the last commit to the disk, as far as it can be read.
    private static func settle(
        _ handle: OpaquePointer, _ locks: FileLocks
    ) throws(LMDBError) {
        guard try locks.take(.writing) else {
            throw LMDBError(
                .openEnvironment, code: LMDBError.busy, path: locks.path,
                detail: "the disk has failed, and another process is writing")
        }
        defer { locks.release(.writing) }
        try AbandonedCommit.rewriteMetaPages(handle, locks.path)
        try check(mdb_env_sync(handle, 1), .openEnvironment, locks.path)
    }

    /// The time for which opening waits for a process that opens or replaces the file.
    private static let openingLimit = Duration.seconds(5)

    /// Refuses a lock file of another data file that is open in this process.
    private static func refuseInUse(
        lockFileOf path: String, _ state: borrowing State
    ) throws(LMDBError) {
        guard let lock = FileIdentity(path: "\(path)-lock") else { return }
        for registration in state.registrations.values
        where registration.lockIdentity == lock {
            throw LMDBError(movedAwayFrom: path)
        }
    }

    func isOpen(_ path: String) -> Bool {
        guard let identity = FileIdentity(path: path) else { return false }
        return open.withLock { state in
            guard let registration = state.registrations[identity] else { return false }
            return registration.forkGeneration == ProcessFork.generation
        }
    }

    /// Returns whether any process has the file at `path` open.
    func isInUse(_ path: String) throws(LMDBError) -> Bool {
        if isOpen(path) { return true }
        do {
            try FileLocks.refuseInUse(lockFileOf: path)
            return false
        } catch {
            if error.code == LMDBError.moved { return true }
            throw error
        }
    }

    /// Refuses to create a file at `path` where processes have an earlier one open.
    func refuseInUse(lockFileOf path: String) throws(LMDBError) {
        do {
            try open.withLock { (state) throws(LMDBError) in
                try Self.refuseInUse(lockFileOf: path, state)
                try FileLocks.refuseInUse(lockFileOf: path)
            }
        } catch {
            // Another process has created and opened one since the caller's check.
            if error.code == LMDBError.moved, access(path, F_OK) == 0 { return }
            throw error
        }
    }

    /// A file that is open, and Stet's locks on it.
    struct OpenFile {
        let handle: OpaquePointer
        let locks: FileLocks
    }

    /// Opens the file that will replace the one of an environment, with the same tables and rights.
    func openReplacement(
        _ draft: Draft, of environment: Environment
    ) throws(LMDBError) -> OpenFile {
        var configuration = environment.configuration
        configuration.createsFile = false
        let (names, mayLog) = environment.state.withLock { state in
            (state.tableNames, state.locks.isLogOwner)
        }
        return try open.withLock { (state) throws(LMDBError) -> OpenFile in
            let locks = try FileLocks(
                at: environment.path, presently: draft.path,
                readerCount: configuration.slotCount, createsFile: false)
            // Nobody else has the file open, so that nobody has one of these rights.
            for right in [.opening, .writing] + (mayLog ? [.logging] : []) as [FileLocks.Right] {
                guard try locks.take(right) else {
                    throw LMDBError(.create, code: LMDBError.busy, path: environment.path)
                }
            }
            try locks.claim()
            let handle = try Self.open(draft.path, configuration)
            do throws(LMDBError) {
                try locks.holdOpen(true)
                try locks.watchReaders()
                try check(prepareUnnamedTable(handle), .openEnvironment, environment.path)
                try Table.open(names, handle, environment.path)
            } catch {
                mdb_env_close(handle)
                throw error
            }
            state.registrations[locks.identity] = Registration(
                environment: environment, lockIdentity: locks.lockIdentity)
            return OpenFile(handle: handle, locks: locks)
        }
    }

    func close(_ handle: OpaquePointer?, _ locks: FileLocks) {
        open.withLock { state in
            mdb_env_close(handle)
            locks.close()
            state.registrations[locks.identity] = nil
        }
    }

    /// Closes, reopens and syncs an environment's file, with its tables.
    func reopen(
        _ handle: OpaquePointer?, _ environment: Environment, _ tableNames: [UInt32: String]
    ) throws(LMDBError) -> OpaquePointer {
        try open.withLock { (state) throws(LMDBError) -> OpaquePointer in
            // After a failure the next caller opens the file from scratch.
            let registration = state.registrations.removeValue(forKey: environment.locks.identity)
            var isOpen = false
            defer { if !isOpen { environment.locks.close() } }
            state.unsettled.insert(environment.locks.identity)
            // LMDB reads the state again only if no process has the file open.
            try environment.locks.holdOpen(false)
            environment.log.abandon()
            mdb_env_close(handle)
            #if STET_FAULTS
                let injected = environment.faults.code(for: .openEnvironment)
                try check(injected, .openEnvironment, environment.path)
            #endif
            var configuration = environment.configuration
            configuration.createsFile = false
            let path = environment.path
            try environment.locks.checkPlace(.openEnvironment)
            // LMDB would create an empty file at the path.
            if environment.locks.isUnnamed { throw LMDBError(unnamed: path) }
            try recoverAgain(environment.locks, configuration)
            let handle = try Self.open(path, configuration)
            do throws(LMDBError) {
                try environment.locks.checkPlace(.openEnvironment)
                try environment.locks.holdOpen(true)
                try check(prepareUnnamedTable(handle), .openEnvironment, path)
                try Table.open(tableNames, handle, path)
                try AbandonedCommit.rewriteMetaPages(handle, path)
                try check(mdb_env_sync(handle, 1), .commit, path)
                state.registrations[environment.locks.identity] = registration
                state.unsettled.remove(environment.locks.identity)
                isOpen = true
                return handle
            } catch {
                mdb_env_close(handle)
                throw error
            }
        }
    }

    /// Restores a file that this process has written through a log, and whose disk has failed: of
    /// LMDB's pages nothing is known, and the log has them all.
    private func recoverAgain(
        _ locks: FileLocks, _ configuration: Environment.Configuration
    ) throws(LMDBError) {
        guard LogMark.read(locks.dataDescriptor) != nil || LogFiles.exist(locks.path) else {
            return
        }
        try locks.takeOpening(Self.openingLimit)
        defer { locks.release(.opening) }
        guard try locks.isAlone() else {
            throw LMDBError(heldAfterFailure: locks.path)
        }
        _ = try Self.recover(locks, configuration)
    }

    /// - Returns: an open `MDB_env`.
    static func open(
        _ path: String, _ configuration: Environment.Configuration
    ) throws(LMDBError) -> OpaquePointer {
        // A large map costs only address space, but sanitizers and resource limits may refuse it.
        let smallestMap = min(configuration.mapByteCount, 1 << 30)
        var mapByteCount = configuration.initialMapByteCount ?? configuration.mapByteCount
        try checkVersion(path)
        while true {
            var handle: OpaquePointer?
            try check(mdb_env_create(&handle), .openEnvironment, path)
            var flags = MDB_NOSUBDIR | MDB_NOTLS
            if configuration.skipsSync { flags |= MDB_NOSYNC }
            var code = mdb_env_set_mapsize(handle, mapByteCount)
            if code == 0 {
                code = mdb_env_set_maxreaders(handle, UInt32(configuration.slotCount))
            }
            if code == 0 { code = mdb_env_set_maxdbs(handle, UInt32(configuration.tableCount)) }
            if code == 0 { code = mdb_env_open(handle, path, UInt32(flags), 0o600) }
            if code == 0, let handle { return handle }
            mdb_env_close(handle)
            if code == ENOMEM, mapByteCount / 2 >= smallestMap {
                mapByteCount /= 2
                continue
            }
            throw LMDBError(.openEnvironment, code: code, path: path)
        }
    }
}

extension LMDBError {
    /// Creates the error for a file that only a recovery can restore, while others have it open.
    fileprivate init(heldAfterFailure path: String) {
        self.init(
            .openEnvironment, code: Self.busy, path: path,
            detail: "the disk has failed, and other processes have it open: close it there")
    }
}

/// Refuses another LMDB than 0.9, whose layout of the lock file and of meta pages this code uses.
private func checkVersion(_ path: String) throws(LMDBError) {
    var (major, minor): (Int32, Int32) = (0, 0)
    mdb_version(&major, &minor, nil)
    try LMDBError.checkVersion(major, minor, path)
}

/// Opens the unnamed table once, because LMDB can compare its keys only after that.
private func prepareUnnamedTable(_ handle: OpaquePointer?) -> Int32 {
    var transaction: OpaquePointer?
    var code = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
    guard code == 0 else { return code }
    var table: MDB_dbi = 0
    code = mdb_dbi_open(transaction, nil, 0, &table)
    mdb_txn_abort(transaction)
    return code == 0 && table != Table.unnamed.handle ? MDB_BAD_DBI : code
}
