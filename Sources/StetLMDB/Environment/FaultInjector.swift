#if STET_FAULTS
    import Glibc

    /// Makes LMDB calls of one environment fail on request.
    ///
    /// It is compiled only with the environment variable `STET_FAULTS`; a shipped build does not
    /// contain it.
    ///
    /// State: the armed failures and the counts of calls, guarded by the monitor.
    package final class FaultInjector: Sendable {
        private struct Failure {
            var remaining: Int
            let code: Int32
            let isLasting: Bool
        }

        private struct State {
            var armed: [LMDBError.Operation: Failure] = [:]
            var calls: [LMDBError.Operation: Int] = [:]
            var moveCount = 0
            var readCount = 0
        }
        private let state = Monitor(State())

        package init() {}

        /// A code with which a call does not fail, but ends the process as `kill -9` does.
        package static let kill: Int32 = .max

        /// The number of reads of the environment so far.
        package var readCount: Int { state.withLock { $0.readCount } }

        func countRead() { state.withLock { $0.readCount += 1 } }

        /// Lets the `count`-th next call of `operation` fail with `code`, once or with every later
        /// call; one failure per operation can be armed.
        package func failNext(
            _ operation: LMDBError.Operation, after count: Int = 1, code: Int32,
            isLasting: Bool = false
        ) {
            state.withLock {
                $0.armed[operation] = Failure(remaining: count, code: code, isLasting: isLasting)
            }
        }

        /// True while an armed failure has not occurred yet.
        package var isArmed: Bool { state.withLock { !$0.armed.isEmpty } }

        /// Forgets the armed failures.
        package func disarm() { state.withLock { $0.armed = [:] } }

        /// The number of calls by operation: gets, puts, deletes, and created cursors.
        package var callCounts: [LMDBError.Operation: Int] { state.withLock { $0.calls } }

        /// The number of moves of cursors.
        package var moveCount: Int { state.withLock { $0.moveCount } }

        func noteMove() { state.withLock { $0.moveCount += 1 } }

        /// Returns the code with which this call must fail, or 0.
        func code(for operation: LMDBError.Operation) -> Int32 {
            let code: Int32 = state.withLock {
                $0.calls[operation, default: 0] += 1
                guard var failure = $0.armed[operation] else { return 0 }
                failure.remaining = max(0, failure.remaining - 1)
                let isDue = failure.remaining == 0
                $0.armed[operation] = isDue && !failure.isLasting ? nil : failure
                return isDue ? failure.code : 0
            }
            if code == Self.kill { Glibc.kill(getpid(), SIGKILL) }
            return code
        }
    }
#endif
