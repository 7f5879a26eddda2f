public import StetStore

// A save between its beginning and its end. An asynchronous one is a flight while the writer has
// it: its objects count as saved, and what is edited meanwhile is pending for the next save.

/// An asynchronous save failed, and edits made while it was on its way were put back with it.
public struct LaterChangesError: Error, Sendable {
    /// Why the save failed.
    public let cause: any Error
    /// The net effect of the edits that were made after the save had been sent off; for a save that
    /// waited for its turn, of everything that was put back with its edits.
    public let laterChanges: ChangeSet
}

extension LaterChangesError: CustomStringConvertible {
    /// Why the save failed, and what was lost.
    public var description: String {
        let count = laterChanges.changes.count
        return
            "\(cause) Later changes of \(count) object\(count == 1 ? "" : "s") were put back, too."
    }
}

/// An asynchronous save that waits for its turn.
struct TurnWaiter {
    /// Where the changes are that were pending when it was called.
    enum Changes {
        /// There were none, or they are saved.
        case none
        case pending
        /// Part of the flight.
        case sent
        /// Made after the flight had been sent off, and taken off while it is prepared again.
        case later
    }
    var changes: Changes
    let continuation: CheckedContinuation<Void, any Error>
}

/// One save, from the pending changes to its outcome.
///
/// State: belongs to the context's isolation.
final class PendingSave {
    let attributes: CommitAttributes
    var purpose = CommitPurpose()
    let id: CommitID?
    let onFailure: FailureBehavior
    /// What is edited by hand; behind it come the objects that delete rules and hooks edit.
    var editedCount: Int
    /// What a failure goes back to; nil means the last saved state.
    var start: ManagedContext.Snapshot?
    /// What each preparation begins with; nil without hooks.
    var hooksBeginning: ManagedContext.Snapshot?
    var preparationCount = 0

    /// Where the changed objects stand among the entries.
    var positions: [Int] = []
    var encoded: EncodedChangeSet?
    /// The commit that a retry has found in the journal.
    var repeated: Commit?

    /// What was pending when the change set was sent off.
    var entries: [ManagedContext.PendingObject] = []
    var flags: [ModelState.Flags] = []
    var inverseEnds = InverseEnds()
    var submission: Submission?

    /// Edits made while it was on its way, until they are put on top of it again.
    var later: LaterEdits?

    /// How the flight has ended; nil before, and while it is to be prepared again.
    var landing: Result<Commit, any Error>?

    init(
        _ attributes: CommitAttributes, _ id: CommitID?, _ onFailure: FailureBehavior,
        editedCount: Int
    ) {
        self.attributes = attributes
        self.id = id
        self.onFailure = onFailure
        self.editedCount = editedCount
    }

    /// Whether a commit is one that an earlier attempt has made.
    func isRepeated(_ commit: Commit) -> Bool {
        commit.envelope.bodyDigest != encoded?.bodyDigest
    }
}

extension ManagedContext {
    /// An identity for the commit of a save that may have to be tried again.
    ///
    /// Keep it (it is `Codable`) before you save with it: after a crash, or a failure whose outcome
    /// is unknown, the same edits saved with the same id make no second commit.
    public func makeCommitID() -> CommitID {
        CommitID(
            store: store.file.storeID, base: revision, token: UInt64.random(in: .min ... .max))
    }

    func checkNotEditing() {
        precondition(
            editDepth == 0,
            "save(_:) inside edit(_:_:): the edit saves when its closure has returned")
        checkNotSaving("save(_:)")
    }

    /// Step 0.
    func beginSave(
        _ label: String?, _ id: CommitID?, _ onFailure: FailureBehavior
    ) throws -> PendingSave {
        try checkUsable()
        var attributes = CommitAttributes(author: author, scope: scope, label: label)
        attributes.group = undoGroup
        attributes.metadata = metadata
        let save = PendingSave(attributes, id, onFailure, editedCount: pending.count)
        save.purpose.isUndoable = isUndoable
        // What a rollback goes back to is there already; only pending changes that are kept need to
        // be captured.
        if !onFailure.rollsBack { save.start = snapshot() }
        return save
    }

    /// The commit that an earlier attempt has made.
    func committed(_ id: CommitID) throws -> Commit? {
        guard id.store == store.file.storeID else {
            throw StoreError(
                .wrongStore, path: store.path, message: "The commit id was made for another store.",
                advice: "Use ids of makeCommitID() with the store that made them.")
        }
        return try store.file.committed(id)
    }

    /// What an earlier attempt has committed takes the place of the pending changes.
    func adopt(repeated: Commit) throws -> Commit {
        rollBackEverything()
        try moveToHead()
        return repeated
    }

    /// Goes back to where the save began.
    func putBack(_ save: PendingSave, _ error: any Error) {
        for code in Self.codes(of: error) { store.file.countRefusedSave(code) }
        // Told once: what was refused has changed nothing that could be mended.
        defer { if error is ValidationError { misuse = [] } }
        if error is UnknownOutcomeError {
            failure = error
        } else if let start = save.start {
            putBack(start)
        } else {
            let losers = takeWaiters(.pending)
            let lost = losers.isEmpty ? ChangeSet() : changes
            rollBackEverything()
            tell(losers, LaterChangesError(cause: error, laterChanges: lost))
        }
    }

    func notifyDidCommit(_ commit: Commit) {
        for observer in didCommitObservers.active() { observer(commit) }  // 9, on this isolation
    }

    /// What a refused save is counted under: the codes of the violations, or the kind of failure.
    private static func codes(of error: any Error) -> Set<String> {
        switch error {
        case let error as ValidationError:
            Set(error.violations.map { "\($0.code.domain).\($0.code.number)" })
        case is ConflictError: ["conflict"]
        case let error as StoreError: [error.code.rawValue]
        case is UnknownOutcomeError: ["unknownOutcome"]
        case is CancellationError: ["cancelled"]
        default: ["other"]
        }
    }

    // MARK: The flight

    /// The change set is in the writer's hands: its objects count as saved.
    func sendOff(_ save: PendingSave, _ submission: Submission) {
        save.submission = submission
        save.flags = pending.map(\.object._$flags)
        moveWaiters(from: .pending, to: .sent)
        becomeSaved(save)
        flight = save
        if let later = save.later {
            save.later = nil
            putOnTop(later)
        }
    }

    /// Takes over the outcome of the flight, which is decided.
    ///
    /// `mayPrepareAgain` says that a refusal that the change set can follow is left to the one who
    /// saves: then the objects are pending again, and `landing` stays nil.
    func land(_ save: PendingSave, mayPrepareAgain: Bool) {
        guard let submission = save.submission else { return }
        flight = nil
        do {
            let commit = try submission.wait()
            if save.isRepeated(commit) {
                // What was edited on top of changes that are dropped cannot stay.
                guard !hasChanges else { throw contention(save) }
                returnToPending(save)
                save.landing = .success(try adopt(repeated: commit))
            } else {
                show(commit, save)
                save.landing = .success(commit)
                moveWaiters(from: .sent, to: .none)
                notifyDidCommit(commit)
            }
        } catch {
            landFailure(save, error, mayPrepareAgain)
        }
    }

    private func landFailure(
        _ save: PendingSave, _ error: any Error, _ mayPrepareAgain: Bool
    ) {
        if error is UnknownOutcomeError {
            freeze(save)
            failure = error
            save.landing = .failure(error)
            return
        }
        save.later = takeLaterEdits(save)
        returnToPending(save)
        var cause = error
        if let refusal = error as? CommitRefusal {
            do {
                try follow(refusal, save)
                if mayPrepareAgain { return }
                cause = refused(save, refusal)
            } catch {
                cause = error
            }
        }
        save.landing = .failure(giveUp(save, cause))
    }

    /// Goes back to where the save began, and tells those whose later edits are gone with it; what
    /// the save throws.
    func giveUp(_ save: PendingSave, _ error: any Error) -> any Error {
        putBack(save, error)
        guard let later = save.later else { return error }
        save.later = nil
        let failure = LaterChangesError(cause: error, laterChanges: later.changes)
        tell(takeWaiters(.later), failure)
        return failure
    }

    /// The writer has refused the save, and it cannot be prepared again.
    private func refused(_ save: PendingSave, _ refusal: CommitRefusal) -> any Error {
        let conflicts = refusal.reasons.compactMap { reason -> UniquenessConflict? in
            if case .notUnique(let conflict) = reason { conflict } else { nil }
        }
        let contention = contention(save)
        if conflicts.isEmpty { return contention }
        return ValidationError(
            violations: store.file.schema.violations(
                conflicts, store.configuration.messages
            ) { id in
                contention.rejected.changes.first { $0.id == id }?.kind
            }.inTotalOrder(), rejected: contention.rejected)
    }

    /// The save was overtaken, and cannot be prepared again.
    func contention(_ save: PendingSave) -> ConflictError {
        let rejected = try? save.encoded?.changeSet()
        return ConflictError(
            reason: .contention, conflicts: [], rejected: rejected ?? ChangeSet())
    }

    /// Makes the objects of the flight pending again, as they were when it was sent off.
    private func returnToPending(_ save: PendingSave) {
        pending = save.entries
        for (index, entry) in pending.enumerated() {
            entry.object._$setFlags(save.flags[index], pendingIndex: index)
        }
        inverseEnds = save.inverseEnds
        moveWaiters(from: .sent, to: .pending)
    }

    /// Leaves every value as it is, with what a rollback needs to go back to the last state that is
    /// known to be saved.
    private func freeze(_ save: PendingSave) {
        // They name the later edits only, and would take the flight's back.
        validSnapshots = []
        let later = pending.map { (entry: $0, flags: $0.object._$flags) }
        for (entry, _) in later { entry.object._$setPendingIndex(-1) }
        returnToPending(save)
        for (entry, flags) in later {
            let object = entry.object
            if object._$pendingIndex < 0 {
                object._$setPendingIndex(Int32(pending.count))
                pending.append(entry)
            } else {
                // Part of the flight, and edited or deleted since.
                let deleted = flags.intersection(.deleted)
                object._$setFlags(
                    object._$flags.union(deleted), pendingIndex: Int(object._$pendingIndex))
            }
        }
    }

    // MARK: Waiting for it

    /// Waits for the outcome of the save that is on its way, if there is one; blocks the thread.
    ///
    /// - Throws: `LaterChangesError` when it failed and later changes are gone with it.
    func landFlight() throws {
        guard let save = flight, let submission = save.submission else { return }
        _ = try? submission.wait()
        land(save, mayPrepareAgain: false)
        if case .failure(let error as LaterChangesError) = save.landing { throw error }
    }

    /// Waits until no other asynchronous save is under way, in the order of the calls.
    ///
    /// - Throws: `LaterChangesError` when another save fails and takes this one's changes along.
    nonisolated(nonsending) func takeTurn() async throws {
        guard isTurnTaken else { return isTurnTaken = true }
        let changes: TurnWaiter.Changes = hasChanges ? .pending : .none
        try await withCheckedThrowingContinuation { continuation in
            turnWaiters.append(TurnWaiter(changes: changes, continuation: continuation))
        }
    }

    /// Lets the next asynchronous save begin.
    func passTurn() {
        guard !turnWaiters.isEmpty else { return isTurnTaken = false }
        turnWaiters.removeFirst().continuation.resume()
    }

    /// Takes those out of the line whose changes are about to be put back.
    private func takeWaiters(_ changes: TurnWaiter.Changes) -> [TurnWaiter] {
        let losers = turnWaiters.filter { $0.changes == changes }
        turnWaiters.removeAll { $0.changes == changes }
        return losers
    }

    private func tell(_ losers: [TurnWaiter], _ error: LaterChangesError) {
        for loser in losers { loser.continuation.resume(throwing: error) }
    }

    func moveWaiters(from old: TurnWaiter.Changes, to new: TurnWaiter.Changes) {
        for index in turnWaiters.indices where turnWaiters[index].changes == old {
            turnWaiters[index].changes = new
        }
    }
}

extension Model {
    func _$setFlags(_ flags: ModelState.Flags, pendingIndex: Int) {
        _$state.flags = flags
        _$state.pendingIndex = Int32(pendingIndex)
    }
}
