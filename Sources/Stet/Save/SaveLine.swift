import StetStore

/// The saves of a context: the one in progress, and those that wait for their turn.
///
/// During a save its objects count as saved, and new edits are pending for the next save.
///
/// State: belongs to the isolation of its context.
final class SaveLine {
    private unowned(unsafe) let core: ContextCore
    /// The save in progress.
    private(set) var inFlight: SaveInProgress?
    /// The revision of the context's last commit; it is after the context's revision when the reads
    /// that follow a commit failed.
    private(set) var last = Revision.zero
    /// Returns whether the caller repeats the edit after an error of its save; nil when it never
    /// does.
    var isRepeated: ((any Error) -> Bool)?
    /// Whether the caller repeats the edit whose save has failed.
    private(set) var willRepeat = false
    /// True while an asynchronous save has its turn.
    private var isTurnTaken = false
    /// The asynchronous saves that wait for their turn, in order.
    private(set) var waiting: [WaitingSave] = []
    /// The save that has its turn and whose task has not resumed yet.
    private var beginning: WaitingSave?

    init(_ core: ContextCore) { self.core = core }

    // MARK: The two ways to save

    /// Saves what is pending; blocks the thread until it is on the disk.
    func save(
        _ label: String?, _ id: CommitID?, start: PendingChanges.Capture?
    ) throws -> Commit? {
        try core.checkUsable()
        let save = SaveInProgress(core, label, id, start: start)
        do {
            return try run(save)
        } catch {
            throw abandon(save, error)
        }
    }

    /// Saves what is pending; the task suspends only while it waits for its turn and for the disk.
    nonisolated(nonsending) func save(
        _ label: String?, _ id: CommitID?, _ onFailure: ManagedContext.FailureBehavior
    ) async throws -> Commit? {
        try await takeTurn(label)
        defer { passTurn() }
        try core.checkUsable()
        let start = onFailure.rollsBack ? nil : core.pending.capture()
        let save = SaveInProgress(core, label, id, start: start)
        do {
            try Task.checkCancellation()
            while let submission = try submit(save) {
                await submission.decision()
                // Another call may have needed the outcome, and finished the save.
                if save.outcome != nil { break }
                if let commit = try land(save) { return commit }
            }
            // `outcome` is nil until the save ends; its commit is nil if nothing was written.
            guard let outcome = save.outcome else { return try conclude(save) }
            return try outcome.get()
        } catch {
            throw save.outcome == nil ? abandon(save, error) : error
        }
    }

    /// Runs a save to its end.
    private func run(_ save: SaveInProgress) throws -> Commit? {
        while try submit(save) != nil {
            if let commit = try land(save) { return commit }
        }
        return try conclude(save)
    }

    /// Waits for the outcome of the save in progress, if there is one; blocks the thread.
    ///
    /// - Throws: `DiscardedEditsError` when it failed and later changes were rolled back with it.
    func finishInFlight() throws {
        guard let save = inFlight else { return }
        do {
            save.outcome = .success(try land(save) ?? run(save))
        } catch {
            save.outcome = .failure(abandon(save, error))
        }
        if case .failure(let error as DiscardedEditsError)? = save.outcome { throw error }
    }

    // MARK: From the queue to the outcome

    /// Prepares and submits a save; returns nil when there was nothing to write.
    private func submit(_ save: SaveInProgress) throws -> Submission? {
        var work = save
        let prepared = try save.tracing { try save.preparation.submit(&work) }
        guard let submission = prepared else { return nil }
        save.enqueue(submission)
        inFlight = save
        move(.pending, to: .sent)
        if let later = save.editsDuringSave {
            save.editsDuringSave = nil
            EditsDuringSave.apply(later, in: core)
            move(.later, to: .pending)
        }
        return submission
    }

    /// Applies the outcome of the save in progress; returns nil when it must be prepared again,
    /// with everything pending as before.
    private func land(_ save: SaveInProgress) throws -> Commit? {
        guard let submission = save.submission, let sent = save.sent else { return nil }
        inFlight = nil
        let repeated: Commit
        do {
            defer { save.endCommitSpan() }
            let commit = try submission.wait()
            if !save.isRepeated(commit) {
                show(commit, save, sent)
                return commit
            }
            // Edits on top of dropped changes cannot be kept.
            guard !core.hasChanges else { throw save.contention }
            core.pending.makePending(sent)
            repeated = commit
        } catch let error as UnknownOutcomeError {
            core.pending.freeze(sent)
            core.setFailure(error)
            throw error
        } catch {
            return try makePendingAgain(save, sent, error)
        }
        save.sent = nil
        save.endSpan()
        return try adopt(repeated: repeated)
    }

    /// Makes a failed save pending again, and lets it follow the store if possible.
    private func makePendingAgain(
        _ save: SaveInProgress, _ sent: PendingChanges.Sent, _ error: any Error
    ) throws -> Commit? {
        save.sent = nil
        if core.hasChanges {
            save.editsDuringSave = EditsDuringSave(takenFrom: core, of: sent)
            move(.pending, to: .later)
        }
        core.pending.makePending(sent)
        move(.sent, to: .pending)
        guard let refusal = error as? CommitRefusal else { throw error }
        if let error = refusal.finalError(path: core.store.path) { throw error }
        try save.follow(refusal)
        return nil
    }

    /// Shows a commit that was made.
    private func show(_ commit: Commit, _ save: SaveInProgress, _ sent: PendingChanges.Sent) {
        save.sent = nil
        for position in save.positions {
            sent.objects[position].object._$setRevision(commit.revision)
        }
        for key in save.derived { core.object(key)?._$setRevision(commit.revision) }
        core.state.sent = nil
        save.commit.revision = commit.revision
        core.ownCommits.land(commit.id, commit.revision)
        last = commit.revision
        StoreFollower(core).show(commit)
        withExtendedLifetime(sent) {}
        move(.sent, to: .saved)
        save.endSpan()
        core.announce(commit)
    }

    /// Ends a save that had nothing to write.
    private func conclude(_ save: SaveInProgress) throws -> Commit? {
        save.endSpan()
        if let commit = save.repeated {
            // Edits on top of dropped changes cannot be kept.
            guard save.editsDuringSave == nil else { throw save.contention }
            return try adopt(repeated: commit)
        }
        save.sendNothing()
        core.state.sent = nil
        move(.pending, to: .saved)
        core.catchUp()
        if let later = save.editsDuringSave {
            save.editsDuringSave = nil
            EditsDuringSave.apply(later, in: core)
            move(.later, to: .pending)
        }
        return nil
    }

    /// Replaces the pending changes with the commit of an earlier attempt.
    private func adopt(repeated: Commit) throws -> Commit {
        core.rollBackEverything()
        try StoreFollower(core).moveToHead(rejected: nil)
        return repeated
    }

    /// Restores the state in which the save began, reports to waiting saves that their edits are
    /// lost, and returns the error that the save throws.
    private func abandon(_ save: SaveInProgress, _ error: any Error) -> any Error {
        save.endSpan(error)
        willRepeat = isRepeated?(error) ?? false
        if !willRepeat {
            for code in Self.codes(of: error) { core.store.file.countRefusedSave(code) }
        }
        // Reported once: a refused edit left nothing behind that could be corrected.
        defer { if error is ValidationError { core.pending.forgetMisuse() } }
        if error is UnknownOutcomeError {
            core.fail(error)
            return error
        }
        save.noteSent(nil)
        if !willRepeat { report(error, save.label, rejected: core.changes()) }
        if let start = save.start {
            // Moves to the head where nothing needs to be merged, so that the caller sees the
            // cause.
            let hasMoved = core.revision != start.revision
            core.rollBack(to: start, isRewinding: hasMoved)
            if hasMoved { core.resolving(()) { try StoreFollower(core).moveToHeadUnmerged() } }
        } else {
            let losers = take(.pending)
            let lost = losers.isEmpty ? ChangeSet() : core.changes()
            core.rollBackEverything()
            tell(losers, DiscardedEditsError(cause: error, discardedChanges: lost))
        }
        guard let later = save.editsDuringSave else { return error }
        save.editsDuringSave = nil
        let failure = DiscardedEditsError(cause: error, discardedChanges: later.changes)
        tell(take(.later), failure)
        return failure
    }

    /// Reports a save that came to nothing to the observers of refusals.
    private func report(
        _ error: any Error, _ label: String?, rejected: @autoclosure () -> ChangeSet
    ) {
        core.store.file.refusals.report(
            error, author: core.author, scope: core.scope, label: label,
            clock: core.store.configuration.clock, rejected: rejected())
    }

    /// Returns the codes by which a refused save is counted: those of the violations, or the kind
    /// of failure.
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

    // MARK: Turns

    /// Waits until no other asynchronous save is under way, in the order of the calls.
    ///
    /// - Throws: `DiscardedEditsError` when another save fails and the changes are rolled back with
    ///   it; `CancellationError`, after the changes that were pending at the call were withdrawn.
    private nonisolated(nonsending) func takeTurn(_ label: String?) async throws {
        guard isTurnTaken else {
            isTurnTaken = true
            return
        }
        let entry = WaitingSave(core.hasChanges ? core.pending.capture() : nil)
        waiting.append(entry)
        await entry.waiter.wait()
        let hasTurn = beginning === entry
        if hasTurn { beginning = nil }
        if let failure = entry.failure {
            report(failure, label, rejected: failure.discardedChanges)
            if hasTurn { passTurn() }
            throw failure
        }
        if Task.isCancelled {
            waiting.removeAll { $0 === entry }
            if entry.fate == .pending {
                core.withdraw(entry.changes)
                report(CancellationError(), label, rejected: ChangeSet())
            }
            if hasTurn { passTurn() }
            throw CancellationError()
        }
    }

    /// Gives the turn to the next asynchronous save.
    private func passTurn() {
        guard !waiting.isEmpty else { return isTurnTaken = false }
        let next = waiting.removeFirst()
        beginning = next
        next.waiter.resume()
    }

    /// Records that the pending changes were rolled back by the user.
    func forgetPending() { move(.pending, to: .saved) }

    private func move(_ old: WaitingSave.Fate, to new: WaitingSave.Fate) {
        for entry in notBegun where entry.fate == old { entry.fate = new }
    }

    /// The saves that have been called and have not begun.
    private var notBegun: [WaitingSave] { (beginning.map { [$0] } ?? []) + waiting }

    /// Removes and returns the waiting saves whose changes are about to be rolled back; the one
    /// that has its turn passes it on when it is notified.
    private func take(_ fate: WaitingSave.Fate) -> [WaitingSave] {
        let losers = notBegun.filter { $0.fate == fate }
        waiting.removeAll { $0.fate == fate }
        return losers
    }

    private func tell(_ losers: [WaitingSave], _ error: DiscardedEditsError) {
        for loser in losers {
            loser.failure = error
            loser.waiter.resume()
        }
    }
}
