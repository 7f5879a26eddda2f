import FoundationEssentials
public import StetStore

// The save sequence, read from the top down. The step numbers are those of ARCHITECTURE.md.

/// What a save that fails does with the pending changes.
public struct FailureBehavior: Hashable, Sendable {
    private let keepsPending: Bool

    /// The context goes back to the last saved state.
    public static let rollback = FailureBehavior(keepsPending: false)
    /// The pending changes stay as they were before the save, to be mended and saved again.
    public static let keepPending = FailureBehavior(keepsPending: true)

    var rollsBack: Bool { !keepsPending }
}

extension ManagedContext {
    /// How often a save is prepared when the store keeps moving.
    static let preparationLimit = 8

    /// Saves all pending changes as one commit, durably, or none of them; blocks the thread until
    /// the disk has them.
    ///
    /// In asynchronous code the compiler takes the asynchronous `save`, which is written with
    /// `await`, and blocks nobody.
    ///
    /// A save that throws has written nothing, no observer has heard of it, and the context is back
    /// at the last saved state (or, with `.keepPending`, where it was before the save). The one
    /// exception is `UnknownOutcomeError`: then nothing is put back, and the context throws the
    /// same error until it is rolled back or refreshed.
    ///
    /// - Parameters:
    ///   - label: what the commit is called, at most 1,024 bytes.
    ///   - id: the identity of the commit, from `makeCommitID()`, when the save may be a retry: a
    ///     commit that is in the journal already is returned and not made again, the pending
    ///     changes are dropped, and the context shows the last commit.
    ///   - onFailure: what happens to the pending changes when the save fails.
    /// - Returns: the commit; nil when there was no net change, and so nothing to write.
    /// - Throws: `ValidationError` with every violation; `ConflictError`; `StoreError`;
    ///   `UnknownOutcomeError`; what a `willCommit` observer threw; the error that an earlier read
    ///   inside an accessor met; `LaterChangesError` when an asynchronous save that was on its way
    ///   failed and took these changes with it.
    /// - Complexity: O(pending changes), and one durable LMDB transaction.
    @discardableResult
    public func save(
        _ label: String? = nil, id: CommitID? = nil, onFailure: FailureBehavior = .rollback
    ) throws -> Commit? {
        checkNotEditing()
        try landFlight()
        let save = try beginSave(label, id, onFailure)
        return try finish(save)
    }

    /// The same without blocking the thread: only waiting for the disk suspends the task.
    ///
    /// While the save is on its way, the context can be read and edited on its isolation; such
    /// edits belong to the next save, which waits for its turn: asynchronous saves of a context are
    /// made in the order of their calls. `rollback` and `restore` reach back to the moment when the
    /// save was sent off, and everything else that needs the outcome waits for it. If the save
    /// fails, the later edits are put back, too, and are told by `LaterChangesError`.
    ///
    /// A task that is cancelled while the writer has not begun with its change set withdraws it:
    /// that is a failure with `CancellationError`. Later it is too late, and the save comes to its
    /// end.
    ///
    /// - Throws: what the blocking `save` throws; `CancellationError`; `LaterChangesError`.
    @discardableResult
    public nonisolated(nonsending) func save(
        _ label: String? = nil, id: CommitID? = nil, onFailure: FailureBehavior = .rollback
    ) async throws -> Commit? {
        checkNotEditing()
        try await takeTurn()
        defer { passTurn() }
        let save = try beginSave(label, id, onFailure)
        do {
            try Task.checkCancellation()
            while let submission = try submit(save) {
                sendOff(save, submission)
                await submission.decision()
                // Somebody else may have needed the outcome, and have landed the flight.
                if save.landing == nil { land(save, mayPrepareAgain: true) }
                if let landing = save.landing { return try landing.get() }
            }
            let commit = try conclude(save)
            if let later = save.later { putOnTop(later) }
            return commit
        } catch {
            throw save.landing == nil ? giveUp(save, error) : error
        }
    }

    /// Runs a closure, then saves all pending changes; blocks the thread until the disk has them.
    ///
    /// Whatever is thrown, by the closure or the save, puts back what was pending at the beginning
    /// and is rethrown. An edit inside an edit neither saves nor validates; it puts its own
    /// beginning back when its closure throws.
    ///
    /// - Parameters:
    ///   - label: what the commit is called, at most 1,024 bytes.
    ///   - body: edits objects of this context.
    /// - Returns: the commit; nil for an inner edit, or when there was no net change.
    /// - Throws: what `body` throws, and what `save(_:)` throws.
    @discardableResult
    public func edit(_ label: String? = nil, _ body: () throws -> Void) throws -> Commit? {
        checkNotSaving("edit(_:_:)")
        try landFlight()
        try checkUsable()
        let beginning = snapshot()
        editDepth += 1
        do {
            defer { editDepth -= 1 }
            try body()
            // What it did after a read had failed was done on nil.
            try checkUsable()
        } catch {
            putBack(beginning)
            throw error
        }
        if isPlanted("E1") { try validate() }
        guard editDepth == 0 else { return nil }
        let save = try beginSave(label, nil, .rollback)
        save.start = beginning
        return try finish(save)
    }

    /// Checks the pending changes as a save would, and changes nothing.
    ///
    /// - Throws: `ValidationError` with every violation; the error that an earlier read inside an
    ///   accessor met.
    /// - Complexity: O(pending changes).
    public func validate() throws {
        checkNotSaving("validate()")
        try landFlight()
        try checkUsable()
        let start = snapshot()
        isSaving = true
        defer {
            isSaving = false
            putBack(start)
        }
        if isPlanted("C11") { return try settle() }
        _ = try prepare(store.configuration.clock())
    }

    /// The blocking save from its first preparation on; puts back what was pending when it fails.
    private func finish(_ save: PendingSave) throws -> Commit? {
        do {
            while let submission = try submit(save) {
                if let commit = try adopt(save, submission) { return commit }
            }
            return try conclude(save)
        } catch {
            putBack(save, error)
            if isPlanted("C6") { return nil }
            throw error
        }
    }

    /// The end of a save that had nothing to write.
    private func conclude(_ save: PendingSave) throws -> Commit? {
        if let commit = save.repeated {
            // What was edited on top of changes that are dropped cannot stay.
            guard save.later == nil else { throw contention(save) }
            return try adopt(repeated: commit)
        }
        becomeSaved(save)
        catchUp()
        return nil
    }

    /// Steps 1 to 7 up to the writer's queue; nil when there was nothing to write.
    private func submit(_ save: PendingSave) throws -> Submission? {
        if try store.floor() > revision {
            // What it would read was trimmed.
            try moveToHead()
            save.editedCount = pending.count
        }
        if save.hooksBeginning == nil, changesMoreThanIsEdited {
            // Hooks may count what they do, and delete rules change what was edited by hand: they
            // see the pending changes anew in each preparation.
            save.hooksBeginning = snapshot()
        }
        guard save.preparationCount < Self.preparationLimit else {
            throw ConflictError(reason: .contention, conflicts: [], rejected: changes)
        }
        save.preparationCount += 1
        if let id = save.id, let commit = try committed(id) {
            save.repeated = commit
            return nil
        }
        isSaving = true
        defer { isSaving = false }
        let time = store.configuration.clock()
        // What this context cannot see yet is left to the writer, whose refusal makes it follow.
        let horizon = save.preparationCount == 1 ? revision : nil
        let prepared = try prepare(time, horizon)  // 1–5
        save.positions = prepared.items.map(\.position)
        if save.positions.isEmpty { return nil }
        try notifyWillCommit(prepared)  // 5b
        let encoded = try prepared.encoded(
            attributes: save.attributes, base: save.id?.base ?? revision,
            token: save.id?.token ?? UInt64.random(in: .min ... .max),
            time: time.timeIntervalSinceReferenceDate, for: save.purpose)
        save.encoded = encoded
        return try store.file.submit(encoded, isRetry: save.id != nil)  // 6, 7, 9
    }

    /// True when a save may change objects beyond what stamps and normalisers do.
    private var changesMoreThanIsEdited: Bool {
        pending.contains { $0.object.isDeleted }
            || store.modelTypes.contains { $0?._$hasEditingHook ?? false }
    }

    // MARK: Steps 1 to 5

    /// Brings the pending changes into the state in which they would be saved, and checks them.
    ///
    /// Of stored objects with values that must be unique, those that were changed after `horizon`
    /// are let through.
    private func prepare(_ time: Date, _ horizon: Revision? = nil) throws -> NetChanges {
        insertReachable()
        defer { touched = nil }
        try settle()  // 1, 2
        var net = netChanges()  // 3
        stamp(&net, time)  // 4
        net.sort()
        try net.collectIndexChanges()
        var violations = try self.violations(of: &net, horizon)  // 5
        // A hook may have met a read that failed: what it did, and what is wrong, came of nil.
        try checkUsable()
        if let edited = touched, !edited.isEmpty {
            for object in edited { object._$note(.editedDuringCommit, "was edited by a validator") }
            violations = misuse.inTotalOrder()
        }
        guard violations.isEmpty else {
            throw ValidationError(violations: violations, rejected: try changeSet(of: net))
        }
        return net
    }

    // MARK: Steps 5b to 8

    private func notifyWillCommit(_ net: borrowing NetChanges) throws {
        let observers = willCommitObservers.active()
        if observers.isEmpty { return }
        let changeSet = try changeSet(of: net)
        // The objects still rest.
        touched = []
        defer { touched = nil }
        for observer in observers { try observer(changeSet) }
        try checkUsable()
        guard let edited = touched, !edited.isEmpty else { return }
        for object in edited {
            object._$note(.editedDuringCommit, "was edited by a willCommit observer; use willSave")
        }
        let violations = misuse.inTotalOrder()
        throw ValidationError(violations: violations, rejected: changeSet)
    }

    /// The net changes, and of each the delete rule that has made it.
    private func changeSet(of net: borrowing NetChanges) throws -> ChangeSet {
        var changeSet = try net.changeSet()
        if effects.isEmpty { return changeSet }
        for index in changeSet.changes.indices {
            changeSet.changes[index].via = effects[changeSet.changes[index].id]
        }
        return changeSet
    }

    /// Makes the context follow a store that has moved, so that the save can be prepared again.
    ///
    /// Objects that only delete rules and hooks have edited follow the store; what was edited by
    /// hand and changed by others is merged.
    ///
    /// - Throws: `ConflictError` where the merge policy does not decide.
    func follow(_ refusal: CommitRefusal, _ save: PendingSave) throws {
        guard let encoded = save.encoded else { return }
        if refusal.reasons.contains(.schemaChanged) {
            throw StoreError.migratedElsewhere(path: store.path)
        }
        if let start = save.hooksBeginning { putBack(start) }
        while pending.count > save.editedCount, let last = pending.last?.object { rollBack(last) }
        rollBackRepeatedLinks(refusal)
        let missing = refusal.reasons.compactMap { reason -> ReferenceKey? in
            // The delete rules see a new referrer after the move.
            guard case .targetMissing(let reference) = reason else { return nil }
            return reference
        }
        try moveToHead(missing: missing) { try encoded.changeSet() }
        save.editedCount = pending.count
        if save.hooksBeginning != nil { save.hooksBeginning = snapshot() }
    }

    /// Takes those links back that others have made meanwhile.
    private func rollBackRepeatedLinks(_ refusal: CommitRefusal) {
        for reason in refusal.reasons {
            guard case .notUnique(let conflict) = reason,
                let index = store.file.schema.index(numbered: conflict.index),
                store.relationships.isLink(index.entity),
                let link = table(ofEntity: index.entity).object(conflict.object)
            else { continue }
            rollBack(link)
        }
    }

    /// Waits for the writer, and takes over what it has committed; nil when the save is to be
    /// prepared again.
    private func adopt(_ save: PendingSave, _ submission: Submission) throws -> Commit? {
        do {
            let commit = try submission.wait()
            if save.isRepeated(commit) { return try adopt(repeated: commit) }
            becomeSaved(save)
            show(commit, save)  // 8
            notifyDidCommit(commit)
            return commit
        } catch let refusal as CommitRefusal {
            try follow(refusal, save)
            return nil
        }
    }

    /// Nothing is pending any more.
    func becomeSaved(_ save: PendingSave) {
        // Released only at the end: a class may have a deinit that looks at the context.
        save.entries = pending
        for entry in pending { entry.object._$becomeSaved() }
        pending = []
        save.inverseEnds = inverseEnds
        inverseEnds = InverseEnds()
        misuse = []
        validSnapshots = []
        moveWaiters(from: .pending, to: .none)
    }

    /// Shows the commit's revision.
    func show(_ commit: Commit, _ save: PendingSave) {
        for position in save.positions {
            save.entries[position].object._$setRevision(commit.revision)
        }
        lastSave = commit.revision
        guard let before = commit.revision.previous else { return }
        do {
            // What others have committed since this context last looked.
            let changed = try changedObjects(through: before)
            move(to: commit.revision, try read(changed, asOf: commit.revision))
        } catch {
            failure = error
        }
    }
}

extension Model {
    func _$setRevision(_ revision: Revision) { _$state.revision = revision }

    func _$note(_ code: Violation.Code, _ what: String) {
        _$context?.note(code, self, what)
    }

    func _$becomeSaved() {
        _$state.flags = isDeleted ? [.deleted] : []
        _$state.pendingIndex = -1
    }
}
