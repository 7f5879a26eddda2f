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
    /// How often `willSave` and the delete rules run until nothing changes any more.
    static let roundLimit = 8

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
        try checkUsable()
        do {
            return try performSave(label)
        } catch {
            if onFailure.rollsBack { rollBackEverything() }
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
            throw error
        }
    }

    /// Checks the pending changes as a save would, and changes nothing.
    ///
    /// - Throws: `ValidationError` with every violation; the error that an earlier read inside an
    ///   accessor met.
    /// - Complexity: O(pending changes).
    public func validate() throws {
        try checkUsable()
        let start = snapshot()
        defer { putBack(start) }
        _ = try prepare(store.configuration.clock())
    }

    /// Steps 0 to 9.
    ///
    /// Whatever is thrown, the pending changes are what they were.
    private func performSave(_ label: String?) throws -> Commit? {
        let attributes = CommitAttributes(author: author, scope: scope, label: label)
        let start = snapshot()  // 0
        do {
            let commit = try commitPending(attributes, start)
            if let commit {
                // 9, on this isolation
                for observer in didCommitObservers.active() { observer(commit) }
            }
            return commit
        } catch {
            putBack(start)
            throw error
        }
    }

    /// Prepares and commits; prepares again when the store has moved in a way that the change set
    /// can follow.
    private func commitPending(
        _ attributes: CommitAttributes, _ start: Snapshot
    ) throws -> Commit? {
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
                try follow(refusal, encoded, start)
            }
        }
        throw ConflictError(reason: .contention, conflicts: [], rejected: changes)
    }

    // MARK: Steps 1 to 5

    /// Brings the pending changes into the state in which they would be saved, and checks them.
    private func prepare(_ time: Date) throws -> NetChanges {
        insertReachable()
        try settle()  // 1, 2
        defer { endSettling() }
        var net = netChanges()  // 3
        stamp(&net, time)  // 4
        net.sort()
        let violations = try self.violations(of: net)  // 5
        guard violations.isEmpty else {
            throw ValidationError(violations: violations, rejected: try net.changeSet())
        }
        return net
    }

    /// Runs normalisers, delete rules and `willSave` until nothing changes any more.
    private func settle() throws {
        var objects = pending.map(\.object)
        for round in 1... {
            let before = round == Self.roundLimit ? objects.map { ($0, $0._$capture()) } : []
            beginSettling()
            try applyDeleteRules()
            for object in objects { object.willSave() }
            for object in objects { normalize(object) }
            objects = touched ?? []
            for object in objects { normalize(object) }
            insertReachable()
            if objects.isEmpty { return }
            if round == Self.roundLimit {
                endSettling()
                throw unsettled(before)
            }
        }
    }

    private func beginSettling() {
        touched = []
        for entry in pending { entry.object._$rest() }
    }

    private func endSettling() {
        touched = nil
        for entry in pending { entry.object._$wake() }
    }

    private func normalize<M: Model>(_ object: M) {
        guard !object.isDeleted, object._$state.pendingIndex >= 0 else { return }
        let base = object.isInserted ? nil : pending[Int(object._$state.pendingIndex)].base
        object._$normalize(sinceMemento: base)
    }

    /// Names the first property that still changed in the last round.
    private func unsettled(_ before: [(object: any Model, memento: AnyObject)]) -> ValidationError {
        var violations: [Violation] = []
        for (object, memento) in before {
            if let violation = changedProperty(of: object, since: memento) {
                violations.append(violation)
            }
        }
        return ValidationError(violations: violations.inTotalOrder(), rejected: changes)
    }

    private func changedProperty<M: Model>(of object: M, since memento: AnyObject) -> Violation? {
        let entity = table(for: M.self).entity
        var net = NetChanges(schema: store.file.schema)
        let old = net.encode(entity: entity) { M._$encode(memento, into: &$0) }
        let new = net.encode(entity: entity) { object._$encode(into: &$0) }
        let item = NetChanges.Item(
            kind: .update, entity: entity, id: object.id, base: .zero, before: old, after: new)
        net.append(item)
        guard let change = (try? net.changeSet())?.changes.first,
            let first = change.properties.first
        else { return nil }
        return Violation(
            code: .unsettled, entity: M._$name, object: object.id, property: first.name,
            slot: M._$description.entity.slot(of: first.name),
            message: "\(first.name) was still changed by willSave in round \(Self.roundLimit)")
    }

    /// The pending changes that make a difference to stored bytes.
    func netChanges() -> NetChanges {
        var net = NetChanges(schema: store.file.schema)
        for position in pending.indices {
            append(pending[position].object, position, to: &net)
        }
        return net
    }

    private func append<M: Model>(_ object: M, _ position: Int, to net: inout NetChanges) {
        let entity = object._$state.table?.entity ?? 0
        let base = pending[position].base
        let kind: ChangeKind
        switch (object.isInserted, object.isDeleted) {
        case (true, true): return
        case (true, false): kind = .insert
        case (false, true): kind = .delete
        case (false, false): kind = .update
        }
        let before =
            kind == .insert ? 0..<0 : net.encode(entity: entity) { M._$encode(base, into: &$0) }
        let after =
            kind == .delete ? 0..<0 : net.encode(entity: entity) { object._$encode(into: &$0) }
        if kind == .update, net.areEqual(before, after) { return }
        net.append(
            NetChanges.Item(
                kind: kind, entity: entity, id: object.id, base: object._$state.revision,
                before: before, after: after, position: position))
    }

    private func stamp(_ net: inout NetChanges, _ time: Date) {
        let word = time.timeIntervalSinceReferenceDate.bitPattern
        let entities = store.file.schema.entities
        for item in net.items where item.kind != .delete {
            let isInsert = item.kind == .insert
            var isStamped = false
            for (slot, property) in entities[item.entity - 1].properties.enumerated() {
                guard let stamp = property.stamp, isInsert || stamp == .update else { continue }
                net.overwrite(date: word, slot: slot, in: item)
                isStamped = true
            }
            if isStamped { pending[item.position].object._$stamp(time, isInsert: isInsert) }
        }
    }

    private func violations(of net: borrowing NetChanges) throws -> [Violation] {
        var violations = misuse + (try net.violations())
        let failed = Set(violations.compactMap(\.object))
        for item in net.items where !failed.contains(item.id) {
            let entry = pending[item.position]
            violations += Self.violations(of: entry.object, entry.base, item.kind)
        }
        return violations.inTotalOrder()
    }

    /// What the validators in code report.
    private static func violations<M: Model>(
        of object: M, _ base: AnyObject, _ kind: ChangeKind
    ) -> [Violation] {
        let validators = M.validators.validators
        if validators.isEmpty { return [] }
        var validation = Validation<M>(
            operation: kind,
            old: kind == .insert
                ? nil : unsafeDowncast(base, to: Memento<M.Snapshot>.self).snapshot,
            new: kind == .delete ? nil : object._$snapshot, id: object.id)
        for validator in validators { validator(&validation) }
        return validation.violations
    }

    // MARK: Steps 5b to 8

    private func notifyWillCommit(_ net: borrowing NetChanges) throws {
        let observers = willCommitObservers.active()
        if observers.isEmpty { return }
        let changeSet = try net.changeSet()
        beginSettling()
        defer { endSettling() }
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
    /// - Throws: `ConflictError` when the change set was based on what others have changed.
    private func follow(
        _ refusal: CommitRefusal, _ encoded: EncodedChangeSet, _ start: Snapshot
    ) throws {
        let schema = store.file.schema
        var conflicts: [Conflict] = []
        for reason in refusal.reasons {
            switch reason {
            case .objectChanged(let entity, let id, let base, let now):
                conflicts.append(
                    Conflict(
                        entity: schema.entities[entity - 1].name, object: id, base: base,
                        current: now))
            case .targetMissing(let key):
                let property = schema.entities[key.sourceEntity - 1].properties[key.slot]
                conflicts.append(
                    Conflict(
                        entity: property.target ?? "", object: key.target, base: encoded.base,
                        current: nil))
            case .stillReferenced: break  // The delete rules see the new referrer after a refresh.
            case .schemaChanged:
                throw StoreError(
                    .modelMismatch, path: store.path,
                    message: "Another process has changed the schema of the store.",
                    advice: "Close the store and open it with the models it has now.")
            }
        }
        guard conflicts.isEmpty else {
            throw ConflictError(
                reason: .changed, conflicts: conflicts, rejected: try encoded.changeSet())
        }
        putBack(start)
        try refresh()
    }

    /// Takes over what was saved: nothing is pending, and the context shows the commit's revision.
    private func adopt(_ commit: Commit?, _ positions: [Int]) {
        if let commit {
            for position in positions { pending[position].object._$setRevision(commit.revision) }
        }
        for entry in pending { entry.object._$becomeSaved() }
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
    func _$rest() { _$state.flags.insert(.resting) }
    func _$wake() { _$state.flags.remove(.resting) }
    func _$setRevision(_ revision: Revision) { _$state.revision = revision }

    func _$note(_ code: Violation.Code, _ what: String) {
        _$context?.note(code, self, what)
    }

    func _$becomeSaved() {
        _$state.flags = isDeleted ? [.deleted] : []
        _$state.pendingIndex = -1
    }
}
