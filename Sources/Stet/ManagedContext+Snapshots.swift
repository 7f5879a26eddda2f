import FoundationEssentials
import StetStore

extension ManagedContext {
    /// All pending changes of a context at a moment: values, references and their other ends,
    /// insertions, deletions.
    ///
    /// It holds the objects that it names. A save, a refresh, a rollback, and restoring an older
    /// snapshot make it void.
    public struct Snapshot {
        struct Entry {
            let pending: PendingObject
            let current: AnyObject
            let flags: ModelState.Flags
            let revision: Revision
        }

        fileprivate let context: ManagedContext
        fileprivate let number: UInt64
        fileprivate let entries: [Entry]
        fileprivate let inverseEnds: InverseEnds
        fileprivate let misuse: [Violation]
        /// How often the context had merged.
        fileprivate let mergeCount: Int

        /// True when `restore` no longer accepts it.
        public var isVoid: Bool { !context.validSnapshots.contains(number) }
    }

    /// Captures all pending changes.
    ///
    /// - Complexity: O(pending changes).
    public func snapshot() -> Snapshot {
        lastSnapshot += 1
        validSnapshots.append(lastSnapshot)
        return Snapshot(
            context: self, number: lastSnapshot,
            entries: pending.map { entry in
                Snapshot.Entry(
                    pending: entry, current: entry.object._$capture(),
                    flags: entry.object._$flags, revision: entry.object._$revision)
            },
            inverseEnds: inverseEnds, misuse: misuse, mergeCount: mergeCount)
    }

    /// Puts the pending changes back to what they were when the snapshot was taken: what was edited
    /// since has its values back, what was inserted since is in no context again, what was deleted
    /// since is there.
    ///
    /// The snapshot can be restored again; those taken after it are void. Nothing is read from the
    /// disk, unless others have changed what was edited during an asynchronous save.
    ///
    /// - Precondition: the snapshot is one of this context and not void.
    /// - Complexity: O(pending changes now and then).
    public func restore(_ snapshot: Snapshot) {
        checkNotSaving("restore(_:)")
        precondition(snapshot.context === self, "restore(_:) with a snapshot of another context")
        precondition(
            !snapshot.isVoid,
            "restore(_:) with a void snapshot: a save, refresh, rollback or the restore of "
                + "an older snapshot came after it; check isVoid")
        putBack(snapshot)
    }

    func putBack(_ snapshot: Snapshot) {
        while let last = validSnapshots.last, last > snapshot.number { validSnapshots.removeLast() }
        mayReferToUninserted = true
        let isMerged = snapshot.mergeCount != mergeCount
        let isPrefix =
            !isMerged && snapshot.entries.count <= pending.count
            && snapshot.entries.indices.allSatisfy {
                pending[$0].object === snapshot.entries[$0].pending.object
            }
        if isPrefix {
            // As a rule pending changes have only been added: the others keep their places.
            let before = pending
            for entry in before[snapshot.entries.count...] { revert(entry) }
            pending.removeSubrange(snapshot.entries.count...)
            for (index, entry) in snapshot.entries.enumerated() {
                pending[index] = entry.pending
            }
            // Released only now: a class may have a deinit that looks at the context.
            withExtendedLifetime(before) {}
        } else {
            replacePending(with: snapshot.entries)
        }
        for entry in snapshot.entries where entry.pending.object._$belongs(to: self) {
            entry.pending.object._$putBack(entry.current, entry.flags.rawValue)
            if isMerged { overtake(entry.pending.object, entry.revision) }
        }
        #if STET_FAULTS
            let planted = store.file.planted
            if !planted.contains("restoreForgetsInverseEnd") { inverseEnds = snapshot.inverseEnds }
        #else
            inverseEnds = snapshot.inverseEnds
        #endif
        misuse = snapshot.misuse
        catchUp()
    }

    /// Lets an object be behind again: its pending changes are those from before a merge.
    func overtake<M: Model>(_ object: M, _ revision: Revision) {
        let now = object._$state.revision
        guard now != revision, let entity = object._$state.table?.entity else { return }
        object._$state.revision = revision
        overtaken.append(ChangedObject(entity: entity, id: object.id, revision: now))
    }

    /// Makes other objects the pending ones; those that are no longer among them are reverted.
    private func replacePending(with entries: [Snapshot.Entry]) {
        let before = pending
        let entries = entries.filter { entry in
            let owner = entry.pending.object._$context
            return owner == nil || owner === self
        }
        pending = entries.map(\.pending)
        for entry in before { entry.object._$setPendingIndex(-1) }
        for (index, entry) in entries.enumerated() {
            entry.pending.object._$setPendingIndex(Int32(index))
            attach(entry.pending.object)
        }
        for entry in before where entry.object._$pendingIndex < 0 { revert(entry) }
    }

    /// Takes an object back that had left the context.
    func attach<M: Model>(_ object: M) {
        guard object._$state.table == nil else { return }
        let table = table(for: M.self)
        object._$state.table = table
        let isAlone = table.insert(object)
        precondition(isAlone, "two objects of \(M.self) with the id \(object.id)")
    }

    /// Takes one object out of the pending changes, with the values it had before.
    func revert(_ entry: PendingObject) {
        #if STET_FAULTS
            let planted = store.file.planted
            let object = entry.object
            if planted.contains("restoreForgetsInsertion"), object._$flags.contains(.inserted) {
                return object._$setPendingIndex(-1)
            }
            if planted.contains("restoreForgetsHasChanges") {
                object._$restore(entry.base)
                return object._$setPendingIndex(-1)
            }
            object._$revert(entry.base)
            if planted.contains("restoreForgetsStamp") || isPlanted("C4") {
                object._$stamp(Date(timeIntervalSinceReferenceDate: 1), isInsert: true)
            }
        #else
            entry.object._$revert(entry.base)
        #endif
    }

    /// Goes back to the last saved state: no pending changes, and out of the failed state.
    ///
    /// - Complexity: O(pending changes); nothing is read from the disk, unless others have changed
    ///   what was edited during an asynchronous save.
    public func rollback() {
        checkNotSaving("rollback()")
        precondition(
            editDepth == 0, "rollback() inside edit(_:_:): throw an error to roll the edit back")
        rollBackEverything()
    }

    func rollBackEverything() {
        let before = pending
        pending = []
        for entry in before { revert(entry) }
        inverseEnds = InverseEnds()
        misuse = []
        failure = nil
        validSnapshots = []
        moveWaiters(from: .pending, to: .none)
        catchUp()
    }

    /// Gives one object the values of the last saved state; an object that was inserted is in no
    /// context again.
    ///
    /// Nothing happens when it has no pending changes.
    ///
    /// - Complexity: O(1).
    public func rollback<M: Model>(_ object: M) {
        checkNotSaving("rollback(_:)")
        guard object.context === self else { return }
        misuse.removeAll { $0.object == object.id }
        validSnapshots = []
        rollBackLinks(of: object)
        rollBack(object)
        catchUp()
    }

    /// The members that an object has links to are part of it.
    private func rollBackLinks<M: Model>(of object: M) {
        let relationships = store.relationships.relationships(of: object._$entityNumber)
        for relationship in relationships where relationship.farSlot != nil {
            let links = pending.filter { entry in
                guard let link = entry.object as? any AnyLink,
                    link._$entityNumber == relationship.source
                else { return false }
                return link.end(relationship.nearSlot) == object.id
            }
            for link in links { rollBack(link.object) }
        }
    }

    func rollBack<M: Model>(_ object: M) {
        let index = Int(object._$state.pendingIndex)
        guard index >= 0 else { return }
        let entry = pending[index]
        let wasInserted = object._$isNew
        let now = references(of: object)
        revert(entry)
        moveEnds(of: object, from: now, to: wasInserted ? [:] : references(of: object))
        if wasInserted {
            mayReferToUninserted = true
            // Who refers to it holds it from now on, and inserts it again when saved.
            for referrer in inverseEnds.added(to: object.id) {
                table(ofEntity: referrer.entity).object(referrer.source)?
                    ._$mutateReferences(.adopt([object]))
            }
        }
        let last = pending.removeLast()
        if index < pending.count {
            pending[index] = last
            last.object._$setPendingIndex(Int32(index))
        }
    }

    func references<M: Model>(of object: M) -> [Int: ObjectID] {
        var visitor = ReferenceVisitor(mode: .all)
        object._$visitReferences(&visitor)
        return Dictionary(uniqueKeysWithValues: visitor.references.map { ($0.slot, $0.target) })
    }

    func moveEnds<M: Model>(
        of object: M, from old: [Int: ObjectID], to new: [Int: ObjectID]
    ) {
        let entity = table(for: M.self).entity
        for slot in Set(old.keys).union(new.keys) {
            inverseEnds.move(
                InverseEnds.Referrer(entity: entity, slot: slot, source: object.id),
                from: old[slot] ?? .none, to: new[slot] ?? .none)
        }
    }
}

extension Model {
    /// Without counting references to the context.
    func _$belongs(to context: ManagedContext) -> Bool {
        _$state.table?.contextID == ObjectIdentifier(context)
    }

    var _$flags: ModelState.Flags { _$state.flags }
    var _$pendingIndex: Int32 { _$state.pendingIndex }
    func _$setPendingIndex(_ index: Int32) { _$state.pendingIndex = index }
}
