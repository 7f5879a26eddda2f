#if STET_FAULTS
    import Glibc

    /// Whether `STET_PLANTED` plants this bug in the process.
    func isPlantedInProcess(_ name: String) -> Bool {
        getenv("STET_PLANTED").map { String(cString: $0) } == name
    }

    /// Makes LMDB calls of one environment fail on request, and carries the planted bugs that the
    /// tests must catch.
    ///
    /// Compiled in only with the environment switch `STET_FAULTS`; a shipped build has no trace of
    /// it. State: the armed failures, the planted bugs and the
    /// counts of calls, all guarded by the monitor.
    package final class FaultInjector: Sendable {
        private struct Failure {
            var remaining: Int
            let code: Int32
        }

        private struct State {
            var armed: [LMDBError.Operation: Failure] = [:]
            var planted: Set<String> = []
            var calls: [LMDBError.Operation: Int] = [:]
            var moveCount = 0
        }
        private let state = Monitor(State())

        package init() {}

        /// Lets the `count`-th next call of `operation` fail with `code`, once; one failure per
        /// operation can be armed.
        package func failNext(_ operation: LMDBError.Operation, after count: Int = 1, code: Int32) {
            state.withLock { $0.armed[operation] = Failure(remaining: count, code: code) }
        }

        /// True while a failure is armed that no call has met yet.
        package var isArmed: Bool { state.withLock { !$0.armed.isEmpty } }

        /// Forgets the armed failures.
        package func disarm() { state.withLock { $0.armed = [:] } }

        /// The planted bugs that are active, by name.
        package var planted: Set<String> {
            get { state.withLock { $0.planted } }
            set { state.withLock { $0.planted = newValue } }
        }

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
                failure.remaining -= 1
                $0.armed[operation] = failure.remaining > 0 ? failure : nil
                return failure.remaining > 0 ? 0 : failure.code
            }
        }
    }
#endif
