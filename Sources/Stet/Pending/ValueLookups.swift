import StetStore

/// The values of pending objects in the unique indexes in which something was looked up.
///
/// Kept so that a look-up between edits costs as much as those edits, not as much as everything
/// that is pending: a loop of `upsert` calls would otherwise take time in proportion to its square.
struct ValueLookups {
    private struct Known {
        var values = PendingValues()
        /// The number of edits that the values show.
        var editCount = 0
    }

    private var known: [Int: Known] = [:]
    /// The objects that were edited since the first look-up, in order.
    private var edited: [ObjectKey] = []

    var editCount: Int { edited.count }

    /// Notes an edit; forgets everything when the edits outnumber the pending objects by far, so
    /// that edits and look-ups of few objects take no more and more memory.
    mutating func note(_ object: ObjectKey, amongPending count: Int) {
        if edited.count > 2 * count + 1_000 { self = ValueLookups() }
        edited.append(object)
    }

    /// Forgets the values of an index.
    mutating func forget(_ index: NumberedIndex) { known[index.number] = nil }

    /// Returns the objects that were edited since the last look-up in an index; nil when there was
    /// none that is remembered.
    func edited(since index: NumberedIndex) -> [ObjectKey]? {
        known[index.number].map { Array(edited.dropFirst($0.editCount)) }
    }

    /// Adds the keys that objects have after a number of edits.
    mutating func add(
        _ keys: [(ObjectID, [UInt8])], in index: NumberedIndex, afterEdits editCount: Int
    ) {
        var values = known.removeValue(forKey: index.number)?.values ?? PendingValues()
        for (id, key) in keys { values.insert(id, at: key) }
        known[index.number] = Known(values: values, editCount: editCount)
    }

    func objects(at key: [UInt8], in index: NumberedIndex) -> [ObjectID] {
        known[index.number]?.values.objects(at: key) ?? []
    }
}

extension PendingChanges {
    /// Returns the objects with pending changes, or with changes that are being saved, that may
    /// have a key in a unique index: all that have it, and some that have had it; `key` returns the
    /// key of an object.
    ///
    /// - Complexity: O(edits since the last look-up in the index), or O(pending changes) for the
    ///   first one.
    func candidates<M: Model>(
        at wanted: [UInt8], in index: NumberedIndex, as type: M.Type, key: (M) throws -> [UInt8]
    ) rethrows -> [ObjectID] {
        if lookups == nil { lookups = ValueLookups() }
        // The value may change without an edit of its object.
        if core.schema.readsOtherObjects(index) { lookups?.forget(index) }
        let editCount = lookups?.editCount ?? 0
        let edited = lookups?.edited(since: index)
        var keys: [(ObjectID, [UInt8])] = []
        for case let object as M in edited?.compactMap(core.object) ?? core.changedObjects {
            // Its next edit is noted. An edit of an object that is not pending always is.
            if object.hasChanges { object._$state.flags.insert(.watched) }
            if !object.isDeleted { keys.append((object.id, try key(object))) }
        }
        lookups?.add(keys, in: index, afterEdits: editCount)
        return lookups?.objects(at: wanted, in: index) ?? []
    }

    /// Returns the value of a property of an object as a save would normalise it: a value that is
    /// stored, or that a save has already normalised, as it is.
    func normalized<M: Model, T: StoredValue>(
        _ property: KeyPath<M.Snapshot, T>, of object: M, slot: Slot
    ) -> Value {
        let value = object._$snapshot[keyPath: property]._value
        guard let entry = self[object] else { return value }
        let known = entry.normalized ?? (object.isInserted ? nil : entry.base)
        if let known {
            let snapshot = unsafeDowncast(known, to: ObjectCapture<M>.self).values.snapshot
            if snapshot[keyPath: property]._value == value { return value }
        }
        return M._$description.normalized(value, slot: slot)
    }
}
