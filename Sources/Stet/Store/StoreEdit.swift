import StetStore

// One edit in a context of its own, repeated when another commit was faster.

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

    /// Returns a function that decides whether the edits of a new context may end differently on
    /// the last commit: they were in conflict, or they are not valid and others have saved since.
    static func overtaking(_ context: ManagedContext) -> (any Error) -> Bool {
        let (store, beginning) = (context.core.store, context.revision)
        return { error in
            if error is ConflictError { return true }
            // The error remains if the store cannot be read any more.
            return error is ValidationError && ((try? store.revision()) ?? beginning) > beginning
        }
    }

    /// An attempt: a context in which the closure has run.
    private struct Attempt<Value> {
        let context: ManagedContext
        let value: Value
        /// The edited objects, which live until the result has been read from them.
        let edited: [any Model]
    }

    /// Runs a closure and saves its edits, and repeats both after a conflict with other commits;
    /// calls `result` once the edits are saved.
    nonisolated(nonsending) func run<Value, Result>(
        _ body: (ManagedContext) throws -> Value,
        result: (Value, ManagedContext, Commit?) -> Result
    ) async throws -> Result {
        var retry = 0
        while true {
            let isRepeated = retry > 0
            try await store.repeatedEdits.begin(isRepeated)
            defer { if isRepeated { store.repeatedEdits.end() } }
            try Task.checkCancellation()
            let attempt = try attempt(body, retry)
            do {
                let commit = try await attempt.context.save()
                return withExtendedLifetime(attempt.edited) {
                    result(attempt.value, attempt.context, commit)
                }
            } catch {
                guard attempt.context.core.saves.willRepeat else { throw error }
            }
            retry += 1
        }
    }

    func run<Value, Result>(
        _ body: (ManagedContext) throws -> Value,
        result: (Value, ManagedContext, Commit?) -> Result
    ) throws -> Result {
        var retry = 0
        while true {
            let attempt = try attempt(body, retry)
            do {
                let commit = try attempt.context.save()
                return withExtendedLifetime(attempt.edited) {
                    result(attempt.value, attempt.context, commit)
                }
            } catch {
                guard attempt.context.core.saves.willRepeat else { throw error }
            }
            retry += 1
        }
    }

    private func attempt<Value>(
        _ body: (ManagedContext) throws -> Value, _ retry: Int
    ) throws -> Attempt<Value> {
        let context = store.context(author: author, scope: scope)
        context.label = label
        if retry < retries { context.core.saves.isRepeated = Self.overtaking(context) }
        let value = try context.core.inClosure(of: .edit) { try body(context) }
        return Attempt(
            context: context, value: value, edited: context.core.pending.objects.map(\.object))
    }

    /// Returns the result of an edit with its snapshots as they were saved, after normalisers and
    /// stamps; other results are returned unchanged.
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

extension Store {
    /// Runs a closure on a new context and saves its edits; when others have changed what they are
    /// based on, runs it again on another new context.
    ///
    /// The closure cannot keep objects: its result must be `Sendable`, and so must everything that
    /// it captures. It may run several times, so it must do nothing but edit; saving in it traps.
    /// An edit that is retried comes before edits of this process that have not begun, so that it
    /// completes even when many compete for the same object.
    /// The reads of the closure share one read transaction, described at `read(asOf:deadline:_:)`.
    ///
    /// - Parameters:
    ///   - label: the name of the commit, at most 1,024 bytes; the closure can set another one
    ///     (`context.label`).
    ///   - author: the author of the commit, at most 255 bytes.
    ///   - scope: the part of the author's work that it belongs to, at most 255 bytes.
    ///   - retries: the number of retries after a conflict. Defaults to 8.
    ///   - body: edits objects of the context that it is given, on the caller's isolation.
    /// - Returns: the last result of the closure; snapshots in it show the objects as they were
    ///   saved, normalised and stamped.
    /// - Throws: the error of `body`, and nothing is saved; the errors of
    ///   `ManagedContext.save(_:)`; the last `ConflictError` when all retries failed with one;
    ///   `CancellationError`. After a `ValidationError`, too, the closure is retried when others
    ///   have saved since it ran.
    @discardableResult
    public nonisolated(nonsending) func edit<Result: Sendable>(
        _ label: String? = nil, author: String? = nil, scope: String? = nil, retries: Int = 8,
        _ body: @Sendable (_ context: ManagedContext) throws -> Result
    ) async throws -> Result {
        try await StoreEdit(self, label, author, scope, retries).run(body) { result, context, _ in
            StoreEdit.saved(result, in: context)
        }
    }

    /// Runs a closure on a new context and saves its edits; blocks the thread until they are on the
    /// disk.
    ///
    /// It behaves like the asynchronous `edit`, and throws the same errors except
    /// `CancellationError`.
    ///
    /// - Throws: the errors of the asynchronous form, except `CancellationError`.
    @discardableResult
    public func edit<Result: Sendable>(
        _ label: String? = nil, author: String? = nil, scope: String? = nil, retries: Int = 8,
        _ body: @Sendable (_ context: ManagedContext) throws -> Result
    ) throws -> Result {
        try StoreEdit(self, label, author, scope, retries).run(body) { result, context, _ in
            StoreEdit.saved(result, in: context)
        }
    }
}
