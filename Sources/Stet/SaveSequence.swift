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

    /// Saves all pending changes as one commit, durably, or none of them.
    ///
    /// A save that throws has written nothing, no observer has heard of it, and the context is back
    /// at the last saved state (or, with `.keepPending`, where it was before the save).
    ///
    /// - Parameters:
    ///   - label: what the commit is called, at most 1,024 bytes.
    ///   - onFailure: what happens to the pending changes when the save fails.
    /// - Returns: the commit; nil when there was no net change, and so nothing to write.
    /// - Throws: `ValidationError` with every violation; `ConflictError`; `StoreError`; what a
    ///   `willCommit` observer threw; the error that an earlier read inside an accessor met.
    /// - Complexity: O(pending changes), and one durable LMDB transaction.
    @discardableResult
    public func save(
        _ label: String? = nil, onFailure: FailureBehavior = .rollback
    ) throws -> Commit? {
        precondition(
            editDepth == 0,
            "save(_:) inside edit(_:_:): the edit saves when its closure has returned")
        checkNotSaving("save(_:)")
        try checkUsable()
        // 0: what a rollback goes back to is there already; only pending changes that are kept need
        // to be captured.
        let start = onFailure.rollsBack ? nil : snapshot()
        do {
            return try performSave(label)
        } catch {
            if let start { putBack(start) } else { rollBackEverything() }
            // Told once: what was refused has changed nothing that could be mended.
            if error is ValidationError { misuse = [] }
            throw error
        }
    }

    /// Runs a closure, then saves all pending changes.
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
        try checkUsable()
        let beginning = snapshot()
        editDepth += 1
        do {
            defer { editDepth -= 1 }
            try body()
        } catch {
            putBack(beginning)
            throw error
        }
        guard editDepth == 0 else { return nil }
        do {
            return try performSave(label)
        } catch {
            putBack(beginning)
            if error is ValidationError { misuse = [] }
            throw error
        }
    }

    /// Checks the pending changes as a save would, and changes nothing.
    ///
    /// - Throws: `ValidationError` with every violation; the error that an earlier read inside an
    ///   accessor met.
    /// - Complexity: O(pending changes).
    public func validate() throws {
        checkNotSaving("validate()")
        try checkUsable()
        let start = snapshot()
        isSaving = true
        defer {
            isSaving = false
            putBack(start)
        }
        _ = try prepare(store.configuration.clock())
    }

    /// Steps 1 to 9.
    ///
    /// When it throws, the caller puts the pending changes back.
    private func performSave(_ label: String?) throws -> Commit? {
        let attributes = CommitAttributes(author: author, scope: scope, label: label)
        isSaving = true
        defer { isSaving = false }
        guard let commit = try commitPending(attributes) else { return nil }
        isSaving = false
        for observer in didCommitObservers.active() { observer(commit) }  // 9, on this isolation
        return commit
    }

    /// Prepares and commits; prepares again when the store has moved in a way that the change set
    /// can follow.
    private func commitPending(_ attributes: CommitAttributes) throws -> Commit? {
        // What is edited by hand; behind it come the objects that delete rules and hooks edit.
        let editedCount = pending.count
        // Hooks may count what they do: they see the pending changes anew in each preparation.
        let start = store.modelTypes.contains { $0._$hasWillSave } ? snapshot() : nil
        for _ in 0..<Self.preparationLimit {
            let time = store.configuration.clock()
            let prepared = try prepare(time)  // 1–5
            let positions = prepared.items.map(\.position)
            if positions.isEmpty {
                adopt(nil, positions)
                return nil
            }
            try notifyWillCommit(prepared)  // 5b
            let encoded = try prepared.encoded(
                attributes: attributes, base: revision,
                token: UInt64.random(in: .min ... .max), time: time.timeIntervalSinceReferenceDate)
            do {
                let commit = try store.file.commit(encoded)  // 6, 7, 9
                adopt(commit, positions)  // 8
                return commit
            } catch let refusal as CommitRefusal {
                try follow(refusal, encoded, editedCount, start)
            }
        }
        throw ConflictError(reason: .contention, conflicts: [], rejected: changes)
    }

    // MARK: Steps 1 to 5

    /// Brings the pending changes into the state in which they would be saved, and checks them.
    private func prepare(_ time: Date) throws -> NetChanges {
        insertReachable()
        defer { touched = nil }
        try settle()  // 1, 2
        var net = netChanges()  // 3
        stamp(&net, time)  // 4
        net.sort()
        var violations = try self.violations(of: net)  // 5
        if let edited = touched, !edited.isEmpty {
            for object in edited { object._$note(.editedDuringCommit, "was edited by a validator") }
            violations = misuse.inTotalOrder()
        }
        guard violations.isEmpty else {
            throw ValidationError(violations: violations, rejected: try net.changeSet())
        }
        return net
    }

    private func violations(of net: borrowing NetChanges) throws -> [Violation] {
        var violations = misuse + (try net.violations())
        let failed = Set(violations.compactMap(\.object))
        let isValidated = store.modelTypes.map { $0._$hasValidators }
        for item in net.items where isValidated[item.entity - 1] && !failed.contains(item.id) {
            let entry = pending[item.position]
            violations += Self.violations(of: entry.object, entry.base, item.kind)
        }
        return violations.inTotalOrder()
    }

    /// What the validators in code report.
    private static func violations<M: Model>(
        of object: M, _ base: AnyObject, _ kind: ChangeKind
    ) -> [Violation] {
        var validation = Validation<M>(
            operation: kind,
            old: kind == .insert
                ? nil : unsafeDowncast(base, to: Memento<M.Snapshot>.self).snapshot,
            new: kind == .delete ? nil : object._$snapshot, id: object.id)
        for validator in M.validators.validators { validator(&validation) }
        return validation.violations
    }

    // MARK: Steps 5b to 8

    private func notifyWillCommit(_ net: borrowing NetChanges) throws {
        let observers = willCommitObservers.active()
        if observers.isEmpty { return }
        let changeSet = try net.changeSet()
        // The objects still rest.
        touched = []
        defer { touched = nil }
        for observer in observers { try observer(changeSet) }
        guard let edited = touched, !edited.isEmpty else { return }
        for object in edited {
            object._$note(.editedDuringCommit, "was edited by a willCommit observer; use willSave")
        }
        let violations = misuse.inTotalOrder()
        throw ValidationError(violations: violations, rejected: changeSet)
    }

    /// Makes the context follow a store that has moved, so that the save can be prepared again.
    ///
    /// Objects that only delete rules and hooks have edited follow the store; what was edited by
    /// hand and changed by others is a conflict.
    ///
    /// - Throws: `ConflictError` when the change set was based on what others have changed.
    private func follow(
        _ refusal: CommitRefusal, _ encoded: EncodedChangeSet, _ editedCount: Int,
        _ start: Snapshot?
    ) throws {
        let edited = Set(pending[..<editedCount].map { $0.object.id })
        var conflicts: [Conflict] = []
        for reason in refusal.reasons {
            guard reason != .schemaChanged else {
                throw StoreError(
                    .modelMismatch, path: store.path,
                    message: "Another process has changed the schema of the store.",
                    advice: "Close the store and open it with the models it has now.")
            }
            if let conflict = conflict(reason, encoded.base, edited) { conflicts.append(conflict) }
        }
        guard conflicts.isEmpty else {
            throw ConflictError(
                reason: .changed, conflicts: conflicts, rejected: try encoded.changeSet())
        }
        if let start { putBack(start) }
        while pending.count > editedCount, let last = pending.last?.object { rollBack(last) }
        try moveToHead()
    }

    /// The conflict that a reason of the writer stands for; nil when preparing again mends it.
    private func conflict(
        _ reason: CommitRefusal.Reason, _ revision: Revision, _ edited: Set<ObjectID>
    ) -> Conflict? {
        let schema = store.file.schema
        switch reason {
        case .objectChanged(let entity, let id, let base, let now):
            guard edited.contains(id) else { return nil }
            return Conflict(
                entity: schema.entities[entity - 1].name, object: id, base: base, current: now)
        case .targetMissing(let key):
            let property = schema.entities[key.sourceEntity - 1].properties[key.slot]
            return Conflict(
                entity: property.target ?? "", object: key.target, base: revision, current: nil)
        // The delete rules see the new referrer after a refresh.
        case .stillReferenced, .schemaChanged: return nil
        }
    }

    /// Takes over what was saved: nothing is pending, and the context shows the commit's revision.
    private func adopt(_ commit: Commit?, _ positions: [Int]) {
        if let commit {
            for position in positions { pending[position].object._$setRevision(commit.revision) }
        }
        // Released only at the end: a class may have a deinit that looks at the context.
        let saved = pending
        defer { withExtendedLifetime(saved) {} }
        for entry in saved { entry.object._$becomeSaved() }
        pending = []
        inverseEnds = InverseEnds()
        misuse = []
        validSnapshots = []
        guard let commit, let before = commit.revision.previous else { return }
        do {
            // What others have committed since this context last looked.
            try move(to: commit.revision, try changedObjects(through: before))
        } catch {
            failure = error
        }
    }
}

extension Model {
    func _$setRevision(_ revision: Revision) { _$state.revision = revision }

    static var _$hasValidators: Bool { !validators.validators.isEmpty }

    func _$note(_ code: Violation.Code, _ what: String) {
        _$context?.note(code, self, what)
    }

    func _$becomeSaved() {
        _$state.flags = isDeleted ? [.deleted] : []
        _$state.pendingIndex = -1
    }
}
