import StetStore

/// The edits that were made during a save, removed from the objects while the save is prepared
/// again.
struct EditsDuringSave {
    private let capture: PendingChanges.Capture
    /// The objects of the save, whose later edits are based on it.
    private let isOfSave: Set<ObjectIdentifier>
    /// The net effect of the edits.
    let changes: ChangeSet

    /// Removes what is pending from the objects after a save was submitted.
    init(takenFrom core: ContextCore, of sent: PendingChanges.Sent) {
        changes = core.changes()
        isOfSave = Set(sent.objects.map { ObjectIdentifier($0.object) })
        capture = core.pending.takeOff()
    }

    /// Makes later edits pending again, after the save that they are based on was submitted again.
    static func apply(_ later: EditsDuringSave, in core: ContextCore) {
        for entry in later.capture.entries { later.apply(entry, entry.object, core) }
        core.pending.resume(links: later.capture.links, rejections: later.capture.rejections)
    }

    private func apply<M: Model>(
        _ entry: PendingChanges.Capture.Entry, _ object: M, _ core: ContextCore
    ) {
        guard isOfSave.contains(ObjectIdentifier(object)) else {
            let now = object._$revision
            core.pending.resume(entry, showing: entry.current)
            // Changes of others are merged when this object is saved.
            if object._$core === core, now > entry.revision, entry.revision > .zero {
                object._$setRevision(entry.revision)
                core.markOutdated(object, now)
            }
            return
        }
        // The merge of the save's changes removed the object.
        if object._$flags.contains(.deleted) || object._$core !== core { return }
        let base = object._$capture()
        core.pending.resume(entry, showing: merged(entry, object, core), onto: base)
    }

    /// Returns the values that were edited since the save, merged into those that the object shows
    /// now.
    private func merged<M: Model>(
        _ entry: PendingChanges.Capture.Entry, _ object: M, _ core: ContextCore
    ) -> AnyObject {
        do {
            guard let table = object._$table else { return entry.current }
            let base = try M._$body(of: entry.pending.base)
            let sides = MergeSides(
                table, object.id, base: base, mine: try M._$body(of: entry.current),
                theirs: try object._$body())
            let merged = try sides.later(than: object, core, rejected: changes)
            return try table.capture(object.id, merged, as: M.self)
        } catch {
            // The next save reports a value without a stored form.
            return entry.current
        }
    }
}

extension ContextCore {
    /// Rolls back the changes that were pending at a moment and have not been edited since.
    func withdraw(_ changes: PendingChanges.Capture?) {
        guard let changes else { return }
        for entry in changes.entries { withdraw(entry, entry.object) }
        pending.rollBackLinks { key in
            changes.links[key].map { $0.now == pending.links[key]?.now } ?? false
        }
        catchUp()
    }

    private func withdraw<M: Model>(_ entry: PendingChanges.Capture.Entry, _ object: M) {
        guard object._$core === self, let present = pending[object],
            let table = object._$table
        else { return }
        resolving(()) {
            let sides = MergeSides(
                table, object.id, base: try M._$body(of: entry.current), mine: try object._$body(),
                theirs: try M._$body(of: present.base))
            let isDeleted = object._$flags.contains(.deleted)
            // Derived values may have changed with what was withdrawn before.
            if try sides.hasNoChangeOfMine(), entry.flags.contains(.deleted) == isDeleted {
                return pending.rollBack(object)
            }
            if object.isInserted { return }
            let capture = try table.capture(object.id, sides.later(than: object, self), as: M.self)
            pending.change(object) { _ in object._$restore(capture) }
        }
    }
}
