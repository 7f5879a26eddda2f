public import StetStore

/// A unit of work: objects that are edited freely, then saved together or restored together.
///
/// A context shows one revision of the store, until it saves or refreshes, and its own pending
/// changes. There is one object per id in a context. The context retains the objects that have
/// pending changes; the others live as long as something else retains them. An object keeps the
/// state of its context alive: after the last reference to the context was released,
/// `object.context` gives a context with the same pending changes.
///
/// A context and its objects belong to one isolation domain; neither is `Sendable`.
///
/// ```swift
/// let context = store.context(author: "lala")
/// if let article = try context.object(Article.self, id: id) {
///     article.rating = 4
///     try context.save("rate")
/// }
/// ```
public final class ManagedContext {
    /// The state of the context, which lives as long as any of its objects.
    let core: ContextCore

    init(_ core: ContextCore) {
        self.core = core
        core.attach(self)
    }

    convenience init(store: Store, author: String?, scope: String?, revision: Revision) {
        self.init(ContextCore(store: store, author: author, scope: scope, revision: revision))
    }

    deinit { core.detach() }

    /// The store that it reads and saves to.
    public var store: Store { core.store }
    /// The author of its commits; nil when none was named.
    public var author: String? { core.author }
    /// The part of the author's work that its commits belong to; nil when none was named.
    public var scope: String? { core.scope }

    /// The label of its commits for which a save names none; nil by default.
    ///
    /// In the closure of `Store.edit` it is the argument of `edit`. Set it there to a label that
    /// depends on what the closure has read.
    public var label: String? {
        get { core.settings.label }
        set { core.configure { $0.label = newValue } }
    }

    /// The group of its commits, which are undone in one step; nil by default.
    ///
    /// A group without commits is not a step.
    public var undoGroup: UndoGroup? {
        get { core.settings.undoGroup }
        set { core.configure { $0.undoGroup = newValue } }
    }

    /// Whether its commits are on an undo stack; true by default.
    ///
    /// Set it to false for an import, for instance. `Store.revert` also reverts commits that are on
    /// no stack.
    public var isUndoable: Bool {
        get { core.settings.isUndoable }
        set { core.configure { $0.isUndoable = newValue } }
    }

    /// The values that its commits carry, by name, at most 4,096 bytes in all; defaults to the
    /// metadata of the task.
    ///
    /// Names that begin with "stet." are reserved for Stet.
    public var metadata: [String: String] {
        get { core.settings.metadata }
        set { core.configure { $0.metadata = newValue } }
    }

    /// The rule by which pending changes are merged with changes that others have saved; `.fail` by
    /// default.
    public var mergePolicy: MergePolicy {
        get { core.settings.mergePolicy }
        set { core.configure { $0.mergePolicy = newValue } }
    }

    /// The revision that its objects show.
    public var revision: Revision { core.revision }

    /// True while any insertion, edit or deletion is unsaved, even if the net effect is empty.
    public var hasChanges: Bool { core.hasChanges }

    /// The net effect of the current pending changes, as a save would record it before
    /// normalisation, delete rules and stamps.
    ///
    /// - Complexity: O(pending changes).
    public var changes: ChangeSet { core.changes() }

    // MARK: Observers

    /// Calls `body` on this isolation after a save has passed validation and before it is written,
    /// with its net change set.
    ///
    /// An error that it throws makes the save fail.
    ///
    /// - Returns: a token; the observer is called until it is cancelled.
    @discardableResult
    public func willCommit(
        _ body: @escaping (_ changes: ChangeSet) throws -> Void
    ) -> ManagedContext.Observation {
        core.configure { $0.willCommitObservers.add(body) }
    }

    /// Calls `body` on this isolation after each save of this context that wrote something.
    ///
    /// An observer may edit and save. Its commit is announced after all observers were notified of
    /// the current one, so that each of them sees commits in order.
    ///
    /// - Returns: a token; the observer is called until it is cancelled.
    @discardableResult
    public func didCommit(_ body: @escaping (_ commit: Commit) -> Void)
        -> ManagedContext.Observation
    {
        core.configure { $0.didCommitObservers.add(body) }
    }

    // MARK: Edits

    /// Inserts an object, and every object that is reachable from it over references and is in no
    /// context yet.
    ///
    /// For an object of this context, an unsaved deletion is cancelled; otherwise nothing happens.
    /// An object of another context, or one whose deletion was saved, is not inserted and becomes a
    /// violation at the next save.
    ///
    /// - Complexity: O(objects inserted).
    public func insert(_ object: some Model) { core.pending.insert(object) }

    /// Returns the objects that currently refer to an object, saved or not, in ascending order of
    /// id.
    ///
    /// - Throws: `StoreError`.
    package func referrers(of object: some Model) throws -> [any Model] {
        let ends = core.schema.ends(ofOwner: object._$entityNumber).filter(\.isReference)
        return try ends.flatMap { end in
            try core.store.file.read { reader in
                try core.state.members(of: object.id, at: end, reader)
            }.compactMap { try core.load(ObjectKey(end.member, $0.id)) }
        }.sorted { $0.id < $1.id }
    }

    /// Creates an identity for the commit of a save that may have to be retried.
    ///
    /// Keep it (it is `Codable`) before you save with it: after a crash, or a failure whose outcome
    /// is unknown, the same edits saved with the same id make no second commit.
    ///
    /// - Throws: `StoreError` when the store is closed or cannot be read.
    /// - Complexity: O(1), plus a read when the context is not at the last commit.
    public func makeCommitID() throws -> CommitID {
        try store.file.makeCommitID(at: revision)
    }

    /// Moves the context and every live object to the last commit.
    ///
    /// Pending changes stay. Where others have changed an object with pending changes, the
    /// context's merge policy decides; with `.fail` the context does not move. A context whose save
    /// had an unknown outcome discards its pending changes once the outcome is known, and shows the
    /// stored state.
    ///
    /// - Throws: `ConflictError`, which names each object that could not be merged; the error of a
    ///   policy's closure; `StoreError`; `UnknownOutcomeError`; `DiscardedEditsError` when an
    ///   asynchronous save in progress failed and later pending changes depended on it.
    /// - Complexity: O(changes since this context's revision).
    public func refresh() throws {
        core.checkNotSaving("refresh()")
        trap(
            unless: core.editDepth == 0,
            "refresh() inside edit(_:_:): what the edit began with would be gone")
        trap(
            unless: core.storeCall != .read,
            "refresh() inside Store.read, which shows one revision: call Store.read again")
        try core.saves.finishInFlight()
        if let unknown = core.failure as? UnknownOutcomeError {
            guard store.outcome(of: unknown.commit) != .unknown else { throw unknown }
            core.rollBackEverything()
        }
        try StoreFollower(core).moveToHead(rejected: nil)
        core.voidSnapshots()
    }
}

extension ManagedContext {
    /// A token that keeps an observer of a context active until it is cancelled.
    public final class Observation {
        private(set) var isCancelled = false

        /// Ends the observation.
        ///
        /// Cancelling again does nothing.
        public func cancel() { isCancelled = true }
    }
}

/// The observers of one kind, in the order in which they were added.
struct ContextObservers<Body> {
    private var observers: [(token: ManagedContext.Observation, body: Body)] = []

    mutating func add(_ body: Body) -> ManagedContext.Observation {
        let token = ManagedContext.Observation()
        observers.append((token, body))
        return token
    }

    /// Returns the observers that are not cancelled.
    mutating func active() -> [Body] {
        if observers.isEmpty { return [] }
        observers.removeAll { $0.token.isCancelled }
        return observers.map(\.body)
    }
}
