import StetStore

/// Moves a context and every live object from one revision to another.
struct StoreFollower {
    private let core: ContextCore

    init(_ core: ContextCore) { self.core = core }

    /// Moves to the last commit and merges the pending changes; when it throws, nothing has moved.
    ///
    /// - Parameter rejected: the changes that would have been saved.
    /// - Throws: `ConflictError` where the merge policy does not decide; `StoreError`.
    func moveToHead(rejected: @autoclosure () -> ChangeSet?) throws {
        let head = try core.store.file.head().revision
        let changed = try changedObjects(through: head)
        var merge = ContextMerge(core)
        try core.store.file.read { reader in
            for change in changed { try merge.add(change, reader, asOf: head) }
            try merge.addMissing(reader, asOf: head)
        }
        guard merge.conflicts.isEmpty else {
            throw ConflictError(
                reason: merge.reason, conflicts: merge.conflicts,
                rejected: rejected() ?? core.changes())
        }
        let readings = try read(changed, asOf: head)
        let links = try linksStored(asOf: head)
        merge.apply()
        show(readings, links, at: head)
        core.setFailure(nil)
    }

    /// Moves to the last commit if others have changed no object with pending changes, and deleted
    /// none that these refer to; otherwise does nothing.
    func moveToHeadUnmerged() throws {
        let head = try core.store.file.head().revision
        let changed = try changedObjects(through: head)
        if changed.contains(where: { core.object($0.key)?.hasChanges ?? false }) { return }
        var merge = ContextMerge(core)
        try core.store.file.read { try merge.addMissing($0, asOf: head) }
        guard merge.isEmpty else { return }
        let readings = try read(changed, asOf: head)
        show(readings, try linksStored(asOf: head), at: head)
    }

    /// Shows a commit of the context, and the commits of others before it.
    ///
    /// A read that fails puts the context into its failed state.
    func show(_ commit: Commit) {
        guard let before = commit.revision.previous else { return }
        core.resolving(()) {
            let changed = try changedObjects(through: before)
            let readings = try read(changed, asOf: commit.revision)
            show(readings, try linksStored(asOf: commit.revision), at: commit.revision)
        }
    }

    /// Brings objects up to date that could not follow the store while they had pending changes, or
    /// all objects when the reads after a save failed.
    func catchUp() throws {
        let head = max(core.revision, core.saves.last)
        let readings = try read(try changedObjects(through: head), asOf: head)
        show(readings, try linksStored(asOf: head), at: head)
    }

    /// Moves back to an earlier revision; objects with pending changes already show that revision.
    func moveBack(to revision: Revision) throws {
        let live = core.usedTables.flatMap(\.liveObjects)
        let changed = live.filter { !$0.hasChanges && $0._$revision > revision }.map {
            ChangedObject(key: $0._$key, revision: $0._$revision)
        }
        let readings = try core.store.file.read { reader in
            try changed.compactMap { change -> Reading? in
                let last = try reader.lastChange(
                    ofEntity: change.key.entity, change.key.id, asOf: revision)
                return try reading(
                    ChangedObject(key: change.key, revision: last?.revision ?? .zero), reader,
                    asOf: revision)
            }
        }
        show(readings, [:], at: revision)
    }

    // MARK: What has changed

    /// Returns the live objects that commits after the context's revision have changed, each once,
    /// with its last change, in ascending order of id.
    ///
    /// - Complexity: O(commits since its revision) or O(live objects), whichever is less.
    private func changedObjects(through head: Revision) throws -> [ChangedObject] {
        let revision = core.revision
        guard head > revision || core.isBehind else { return [] }
        let isTrimmed = try core.store.floor() > revision
        if isTrimmed || core.liveObjectCount < Int(clamping: head.number &- revision.number) {
            return try changedLiveObjects(through: head)
        }
        var changed: [ObjectKey: ChangedObject] = [:]
        for change in core.overtaken {
            // Skips objects that have been read again since.
            if let object = core.object(change.key), object._$revision < change.revision {
                changed[change.key] = change
            }
        }
        try core.store.file.read { reader in
            var next = revision.next
            while next <= head {
                try reader.forEachTouchedObject(of: next) { entity, id, _ in
                    let key = ObjectKey(entity, id)
                    guard core.object(key) != nil else { return }
                    changed[key] = ChangedObject(key: key, revision: next)
                }
                next = next.next
            }
        }
        return changed.values.sorted { $0.key.id < $1.key.id }
    }

    private func changedLiveObjects(through head: Revision) throws -> [ChangedObject] {
        let live = core.usedTables.flatMap(\.liveObjects)
        return try core.store.file.read { reader in
            try live.compactMap { object in
                let last = try reader.lastChange(
                    ofEntity: object._$entityNumber, object.id, asOf: head)
                guard let last, last.revision > object._$revision else { return nil }
                return ChangedObject(key: object._$key, revision: last.revision)
            }.sorted { $0.key.id < $1.key.id }
        }
    }

    // MARK: Showing it

    /// The state of a changed object at another revision, read and not shown yet.
    private struct Reading {
        let change: ChangedObject
        let object: any Model
        /// Makes the object show the state.
        let show: () -> Void
    }

    private func read(_ changed: [ChangedObject], asOf head: Revision) throws -> [Reading] {
        if changed.isEmpty { return [] }
        return try core.store.file.read { reader in
            try changed.compactMap { try reading($0, reader, asOf: head) }
        }
    }

    private func reading(
        _ change: ChangedObject, _ reader: borrowing StoreReader, asOf revision: Revision
    ) throws -> Reading? {
        guard let object = core.object(change.key) else { return nil }
        let table = core.table(ofEntity: change.key.entity)
        return Reading(
            change: change, object: object,
            show: try table.reading(of: object, reader, asOf: revision, change.revision))
    }

    /// Returns the states of pending links at a revision.
    private func linksStored(asOf revision: Revision) throws -> [LinkKey: Membership] {
        if core.pending.links.isEmpty { return [:] }
        return try core.store.file.read { reader in
            var stored: [LinkKey: Membership] = [:]
            for key in core.pending.links.keys {
                stored[key] = try reader.link(key, asOf: revision).membership
            }
            return stored
        }
    }

    /// Shows the changed objects in their states at a revision.
    ///
    /// Objects with pending changes are skipped: they have been merged, or stay behind until they
    /// have none. Nothing here can fail: a context that had moved in part would show two revisions.
    private func show(
        _ readings: [Reading], _ links: [LinkKey: Membership], at revision: Revision
    ) {
        var behind: [ChangedObject] = []
        for reading in readings where reading.object._$core === core {
            if !reading.object.hasChanges {
                reading.show()
            } else if reading.object._$revision < reading.change.revision {
                behind.append(reading.change)
            }
        }
        core.setOvertaken(behind)
        core.move(to: revision)
        core.pending.rebaseLinks(favorsMine: core.settings.mergePolicy.favorsMine) { key in
            links[key] ?? core.pending.links[key]?.below ?? .absent
        }
    }
}

/// An object that another commit changed, and the revision of its last change.
struct ChangedObject {
    let key: ObjectKey
    let revision: Revision
}

extension _ObjectTable {
    /// Reads the state of an object at a revision; the returned closure makes the object show it.
    fileprivate func reading<M: Model>(
        of object: M, _ reader: borrowing StoreReader, asOf revision: Revision,
        _ lastChange: Revision
    ) throws -> () -> Void {
        let capture = try reader.withRecord(ofEntity: entity, object.id, asOf: revision) {
            try self.capture(object.id, $0.body, as: M.self)
        }
        return {
            if let capture { object._$restore(capture) }
            object._$setDeleted(capture == nil)
            object._$state.revision = lastChange
        }
    }
}

// MARK: - Going back, and catching up

extension ContextCore {
    /// Restores what was pending at a moment and, if requested, moves back to the revision of that
    /// moment.
    func rollBack(to capture: PendingChanges.Capture, isRewinding: Bool = false) {
        pending.restore(capture, isRewinding: isRewinding)
        guard isRewinding else { return catchUp() }
        do {
            try StoreFollower(self).moveBack(to: capture.revision)
        } catch {
            // The earlier state was trimmed, so the objects stay behind until they have no pending
            // changes.
            resolving(()) { try overtakeAll() }
        }
    }

    private func overtakeAll() throws {
        var behind: [ChangedObject] = []
        try store.file.read { reader in
            for entry in pending.objects {
                let key = entry.key
                let last = try reader.lastChange(ofEntity: key.entity, key.id, asOf: revision)
                guard let last, last.revision > entry.object._$revision else { continue }
                behind.append(ChangedObject(key: key, revision: last.revision))
            }
        }
        setOvertaken(behind)
    }

    /// Rolls back all pending changes.
    func rollBackEverything() {
        pending.rollBackEverything()
        setFailure(nil)
        saves.forgetPending()
        catchUp()
    }

    /// Brings objects up to date that could not follow the store while they had pending changes.
    func catchUp() {
        // Objects of a save in flight keep showing the values that it saves.
        guard isBehind || saves.last > revision, saves.inFlight == nil else { return }
        resolving(()) { try StoreFollower(self).catchUp() }
    }

    /// Records that others have changed an object that has pending changes.
    func markOutdated<M: Model>(_ object: M, _ revision: Revision) {
        setOvertaken(overtaken + [ChangedObject(key: object._$key, revision: revision)])
    }

    /// True while objects with pending changes are behind the revision that the context shows.
    var isBehind: Bool { !overtaken.isEmpty }
}
