public import StetStore

// What was: commits in order, the life of an object, differences of states.

extension Store {
    /// Calls `body` with the commits between two revisions, both included, one at a time; from a
    /// later to an earlier one backwards.
    ///
    /// Revisions that there are not yet stand for the last one: `from: .last, to: 1` begins with
    /// the last commit. Nothing of the store is held while `body` runs.
    ///
    /// - Parameters:
    ///   - first: where it begins.
    ///   - last: where it ends.
    ///   - filter: which commits are wanted.
    ///   - body: answers false to end.
    /// - Throws: `StoreError`, and what `body` throws.
    /// - Complexity: a read or a few for each commit, and O(bytes) for those that are wanted.
    public func forEachCommit(
        from first: Revision = 1, to last: Revision = .last,
        where filter: CommitFilter = CommitFilter(), _ body: (_ commit: Commit) throws -> Bool
    ) throws {
        let head = try revision()
        let isForward = first <= last
        var next = isForward ? max(first, 1) : min(first, head)
        let end = isForward ? min(last, head) : max(last, 1)
        while isForward ? next <= end : next >= end {
            let (commit, reached) = try file.read { reader in
                try reader.nextCommit(from: next, to: end, where: filter)
            }
            if let commit, try !body(commit) { return }
            next = Revision(isForward ? reached.number + 1 : reached.number - 1)
        }
    }

    /// All changes of an object, the last first, with the commits that made them; empty when there
    /// never was such an object.
    ///
    /// - Throws: `StoreError`.
    /// - Complexity: a few reads for each change, however long the journal is.
    public func history<M: Model>(of type: M.Type, id: ObjectID) throws -> [HistoricChange] {
        guard let entity = file.schema.number(ofEntity: M._$name) else { return [] }
        return try file.read { try $0.history(ofEntity: entity, id) }
    }

    /// The same for an object at hand.
    public func history<M: Model>(of object: M) throws -> [HistoricChange] {
        try history(of: M.self, id: object.id)
    }

    /// The last change of one property of an object: who has given it the value that it has; nil
    /// when there never was such an object.
    ///
    /// An insertion gives every property its value, a deletion takes it.
    ///
    /// - Throws: `StoreError`.
    /// - Complexity: a few reads for each later change of the object.
    public func blame<M: Model, V>(
        _ type: M.Type, id: ObjectID, _ property: KeyPath<M.Snapshot, V>
    ) throws -> HistoricChange? {
        guard let entity = file.schema.number(ofEntity: M._$name),
            let slot = M._$description.slot(of: property)
        else { return nil }
        let name = M._$description.entity.properties[slot].name
        var found: HistoricChange?
        try file.read { reader in
            try reader.forEachChange(ofEntity: entity, id) { change in
                if change.change[name] != nil { found = change }
                return found == nil
            }
        }
        return found
    }

    /// The same for an object at hand.
    public func blame<M: Model, V>(
        _ object: M, _ property: KeyPath<M.Snapshot, V>
    ) throws -> HistoricChange? {
        try blame(M.self, id: object.id, property)
    }

    /// What leads from the state at one revision to that at another: the net effect of the commits
    /// between them or, from a later to an earlier one, of taking them back.
    ///
    /// - Throws: `StoreError`.
    /// - Complexity: O(changes between them).
    public func diff(from first: Revision, to last: Revision) throws -> ChangeSet {
        try file.read { reader in
            let head = try reader.head().revision
            return try reader.difference(from: min(first, head), to: min(last, head))
        }
    }
}
