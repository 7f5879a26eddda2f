public import StetStore

extension ManagedContext {
    /// The changing pending changes of a context: one update for all edits in a turn of the
    /// context's isolation.
    ///
    /// A turn ends where the code that edits awaits something. Edits that are undone in the same
    /// turn are not reported; saves, rollbacks and merges are, when they leave other changes
    /// pending. The sequence and its iterator belong to the isolation of the context, and do not
    /// keep it alive: the sequence ends when the context and its objects no longer exist, or when
    /// the task that iterates is cancelled. Updates are not queued for a slow observer: it gets one
    /// for all changes.
    public struct PendingUpdates: AsyncSequence {
        /// The pending changes of a context after a turn that has changed them.
        public struct Update: Sendable, Equatable {
            /// All pending changes, as `ManagedContext.changes` returns them: those that a save
            /// would record, before normalisation, delete rules and stamps.
            public let changes: ChangeSet
            /// The objects whose pending changes differ from those at the previous update, in
            /// ascending order of id: edited since, saved, or rolled back.
            public let objects: [ObjectID]
        }

        /// An update.
        public typealias Element = Update
        /// The error type of `next`: it throws nothing.
        public typealias Failure = Never

        private weak var core: ContextCore?

        init(_ core: ContextCore) { self.core = core }

        /// Creates an independent iterator, which begins with the next edit.
        public func makeAsyncIterator() -> Iterator { Iterator(core) }

        /// The position of one observer.
        public struct Iterator: AsyncIteratorProtocol {
            private weak var core: ContextCore?
            private let signal: ChangeSignal?
            private var seen: UInt64
            private var last: [ObjectID: ObjectChange]

            fileprivate init(_ core: ContextCore?) {
                self.core = core
                signal = core?.observePending()
                seen = signal?.count ?? 0
                last = core?.changes().byObject ?? [:]
            }

            /// Returns the pending changes after the next turn with edits, or nil when the context
            /// no longer exists or the task was cancelled.
            ///
            /// - Complexity: O(pending changes).
            public mutating func next(
                isolation actor: isolated (any Actor)? = #isolation
            ) async -> Update? {
                while !Task.isCancelled, let signal {
                    let count = signal.count
                    if count == seen {
                        // Resumes when the context's isolation is free, that is, after the current
                        // turn.
                        guard await signal.wait(after: seen) else { return nil }
                        continue
                    }
                    seen = count
                    guard let core else { return nil }
                    if let update = update(core) { return update }
                }
                return nil
            }

            private mutating func update(_ core: ContextCore) -> Update? {
                core.pending.watchNextEdits()
                let changes = core.changes()
                let now = changes.byObject
                let ids = Set(now.keys).union(last.keys).filter { now[$0] != last[$0] }
                last = now
                return ids.isEmpty ? nil : Update(changes: changes, objects: ids.sorted())
            }
        }
    }
}

extension ChangeSet {
    fileprivate var byObject: [ObjectID: ObjectChange] {
        Dictionary(changes.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

extension ManagedContext {
    /// The changing pending changes, before anything is saved: for forms that show what has
    /// changed, and whether there is something to save.
    ///
    /// The edits of one turn of the context's isolation are one update. Iterate on that isolation.
    public var pendingChanges: PendingUpdates { PendingUpdates(core) }
}

extension PendingChanges {
    /// Watches for the next edit of each pending object.
    func watchNextEdits() {
        func watch<M: Model>(_ object: M) { object._$state.flags.insert(.watched) }
        for entry in objects { watch(entry.object) }
    }
}
