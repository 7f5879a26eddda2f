public import StetStore

// Operations that shorten a journal: trimming, redaction, and compaction into a copy.

extension DestructiveAction {
    /// The part of the journal that a destructive action would remove.
    public struct HistoryLoss: Sendable, Hashable {
        /// The steps of an author that could not be undone or redone any more.
        public struct LostSteps: Sendable, Hashable {
            /// The author.
            public let author: String
            /// The part of the author's work.
            public let scope: String?
            /// The number of steps that could be undone.
            public let undoCount: Int
            /// The number of steps that could be redone.
            public let redoCount: Int
        }

        /// The last commit that would be removed; nil when all commits stay and only values are
        /// redacted.
        public let floor: Revision?
        /// The number of commits that would be removed, or have values that would be.
        public let commitCount: Int
        /// The number of bytes of the commits that would be removed.
        public let byteCount: Int
        /// The number of values that would be redacted.
        public let valueCount: Int
        /// The undo steps that would be lost, by author and scope.
        public let lostSteps: [LostSteps]
        /// The durable subscriptions that would keep commits from being removed, in ascending
        /// order.
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

        /// Returns the plan of an action that causes the loss.
        fileprivate func destruction(
            _ destructiveTitle: String, _ title: Sentence, entity: String = "",
            _ messages: MessageTable
        ) -> DestructiveAction.Plan {
            DestructiveAction.Plan(
                title, entity: entity, destructiveTitle, history: self, messages)
        }

        /// Returns the losses in words.
        func parts(_ messages: MessageTable) -> [String] {
            func text(_ key: String, _ count: Int, _ limit: String) -> String {
                messages.text(Sentence(key, limit: limit, count: count), entity: "")
            }
            if floor == nil {
                let key = "{count} values in {limit} commits, and the undo of these"
                return valueCount == 0 ? [] : [text(key, valueCount, "\(commitCount)")]
            }
            if commitCount == 0 { return [] }
            let steps = lostSteps.map { lost in
                text(
                    "{count} undo steps of {limit}", lost.undoCount + lost.redoCount,
                    lost.author + (lost.scope.map { " in \($0)" } ?? ""))
            }
            return [text("{count} commits ({limit} bytes)", commitCount, "\(byteCount)")] + steps
        }
    }
}

extension Store {
    /// Returns the last commit that was trimmed, whose state can still be read; 0 when the journal
    /// is complete.
    ///
    /// - Throws: `StoreError`.
    public func floor() throws -> Revision {
        try file.read { try $0.floor() }
    }

    /// Returns an action that describes what removing the commits before a revision would lose, and
    /// removes them once confirmed.
    ///
    /// The objects do not change, and `verify` still proves them. Reading removed commits or states
    /// throws `StoreError` (`.historyTrimmed`). Commits are removed a few at a time, in separate
    /// transactions between which others can save; an interruption leaves the earlier ones removed.
    /// Their bytes stay in the file until later commits reuse them: `compact(to:)` makes a file
    /// without them.
    ///
    /// At a node of a shared journal the commits are removed from that, too, and from all other
    /// nodes as soon as they have followed it.
    ///
    /// - Parameter revision: the first commit that stays; the state before it can still be read.
    /// - Returns: the action, with its plan.
    /// - Throws: `StoreError`.
    /// - Complexity: O(entries to be removed + commits on stacks), in bounded memory.
    public func requestTrim(before revision: Revision) throws -> DestructiveAction {
        try DestructiveAction(trimming: self, before: revision)
    }

    /// Returns an action that lists the past values of some attributes of an object, and redacts
    /// them in the journal once confirmed: those before and after insertions, updates and
    /// deletions.
    ///
    /// The object does not change. If a current value would be redacted, first replace it by a
    /// save, or delete the object. The hash chain stays valid; the commits show that values are
    /// redacted, and cannot be undone any more (`.erased`). It is one transaction, for which saves
    /// wait. The bytes stay in free parts of the file until `compactInPlace()` or `compact(to:)`
    /// makes a file without them, and in earlier backups.
    ///
    /// Past states show a redacted optional property as nil, and any other as the empty value of
    /// its stored type, as Core Data shows a property without a value: `false`, 0, `""`, no bytes,
    /// no elements, the reference date, a `UUID` of zeros. Snapshots, objects and queries agree:
    /// `$0.email == ""` finds an object whose email was redacted. A type without such a value (a
    /// `URL`, a `CodableAttribute`, a `RawAttribute` without that raw value) cannot be read there:
    /// snapshots throw `StoreError` (`.unreadableValue`), and the value satisfies no condition.
    /// Declare such a property as optional if its values may have to be redacted.
    ///
    /// Drafts (`store.drafts`) lose their changes of these attributes, too.
    ///
    /// At a node of a shared journal the values are redacted in that, too, and at all other nodes
    /// as soon as they have followed it.
    ///
    /// - Parameters:
    ///   - type: the model of the object.
    ///   - id: the id of the object, which may be deleted.
    ///   - properties: the attributes; a reference cannot be redacted.
    /// - Returns: the action, with its plan.
    /// - Throws: `StoreError`: `.notFound` when there never was such an object, `.valueInUse` when
    ///   a current value is among those to redact, or the only one. `confirm()` throws them, too,
    ///   when the store has changed since.
    /// - Complexity: O(bytes of the commits that change the object).
    public func requestRedaction<M: Model>(
        of type: M.Type, id: ObjectID, _ properties: PartialKeyPath<M.Snapshot>...
    ) throws -> DestructiveAction {
        try DestructiveAction(
            redacting: [id], type, properties, in: self,
            Sentence("Redact the history of {entity} {limit}?", limit: "\(id)"))
    }

    /// Returns an action that lists the past values of some attributes of several objects, and
    /// redacts them in the journal once confirmed, all in one transaction or none.
    ///
    /// - Parameters:
    ///   - type: the model of the objects.
    ///   - ids: the ids of the objects, which may be deleted.
    ///   - properties: the attributes; a reference cannot be redacted.
    /// - Returns: the action, with its plan.
    /// - Throws: the errors of the redaction of one object, for the first object that has one.
    /// - Complexity: O(bytes of the commits that change the objects).
    public func requestRedaction<M: Model>(
        of type: M.Type, ids: [ObjectID], _ properties: PartialKeyPath<M.Snapshot>...
    ) throws -> DestructiveAction {
        let ids = Set(ids).sorted()
        return try DestructiveAction(
            redacting: ids, type, properties, in: self,
            Sentence("Redact the history of {count} of {entity}?", count: ids.count))
    }

    /// Makes a copy of the store that contains only data in use: no free pages, and no bytes of
    /// anything trimmed or redacted.
    ///
    /// Once the commits that contain them are trimmed, the copy also has no bytes of deleted or
    /// replaced values, of attributes that a migration has removed, and of authors.
    ///
    /// The journal still contains the earlier values of objects, including deleted ones: trim it,
    /// or redact values. An author whose commits are all trimmed has empty stacks in the copy.
    ///
    /// The copy has the store's id and journal, is verified, and exists complete or not at all. To
    /// replace the store with a compacted copy, call `compactInPlace()`: commits that are made
    /// between a copy and its renaming would be lost.
    ///
    /// - Parameter path: the path of the copy, where no file may exist.
    /// - Throws: `StoreError`: `.alreadyExists`, `.damaged` when the copy does not verify, and
    ///   errors of the file system.
    /// - Complexity: O(bytes in use), which are on the disk twice for a while; memory is bounded
    ///   except for the verification.
    public func compact(to path: String) throws {
        _ = try file.copy(to: path)
    }

    /// Replaces the file of the store with a compacted copy; the store stays open.
    ///
    /// This completes a redaction or a trim of a store that is in use: contexts, pending edits and
    /// observers continue in the new file. Saves of all processes wait until it is done, and none
    /// is lost. The copy takes its place in a moment in which this process has no read open; in the
    /// last of the five seconds for which it waits for that, new reads wait, too.
    ///
    /// Another process that has the store open can then only read the previous file: its next save
    /// throws `StoreError` (`.storeMoved`) and writes nothing. Close the store there and open it
    /// again.
    ///
    /// - Throws: `StoreError`: `.damaged` when the copy does not verify, `.storeBusy` when a read
    ///   stays open or this is called within one, `.inMemory`, and errors of the file system; the
    ///   file is then unchanged.
    /// - Complexity: as `compact(to:)`.
    public func compactInPlace() throws {
        _ = try file.compactInPlace()
    }
}

extension DestructiveAction {
    /// An action that removes the first commits from the journal of a store.
    fileprivate init(trimming store: Store, before revision: Revision) throws {
        let file = store.file
        let plan = try file.read { try TrimPlan(through: revision.previous ?? .zero, $0) }
        let loss = DestructiveAction.HistoryLoss(plan).destruction(
            "Trim", Sentence("Trim the journal of {limit}?", limit: store.path),
            store.configuration.messages)
        self.init(plan: loss, logger: store.configuration.logger) {
            try StoreNode(file).trim(through: plan.floor)
        }
    }

    fileprivate init<M: Model>(
        redacting ids: [ObjectID], _ type: M.Type, _ properties: [PartialKeyPath<M.Snapshot>],
        in store: Store, _ title: Sentence
    ) throws {
        let file = store.file
        let requests = try ids.map { try RedactionRequest(file, type, $0, properties) }
        let loss = DestructiveAction.HistoryLoss(try file.redactionPlan(requests)).destruction(
            "Redact", title, entity: M._$name, store.configuration.messages)
        self.init(plan: loss, logger: store.configuration.logger) {
            defer { store.recentViews.forget() }
            try StoreNode(file).redact(requests)
        }
    }
}

extension RedactionRequest {
    fileprivate init<M: Model>(
        _ file: StoreFile, _ type: M.Type, _ id: ObjectID,
        _ properties: [PartialKeyPath<M.Snapshot>]
    ) throws {
        let slots = properties.flatMap { keyPath in
            let slots = M._$description.slots(of: keyPath)
            let isAttribute = slots.allSatisfy {
                M._$description.entity.properties[$0].type != .reference
            }
            if slots.isEmpty || !isAttribute {
                trap("\(keyPath) is no attribute of \(M._$name)")
            }
            return slots
        }
        guard let entity = file.schema.number(ofEntity: M._$name) else {
            throw StoreError(
                .notFound, path: file.path, message: "The store has no \(M._$name).",
                advice: "Open it with this model.")
        }
        self.init(entity: entity, object: id, slots: slots)
    }
}
