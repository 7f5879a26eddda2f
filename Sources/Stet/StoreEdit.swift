import StetStore

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
