import CLMDB
import Glibc

/// The end of a write transaction: its commit, as the durability of the environment requires.
struct TransactionCommit {
    let environment: Environment
    let transaction: OpaquePointer
    let recorder: OperationRecorder?

    private var path: String { environment.path }

    /// Commits a transaction as the durability of this environment requires, and ends it.
    func run() throws(CommitFailure) {
        let log: TransactionLog?
        do throws(LMDBError) {
            log = try prepare()
        } catch {
            mdb_txn_abort(transaction)
            throw CommitFailure(error, isOutcomeOpen: error.isOutcomeOpen)
        }
        if let log, let recorder {
            try commit(recorder, log)
        } else {
            let (code, cause) = commitToLMDB()
            guard code != 0 else { return }
            throw CommitFailure(
                LMDBError(.commit, code: cause, path: path),
                isOutcomeOpen: isOutcomeOpen(after: code))
        }
    }

    /// Returns the log for a commit; nil when LMDB alone makes it.
    private func prepare() throws(LMDBError) -> TransactionLog? {
        let writing = environment.state.withLock { $0.writing }
        if environment.configuration.durability == .none, writing.isSynced {
            try environment.log.enterUnsynced(transaction)
        }
        guard let recorder, recorder.operationCount > 0 else { return nil }
        if recorder.isIncomplete {
            // One sync of many pages is faster than their sync after that of a long frame.
            try environment.log.leave(transaction)
            return nil
        }
        if case .logged(let log) = writing { return log }
        return try environment.log.enter(transaction)
    }

    /// Commits a transaction to the log, and then to LMDB.
    private func commit(
        _ recorder: OperationRecorder, _ log: TransactionLog
    ) throws(CommitFailure) {
        recorder.settle()
        let before = log.position
        do throws(LMDBError) {
            try checkInjected(.writeLog)
            _ = try log.append(recorder.buffer)
            try checkInjected(.syncLog)
        } catch {
            try withdraw(log, before, after: error)
        }
        let (code, cause) = commitToLMDB()
        guard code != 0 else { return log.noteCommit() }
        let error = LMDBError(.commit, code: cause, path: path)
        let isOpen = code == EIO && cause == EIO || isPanicking
        // The frame is durable: without its removal the next recovery would make the commit.
        if !isOpen, (try? log.withdraw(to: before)) != nil { throw CommitFailure(error) }
        throw CommitFailure(error, isOutcomeOpen: true)
    }

    /// Ends a transaction whose frame was not written or not synced.
    private func withdraw(
        _ log: TransactionLog, _ before: CommitLog.Position, after error: LMDBError
    ) throws(CommitFailure) -> Never {
        defer { mdb_txn_abort(transaction) }
        if error.operation == .writeLog, (try? log.withdraw(to: before)) != nil {
            throw CommitFailure(error)
        }
        // Nothing is known of the log any more, but LMDB's pages have all commits before.
        do throws(LMDBError) {
            try environment.log.leave(transaction)
        } catch {
            throw CommitFailure(error, isOutcomeOpen: true)
        }
        throw CommitFailure(error)
    }

    /// Returns LMDB's code, and its cause.
    private func commitToLMDB() -> (code: Int32, cause: Int32) {
        let handle = mdb_txn_env(transaction)
        #if STET_FAULTS
            let refused = environment.faults.code(for: .commit)
            if refused != 0 {
                mdb_txn_abort(transaction)
                return (refused, refused)
            }
            var code = mdb_txn_commit(transaction)
            if code == 0 { code = environment.faults.code(for: .reportOfCommit) }
        #else
            let code = mdb_txn_commit(transaction)
        #endif
        return (code, code == 0 ? 0 : ShortWrite.cause(of: code, handle))
    }

    /// Returns whether a commit that failed may be on the disk nevertheless.
    ///
    /// LMDB refuses every further transaction after a failed write of the meta page. After any
    /// other input or output error the system may have dropped pages that it could not write, so
    /// that the contents of the map are unreliable until the file is synced.
    private func isOutcomeOpen(after code: Int32) -> Bool {
        code == EIO || code == MDB_PANIC || isPanicking
    }

    /// True when LMDB refuses every further transaction.
    private var isPanicking: Bool {
        // Begins a write, which needs no reader slot.
        var transaction: OpaquePointer?
        let code = mdb_txn_begin(environment.state.withLock { $0.handle }, nil, 0, &transaction)
        if code == 0 { mdb_txn_abort(transaction) }
        return code == MDB_PANIC
    }

    private func checkInjected(_ operation: LMDBError.Operation) throws(LMDBError) {
        #if STET_FAULTS
            try check(environment.faults.code(for: operation), operation, path)
        #endif
    }
}

/// A commit that has failed.
struct CommitFailure: Error {
    let error: LMDBError
    /// True when the file has to be opened again to know whether the commit was made.
    let isOutcomeOpen: Bool

    init(_ error: LMDBError, isOutcomeOpen: Bool = false) {
        self.error = error
        self.isOutcomeOpen = isOutcomeOpen
    }
}
