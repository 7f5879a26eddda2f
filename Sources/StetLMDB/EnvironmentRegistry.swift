import CLMDB
import Glibc

/// The environments that this process has open, by device and inode.
///
/// Opening a file twice in a process and closing one of the two wipes the reader table of the
/// other, with LMDB reporting success; so there is one environment per file.
///
/// State: `open`, guarded by its mutex, which is held while a file is opened or closed.
final class EnvironmentRegistry: Sendable {
    static let shared = EnvironmentRegistry()

    private struct Registration {
        weak var environment: Environment?
        let forkGeneration = ProcessFork.generation
    }

    private struct State: @unchecked Sendable {  // reached only under `open`'s mutex
        var registrations: [FileIdentity: Registration] = [:]
    }

    private let open = Monitor(State())

    /// What stands in the way of opening a file, or the environment that is open.
    private enum Found {
        case environment(Environment)
        /// The last user has let go, and is about to close it on another thread.
        case closing
    }

    func environment(
        at path: String, _ configuration: Environment.Configuration
    ) throws(LMDBError) -> Environment {
        while true {
            let found = try open.withLock { (state) throws(LMDBError) -> Found in
                try Self.find(path, configuration, &state)
            }
            switch found {
            case .environment(let environment): return environment
            case .closing: sched_yield()
            }
        }
    }

    private static func find(
        _ path: String, _ configuration: Environment.Configuration, _ state: inout State
    ) throws(LMDBError) -> Found {
        // What was open before this process was forked belongs to the parent.
        state.registrations = state.registrations.filter {
            $0.value.forkGeneration == ProcessFork.generation
        }
        if let identity = FileIdentity(path: path), let present = state.registrations[identity] {
            guard let environment = present.environment else { return .closing }
            if !environment.isClosed { return .environment(environment) }
            // Closed, with a transaction still open: the file must not be opened a second time.
            throw LMDBError(.openEnvironment, code: EBUSY, path: path)
        }
        let handle = try open(path, configuration)
        // Of the file that was opened, whatever the path names by now.
        guard let identity = FileIdentity(handle) else {
            defer { mdb_env_close(handle) }
            throw LMDBError(.openEnvironment, code: errno, path: path)
        }
        let environment = Environment(
            handle: handle, path: path, identity: identity, configuration: configuration)
        state.registrations[identity] = Registration(environment: environment)
        return .environment(environment)
    }

    func close(_ handle: OpaquePointer, _ identity: FileIdentity) {
        open.withLock { state in
            mdb_env_close(handle)
            state.registrations[identity] = nil
        }
    }

    /// Closes an environment's file and opens it again, with the same tables, and syncs it.
    func reopen(
        _ handle: OpaquePointer?, _ environment: Environment, _ tableNames: [UInt32: String]
    ) throws(LMDBError) -> OpaquePointer {
        try open.withLock { (state) throws(LMDBError) -> OpaquePointer in
            // Whoever opens the file after a failure begins anew.
            let registration = state.registrations.removeValue(forKey: environment.identity)
            mdb_env_close(handle)
            #if STET_FAULTS
                let injected = environment.faults.code(for: .openEnvironment)
                try check(injected, .openEnvironment, environment.path)
            #endif
            var configuration = environment.configuration
            configuration.createsFile = false
            let path = environment.path
            let handle = try Self.open(path, configuration)
            do throws(LMDBError) {
                guard FileIdentity(handle) == environment.identity else {
                    throw LMDBError(.openEnvironment, code: ESTALE, path: path)
                }
                try Table.open(tableNames, handle, path)
                try check(mdb_env_sync(handle, 1), .commit, path)
                state.registrations[environment.identity] = registration
                return handle
            } catch {
                mdb_env_close(handle)
                throw error
            }
        }
    }

    /// - Returns: an open `MDB_env`.
    private static func open(
        _ path: String, _ configuration: Environment.Configuration
    ) throws(LMDBError) -> OpaquePointer {
        if !configuration.createsFile, access(path, F_OK) != 0 {
            throw LMDBError(.openEnvironment, code: errno, path: path)
        }
        try LockFile.reserve(besides: path, readerCount: configuration.readerCount)
        // A large map costs address space only; sanitizers and resource limits may refuse it.
        let smallestMap = min(configuration.mapByteCount, 1 << 30)
        var mapByteCount = configuration.initialMapByteCount ?? configuration.mapByteCount
        while true {
            var handle: OpaquePointer?
            try check(mdb_env_create(&handle), .openEnvironment, path)
            var flags = MDB_NOSUBDIR | MDB_NOTLS
            if configuration.skipsSync { flags |= MDB_NOSYNC }
            var code = mdb_env_set_mapsize(handle, mapByteCount)
            if code == 0 {
                code = mdb_env_set_maxreaders(handle, UInt32(configuration.readerCount))
            }
            if code == 0 { code = mdb_env_set_maxdbs(handle, UInt32(configuration.tableCount)) }
            if code == 0 { code = mdb_env_open(handle, path, UInt32(flags), 0o600) }
            if code == 0 { code = prepareUnnamedTable(handle) }
            if code == 0 {
                _ = mdb_reader_check(handle, nil)
                return handle!
            }
            mdb_env_close(handle)
            if code == ENOMEM, mapByteCount / 2 >= smallestMap {
                mapByteCount /= 2
                continue
            }
            throw LMDBError(.openEnvironment, code: code, path: path)
        }
    }
}

/// The file behind a path or an environment, whatever its name.
struct FileIdentity: Hashable {
    let device: UInt
    let inode: UInt

    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    init?(_ environment: OpaquePointer) {
        var descriptor: mdb_filehandle_t = -1
        var status = stat()
        guard mdb_env_get_fd(environment, &descriptor) == 0, fstat(descriptor, &status) == 0
        else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
    }
}

/// LMDB knows how to compare the keys of the unnamed table only after somebody has opened it.
private func prepareUnnamedTable(_ handle: OpaquePointer?) -> Int32 {
    var transaction: OpaquePointer?
    var code = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
    guard code == 0 else { return code }
    var table: MDB_dbi = 0
    code = mdb_dbi_open(transaction, nil, 0, &table)
    assert(table == Table.unnamed.handle, "LMDB numbers the unnamed table otherwise")
    mdb_txn_abort(transaction)
    return code
}

extension Environment {
    /// Opens the file at `path`, or returns the environment that this process already has open for
    /// it.
    ///
    /// - Throws: `LMDBError`; `EBUSY` when the same file was closed while one of its transactions
    ///   is still open.
    package static func open(
        at path: String, _ configuration: Configuration = Configuration()
    ) throws(LMDBError) -> Environment {
        try EnvironmentRegistry.shared.environment(at: path, configuration)
    }
}
