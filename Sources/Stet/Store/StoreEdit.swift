import StetStore

// One edit in a context of its own, tried again when others were faster.

extension Store {
    /// Runs a closure on a new context and saves its edits; when others have changed what they are
    /// based on, runs it again on another new context.
    ///
    /// The closure cannot keep objects: its result must be `Sendable`, and so must everything that
    /// it captures. It may run several times, so it must do nothing but edit; saving in it traps.
    /// An edit that is retried comes before edits of this process that have not begun, so that it
    /// completes even when many compete for the same object.
    ///
    /// - Parameters:
    ///   - label: the name of the commit, at most 1,024 bytes.
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
        var attempt = 0
        while true {
            let isRepeated = attempt > 0
            try await repeatedEdits.begin(isRepeated)
            defer { if isRepeated { repeatedEdits.end() } }
            try Task.checkCancellation()
            let context = context(author: author, scope: scope)
            let beginning = context.revision
            let result = try context.core.inStoreEdit { try body(context) }
            let edited = context.core.pending.objects.map(\.object)
            do {
                _ = try await context.save(label)
                return withExtendedLifetime(edited) { saved(result, in: context) }
            } catch {
                guard attempt < retries, try isOvertaken(error, since: beginning) else {
                    throw error
                }
            }
            attempt += 1
        }
    }

    /// Runs a closure on a new context and saves its edits; blocks the thread until they are on the
    /// disk.
    ///
    /// It behaves like the asynchronous `edit`, and throws the same errors except
    /// `CancellationError`.
    @discardableResult
    public func edit<Result: Sendable>(
        _ label: String? = nil, author: String? = nil, scope: String? = nil, retries: Int = 8,
        _ body: @Sendable (_ context: ManagedContext) throws -> Result
    ) throws -> Result {
        var attempt = 0
        while true {
            let context = context(author: author, scope: scope)
            let beginning = context.revision
            let result = try context.core.inStoreEdit { try body(context) }
            let edited = context.core.pending.objects.map(\.object)
            do {
                try context.save(label)
                return withExtendedLifetime(edited) { saved(result, in: context) }
            } catch {
                guard attempt < retries, try isOvertaken(error, since: beginning) else {
                    throw error
                }
            }
            attempt += 1
        }
    }

    /// Returns whether an edit may end differently on the last commit: it was in conflict, or it is
    /// not valid and others have saved since.
    func isOvertaken(_ error: any Error, since beginning: Revision) throws -> Bool {
        if error is ConflictError { return true }
        return try error is ValidationError && revision() > beginning
    }

    /// Returns the result of an edit with its snapshots as they were saved, after normalisers and
    /// stamps; other results are returned unchanged.
    private func saved<Result>(_ result: Result, in context: ManagedContext) -> Result {
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
        for case let type? in modelTypes {
            if let shown = shown(type) { return shown }
        }
        return result
    }
}
