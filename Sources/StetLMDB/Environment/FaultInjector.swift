#if STET_FAULTS
    import Glibc

    /// Makes LMDB calls of one environment fail on request.
    ///
    /// Compiled in only with the environment switch `STET_FAULTS`; a shipped build has no trace of
    /// it. State: the armed failures and the counts of calls, all guarded by the monitor.
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
        }
        private let state = Monitor(State())

        package init() {}

        /// Lets the `count`-th next call of `operation` fail with `code`, once, or with every call
        /// after it; one failure per operation can be armed.
        package func failNext(
            _ operation: LMDBError.Operation, after count: Int = 1, code: Int32,
            isLasting: Bool = false
        ) {
            state.withLock {
                $0.armed[operation] = Failure(remaining: count, code: code, isLasting: isLasting)
            }
        }

        /// True while a failure is armed that no call has met yet.
        package var isArmed: Bool { state.withLock { !$0.armed.isEmpty } }

        /// Forgets the armed failures.
        package func disarm() { state.withLock { $0.armed = [:] } }

        /// How often the operations were called: gets, puts, deletes, and cursors that were made.
        package var callCounts: [LMDBError.Operation: Int] { state.withLock { $0.calls } }

        /// How often cursors were moved.
        package var moveCount: Int { state.withLock { $0.moveCount } }

        func noteMove() { state.withLock { $0.moveCount += 1 } }

        /// The code with which this call must fail, or 0.
        func code(for operation: LMDBError.Operation) -> Int32 {
            state.withLock {
                $0.calls[operation, default: 0] += 1
                guard var failure = $0.armed[operation] else { return 0 }
                failure.remaining = max(0, failure.remaining - 1)
                let isDue = failure.remaining == 0
                $0.armed[operation] = isDue && !failure.isLasting ? nil : failure
                return isDue ? failure.code : 0
            }
        }
    }
#endif
