public import StetStore

/// A unit of work: objects that are edited freely, then saved together or put back together.
///
/// A context sees one revision of the store until it saves or refreshes, and its own pending
/// changes. There is one object per id in a context. The context holds the objects that have
/// pending changes; the others live as long as somebody else holds them.
///
/// A context and its objects belong to one isolation domain; neither is `Sendable`.
///
/// State, all of it without a lock, because one isolation domain owns it: the tables of live
/// objects, the pending changes with the inverse ends of their references, the save that is on its
/// way and those that wait for it, the misuse noted since the last save, the error that a read
/// inside an accessor met, the revision, and the observers.
public final class ManagedContext {
    /// The store that it reads and saves to.
    public let store: Store
    /// Who makes its commits; nil when nobody was named.
    public let author: String?
    /// The part of the author's work that its commits belong to; nil when none was named.
    public let scope: String?

    /// The group that its commits belong to, to be undone in one step; nil unless said otherwise.
    ///
    /// A group without a commit makes no step.
    public var undoGroup: UndoGroup?
    /// False for commits that are on no undo stack: those of an import, say; true unless said
    /// otherwise.
    ///
    /// `Store.revert` takes them back, too.
    public var isUndoable = true
    /// What its commits say of themselves, by name, at most 4,096 bytes in all; what the task says
    /// unless said otherwise.
    ///
    /// Names that begin with "stet." are Stet's own.
    public var metadata = CommitDefaults.metadata

    /// The revision that its objects show.
    public internal(set) var revision: Revision {
        didSet {
            memberGeneration &+= 1
            prefetched = []
        }
    }

    /// What becomes of pending changes to objects that others have saved meanwhile; `.fail` unless
    /// said otherwise.
    public var mergePolicy = MergePolicy.fail

    /// An object with changes that are not saved, and what it was before.
    struct PendingObject {
        let object: any Model
        /// Its values before the first edit, or when it was inserted.
        let base: AnyObject
        /// Its values when its own normalisers have run, so that none runs twice; nil when it has
        /// none.
        var normalized: AnyObject?
        /// True when a deletion of the object, which is protected, was confirmed.
        var isDeletionConfirmed = false
    }

    var pending: [PendingObject] = [] {
        didSet {
            memberGeneration &+= 1
            prefetched = []
        }
    }
    var inverseEnds = InverseEnds() {
        didSet {
            memberGeneration &+= 1
            prefetched = []
        }
    }
    /// Counts what may change the members of relationships.
    var memberGeneration: UInt64 = 0
    /// The ends of ordered relationships, as far as they are known.
    var lastPositions: [PlaceKey: LastPosition] = [:]
    /// What others have changed since this context's revision, as far as anybody asked.
    var later = LaterChanges()
    /// Members that objects have brought with them, until they are inserted, too.
    var heldMembers: [(owner: any Model, members: [(relationship: Int, members: [any Model])])] = []
    /// Which relationship has let a delete rule change an object, while a save settles.
    var effects: [ObjectID: String] = [:]
    /// False when no pending object refers to one that nobody has inserted.
    var mayReferToUninserted = false
    /// Edits that were refused: reported by the next save.
    var misuse: [Violation] = []
    /// A read inside an accessor failed: every later call that can throw throws it.
    var failure: (any Error)?
    /// The objects edited since a save began to settle; nil while none settles.
    var touched: [any Model]?
    /// True while a save or a validation runs code of users, which may edit but not save or go
    /// back.
    var isSaving = false
    var hooks = RunningHooks()
    /// The asynchronous save that the writer has.
    var flight: PendingSave?
    /// True while an asynchronous save has its turn.
    var isTurnTaken = false
    /// Asynchronous saves that wait for their turn, in order.
    var turnWaiters: [TurnWaiter] = []
    /// The last commit of its own; after `revision` when the reads of its landing failed.
    var lastSave = Revision.zero
    /// Objects whose pending changes kept them from following the store.
    var overtaken: [ChangedObject] = []
    /// How often pending changes were merged with those of others.
    var mergeCount = 0
    /// How many `edit` calls are running.
    var editDepth = 0
    /// The snapshots that can be restored, oldest first.
    var validSnapshots: [UInt64] = []
    var lastSnapshot: UInt64 = 0
    var willCommitObservers = ContextObservers<(ChangeSet) throws -> Void>()
    var didCommitObservers = ContextObservers<(Commit) -> Void>()
    /// In the order of entity numbers; made when they are needed.
    private(set) var tables: [ObjectTable?] = []
    /// What the last fetch with `prefetch` has read ahead, held so that it stays in memory.
    var prefetched: [AnyObject] = []

    init(store: Store, author: String?, scope: String?, revision: Revision) {
        self.store = store
        self.author = author ?? CommitDefaults.author
        self.scope = scope
        self.revision = revision
        tables = Array(repeating: nil, count: store.modelTypes.count)
    }

    deinit {
        for case let table? in tables { table.detachAll() }
    }

    /// True while anything was inserted, edited or deleted and not saved, even if it comes to
    /// nothing.
    public var hasChanges: Bool { !pending.isEmpty || !misuse.isEmpty }

    /// The net effect of the pending changes as they are now: what a save would record, before
    /// normalisation, delete rules and stamps.
    ///
    /// - Complexity: O(pending changes).
    public var changes: ChangeSet {
        var net = netChanges()
        net.sort()
        // Cannot throw: it decodes what has just been encoded.
        return (try? net.changeSet()) ?? ChangeSet()
    }

    /// - Throws: the error that put the context into its failed state.
    func checkUsable() throws {
        if let failure { throw failure }
    }

    /// Traps when a hook, validator or observer of a save calls what cannot run inside of it.
    func checkNotSaving(_ call: StaticString) {
        checkNotInHook(call)
        precondition(
            !isSaving,
            "\(call) during a save: willSave, validators and willCommit observers may not call it")
    }

    // MARK: Tables

    /// The table of a model.
    ///
    /// - Precondition: the store was opened with the model.
    func table<M: Model>(for type: M.Type) -> ObjectTable {
        guard let index = store.modelTypes.firstIndex(where: { $0 == type }) else {
            preconditionFailure(
                "\(M.self) is not a model of this store: name it in Store.open(at:for:)")
        }
        return table(ofEntity: index + 1)
    }

    func table(ofEntity entity: Int) -> ObjectTable {
        if let table = tables[entity - 1] { return table }
        guard let modelType = store.modelTypes[entity - 1] else {
            preconditionFailure("entity \(entity) was removed: no object of it is ever read")
        }
        let table = ObjectTable(
            context: self, modelType: modelType, entity: entity)
        tables[entity - 1] = table
        return table
    }

    var liveObjectCount: Int { tables.reduce(0) { $0 + ($1?.liveCount ?? 0) } }

    // MARK: Pending changes

    func register<M: Model>(_ object: M) {
        object._$state.pendingIndex = Int32(pending.count)
        pending.append(PendingObject(object: object, base: object._$capture()))
        object._$state.flags.insert(.pending)
    }

    /// Called before the first edit of an object since the last save; false when the edit is
    /// refused.
    func willChange<M: Model>(_ object: M) -> Bool {
        if object.isDeleted {
            note(.deletedObjectEdited, object, "was edited after it had been deleted")
            return false
        }
        guard mayEdit(object) else { return false }
        if !object.hasChanges { register(object) }
        touch(object)
        return true
    }

    /// Notes an edit while a save settles.
    func touch<M: Model>(_ object: M) {
        guard touched != nil else { return }
        object._$state.flags.remove(.resting)
        touched?.append(object)
    }

    func note<M: Model>(_ code: Violation.Code, _ object: M, _ what: String, slot: Int? = nil) {
        let property = slot.map { M._$description.entity.properties[$0].name }
        let violation = Violation(
            code: code, entity: M._$name, object: object.id, property: property, slot: slot,
            Sentence("{subject} \(what)"), messages: store.configuration.messages)
        if !misuse.contains(violation) { misuse.append(violation) }
    }

    func noteForeignObject<M: Model>(assignedTo object: M, slot: Int) {
        note(.foreignObject, object, "was given an object of another context", slot: slot)
    }

    func noteDeletedObject<M: Model>(assignedTo object: M, slot: Int) {
        note(.deletedObjectEdited, object, "was given an object that is deleted", slot: slot)
    }

    func referenceChanges<M: Model>(
        from old: ObjectID, to new: ObjectID, in owner: M, slot: Int
    ) {
        guard let entity = owner._$state.table?.entity else { return }
        inverseEnds.move(
            InverseEnds.Referrer(entity: entity, slot: slot, source: owner.id), from: old, to: new)
    }

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
        willCommitObservers.add(body)
    }

    /// Calls `body` on this isolation after each save of this context that wrote something.
    ///
    /// It may edit and save.
    ///
    /// - Returns: a token; the observer is called until it is cancelled.
    @discardableResult
    public func didCommit(_ body: @escaping (_ commit: Commit) -> Void) -> ContextObservation {
        didCommitObservers.add(body)
    }
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
        observers.removeAll { $0.token.isCancelled }
        return observers.map(\.body)
    }

    var isEmpty: Bool { observers.isEmpty }
}
