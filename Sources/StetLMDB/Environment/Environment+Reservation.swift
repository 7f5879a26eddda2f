import CLMDB
import Glibc
import Synchronization

// Operations that LMDB allows only while this process has no open transaction: resizing the map,
// and reopening the file.

extension Environment {
    /// Runs `body` while no transaction of this environment is open in this process; new
    /// transactions wait.
    ///
    /// `body` may replace the handle.
    private func reserved(
        _ body: (inout OpaquePointer?) throws(LMDBError) -> Void
    ) throws(LMDBError) {
        let thread = pthread_self()
        readAwaiterCount.add(1, ordering: .sequentiallyConsistent)
        defer { readAwaiterCount.subtract(1, ordering: .sequentiallyConsistent) }
        let handle: Swift.Result<OpaquePointer, LMDBError> = state.wait { state in
            state.openTransactions.endIdleReads()
            if state.openTransactions.areOpen(on: thread) {
                // The thread would wait for its own transaction.
                return .failure(LMDBError(.begin, code: MDB_MAP_RESIZED, path: path))
            }
            if state.isReserved { return nil }
            if let failure = state.failure { return .failure(failure) }
            guard let handle = state.handle else {
                return .failure(LMDBError(.begin, code: LMDBError.closed, path: path))
            }
            state.isReserved = true
            return .success(handle)
        }
        var current: OpaquePointer? = try handle.get()
        state.wait { state -> Void? in
            state.openTransactions.endIdleReads()
            guard state.openTransactions.isEmpty else { return nil }
            Self.abortIdleReads(&state)
            return ()
        }
        defer {
            let last = state.withLock { state in
                state.handle = current
                state.isReserved = false
                return Self.takeHandle(&state)
            }
            state.notify()
            if let last { close(last) }
        }
        try body(&current)
    }

    // MARK: Size

    /// Doubles the map, up to the size of the configuration; returns false when it has that size,
    /// or the system refuses.
    ///
    /// If the map can grow, it waits for the end of all transactions of this process.
    package func grow() throws(LMDBError) -> Bool {
        guard try statistics().mapByteCount < configuration.mapByteCount else { return false }
        var hasGrown = false
        try reserved { handle throws(LMDBError) in
            let present = try Self.mapByteCount(handle, path)
            let next = min(present * 2, configuration.mapByteCount)
            guard next > present else { return }
            hasGrown = try resize(&handle, to: next)
        }
        return hasGrown
    }

    /// Adapts the map to a file that another process has let grow beyond it.
    func adoptForeignSize() throws(LMDBError) {
        try reserved { handle throws(LMDBError) in
            _ = try resize(&handle, to: 0)
        }
    }

    /// Changes the size of the map; returns false when the system refuses.
    ///
    /// LMDB unmaps the file before it requests the other size, and cannot return to the old map:
    /// then the file is reopened.
    private func resize(
        _ handle: inout OpaquePointer?, to byteCount: Int
    ) throws(LMDBError) -> Bool {
        if mdb_env_set_mapsize(handle, byteCount) == 0 { return true }
        try openAgain(&handle)
        return false
    }

    private static func mapByteCount(
        _ handle: OpaquePointer?, _ path: String
    ) throws(LMDBError) -> Int {
        var information = MDB_envinfo()
        try check(mdb_env_info(handle, &information), .environmentStatistics, path)
        return information.me_mapsize
    }

    // MARK: Opening again

    /// Closes, reopens and syncs the file after a failure with unknown effect on the disk, so that
    /// later reads show what a power cut would leave.
    ///
    /// When it throws, the environment is failed: every later transaction throws that error until
    /// the user closes and opens it.
    func reopen() throws(LMDBError) {
        do {
            try reserved { handle throws(LMDBError) in try openAgain(&handle) }
        } catch {
            // Set even if reopening was not attempted, so that no thread waits for it.
            state.withLock { $0.failure = $0.failure ?? error }
            state.notify()
            throw error
        }
    }

    private func openAgain(_ handle: inout OpaquePointer?) throws(LMDBError) {
        let before = handle
        handle = nil
        do {
            let names = state.withLock { $0.tableNames }
            handle = try EnvironmentRegistry.shared.reopen(before, self, names)
        } catch {
            state.withLock { $0.failure = error }
            throw error
        }
        state.withLock { $0.reopeningCount += 1 }
    }

    /// Waits while the thread whose commit has failed reopens the file.
    func waitForReopening(after count: Int) throws(LMDBError) {
        let thread = pthread_self()
        let code: Int32 = state.wait { state in
            state.openTransactions.endIdleReads()
            if state.reopeningCount != count || state.failure != nil || state.isClosed { return 0 }
            return state.openTransactions.areOpen(on: thread) ? MDB_PANIC : nil
        }
        try check(code, .begin, path)
    }
}
