import StetStore

/// The saves of a context: the one that the writer has, and those that wait for their turn.
///
/// While a save is on its way its objects count as saved, and what is edited is pending for the
/// next one.
///
/// State: belongs to the isolation of its context.
final class SaveLine {
    private unowned(unsafe) let core: ContextCore
    /// The save that the writer has.
    private(set) var inFlight: SaveInProgress?
    /// The last commit of its own; after the context's revision when the reads of its landing
    /// failed.
    private(set) var last = Revision.zero
    /// True while an asynchronous save has its turn.
    private var isTurnTaken = false
    /// Asynchronous saves that wait for their turn, in order.
    private(set) var waiting: [WaitingSave] = []
    /// The one that has its turn, and whose task has not gone on yet.
    private var beginning: WaitingSave?

    init(_ core: ContextCore) { self.core = core }

    // MARK: The two ways to save

    /// Saves what is pending; blocks the thread until the disk has it.
    func save(
        _ label: String?, _ id: CommitID?, start: PendingChanges.Capture?
    ) throws -> Commit? {
        try core.checkUsable()
        let save = SaveInProgress(core, label, id, start: start)
        do {
            return try run(save)
        } catch {
            throw giveUp(save, error)
        }
    }

    /// The same; only waiting for the disk suspends the task.
    nonisolated(nonsending) func save(
        _ label: String?, _ id: CommitID?, _ onFailure: FailureBehavior
    ) async throws -> Commit? {
        try await takeTurn()
        defer { passTurn() }
        try core.checkUsable()
        let start = onFailure.rollsBack ? nil : core.pending.capture()
        let save = SaveInProgress(core, label, id, start: start)
        do {
            try Task.checkCancellation()
            while let submission = try submit(save) {
                await submission.decision()
                // Somebody else may have needed the outcome, and have brought the save to its end.
                if save.outcome != nil { break }
                if let commit = try land(save) { return commit }
            }
            // The outcome may be that nothing was written: nil inside, not outside.
            guard let outcome = save.outcome else { return try conclude(save) }
            return try outcome.get()
        } catch {
            throw save.outcome == nil ? giveUp(save, error) : error
        }
    }

    /// Brings a save to its end.
    private func run(_ save: SaveInProgress) throws -> Commit? {
        while try submit(save) != nil {
            if let commit = try land(save) { return commit }
        }
        return try conclude(save)
    }

    /// Waits for the outcome of the save that is on its way, if there is one; blocks the thread.
    ///
    /// - Throws: `LaterChangesError` when it failed and later changes are gone with it.
    func finishInFlight() throws {
        guard let save = inFlight else { return }
        do {
            save.outcome = .success(try land(save) ?? run(save))
        } catch {
            save.outcome = .failure(giveUp(save, error))
        }
        if case .failure(let error as LaterChangesError)? = save.outcome { throw error }
    }

    // MARK: From the queue to the outcome

    /// Prepares a save and sends it off; nil when there was nothing to write.
    private func submit(_ save: SaveInProgress) throws -> Submission? {
        var work = save
        guard let submission = try save.preparation.submit(&work) else { return nil }
        save.sendOff(submission)
        inFlight = save
        move(.pending, to: .sent)
        if let later = save.later {
            save.later = nil
            LaterEdits.putOnTop(later, in: core)
            move(.later, to: .pending)
        }
        return submission
    }

    /// Takes over the outcome of the save that is on its way; nil when it is to be prepared again,
    /// and everything is pending as before.
    private func land(_ save: SaveInProgress) throws -> Commit? {
        guard let submission = save.submission, let sent = save.sent else { return nil }
        inFlight = nil
        let repeated: Commit
        do {
            let commit = try submission.wait()
            if !save.isRepeated(commit) {
                show(commit, save, sent)
                return commit
            }
            // What was edited on top of changes that are dropped cannot stay.
            guard !core.hasChanges else { throw save.contention }
            core.pending.takeBack(sent)
            repeated = commit
        } catch let error as UnknownOutcomeError {
            core.pending.freeze(sent)
            core.setFailure(error)
            throw error
        } catch {
            return try takeBack(save, sent, error)
        }
        save.sent = nil
        return try adopt(repeated: repeated)
    }

    /// Makes a save pending again that has failed, and lets it follow the store when it can.
    private func takeBack(
        _ save: SaveInProgress, _ sent: PendingChanges.Sent, _ error: any Error
    ) throws -> Commit? {
        save.sent = nil
        if core.hasChanges {
            save.later = LaterEdits(takenFrom: core, of: sent)
            move(.pending, to: .later)
        }
        core.pending.takeBack(sent)
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
        core.state.sent = nil
        save.committed = commit.revision
        core.ownCommits.land(commit.id, commit.revision)
        last = commit.revision
        StoreFollower(core).show(commit)
        withExtendedLifetime(sent) {}
        move(.sent, to: .saved)
        core.announce(commit)
    }

    /// The end of a save that had nothing to write.
    private func conclude(_ save: SaveInProgress) throws -> Commit? {
        if let commit = save.repeated {
            // What was edited on top of changes that are dropped cannot stay.
            guard save.later == nil else { throw save.contention }
            return try adopt(repeated: commit)
        }
        save.sendNothing()
        core.state.sent = nil
        move(.pending, to: .saved)
        core.catchUp()
        if let later = save.later {
            save.later = nil
            LaterEdits.putOnTop(later, in: core)
            move(.later, to: .pending)
        }
        return nil
    }

    /// What an earlier attempt has committed takes the place of the pending changes.
    private func adopt(repeated: Commit) throws -> Commit {
        core.rollBackEverything()
        try StoreFollower(core).moveToHead(rejected: nil)
        return repeated
    }

    /// Goes back to where the save began, and tells those whose later edits are gone with it; what
    /// the save throws.
    private func giveUp(_ save: SaveInProgress, _ error: any Error) -> any Error {
        for code in Self.codes(of: error) { core.store.file.countRefusedSave(code) }
        // Told once: what was refused has changed nothing that could be mended.
        defer { if error is ValidationError { core.pending.forgetMisuse() } }
        if error is UnknownOutcomeError {
            core.fail(error)
            return error
        }
        save.noteSent(nil)
        core.store.file.refusals.report(
            error, author: core.author, scope: core.scope, label: save.label,
            clock: core.store.configuration.clock, rejected: core.changes())
        if let start = save.start {
            // What it was refused for can be looked at, where nothing has to be merged for that.
            let hasMoved = core.revision != start.revision
            core.goBack(to: start, isRewinding: hasMoved)
            if hasMoved { core.resolving(()) { try StoreFollower(core).moveToHeadUnmerged() } }
        } else {
            let losers = take(.pending)
            let lost = losers.isEmpty ? ChangeSet() : core.changes()
            core.rollBackEverything()
            tell(losers, LaterChangesError(cause: error, laterChanges: lost))
        }
        guard let later = save.later else { return error }
        save.later = nil
        let failure = LaterChangesError(cause: error, laterChanges: later.changes)
        tell(take(.later), failure)
        return failure
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

    // MARK: Turns

    /// Waits until no other asynchronous save is under way, in the order of the calls.
    ///
    /// - Throws: `LaterChangesError` when another save fails and takes the changes with it;
    ///   `CancellationError`, and what was pending at the call is withdrawn.
    private nonisolated(nonsending) func takeTurn() async throws {
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
            if hasTurn { passTurn() }
            throw failure
        }
        if Task.isCancelled {
            waiting.removeAll { $0 === entry }
            if entry.fate == .pending { core.withdraw(entry.changes) }
            if hasTurn { passTurn() }
            throw CancellationError()
        }
    }

    /// Lets the next asynchronous save begin.
    private func passTurn() {
        guard !waiting.isEmpty else { return isTurnTaken = false }
        let next = waiting.removeFirst()
        beginning = next
        next.waiter.resume()
    }

    /// What was pending is rolled back by hand.
    func forgetPending() { move(.pending, to: .saved) }

    private func move(_ old: WaitingSave.Fate, to new: WaitingSave.Fate) {
        for entry in notBegun where entry.fate == old { entry.fate = new }
    }

    /// The saves that have been called and have not begun.
    private var notBegun: [WaitingSave] { (beginning.map { [$0] } ?? []) + waiting }

    /// Takes those out of the line whose changes are about to be put back; the one that has its
    /// turn passes it on when it is told.
    private func take(_ fate: WaitingSave.Fate) -> [WaitingSave] {
        let losers = notBegun.filter { $0.fate == fate }
        waiting.removeAll { $0.fate == fate }
        return losers
    }

    private func tell(_ losers: [WaitingSave], _ error: LaterChangesError) {
        for loser in losers {
            loser.failure = error
            loser.waiter.resume()
        }
    }
}
