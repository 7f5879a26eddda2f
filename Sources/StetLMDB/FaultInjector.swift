#if STET_FAULTS
    import Synchronization

    /// Makes LMDB calls of one environment fail on request, and carries the planted bugs that the
    /// tests must catch.
    ///
    /// Compiled in only with the environment switch `STET_FAULTS`; a shipped build has no trace of
    /// it. State: the armed failure and the planted bugs, both guarded by the mutex.
    package final class FaultInjector: Sendable {
        private struct State {
            var operation: LMDBError.Operation?
            var remaining = 0
            var code: Int32 = 0
            var planted: Set<String> = []
        }
        private let state = Mutex(State())

        package init() {}

        /// Lets the `count`-th next call of `operation` fail with `code`, once.
        package func failNext(_ operation: LMDBError.Operation, after count: Int = 1, code: Int32) {
            state.withLock {
                $0.operation = operation
                $0.remaining = count
                $0.code = code
            }
        }

        /// True while a failure is armed that no call has met yet.
        package var isArmed: Bool { state.withLock { $0.operation != nil } }

        /// Forgets an armed failure.
        package func disarm() { state.withLock { $0.operation = nil } }

        /// The planted bugs that are active, by name.
        package var planted: Set<String> {
            get { state.withLock { $0.planted } }
            set { state.withLock { $0.planted = newValue } }
        }

        /// The code with which this call must fail, or 0.
        func code(for operation: LMDBError.Operation) -> Int32 {
            state.withLock {
                guard $0.operation == operation else { return 0 }
                $0.remaining -= 1
                guard $0.remaining == 0 else { return 0 }
                $0.operation = nil
                return $0.code
            }
        }
    }
#endif
