import StetLMDB

/// A count of changes for which tasks can wait.
///
/// State: the count and the waiting tasks, guarded by the monitor.
package final class ChangeSignal: Sendable {
    private struct State {
        var count: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter: UInt64 = 0
        var isEnded = false
    }
    private let state = Monitor(State())

    /// Creates a signal without changes.
    package init() {}

    /// The number of changes.
    package var count: UInt64 { state.withLock { $0.count } }

    /// The number of tasks that are waiting now.
    package var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Counts a change, and resumes all waiting tasks.
    package func note() { resume { $0.count += 1 } }

    /// Resumes all waiting tasks; later calls do not wait any more.
    package func end() { resume { $0.isEnded = true } }

    private func resume(after change: (inout State) -> Void) {
        let waiters = state.withLock { state in
            change(&state)
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until the count is higher than `count`, the signal has ended, or the task is
    /// cancelled.
    ///
    /// - Returns: false when the signal has ended and the count is not higher.
    package func wait(after count: UInt64) async -> Bool {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let resumesNow = state.withLock { state in
                    if state.isEnded || state.count > count || Task.isCancelled { return true }
                    state.waiters[number] = continuation
                    return false
                }
                if resumesNow { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
        return state.withLock { !$0.isEnded || $0.count > count }
    }
}
