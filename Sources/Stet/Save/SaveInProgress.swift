import FoundationEssentials
import StetStore

/// One save, from the pending changes to its outcome.
///
/// State: belongs to the isolation of its context.
final class SaveInProgress: CommitWork {
    private let core: ContextCore
    private let attributes: CommitAttributes
    private var purpose = CommitPurpose()
    private let id: CommitID?
    /// The pending changes to restore after a failure; nil means the last saved state.
    let start: PendingChanges.Capture?
    var preparation: Preparation
    /// The pending changes that each preparation begins with, so that delete rules and hooks start
    /// anew.
    ///
    /// Nil when only stamps and normalisers change the pending changes.
    private var beginning: PendingChanges.Capture?
    private var isPreparedAgain = false

    private(set) var encoded: EncodedChangeSet?
    /// The positions of the changed objects among the pending ones.
    private(set) var positions: [Int] = []
    /// The objects of which the save changes nothing but derived attributes.
    private(set) var derived: [ObjectKey] = []
    private var stamped: [Int] = []
    /// The objects with the values that were sealed, by their positions.
    private var sealed: [Int: AnyObject] = [:]
    private var time = Date()
    /// The commit that a retry has found in the journal.
    private(set) var repeated: Commit?

    /// The id of the commit that the last preparation wants to make.
    private(set) var sentID: CommitID?
    /// The submitted pending changes, while the writer has them.
    var sent: PendingChanges.Sent?
    private(set) var submission: Submission?
    /// Its commit, once it is made.
    let commit = MadeCommit()
    /// The edits made during the save, until they are put on top of it again.
    var editsDuringSave: EditsDuringSave?
    /// The outcome of the save; nil before it has ended.
    var outcome: Result<Commit?, any Error>?
    /// The span of the save, and that of the wait for the writer; nil without a tracing system.
    private let span: StoreSpan?
    private var commitSpan: StoreSpan?

    /// The commit of a save, which captures retain without the save.
    final class MadeCommit {
        /// The revision; nil before the commit is made.
        var revision: Revision?
    }

    init(
        _ core: ContextCore, _ label: String?, _ id: CommitID?, start: PendingChanges.Capture?
    ) {
        self.core = core
        self.id = id
        self.start = start
        preparation = Preparation(core.store.file)
        let settings = core.settings
        var attributes = CommitAttributes(author: core.author, scope: core.scope, label: label)
        attributes.group = settings.undoGroup
        attributes.metadata = settings.metadata
        attributes.subscription = settings.subscription?.name
        self.attributes = attributes
        purpose.isUndoable = settings.isUndoable
        span = core.store.file.tracer.begin("stet.save")
    }

    // MARK: Spans

    /// Runs the preparation of an attempt in a span, and begins that of the wait for the writer.
    func tracing(_ body: () throws -> Submission?) throws -> Submission? {
        guard let span else { return try body() }
        let phase = span.begin("stet.save.prepare")
        do {
            let submission = try phase.within(body)
            phase.end()
            if submission != nil { commitSpan = span.begin("stet.save.commit") }
            return submission
        } catch {
            phase.end(error)
            throw error
        }
    }

    /// Ends the span of the wait for the writer.
    func endCommitSpan() {
        commitSpan?.end()
        commitSpan = nil
    }

    /// Ends the span of the save.
    func endSpan(_ error: (any Error)? = nil) {
        endCommitSpan()
        span?.end(error)
    }

    var isRetry: Bool { id != nil }
    var label: String? { attributes.label }

    /// The error of a save that was overtaken and cannot be prepared again.
    var contention: any Error {
        ConflictError(reason: .contention, conflicts: [], rejected: rejected)
    }

    /// The changes that would have been saved.
    private var rejected: ChangeSet {
        (try? encoded?.changeSet()) ?? core.changes()
    }

    // MARK: Preparing

    /// Performs steps 1 to 5 of the save sequence, except the submission.
    func prepare() throws -> EncodedChangeSet? {
        if try core.store.floor() > core.revision {
            // The revision that the context reads was trimmed.
            try StoreFollower(core).moveToHead(rejected: nil)
        }
        if let id, let commit = try core.store.file.committed(id, where: \.isSave) {
            repeated = commit
            return nil
        }
        if core.changesMoreThanIsEdited { beginning = core.pending.capture() }
        return try core.saving {
            time = core.store.configuration.clock()
            // Leaves newer commits to the writer. If it refuses the save, the context follows the
            // store.
            let horizon = isPreparedAgain ? nil : core.revision
            isPreparedAgain = true
            var preparation = SavePreparation(core)
            let prepared = try preparation.prepare(time, horizon: horizon)
            positions = prepared.changes.items.map(\.position).filter { $0 >= 0 }
            derived = prepared.changes.items.filter { $0.position < 0 }
                .map { ObjectKey($0.entity, $0.id) }
            stamped = prepared.stamped
            sealed = try core.pending.captures(replacing: prepared.sealed)
            if prepared.changes.isEmpty { return nil }
            try notifyWillCommit(prepared)
            let base = id?.base ?? core.revision
            let token = try id?.token ?? core.store.file.token(at: core.revision)
            encoded = try prepared.encoded(
                attributes: attributes, base: base, token: token,
                time: time.timeIntervalSinceReferenceDate, for: purpose)
            encoded?.subscription = core.settings.subscription
            noteSent(CommitID(store: core.store.file.storeID, base: base, token: token))
            return encoded
        }
    }

    /// Records the id of the wanted commit, in place of one that was refused.
    func noteSent(_ id: CommitID?) {
        if let sentID { core.ownCommits.refuse(sentID) }
        if let id { core.ownCommits.send(id) }
        sentID = id
    }

    private func notifyWillCommit(_ prepared: borrowing PreparedSave) throws {
        let observers = core.configure { $0.willCommitObservers.active() }
        if observers.isEmpty { return }
        let changeSet = try prepared.changeSet()
        core.pending.watch(true)
        defer { core.pending.watch(false) }
        for observer in observers { try observer(changeSet) }
        try core.checkUsable()
        let edited = core.pending.watch(true)
        if edited.isEmpty { return }
        for object in edited {
            core.note(
                .editedDuringCommit, object, "was edited by a willCommit observer; use willSave")
        }
        throw ValidationError(
            violations: core.pending.rejections.inTotalOrder(), rejected: changeSet)
    }

    /// Makes the context follow a store that has moved, so that the save can be prepared again.
    ///
    /// Objects that only delete rules and hooks have edited follow the store; objects that the user
    /// has edited and others have changed are merged.
    ///
    /// - Throws: `ConflictError` where the merge policy does not decide.
    func follow(_ refusal: CommitRefusal) throws {
        if let beginning { core.pending.restore(beginning) }
        beginning = nil
        try StoreFollower(core).moveToHead(rejected: rejected)
    }

    // MARK: On its way

    /// Marks the objects of the change set as saved, after it was submitted to the writer.
    func enqueue(_ submission: Submission) {
        self.submission = submission
        var captures: [(index: Int, capture: AnyObject)] = []
        for index in Set(stamped).union(sealed.keys) {
            captures.append((index, core.pending.objects[index].object._$capture()))
        }
        seal()
        for index in stamped {
            let object = core.pending.objects[index].object
            object._$stamp(time, isInsert: object._$flags.contains(.inserted))
        }
        sent = core.pending.send()
        sent?.captures = captures
    }

    /// Shows the values as they were sealed, which is no edit.
    private func seal() {
        for (index, capture) in sealed { core.pending.objects[index].object._$restore(capture) }
    }

    /// The objects that its change set changes, while the save is in progress.
    var changedObjects: Set<ObjectIdentifier> {
        guard let sent else { return [] }
        return Set(positions.map { ObjectIdentifier(sent.objects[$0].object) })
    }

    /// Marks everything pending as saved, because it has no net effect.
    func sendNothing() {
        seal()
        _ = core.pending.send()
    }

    /// Returns whether a commit was made by an earlier attempt.
    func isRepeated(_ commit: Commit) -> Bool {
        commit.envelope.bodyDigest != encoded?.bodyDigest
    }
}

extension PreparedSave {
    /// Encodes the changes for the writer.
    consuming func encoded(
        attributes: CommitAttributes, base: Revision, token: UInt64, time: Double,
        for purpose: CommitPurpose
    ) throws -> EncodedChangeSet {
        try changes.encoded(
            attributes: attributes, base: base, token: token, time: time, for: purpose)
    }
}

extension ContextCore {
    /// True when a save may change more objects than stamps and normalisers do.
    var changesMoreThanIsEdited: Bool {
        store.relationships.removeOrphans || store.hasEditingHooks
            || state.pending.deleted.contains { DeleteRules.exist(for: $0.entity, in: schema) }
    }
}
