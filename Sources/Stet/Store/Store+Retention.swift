public import StetStore

// What makes a journal shorter: trimming its beginning, redacting values, and copies without what
// has gone.

/// The part of the journal that a destructive action would take away.
public struct HistoryLoss: Sendable, Hashable {
    /// Steps of an author that could not be undone or redone any more.
    public struct LostSteps: Sendable, Hashable {
        /// Whose they are.
        public let author: String
        /// The part of the author's work.
        public let scope: String?
        /// How many could be undone.
        public let undoCount: Int
        /// How many could be redone.
        public let redoCount: Int
    }

    /// The last commit that would be gone; nil when all commits stay, and values of some go.
    public let floor: Revision?
    /// How many commits would be gone, or have values that would be.
    public let commitCount: Int
    /// The bytes of commits that would be gone.
    public let byteCount: Int
    /// How many values would be redacted.
    public let valueCount: Int
    /// The undo that would be lost, by author and scope.
    public let lostSteps: [LostSteps]
    /// The durable subscriptions for which commits that were to go would stay, in ascending order.
    public let heldBy: [String]

    init(_ plan: TrimPlan) {
        floor = plan.floor
        commitCount = plan.commitCount
        byteCount = plan.byteCount
        valueCount = 0
        lostSteps = plan.lostSteps.map { lost in
            LostSteps(
                author: lost.author, scope: lost.scope, undoCount: lost.undoCount,
                redoCount: lost.redoCount)
        }
        heldBy = plan.heldBy
    }

    init(_ plan: RedactionPlan) {
        floor = nil
        commitCount = plan.revisions.count
        byteCount = 0
        valueCount = plan.valueCount
        lostSteps = []
        heldBy = []
    }

    /// What would be lost, in words.
    var parts: [String] {
        if floor == nil {
            return valueCount == 0
                ? [] : ["\(valueCount) values in \(commitCount) commits, and the undo of these"]
        }
        if commitCount == 0 { return [] }
        let steps = lostSteps.map { lost in
            "\(lost.undoCount + lost.redoCount) undo steps of \(lost.author)"
                + (lost.scope.map { " in \($0)" } ?? "")
        }
        return ["\(commitCount) commits (\(byteCount) bytes)"] + steps
    }
}

extension Store {
    /// The last commit that was trimmed, whose state can still be read; 0 when the journal is
    /// whole.
    ///
    /// - Throws: `StoreError`.
    public func floor() throws -> Revision {
        try file.read { try $0.floor() }
    }

    /// Says what removing the commits before a revision would take away, and removes them when that
    /// is confirmed.
    ///
    /// The objects stay as they are, and `verify` goes on proving them. What asks for commits or
    /// states that are gone gets `StoreError` (`.historyTrimmed`). The commits go a few at a time,
    /// in transactions of their own between which others save; what was removed when it is
    /// interrupted stays removed. Their bytes are used again by later commits, and stay in the file
    /// until then: `compact(to:)` makes one without them.
    ///
    /// - Parameter revision: the first commit that stays; the state before it can be read.
    /// - Returns: the action, with its plan.
    /// - Throws: `StoreError`.
    /// - Complexity: O(entries to be removed + commits on stacks), in bounded memory.
    public func requestTrim(before revision: Revision) throws -> DestructiveAction {
        let last = revision.previous ?? .zero
        let plan = try file.read { try TrimPlan(through: last, $0) }
        return DestructiveAction(
            plan: DestructionPlan(
                title: "Trim the journal of \(path)?", destructiveTitle: "Trim",
                history: HistoryLoss(plan)),
            logger: configuration.logger
        ) { [file] in
            try file.trim(through: plan.floor)
        }
    }

    /// Says which values of some attributes of an object the journal has beside the present ones,
    /// and takes them out of it when that is confirmed: from insertions, updates and deletions,
    /// before and after.
    ///
    /// The object is not changed. A present value that would go has to be replaced by a save first,
    /// or the object deleted. The chain of hashes stays valid; commits tell that values are
    /// redacted, and cannot be undone any more (`.erased`). It is one transaction, for which saves
    /// wait. The bytes stay in free parts of the file until `compactInPlace()` or `compact(to:)`
    /// makes one without them, and in the backups that were made before.
    ///
    /// States of the past show an optional property as nil, and any other as the empty value of its
    /// stored type, as Core Data shows a property without a value: `false`, 0, `""`, no bytes, no
    /// elements, the reference date, a `UUID` of zeros. Snapshots, objects and queries agree:
    /// `$0.email == ""` finds an object whose email was redacted. A type that has no such value (a
    /// `URL`, a `CodableAttribute`, a `RawAttribute` without that raw value) cannot be read there:
    /// snapshots throw `StoreError` (`.unreadableValue`), and no condition holds for it. Declare
    /// such a property as optional when its values may have to go.
    ///
    /// - Parameters:
    ///   - type: the model of the object.
    ///   - id: of the object, which may be deleted.
    ///   - properties: attributes; a reference cannot be redacted.
    /// - Returns: the action, with its plan.
    /// - Throws: `StoreError`: `.notFound` when there never was such an object, `.valueInUse` when
    ///   a present value is among those that would go, or the only one. `confirm()` throws them,
    ///   too, when the store has moved.
    /// - Complexity: O(bytes of the commits that change the object).
    public func requestRedaction<M: Model>(
        of type: M.Type, id: ObjectID, _ properties: PartialKeyPath<M.Snapshot>...
    ) throws -> DestructiveAction {
        let slots = properties.map { keyPath in
            guard let slot = M._$description.slot(of: keyPath),
                M._$description.entity.properties[slot].type != .reference
            else { trap("\(keyPath) is no attribute of \(M._$name)") }
            return slot
        }
        guard let entity = file.schema.number(ofEntity: M._$name) else {
            throw StoreError(
                .notFound, path: path, message: "The store has no \(M._$name).",
                advice: "Open it with this model.")
        }
        let request = RedactionRequest(entity: entity, object: id, slots: slots)
        let plan = try file.redactionPlan(request)
        return DestructiveAction(
            plan: DestructionPlan(
                title: "Redact the history of \(M._$name) \(id)?", destructiveTitle: "Redact",
                history: HistoryLoss(plan)),
            logger: configuration.logger
        ) { [file] in
            try file.redact(request)
        }
    }

    /// Makes a copy of the store that has nothing but what is in use: no free pages, and no byte of
    /// what was trimmed or redacted, of values that were deleted or replaced once the commits that
    /// hold them are trimmed, of attributes that a migration has removed once theirs are, nor of
    /// the authors of trimmed commits.
    ///
    /// The journal goes on holding what objects were before, deleted ones included: trim it, or
    /// redact values. An author all of whose commits are trimmed has empty stacks in the copy.
    ///
    /// It has the store's id and journal, is verified, and is there whole or not at all. To have it
    /// in the place of the store, call `compactInPlace()`: commits that are made between a copy and
    /// its renaming would be lost.
    ///
    /// - Parameter path: of the copy; there is no file.
    /// - Throws: `StoreError`: `.alreadyExists`, `.damaged` when the copy does not verify, and
    ///   those of the file system.
    /// - Complexity: O(bytes in use), twice on the disk for a while, in bounded memory but for the
    ///   verification.
    public func compact(to path: String) throws {
        _ = try file.copy(to: path)
    }

    /// Puts such a copy in the place of the store, and closes the store.
    ///
    /// Saves of all processes wait meanwhile, and none is lost. Reads go on, in the file that was
    /// there before. Who has the store open, in this process or another, can then only go on
    /// reading that: the next save throws `StoreError` (`.storeMoved`), and nothing of it is
    /// written. Close the store there and open it again.
    ///
    /// - Throws: `StoreError`: `.damaged` when the copy does not verify, and those of the file
    ///   system; the store is as it was, and open.
    /// - Complexity: as `compact(to:)`.
    public func compactInPlace() throws {
        _ = try file.compactInPlace()
    }
}
