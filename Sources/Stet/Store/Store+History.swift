public import StetStore

// History: commits in order, the changes of an object, differences between revisions.

extension Store {
    /// Calls `body` with the commits between two revisions, both included, one at a time; backwards
    /// when the first revision is the later one.
    ///
    /// `from: .latest, to: 1` begins with the last commit, and `.earliest` is the first commit that
    /// the journal still contains. No read of the store is open while `body` runs.
    ///
    /// - Parameters:
    ///   - first: the revision to begin with.
    ///   - last: the revision to end with.
    ///   - filter: the wanted commits.
    ///   - body: returns false to end the iteration.
    /// - Throws: `StoreError`, `.historyTrimmed` for a commit that was trimmed; the error of
    ///   `body`.
    /// - Complexity: one read or a few for each commit, and O(bytes) for the wanted ones.
    public func forEachCommit(
        from first: Revision.Bound = 1, to last: Revision.Bound = .latest,
        where filter: Commit.Filter = Commit.Filter(), _ body: (_ commit: Commit) throws -> Bool
    ) throws {
        try CommitWalk(file: file, filter: filter).run(from: first, to: last, body)
    }

    /// Returns all changes of an object since a revision, the last first, with the commits that
    /// made them; empty when there never was such an object.
    ///
    /// - Parameters:
    ///   - type: the model of the object.
    ///   - id: the id of the object.
    ///   - first: the earliest revision; `.earliest` for the first one that the journal still
    ///     contains.
    /// - Returns: the changes.
    /// - Throws: `StoreError`; `.historyTrimmed` when a requested change was trimmed.
    /// - Complexity: a few reads for each change, independent of the length of the journal.
    public func history<M: Model>(
        of type: M.Type, id: ObjectID, from first: Revision.Bound = 1
    ) throws -> [HistoricChange] {
        guard let entity = file.schema.number(ofEntity: M._$name) else { return [] }
        return try file.read { try $0.history(ofEntity: entity, id, from: first) }
    }

    /// Returns all changes of an object since a revision, the last first, with the commits that
    /// made them.
    ///
    /// - Throws: `StoreError`; `.historyTrimmed` when a requested change was trimmed.
    public func history<M: Model>(
        of object: M, from first: Revision.Bound = 1
    ) throws -> [HistoricChange] {
        try history(of: M.self, id: object.id, from: first)
    }

    /// Returns the last change of one property of an object, which shows who has set its value; nil
    /// when there never was such an object.
    ///
    /// For an embedded value it is the last change of any of its members.
    ///
    /// An insertion and a deletion count as changes of every property.
    ///
    /// - Throws: `StoreError`.
    /// - Complexity: a few reads for each later change of the object.
    public func blame<M: Model, V>(
        _ type: M.Type, id: ObjectID, _ property: KeyPath<M.Snapshot, V>
    ) throws -> HistoricChange? {
        let names = M._$description.slots(of: property).map {
            M._$description.entity.properties[$0].name
        }
        if names.isEmpty { return nil }
        return try file.read { reader in
            try reader.lastChange(of: type, id) { change in
                names.contains { change[$0] != nil }
            }
        }
    }

    /// Returns the last change of the members of a relationship, as in
    /// `blame(Article.self, id: id) { $0.tags }`; nil when there was none.
    ///
    /// Members that refer to the object by a reference are changed by changes of the members.
    ///
    /// - Throws: `StoreError`.
    /// - Complexity: a few reads for each later change of the object.
    public func blame<M: Model, Member: Model>(
        _ type: M.Type, id: ObjectID, _ relationship: (M.Fields) -> ToManyField<Member>
    ) throws -> HistoricChange? {
        let name = M._$description.relationships[relationship(M.fields).relationship].name
        return try file.read { reader in
            try reader.lastChange(of: type, id) { $0.relationships.contains { $0.name == name } }
        }
    }

    /// Returns the last change of each property and relationship of an object, by name, as far back
    /// as the journal goes; empty when there never was such an object.
    ///
    /// - Throws: `StoreError`.
    /// - Complexity: a few reads for each change of the object.
    public func blame<M: Model>(_ type: M.Type, id: ObjectID) throws -> [String: HistoricChange] {
        try history(of: type, id: id, from: .earliest).lastByName
    }

    /// Returns the last change of one property of an object, which shows who has set its value.
    ///
    /// - Throws: `StoreError`.
    public func blame<M: Model, V>(
        _ object: M, _ property: KeyPath<M.Snapshot, V>
    ) throws -> HistoricChange? {
        try blame(M.self, id: object.id, property)
    }

    /// Returns the changes that lead from the state at one revision to the state at another: the
    /// net effect of the commits between them or, from a later to an earlier revision, of reverting
    /// them.
    ///
    /// `.earliest` is the earliest state that can be read.
    ///
    /// - Throws: `StoreError`; `.historyTrimmed` for a state that was trimmed.
    /// - Complexity: O(changes between the revisions).
    public func diff(from first: Revision.Bound, to last: Revision.Bound) throws -> ChangeSet {
        try file.read { reader in
            try reader.difference(from: reader.state(at: first), to: reader.state(at: last))
        }
    }
}

extension StoreReader {
    /// Returns the last change of an object that a closure wants.
    fileprivate func lastChange<M: Model>(
        of type: M.Type, _ id: ObjectID, where isWanted: (ObjectChange) -> Bool
    ) throws -> HistoricChange? {
        guard let entity = file.schema.number(ofEntity: M._$name) else { return nil }
        var found: HistoricChange?
        try forEachChange(ofEntity: entity, id) { change in
            if isWanted(change.change) { found = change }
            return found == nil
        }
        return found
    }
}

extension [HistoricChange] {
    /// The first change of each property and relationship, by name.
    fileprivate var lastByName: [String: HistoricChange] {
        var last: [String: HistoricChange] = [:]
        for entry in self {
            let names = entry.change.properties.map(\.name) + entry.change.relationships.map(\.name)
            for name in names where last[name] == nil { last[name] = entry }
        }
        return last
    }
}

/// Goes through commits, with a read of its own for each.
private struct CommitWalk {
    let file: StoreFile
    let filter: Commit.Filter

    func run(
        from first: Revision.Bound, to last: Revision.Bound, _ body: (Commit) throws -> Bool
    ) throws {
        let (head, start, stop) = try file.read { reader in
            (try reader.head().revision, try reader.commit(at: first), try reader.commit(at: last))
        }
        let isForward = first.goesForwards(to: last)
        var next = isForward ? max(1, start) : min(start, head)
        let end = isForward ? min(stop, head) : max(1, stop)
        while isForward ? next <= end : next >= end {
            let (commit, reached) = try file.read { reader in
                try reader.nextCommit(from: next, to: end, where: filter)
            }
            if let commit, try !body(commit) { return }
            next = Revision(isForward ? reached.number + 1 : reached.number - 1)
        }
    }
}
