import DequeModule
import StetLMDB

/// Serialises edits that are retried, before edits that have not begun.
///
/// State: the waiting edits, guarded by the monitor.
package final class RepeatedEdits: Sendable {
    private struct Waiter {
        let number: UInt64
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        /// True while an edit is retried.
        var isRepeating = false
        var repeated: Deque<Waiter> = []
        var new: Deque<Waiter> = []
        var lastNumber: UInt64 = 0
    }

    private let state = Monitor(State())

    package init() {}

    /// Waits for the turn of an edit; a repeated edit must call `end()`.
    ///
    /// - Throws: `CancellationError`.
    package nonisolated(nonsending) func begin(_ isRepeated: Bool) async throws {
        let isFree = state.withLock { state in
            if state.isRepeating { return false }
            state.isRepeating = isRepeated
            return true
        }
        if isFree { return }
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                enter(Waiter(number: number, continuation: continuation), isRepeated)
            }
        } onCancel: {
            withdraw(number)
        }
    }

    private func enter(_ waiter: Waiter, _ isRepeated: Bool) {
        let result: Result<Void, any Error>? = state.withLock { state in
            // A later cancellation finds the waiter.
            if Task.isCancelled { return .failure(CancellationError()) }
            if !state.isRepeating {
                state.isRepeating = isRepeated
                return .success(())
            }
            if isRepeated { state.repeated.append(waiter) } else { state.new.append(waiter) }
            return nil
        }
        if let result { waiter.continuation.resume(with: result) }
    }

    private func withdraw(_ number: UInt64) {
        let waiter = state.withLock { state in
            Self.take(number, from: &state.repeated) ?? Self.take(number, from: &state.new)
        }
        waiter?.continuation.resume(throwing: CancellationError())
    }

    private static func take(_ number: UInt64, from waiters: inout Deque<Waiter>) -> Waiter? {
        waiters.firstIndex { $0.number == number }.map { waiters.remove(at: $0) }
    }

    /// Ends the turn of a repeated edit.
    package func end() {
        let next = state.withLock { state -> [Waiter] in
            if let next = state.repeated.popFirst() { return [next] }
            state.isRepeating = false
            defer { state.new = [] }
            return Array(state.new)
        }
        for waiter in next { waiter.continuation.resume() }
    }
}
