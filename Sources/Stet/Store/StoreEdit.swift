import StetStore

// One edit in a context of its own, tried again when others were faster.

extension Store {
    /// Runs a closure on a fresh context and saves what it has edited; when others have saved what
    /// it was based on, runs it again on another fresh context.
    ///
    /// The closure cannot keep objects: what it returns must be `Sendable`, and it must not capture
    /// what is not. It may run several times, so it does nothing but edit; it does not save, which
    /// traps. An edit that is tried
    /// again comes before edits of this process that have not begun, so that it comes to an end
    /// where many want the same object.
    ///
    /// - Parameters:
    ///   - label: what the commit is called, at most 1,024 bytes.
    ///   - author: who makes it, at most 255 bytes.
    ///   - scope: the part of the author's work that it belongs to, at most 255 bytes.
    ///   - retries: how often it is tried again after a conflict. Defaults to 8.
    ///   - body: edits objects of the context that it is given, on the caller's isolation.
    /// - Returns: what the closure returned the last time; snapshots of objects as they were saved,
    ///   normalised and stamped.
    /// - Throws: what `body` throws, and nothing is saved; what `ManagedContext.save(_:)` throws;
    ///   the last `ConflictError` when all retries met one; `CancellationError`. A
    ///   `ValidationError` is tried again, too, when others have saved since the closure ran.
    @discardableResult
    public nonisolated(nonsending) func edit<Result: Sendable>(
        _ label: String? = nil, author: String? = nil, scope: String? = nil, retries: Int = 8,
        _ body: @Sendable (_ context: ManagedContext) throws -> Result
    ) async throws -> Result {
        try await StoreEdit(self, label, author, scope, retries).run(body) { result, context, _ in
            StoreEdit.saved(result, in: context)
        }
    }

    /// The same, blocking the thread until the disk has the edit.
    @discardableResult
    public func edit<Result: Sendable>(
        _ label: String? = nil, author: String? = nil, scope: String? = nil, retries: Int = 8,
        _ body: @Sendable (_ context: ManagedContext) throws -> Result
    ) throws -> Result {
        try StoreEdit(self, label, author, scope, retries).run(body) { result, context, _ in
            StoreEdit.saved(result, in: context)
        }
    }

    /// True when an edit may come to another end on the last commit: it was in conflict, or is not
    /// valid since others have saved.
    func isOvertaken(_ error: any Error, since beginning: Revision) throws -> Bool {
        if error is ConflictError { return true }
        return try error is ValidationError && revision() > beginning
    }
}

/// An edit of a store, apart from what it does.
struct StoreEdit {
    private let store: Store
    private let label: String?
    private let author: String?
    private let scope: String?
    private let retries: Int

    init(
        _ store: Store, _ label: String?, _ author: String?, _ scope: String?, _ retries: Int
    ) {
        self.store = store
        self.label = label
        self.author = author
        self.scope = scope
        self.retries = retries
    }

    /// An attempt: a context in which the closure has run.
    private struct Attempt<Value> {
        let context: ManagedContext
        let beginning: Revision
        let value: Value
        /// They live until the result was read from them.
        let edited: [any Model]
    }

    /// Runs a closure and saves, until nobody else is faster; `result` is asked when its edits are
    /// saved.
    nonisolated(nonsending) func run<Value, Result>(
        _ body: (ManagedContext) throws -> Value,
        result: (Value, ManagedContext, Commit?) throws -> Result
    ) async throws -> Result {
        var retry = 0
        while true {
            let isRepeated = retry > 0
            try await store.repeatedEdits.begin(isRepeated)
            defer { if isRepeated { store.repeatedEdits.end() } }
            try Task.checkCancellation()
            let attempt = try attempt(body)
            do {
                let commit = try await attempt.context.save(label)
                return try withExtendedLifetime(attempt.edited) {
                    try result(attempt.value, attempt.context, commit)
                }
            } catch {
                guard try isTriedAgain(after: error, attempt, retry) else { throw error }
            }
            retry += 1
        }
    }

    func run<Value, Result>(
        _ body: (ManagedContext) throws -> Value,
        result: (Value, ManagedContext, Commit?) throws -> Result
    ) throws -> Result {
        var retry = 0
        while true {
            let attempt = try attempt(body)
            do {
                let commit = try attempt.context.save(label)
                return try withExtendedLifetime(attempt.edited) {
                    try result(attempt.value, attempt.context, commit)
                }
            } catch {
                guard try isTriedAgain(after: error, attempt, retry) else { throw error }
            }
            retry += 1
        }
    }

    private func attempt<Value>(
        _ body: (ManagedContext) throws -> Value
    ) throws -> Attempt<Value> {
        let context = store.context(author: author, scope: scope)
        let beginning = context.revision
        let value = try context.core.inStoreEdit { try body(context) }
        return Attempt(
            context: context, beginning: beginning, value: value,
            edited: context.core.pending.objects.map(\.object))
    }

    private func isTriedAgain<Value>(
        after error: any Error, _ attempt: Attempt<Value>, _ retry: Int
    ) throws -> Bool {
        guard retry < retries else { return false }
        return try store.isOvertaken(error, since: attempt.beginning)
    }

    /// The result of an edit as it was saved: snapshots with what normalisers and stamps have made
    /// of the objects, which live; anything else as it is.
    static func saved<Result>(_ result: Result, in context: ManagedContext) -> Result {
        func shown<M: Model>(_ type: M.Type) -> Result? {
            func snapshot(_ snapshot: M.Snapshot) -> M.Snapshot {
                context.core.table(for: type).object(snapshot.id, as: type)?._$snapshot ?? snapshot
            }
            switch result {
            case let one as M.Snapshot: return snapshot(one) as? Result
            case let several as [M.Snapshot]: return several.map(snapshot) as? Result
            default: return nil
            }
        }
        if result is Void { return result }
        for case let type? in context.store.modelTypes {
            if let shown = shown(type) { return shown }
        }
        return result
    }
}
