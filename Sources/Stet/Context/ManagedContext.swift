public import StetStore

/// A unit of work: objects that are edited freely, then saved together or put back together.
///
/// A context sees one revision of the store until it saves or refreshes, and its own pending
/// changes. There is one object per id in a context. The context holds the objects that have
/// pending changes; the others live as long as somebody else holds them. An object keeps what its
/// context is alive: `object.context` gives a context with the same pending changes when nobody has
/// held it any more.
///
/// A context and its objects belong to one isolation domain; neither is `Sendable`.
public final class ManagedContext {
    /// What does the work, and lives as long as any object of the context.
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
    /// Who makes its commits; nil when nobody was named.
    public var author: String? { core.author }
    /// The part of the author's work that its commits belong to; nil when none was named.
    public var scope: String? { core.scope }

    /// The group that its commits belong to, to be undone in one step; nil by default.
    ///
    /// A group without a commit makes no step.
    public var undoGroup: UndoGroup? {
        get { core.settings.undoGroup }
        set { core.settings.undoGroup = newValue }
    }

    /// False for commits that are on no undo stack: those of an import, say; true by default.
    ///
    /// `Store.revert` takes them back, too.
    public var isUndoable: Bool {
        get { core.settings.isUndoable }
        set { core.settings.isUndoable = newValue }
    }

    /// Values that its commits carry, by name, at most 4,096 bytes in all; by default those of the
    /// task.
    ///
    /// Names that begin with "stet." are Stet's own.
    public var metadata: [String: String] {
        get { core.settings.metadata }
        set { core.settings.metadata = newValue }
    }

    /// The rule by which pending changes meet those that others have saved meanwhile; `.fail` by
    /// default.
    public var mergePolicy: MergePolicy {
        get { core.settings.mergePolicy }
        set { core.settings.mergePolicy = newValue }
    }

    /// The revision that its objects show.
    public var revision: Revision { core.revision }

    /// True while anything was inserted, edited or deleted and not saved, even if it comes to
    /// nothing.
    public var hasChanges: Bool { core.hasChanges }

    /// The net effect of the pending changes as they are now: what a save would record, before
    /// normalisation, delete rules and stamps.
    ///
    /// - Complexity: O(pending changes).
    public var changes: ChangeSet { core.changes() }

    // MARK: Observers

    /// Calls `body` on this isolation when a save has passed validation and is about to be written,
    /// with its net change set.
    ///
    /// What it throws refuses the save.
    ///
    /// - Returns: a token; the observer is called until it is cancelled.
    @discardableResult
    public func willCommit(
        _ body: @escaping (_ changes: ChangeSet) throws -> Void
    ) -> ContextObservation {
        core.settings.willCommitObservers.add(body)
    }

    /// Calls `body` on this isolation after each save of this context that wrote something.
    ///
    /// An observer may edit and save. Its commit is announced after all observers were told of the
    /// current one, so that each of them sees commits in order.
    ///
    /// - Returns: a token; the observer is called until it is cancelled.
    @discardableResult
    public func didCommit(_ body: @escaping (_ commit: Commit) -> Void) -> ContextObservation {
        core.settings.didCommitObservers.add(body)
    }

    // MARK: Edits

    /// Adds an object, and every object that can be reached from it over references and is in no
    /// context yet.
    ///
    /// An object whose deletion is not saved yet is deleted no more; else nothing happens when the
    /// object is in this context already. An object of another context, and one whose deletion was
    /// saved, is not inserted, and is a violation at the next save.
    ///
    /// - Complexity: O(objects inserted).
    public func insert(_ object: some Model) { core.pending.insert(object) }

    /// The objects that refer to an object now, saved or not, in ascending order of id.
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

    /// Creates an identity for the commit of a save that may have to be tried again.
    ///
    /// Keep it (it is `Codable`) before you save with it: after a crash, or a failure whose outcome
    /// is unknown, the same edits saved with the same id make no second commit.
    ///
    /// - Throws: `StoreError` when the store is closed or cannot be read.
    /// - Complexity: O(1); a read where the context is not at the last commit.
    public func makeCommitID() throws -> CommitID {
        try store.file.makeCommitID(at: revision)
    }

    /// Moves the context to the last commit, and with it every live object.
    ///
    /// Pending changes stay. Where others have changed an object that has some, the context's merge
    /// policy decides; with `.fail` nothing moves. A context whose save had an unknown outcome
    /// gives its pending changes up once the outcome is known, and shows what is stored.
    ///
    /// - Throws: `ConflictError`, naming each object that could not be merged; what a policy's
    ///   closure threw; `StoreError`; `UnknownOutcomeError`; `LaterChangesError` when an
    ///   asynchronous save that was on its way failed and took pending changes with it.
    /// - Complexity: O(changes since this context's revision).
    public func refresh() throws {
        core.checkNotSaving("refresh()")
        trap(
            unless: core.editDepth == 0,
            "refresh() inside edit(_:_:): what the edit began with would be gone")
        try core.saves.finishInFlight()
        if let unknown = core.failure as? UnknownOutcomeError {
            guard store.outcome(of: unknown.commit) != .unknown else { throw unknown }
            core.rollBackEverything()
        }
        try StoreFollower(core).moveToHead(rejected: nil)
        core.voidSnapshots()
    }
}

extension ContextCore {
    var hasChanges: Bool { !pending.isEmpty || !pending.misuse.isEmpty }
}

/// Says that an observer of a context goes on until it is cancelled.
public final class ContextObservation {
    private(set) var isCancelled = false

    /// Ends the observation.
    ///
    /// Cancelling twice does nothing.
    public func cancel() { isCancelled = true }
}

/// The observers of one kind, in the order in which they came.
struct ContextObservers<Body> {
    private var observers: [(token: ContextObservation, body: Body)] = []

    mutating func add(_ body: Body) -> ContextObservation {
        let token = ContextObservation()
        observers.append((token, body))
        return token
    }

    /// Those that are not cancelled.
    mutating func active() -> [Body] {
        if observers.isEmpty { return [] }
        observers.removeAll { $0.token.isCancelled }
        return observers.map(\.body)
    }
}
