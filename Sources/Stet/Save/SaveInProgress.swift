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
    /// What a failure goes back to; nil means the last saved state.
    let start: PendingChanges.Capture?
    var preparation: Preparation
    /// What each preparation begins with: delete rules and hooks see the pending changes anew.
    ///
    /// Nil where nothing but stamps and normalisers changes them.
    private var beginning: PendingChanges.Capture?
    private var isPreparedAgain = false

    private(set) var encoded: EncodedChangeSet?
    /// Where the changed objects stand among the pending ones, and those of them that get the time.
    private(set) var positions: [Int] = []
    private var stamped: [Int] = []
    private var time = Date()
    /// The commit that a retry has found in the journal.
    private(set) var repeated: Commit?

    /// The id of the commit that the last preparation asks for.
    private(set) var sentID: CommitID?
    /// What was sent off, while the writer has it.
    var sent: PendingChanges.Sent?
    private(set) var submission: Submission?
    /// The revision of its commit; nil before it is made.
    var committed: Revision?
    /// Edits made while it was on its way, until they are put on top of it again.
    var later: LaterEdits?
    /// How it has ended; nil before.
    var outcome: Result<Commit?, any Error>?

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
    }

    var isRetry: Bool { id != nil }
    var label: String? { attributes.label }

    /// The save was overtaken, and cannot be prepared again.
    var contention: any Error {
        ConflictError(reason: .contention, conflicts: [], rejected: rejected)
    }

    /// What would have been saved.
    private var rejected: ChangeSet {
        (try? encoded?.changeSet()) ?? core.changes()
    }

    // MARK: Preparing

    /// Steps 1 to 5 of the save sequence, but for the submission.
    func prepare() throws -> EncodedChangeSet? {
        if try core.store.floor() > core.revision {
            // What it would read was trimmed.
            try StoreFollower(core).moveToHead(rejected: nil)
        }
        if let id, let commit = try core.store.file.committed(id, where: \.isSave) {
            repeated = commit
            return nil
        }
        if core.changesMoreThanIsEdited { beginning = core.pending.capture() }
        return try core.saving {
            time = core.store.configuration.clock()
            // What this context cannot see yet is left to the writer, whose refusal makes it
            // follow.
            let horizon = isPreparedAgain ? nil : core.revision
            isPreparedAgain = true
            var preparation = SavePreparation(core)
            let prepared = try preparation.prepare(time, horizon: horizon)
            positions = prepared.changes.items.map(\.position)
            stamped = prepared.stamped
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

    /// Notes the commit that is asked for, instead of one that was refused.
    func noteSent(_ id: CommitID?) {
        if let sentID { core.ownCommits.refuse(sentID) }
        if let id { core.ownCommits.send(id) }
        sentID = id
    }

    private func notifyWillCommit(_ prepared: borrowing PreparedSave) throws {
        let observers = core.settings.willCommitObservers.active()
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
            violations: core.pending.misuse.inTotalOrder(), rejected: changeSet)
    }

    /// Makes the context follow a store that has moved, so that the save can be prepared again.
    ///
    /// What only delete rules and hooks have edited follows the store; what was edited by hand and
    /// changed by others is merged.
    ///
    /// - Throws: `ConflictError` where the merge policy does not decide.
    func follow(_ refusal: CommitRefusal) throws {
        if let beginning { core.pending.restore(beginning) }
        beginning = nil
        try StoreFollower(core).moveToHead(rejected: rejected)
    }

    // MARK: On its way

    /// The change set is in the writer's hands: its objects count as saved.
    func sendOff(_ submission: Submission) {
        self.submission = submission
        var unstamped: [(index: Int, capture: AnyObject)] = []
        for index in stamped {
            let object = core.pending.objects[index].object
            unstamped.append((index, object._$capture()))
            object._$stamp(time, isInsert: object._$flags.contains(.inserted))
        }
        sent = core.pending.send()
        sent?.unstamped = unstamped
    }

    /// The objects of the save that its change set changes, while it is on its way.
    var changedObjects: Set<ObjectIdentifier> {
        guard let sent else { return [] }
        return Set(positions.map { ObjectIdentifier(sent.objects[$0].object) })
    }

    /// Everything that was pending comes to nothing, and counts as saved.
    func sendNothing() { _ = core.pending.send() }

    /// Whether a commit is one that an earlier attempt has made.
    func isRepeated(_ commit: Commit) -> Bool {
        commit.envelope.bodyDigest != encoded?.bodyDigest
    }
}

extension PreparedSave {
    /// The changes as the writer takes them.
    consuming func encoded(
        attributes: CommitAttributes, base: Revision, token: UInt64, time: Double,
        for purpose: CommitPurpose
    ) throws -> EncodedChangeSet {
        try changes.encoded(
            attributes: attributes, base: base, token: token, time: time, for: purpose)
    }
}

extension ContextCore {
    /// True when a save may change objects beyond what stamps and normalisers do.
    var changesMoreThanIsEdited: Bool {
        store.relationships.removeOrphans || store.hasEditingHooks
            || !state.pending.deleted.isEmpty
    }
}
