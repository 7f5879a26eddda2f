import DequeModule
import StetStore
import Synchronization

// One edit in a context of its own, tried again when others were faster.

extension Store {
    /// Runs a closure on a fresh context and saves what it has edited; when others have saved what
    /// it was based on, runs it again on another fresh context.
    ///
    /// The closure cannot keep objects: what it returns must be `Sendable`, and it must not capture
    /// what is not. It may run several times, so it does nothing but edit. An edit that is tried
    /// again comes before edits of this process that have not begun, so that it comes to an end
    /// where many want the same object.
    ///
    /// - Parameters:
    ///   - label: what the commit is called, at most 1,024 bytes.
    ///   - author: who makes it, at most 255 bytes.
    ///   - scope: the part of the author's work that it belongs to, at most 255 bytes.
    ///   - retries: how often it is tried again after a conflict; 8 unless said otherwise.
    ///   - body: edits objects of the context that it is given, on the caller's isolation.
    /// - Returns: what the closure returned the last time.
    /// - Throws: what `body` throws, and nothing is saved; what `ManagedContext.save(_:)` throws;
    ///   the last `ConflictError` when all retries met one; `CancellationError`.
    @discardableResult
    public nonisolated(nonsending) func edit<Result: Sendable>(
        _ label: String? = nil, author: String? = nil, scope: String? = nil, retries: Int = 8,
        _ body: @Sendable (_ context: ManagedContext) throws -> Result
    ) async throws -> Result {
        var attempt = 0
        while true {
            let isRepeated = attempt > 0
            try await repeatedEdits.begin(isRepeated)
            defer { if isRepeated { repeatedEdits.end() } }
            try Task.checkCancellation()
            let context = context(author: author, scope: scope)
            let result = try body(context)
            do {
                _ = try await context.save(label)
                return result
            } catch let conflict as ConflictError {
                if attempt >= retries { throw conflict }
            }
            attempt += 1
        }
    }

    /// The same, blocking the thread until the disk has the edit.
    @discardableResult
    public func edit<Result: Sendable>(
        _ label: String? = nil, author: String? = nil, scope: String? = nil, retries: Int = 8,
        _ body: @Sendable (_ context: ManagedContext) throws -> Result
    ) throws -> Result {
        var attempt = 0
        while true {
            let context = context(author: author, scope: scope)
            let result = try body(context)
            do {
                try context.save(label)
                return result
            } catch let conflict as ConflictError {
                if attempt >= retries { throw conflict }
            }
            attempt += 1
        }
    }
}

/// Lets edits that are tried again go one after the other, and before those that have not begun.
///
/// State: under the mutex.
final class RepeatedEdits: Sendable {
    private struct Waiter {
        let number: UInt64
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        /// True while an edit is tried again.
        var isRepeating = false
        var repeated: Deque<Waiter> = []
        var new: Deque<Waiter> = []
        var lastNumber: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Waits for the turn of an edit; a repeated one must end it.
    ///
    /// - Throws: `CancellationError`.
    nonisolated(nonsending) func begin(_ isRepeated: Bool) async throws {
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
            // Whoever cancels later finds the waiter.
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
    func end() {
        let next = state.withLock { state -> [Waiter] in
            if let next = state.repeated.popFirst() { return [next] }
            state.isRepeating = false
            defer { state.new = [] }
            return Array(state.new)
        }
        for waiter in next { waiter.continuation.resume() }
    }
}
