import StetStore

/// The state that a context and its objects share: the store, the revision that is shown, the
/// tables of live objects, and the parts that do the work.
///
/// The parts are made when they are first needed: a context that reads one object needs few.
///
/// It lives as long as the context or any of its objects: an object can be read and edited, and
/// gives its context, after the last reference to the context was released.
///
/// State: belongs to the isolation domain of the context; it has no lock. Properties that every
/// read of an object uses are not checked for overlapping access at run time; code that changes
/// them never calls users' code.
@usableFromInline
final class ContextCore {
    let store: Store
    let author: String?
    let scope: String?
    /// The metadata of the context's commits, unless `settings` has others.
    private let metadata: [String: String]
    /// The settings; nil until one of them was set.
    private var changedSettings: ContextSettings?

    /// The revision that the objects show.
    @exclusivity(unchecked) private(set) var revision: Revision
    /// The greatest number of objects that others may have changed since the shown revision.
    private let maximumLag: Int?
    @exclusivity(unchecked) private var madeState: WorkingState?
    @exclusivity(unchecked) private var madePending: PendingChanges?
    private(set) lazy var saves = SaveLine(self)
    /// The tables in the order of entity numbers, made on demand.
    private let tables: UnsafeMutableBufferPointer<_ObjectTable?>
    /// The error of a read that failed inside an accessor: every later call that can throw throws
    /// it.
    @exclusivity(unchecked) private(set) var failure: (any Error)?
    /// The objects whose pending changes kept them from following the store.
    private(set) var overtaken: [ChangedObject] = []
    /// The snapshots that can be restored, oldest first.
    private var validSnapshots: [UInt64] = []
    private var lastSnapshot: UInt64 = 0
    @exclusivity(unchecked) var hooks = RunningHooks()
    /// True while a save or a validation runs users' code, which may edit but not save or roll
    /// back.
    private(set) var isSaving = false
    /// The number of `edit` calls that are running.
    private(set) var editDepth = 0
    /// The call of the store in whose closure the context is; nil outside of any.
    private(set) var storeCall: StoreCall?
    /// The count of changes to what is pending; nil until they are observed.
    @exclusivity(unchecked) private(set) var pendingSignal: ChangeSignal?
    /// The commits that the context has made; created by the first save or feed.
    private(set) lazy var ownCommits = OwnCommits()
    /// The objects that the last fetch with `prefetch` has read ahead, retained so that they stay
    /// alive.
    private var prefetched: [AnyObject] = []
    /// The open transaction that all reads of a closure share; nil outside of one.
    @exclusivity(unchecked) var sharedRead: SharedRead?
    /// The undo history of what is pending, once it was used.
    var editHistory: EditHistory?

    /// The context, while something retains it.
    @exclusivity(unchecked) private unowned(unsafe) var facade: ManagedContext?
    /// A reference to itself, while nothing retains the context and objects are alive.
    @exclusivity(unchecked) private var ownself: ContextCore?

    init(store: Store, author: String?, scope: String?, revision: Revision, lag: Int? = nil) {
        self.store = store
        self.author = author ?? Commit.Defaults.author
        self.scope = scope
        metadata = Commit.Defaults.metadata
        self.revision = revision
        maximumLag = lag
        tables = .allocate(capacity: store.modelTypes.count)
        tables.initialize(repeating: nil)
    }

    deinit {
        for case let table? in tables { table.detachAll() }
        tables.deinitialize()
        tables.deallocate()
        pendingSignal?.end()
    }

    var schema: Schema { store.file.schema }
    var messages: MessageTable { store.configuration.messages }

    // MARK: Parts

    var hookCalls: HookCalls { HookCalls(core: self) }

    /// The shown revision with the pending changes on top of it.
    var state: WorkingState {
        if let madeState { return madeState }
        let made = WorkingState(
            schema, at: revision, limit: maximumLag ?? store.configuration.maximumLag)
        madeState = made
        return made
    }

    /// The pending changes.
    var pending: PendingChanges {
        if let madePending { return madePending }
        let made = PendingChanges(self)
        madePending = made
        return made
    }

    /// True while any insertion, edit, deletion or refused edit is pending.
    var hasChanges: Bool {
        guard let pending = madePending else { return false }
        return !pending.isEmpty || !pending.rejections.isEmpty
    }

    /// The attributes of the context's commits, its merge policy and its observers.
    private(set) var settings: ContextSettings {
        get { changedSettings ?? ContextSettings(metadata: metadata) }
        set { changedSettings = newValue }
    }

    // MARK: Lifetime

    /// The context, made anew when the last reference to it was released.
    var context: ManagedContext {
        if let facade { return facade }
        let context = ManagedContext(self)
        madePending?.holdAll()
        ownself = nil
        return context
    }

    func attach(_ context: ManagedContext) { facade = context }

    func configure<Value>(_ change: (inout ContextSettings) -> Value) -> Value { change(&settings) }

    /// Begins to count changes to what is pending, for an observer.
    func observePending() -> ChangeSignal {
        let signal = pendingSignal ?? ChangeSignal()
        pendingSignal = signal
        pending.watchNextEdits()
        return signal
    }

    /// Records that the last reference to the context was released.
    func detach() {
        facade = nil
        let liveCount = liveObjectCount
        guard liveCount > 0, madePending?.letGoOfHeldElsewhere() ?? 0 < liveCount else { return }
        ownself = self
    }

    /// True while only its objects keep it alive.
    var isOnItsOwn: Bool { ownself != nil }

    /// Records that an object has died that the context itself did not retain.
    func objectDied(pendingIndex: Int32) {
        if pendingIndex >= 0 { pending.forget(Int(pendingIndex)) }
        let liveCount = liveObjectCount
        guard let last = ownself, madePending?.holdsAll(liveCount) ?? (liveCount == 0) else {
            return
        }
        ownself = nil
        withExtendedLifetime(last) {}
    }

    /// Registers an object again that had left the context.
    func register<M: Model>(_ object: M) {
        guard object._$table == nil else { return }
        let table = table(for: M.self)
        object._$state.table = table
        let isAlone = table.insert(object)
        trap(unless: isAlone, "two objects of \(M.self) with the id \(object.id)")
    }

    // MARK: Snapshots

    func nextSnapshot() -> UInt64 {
        lastSnapshot += 1
        validSnapshots.append(lastSnapshot)
        return lastSnapshot
    }

    func isValid(snapshot: UInt64) -> Bool { validSnapshots.contains(snapshot) }

    /// Voids all snapshots, and returns those that were valid.
    func takeSnapshots() -> [UInt64] {
        defer { validSnapshots = [] }
        return validSnapshots
    }

    /// Makes the snapshots valid again that were taken before a save that has failed.
    func giveBack(snapshots: [UInt64]) { validSnapshots = snapshots }

    /// Voids the snapshots that were taken after the one with a number; by default all of them.
    func voidSnapshots(after number: UInt64 = 0) {
        while let last = validSnapshots.last, last > number { validSnapshots.removeLast() }
    }

    // MARK: Usability

    /// - Throws: the error that put the context into its failed state.
    func checkUsable() throws {
        if let failure { throw failure }
    }

    /// Puts the context into its failed state, unless it already is in it.
    func fail(_ error: any Error) {
        if failure == nil { failure = error }
    }

    func setOvertaken(_ objects: [ChangedObject]) { overtaken = objects }

    /// Replaces the error of the failed state; nil ends that state.
    func setFailure(_ error: (any Error)?) { failure = error }

    /// Runs the read of an accessor; a read that fails returns `fallback` and puts the context into
    /// its failed state.
    func resolving<Result>(_ fallback: Result, _ body: () throws -> Result) -> Result {
        do {
            return try body()
        } catch {
            fail(error)
            return fallback
        }
    }

    /// Traps when a hook, validator or observer of a save makes a call that cannot run inside it.
    func checkNotSaving(_ call: StaticString) {
        hookCalls.checkNotInHook(call)
        trap(
            unless: !isSaving,
            "\(call) during a save: willSave, validators and willCommit observers may not call it")
    }

    func checkNotEditing() {
        trap(
            unless: editDepth == 0,
            "save(_:) inside edit(_:_:): the edit saves when its closure has returned")
        trap(
            unless: storeCall != .edit,
            "save(_:) inside Store.edit or Subscription.run, which save when the closure returns")
        storeCall.checkNotReading("save(_:)")
        checkNotSaving("save(_:)")
    }

    /// Runs users' code inside a save.
    func saving<Result>(_ body: () throws -> Result) rethrows -> Result {
        let outer = isSaving
        isSaving = true
        defer { isSaving = outer }
        return try body()
    }

    func editing<Result>(_ body: () throws -> Result) rethrows -> Result {
        editDepth += 1
        defer { editDepth -= 1 }
        return try body()
    }

    /// Runs the closure of a call of the store, whose reads share one transaction.
    func inClosure<Result>(of call: StoreCall, _ body: () throws -> Result) rethrows -> Result {
        storeCall = call
        defer { storeCall = nil }
        return try sharingReads(body)
    }

    /// Runs the handler of a subscription, which edits as the closure of `Store.edit` does.
    nonisolated(nonsending) func inHandler<Result>(
        _ body: nonisolated(nonsending) () async throws -> Result
    ) async rethrows -> Result {
        storeCall = .edit
        defer { storeCall = nil }
        return try await body()
    }

    // MARK: Tables

    /// Returns the table of a model, made on demand.
    ///
    /// - Precondition: the store was opened with the model.
    func table<M: Model>(for type: M.Type) -> _ObjectTable {
        guard let index = store.modelTypes.firstIndex(where: { $0 == type }) else {
            trap(
                "\(M.self) is not a model of this store: name it in Store.open(at:for:)")
        }
        return table(ofEntity: EntityNumber(index: index))
    }

    func table(ofEntity entity: EntityNumber) -> _ObjectTable {
        if let table = existingTable(ofEntity: entity) { return table }
        guard let modelType = store.modelTypes[entity] else {
            trap("entity \(entity) was removed: no object of it is ever read")
        }
        let table = _ObjectTable(core: self, modelType: modelType, entity: entity)
        tables[entity.index] = table
        return table
    }

    @inline(__always)
    private func existingTable(ofEntity entity: EntityNumber) -> _ObjectTable? {
        trap(unless: tables.indices.contains(entity.index), "there is no entity \(entity)")
        return tables[entity.index]
    }

    /// The tables that have been made.
    var usedTables: [_ObjectTable] { tables.compactMap { $0 } }

    var liveObjectCount: Int { tables.reduce(0) { $0 + ($1?.liveCount ?? 0) } }

    /// Returns the live object with a key.
    func object(_ key: ObjectKey) -> (any Model)? {
        existingTable(ofEntity: key.entity)?.object(key.id)
    }

    /// Returns the object with a key, made from its record unless it is alive.
    func load(_ key: ObjectKey) throws -> (any Model)? {
        try table(ofEntity: key.entity).load(key.id)
    }

    // MARK: Reading

    /// Returns the object with an id for the accessor of a reference; never throws.
    ///
    /// A read that fails returns nil and puts the context into its failed state.
    func resolve<M: Model>(_ id: ObjectID, as type: M.Type) -> M? {
        resolving(nil) { try table(for: type).load(id, as: type) }
    }

    /// Retains objects that were read ahead, until the context moves to another revision.
    func hold(_ objects: [AnyObject]) { prefetched = objects }

    /// Shows another revision below the pending changes.
    func move(to revision: Revision) {
        self.revision = revision
        madeState?.move(to: revision)
        // The read may show a commit before the revision.
        sharedRead?.end()
        prefetched = []
        pendingSignal?.note()
    }

    /// Returns a position after all members of an ordered list.
    func positionAtEnd(of owner: ObjectID, at end: MemberEnd) throws -> ListPosition {
        // An object that is in no context has no stored members.
        let isStored = object(ObjectKey(end.owner, owner)).map { !$0._$isNew } ?? true
        let last =
            isStored
            ? try read { try state.lastPosition(of: owner, at: end, $0) }
            : state.lastChangedPosition(of: owner, at: end)
        return .between(last, nil) ?? last ?? .first
    }

    // MARK: Misuse

    func note<M: Model>(_ code: Violation.Code, _ object: M, _ what: String, slot: Slot? = nil) {
        let property = slot.map { M._$description.entity.properties[$0].name }
        pending.note(
            Violation(
                code: code, entity: M._$name, object: object.id, property: property, slot: slot,
                Sentence("{subject} \(what)"), messages: messages))
    }

    func note<M: Model>(
        _ code: Violation.Code, _ object: M, _ what: String, relationship: MemberRelationship
    ) {
        pending.note(
            Violation(
                code: code, entity: M._$name, object: object.id, property: relationship.name,
                slot: relationship.slot, Sentence("{property} \(what)"), messages: messages))
    }
}

/// The attributes of a context's commits, its merge policy and its observers.
struct ContextSettings {
    var label: String?
    var undoGroup: UndoGroup?
    /// The change of a subscription that the next save commits.
    var subscription: SubscriptionUpdate?
    var isUndoable = true
    var metadata: [String: String]
    var mergePolicy = MergePolicy.fail
    var follows = false
    var willCommitObservers = ContextObservers<(ChangeSet) throws -> Void>()
    var didCommitObservers = ContextObservers<(Commit) -> Void>()
    /// The commits to announce, beginning with the one that observers are being notified of.
    fileprivate var announcements: [Commit] = []

    init(metadata: [String: String]) { self.metadata = metadata }
}

// MARK: - Observers

extension ContextCore {
    /// Notifies the observers of a commit.
    ///
    /// A commit that an observer makes is announced after all observers were notified of the
    /// current one, so that each of them sees commits in order.
    func announce(_ commit: Commit) {
        settings.announcements.append(commit)
        if settings.announcements.count > 1 { return }
        while let commit = settings.announcements.first {
            for observer in settings.didCommitObservers.active() { observer(commit) }
            settings.announcements.removeFirst()
        }
    }
}
