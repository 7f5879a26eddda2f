import CLMDB
import Glibc

// The file of an open environment is replaced by another one that has the same tables. The new file
// is open, with every right that this process has to the present one, before it gets the name: so
// no other process can come in between. Threads of this process that wait for LMDB's writer lock
// get the present file first, find it replaced, and begin again.

/// The replacement of the file of an environment by another one.
package struct FileReplacement {
    /// The time to wait for the end of the reads of this process.
    package static let limit = Duration.seconds(5)

    private let environment: Environment

    package init(of environment: Environment) { self.environment = environment }

    private var state: Monitor<Environment.State> { environment.state }

    /// Replaces the file with one that `body` makes, while nobody writes; transactions that begin
    /// later use the new file.
    ///
    /// The new file gets the owner and the rights of this one. It takes its place in a moment in
    /// which this process has no read open; in the last second of the wait, new ones wait for it.
    /// Other processes that have the present file open can continue to read it, but can no longer
    /// write.
    ///
    /// - Parameters:
    ///   - limit: The time to wait for reads after `body`.
    ///   - body: Makes the file, with the tables of this one.
    ///   - whenReplaced: Called while no transaction is open.
    /// - Returns: The result of `body`.
    /// - Throws: `LMDBError`: `.busy` when a read stays open. The file is unchanged, unless only
    ///   the durability of its new name is unknown: then this environment can write no more.
    package func run<Result>(
        waitingForReads limit: Duration = limit, _ body: (Draft) throws -> Result,
        whenReplaced: () -> Void = {}
    ) throws -> Result {
        // A transaction, because threads of this process do not exclude each other otherwise.
        let transaction = try environment.beginWrite()
        var isOpen = true
        func end() {
            guard isOpen else { return }
            isOpen = false
            mdb_txn_abort(transaction)
            environment.endUse()
        }
        defer {
            end()
            environment.endWriting()
        }
        try refuseOwnRead()
        try environment.locks.checkNamedPlace()
        try environment.log.leave(transaction)
        let draft = try Draft(of: environment.path)
        defer { draft.remove() }
        try environment.locks.giveRights(to: draft)
        let result = try body(draft)
        try environment.locks.takeOpening(.seconds(5))
        defer { environment.locks.release(.opening) }
        let next = try EnvironmentRegistry.shared.openReplacement(draft, of: environment)
        do throws(LMDBError) {
            try reserve(limit)
            try exchange(next, draft)
        } catch {
            EnvironmentRegistry.shared.close(next.handle, next.locks)
            throw error
        }
        end()
        finish(next, whenReplaced)
        return result
    }

    /// Continues with the new file, after the last thread that waits for the writer lock has seen
    /// that the previous one is replaced.
    private func finish(_ next: EnvironmentRegistry.OpenFile, _ whenReplaced: () -> Void) {
        let previous = state.wait { $0.openTransactions.isEmpty ? take(&$0, next) : nil }
        EnvironmentRegistry.shared.close(previous.handle, previous.locks)
        whenReplaced()
        let last = state.withLock { state in
            state.isReplaced = false
            state.isReserved = false
            return Environment.takeHandle(&state)
        }
        state.notify()
        if let last { environment.close(last) }
    }

    /// Returns whether another file has taken the place of the one that `use` had.
    static func isDone(_ environment: Environment, since use: Environment.Use) -> Bool {
        environment.state.withLock { $0.isReplaced || $0.reopeningCount != use.reopeningCount }
    }

    /// Refuses to wait for a read of this thread.
    private func refuseOwnRead() throws(LMDBError) {
        let thread = pthread_self()
        let isReading = state.withLock { state in
            state.openTransactions.endIdleReads()
            return state.openTransactions.areReads(on: thread)
        }
        guard isReading else { return }
        throw LMDBError(
            .create, code: LMDBError.busy, path: environment.path,
            detail: "this thread is reading it: replace it outside of the read")
    }

    /// Waits for the end of all reads, and lets new ones wait.
    private func reserve(_ limit: Duration) throws(LMDBError) {
        let end = systemUptime() + limit
        var isReserved = false
        while true {
            let outcome = state.withLock { state -> Swift.Result<Bool, LMDBError>? in
                if state.isClosed {
                    return .failure(
                        LMDBError(.create, code: LMDBError.closed, path: environment.path))
                }
                let now = systemUptime()
                state.openTransactions.endIdleReads()
                let isFree = !state.openTransactions.hasReads
                if !isReserved, !state.isReserved, isFree || now > end - .seconds(1) {
                    state.isReserved = true
                    isReserved = true
                }
                if isReserved, isFree { return .success(true) }
                if now <= end { return nil }
                if isReserved { state.isReserved = false }
                return .success(false)
            }
            switch outcome {
            case .success(true): return
            case .success(false):
                throw LMDBError(
                    .create, code: LMDBError.busy, path: environment.path,
                    detail: "a read of this process has stayed open: try again when it has ended")
            case .failure(let error): throw error
            case nil: state.wait(atMost: .milliseconds(1))
            }
        }
    }

    /// Gives the new file the place of the present one, and the leases of this process; nobody has
    /// a read open.
    private func exchange(
        _ next: EnvironmentRegistry.OpenFile, _ draft: Draft
    ) throws(LMDBError) {
        do throws(LMDBError) {
            try environment.leases.withLock { (leases) throws(LMDBError) in
                var moved: [(FileLease, SharedDescriptor)] = []
                for lease in leases {
                    if let pair = try lease.successor(next.locks, draft) { moved.append(pair) }
                }
                state.withLock { $0.isReplaced = true }
                try draft.replaceTarget()
                for (lease, successor) in moved { lease.continueWith(successor) }
            }
        } catch {
            state.withLock { state in
                state.isReplaced = false
                state.isReserved = false
            }
            state.notify()
            throw error
        }
    }

    /// Takes the new file; returns the present one.
    private func take(
        _ state: inout Environment.State, _ next: EnvironmentRegistry.OpenFile
    ) -> (handle: OpaquePointer?, locks: FileLocks) {
        Environment.abortIdleReads(&state)
        let previous = (handle: state.handle, locks: state.locks)
        state.handle = next.handle
        state.locks = next.locks
        state.lacksLog = false
        state.reopeningCount += 1
        return previous
    }
}
