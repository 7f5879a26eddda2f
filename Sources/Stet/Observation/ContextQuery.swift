public import StetStore

/// The changing result of a query of a context, including its pending changes: for lists that are
/// edited.
///
/// ```swift
/// let list = context.fetch(Article.self) { $0.rating >= 3 }.sorted(by: \.title)
/// for try await update in context.observe(list) { rows = update.objects }
/// ```
///
/// The first update is the current result. Another one follows after each turn of the context's
/// isolation that has changed the result: by an edit, a rollback, a save, a refresh and, with
/// `follows`, by the commits of others; and when a conflict begins or ceases to keep the context
/// from following. The query runs for each update. The sequence and its iterator belong to the
/// isolation of the context, and keep the context alive. The sequence ends when the task that
/// iterates is cancelled.
public struct ContextQuery<M: Model>: AsyncSequence {
    /// An update.
    public typealias Element = Update

    private let query: Fetch<M>

    init(_ query: Fetch<M>) { self.query = query }

    /// Creates an independent iterator, whose first update is the result at that time.
    public func makeAsyncIterator() -> Iterator { Iterator(query) }

    /// The position of one observer.
    public struct Iterator: AsyncIteratorProtocol {
        private let query: Fetch<M>
        private let core: ContextCore
        private let signal: ChangeSignal
        private let following: StoreFollowing
        private var seen: UInt64?
        private var last: [(id: ObjectID, body: EncodedBody?)] = []
        private var conflict: ConflictError?

        fileprivate init(_ query: Fetch<M>) {
            self.query = query
            core = query.context.core
            signal = core.observePending()
            following = StoreFollowing(core.store, signal)
        }

        /// Returns the result after the next turn that changes it, or nil when the task was
        /// cancelled.
        ///
        /// - Throws: `StoreError`: `.snapshotTooOld` when the query reads an index or a
        ///   relationship, and too much has changed since the context's revision.
        /// - Complexity: as the query, plus O(result).
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws -> Update? {
            while !Task.isCancelled {
                let count = signal.count
                if let update = try poll() { return update }
                // Resumes when the context's isolation is free, that is, after the current turn.
                guard await signal.wait(after: count) else { return nil }
            }
            return nil
        }

        /// Returns the result after the changes since the last call, or nil when it is unchanged.
        package mutating func poll() throws -> Update? {
            if signal.count == seen { return nil }
            let conflict = core.settings.follows ? try follow() : nil
            // Read after the refresh, so that the changes it signalled belong to this update.
            let now = signal.count
            let update = try update(conflict)
            let isWanted =
                seen == nil || !update.isEmpty || (conflict == nil) != (self.conflict == nil)
            (seen, self.conflict) = (now, conflict)
            return isWanted ? update : nil
        }

        /// Moves the context to the last commit, if nothing prevents it.
        ///
        /// - Returns: the conflict with pending changes that keeps the context where it is.
        private func follow() throws -> ConflictError? {
            following.begin()
            guard core.editDepth == 0, !core.isSaving, core.saves.inFlight == nil else {
                return conflict
            }
            guard try core.store.file.head().revision > core.revision else { return nil }
            do {
                try query.context.refresh()
                return nil
            } catch let conflict as ConflictError {
                return conflict
            }
        }

        private mutating func update(_ conflict: ConflictError?) throws -> Update {
            core.pending.watchNextEdits()
            let objects = try query.all()
            let now = objects.map { (id: $0.id, body: try? $0._$body()) }
            let before = Dictionary(last.map { ($0.id, $0.body) }) { first, _ in first }
            let difference = ListDifference(from: last.map(\.id), to: now.map(\.id))
            last = now
            return Update(
                objects: objects, revision: core.revision,
                difference: difference.collectionDifference, conflict: conflict,
                updatedObjects: now.filter { object in
                    before[object.id].map { $0 != object.body } ?? false
                }.map(\.id))
        }
    }
}

extension ContextQuery {
    /// A result of a context's query, with its difference from the previous update's result.
    public struct Update {
        /// The objects, in order, with their pending changes.
        public let objects: [M]
        /// The revision of the context, on which its pending changes are based.
        public let revision: Revision
        /// The difference from the previous result, by ids, with moves associated; for the first
        /// update, the difference from an empty result.
        public let difference: CollectionDifference<ObjectID>
        /// The conflict of pending changes with commits of others that keeps a context with
        /// `follows` where it is; nil when nothing does.
        public let conflict: ConflictError?
        /// The objects that were in the previous result with other values, in the order of this
        /// result.
        public let updatedObjects: [ObjectID]

        fileprivate var isEmpty: Bool { difference.isEmpty && updatedObjects.isEmpty }
    }
}

extension ManagedContext {
    /// Returns the changing result of a query of this context.
    ///
    /// Iterate on the isolation of the context.
    ///
    /// - Parameter query: a query of this context, made with `fetch`.
    /// - Returns: a sequence whose first element is the current result.
    /// - Precondition: the query is one of this context.
    public func observe<M: Model>(_ query: Fetch<M>) -> ContextQuery<M> {
        trap(
            unless: query.context.core === core,
            "a context observes its own queries: make it with 'context.fetch'")
        return ContextQuery(query)
    }

    /// Whether the context follows the store while one of its queries is observed; false by
    /// default.
    ///
    /// The observer refreshes the context between turns of its isolation after others have
    /// committed, by the merge policy. When the policy is `.fail` and others have changed an object
    /// with pending changes, the context does not move, and `ContextQuery.Update.conflict` reports
    /// why; after a rollback, or a refresh with another merge policy, it follows again. It also
    /// waits for the end of an `edit` and of a save in progress.
    public var follows: Bool {
        get { core.settings.follows }
        set {
            core.configure { $0.follows = newValue }
            core.pendingSignal?.note()
        }
    }
}

/// Sets a signal whenever the store has changed, for as long as it lives.
///
/// State: the task, belongs to the isolation of one context.
private final class StoreFollowing {
    private let store: Store
    private let signal: ChangeSignal
    private var task: Task<Void, Never>?

    init(_ store: Store, _ signal: ChangeSignal) {
        self.store = store
        self.signal = signal
    }

    deinit { task?.cancel() }

    func begin() {
        if task != nil { return }
        let (signals, signal) = (store.signals, signal)
        task = Task {
            // If no thread watches for commits, the context follows those of this process only.
            do { for try await _ in signals { signal.note() } } catch {}
        }
    }
}
