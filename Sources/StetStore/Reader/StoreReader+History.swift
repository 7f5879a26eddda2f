public import FoundationEssentials
import StetLMDB

/// One change in the history of an object, and the commit that made it.
///
/// ```swift
/// for change in try store.history(of: article) {
///     lines.append("\(change.revision) \(change.author ?? "") \(change.label ?? "")")
/// }
/// ```
public struct HistoricChange: Hashable, Sendable {
    /// The number of the commit.
    public let revision: Revision
    /// The time of the commit.
    public let time: Date
    /// The author of the commit.
    public let author: String?
    /// The part of the author's work that the commit belongs to.
    public let scope: String?
    /// The label of the commit.
    public let label: String?
    /// The cause of the commit.
    public let cause: Cause
    /// The effect of the commit on the object.
    public let change: ObjectChange
}

extension StoreReader {
    /// Returns the last commit that was trimmed; 0 when the journal is complete.
    package func floor() throws -> Revision {
        try JournalFloor.read(in: transaction)?.revision ?? .zero
    }

    /// Returns all changes of an object, the last first, as far as the current schema can express
    /// them; empty when there never was such an object.
    ///
    /// - Complexity: a few reads for each change.
    package func history(
        ofEntity entity: EntityNumber, _ id: ObjectID, from first: Revision.Bound = 1
    ) throws -> [HistoricChange] {
        var history: [HistoricChange] = []
        try forEachChange(ofEntity: entity, id, from: first) { change in
            history.append(change)
            return true
        }
        return history
    }

    /// Returns the commit at a bound of a range of commits.
    package func commit(at bound: Revision.Bound) throws -> Revision {
        switch bound {
        case .earliest: try floor().next
        case .revision(let revision): revision
        case .latest: try head().revision
        }
    }

    /// Returns the revision of the state at a bound; the last one for a later revision.
    package func state(at bound: Revision.Bound) throws -> Revision {
        switch bound {
        case .earliest: try floor()
        case .revision(let revision): min(revision, try head().revision)
        case .latest: try head().revision
        }
    }

    /// Calls `body` with each change of an object since a revision, the last first, until it
    /// returns false.
    ///
    /// - Throws: `StoreError` (`.historyTrimmed`) when one of them was trimmed.
    /// - Complexity: a few reads for each change.
    package func forEachChange(
        ofEntity entity: EntityNumber, _ id: ObjectID, from first: Revision.Bound = 1,
        _ body: (HistoricChange) throws -> Bool
    ) throws {
        guard let (header, _) = try stored(entity, id) else { return }
        let first = try commit(at: first)
        var links = try linkRevisions(ofEntity: entity, id)
        var lastOfRecord = header.revision
        while true {
            let revision = max(lastOfRecord, links.last ?? .zero)
            guard revision >= first else { return }
            let isOfRecord = revision == lastOfRecord
            if links.last == revision { links.removeLast() }
            let found: (change: ObjectChange, previous: Revision)? = try file.journal.withChange(
                ofEntity: entity, id, at: revision, in: transaction
            ) { change, schemaRevision in
                (
                    try ObjectChange(change, file.history, from: schemaRevision), change.previous
                )
            }
            guard let found, !isOfRecord || found.previous < revision else {
                throw DecodingFailure(
                    "the chain of changes of object \(id) breaks at revision \(revision)")
            }
            if isOfRecord { lastOfRecord = found.previous }
            let (envelope, attributes) = try description(of: revision)
            let change = HistoricChange(
                revision: revision, time: Date(timeIntervalSinceReferenceDate: envelope.time),
                author: attributes.author, scope: attributes.scope, label: attributes.label,
                cause: envelope.cause, change: found.change)
            guard try body(change) else { return }
        }
    }

    /// Returns the number of the entity that has, or had, an object with an id; nil when none has.
    package func entity(of id: ObjectID) throws -> EntityNumber? {
        try file.projection.records.numbers.first { try stored($0, id) != nil }
    }

    /// Returns the changes that lead from the state at one revision to the state at another,
    /// earlier or later.
    ///
    /// - Complexity: O(changes between the revisions), each with reads of its object at both.
    package func difference(from first: Revision, to last: Revision) throws -> ChangeSet {
        try RevisionDifference(StoreReader(transaction, file), from: first, to: last).changeSet()
    }

    // MARK: Commits

    /// Returns the last commit that is dated no later than a time, in seconds since 2001; zero for
    /// none.
    ///
    /// - Throws: `StoreError` (`.historyTrimmed`) when that commit was trimmed.
    /// - Complexity: O(log commits) reads; O(commits since) when a clock was wrong after the time.
    package func lastRevision(until time: Double) throws -> Revision {
        if let last = try file.journal.lastRevision(datedUntil: time, head(), in: transaction) {
            return last.revision
        }
        try JournalFloor.refuse(1, in: transaction)
        return .zero
    }

    /// Returns the next commit that matches a filter, on the way from one revision to another, both
    /// included, in either direction; nil when there is none among the next `limit`.
    ///
    /// Commits that do not match are not read completely.
    ///
    /// - Returns: the commit, and the last revision that was examined.
    /// - Complexity: one read or a few for each commit.
    package func nextCommit(
        from first: Revision, to last: Revision, where filter: Commit.Filter, limit: Int = 10_000
    ) throws -> (commit: Commit?, reached: Revision) {
        var revision = first
        for _ in 1..<max(limit, 2) {
            if try lets(filter, revision) { return (try commit(revision), revision) }
            guard revision != last, let next = first <= last ? revision.next : revision.previous
            else { break }
            revision = next
        }
        return (nil, revision)
    }

    private func lets(_ filter: Commit.Filter, _ revision: Revision) throws -> Bool {
        if filter.isEmpty { return true }
        let (envelope, attributes) = try description(of: revision)
        if let author = filter.author, attributes.author != author { return false }
        if let scope = filter.scope, attributes.scope != scope { return false }
        if let cause = filter.cause, !cause(envelope.cause) { return false }
        guard filter.entity != nil || filter.object != nil else { return true }
        let wanted = filter.entity.flatMap { file.schema.number(ofEntity: $0) }
        if filter.entity != nil, wanted == nil { return false }
        if let entity = wanted, let object = filter.object {
            return try file.journal.withChange(
                ofEntity: entity, object, at: revision, in: transaction
            ) { _, _ in true } ?? false
        }
        var isFound = false
        try forEachTouchedObject(of: revision) { entity, id, _ in
            if entity == wanted ?? entity, id == filter.object ?? id { isFound = true }
        }
        return isFound
    }
}
