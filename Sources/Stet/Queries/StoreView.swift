public import FoundationEssentials
public import StetStore
import Synchronization

/// A store as it was at a revision: the same queries, with snapshots as results.
///
/// Sendable, and cheap to keep: nothing is held open. Snapshots have the properties of the present
/// models; what a migration has changed since is shown as the migration left it.
public struct StoreView: Sendable {
    private let source: QuerySource

    /// The revision that it shows.
    public let revision: Revision

    fileprivate init(_ store: Store, _ revision: Revision) {
        self.revision = revision
        source = QuerySource(store: store, history: ViewHistory(revision))
    }

    /// Snapshots of the objects of a model that met a condition.
    public func fetch<M: Model>(
        _ type: M.Type,
        @QueryBuilder where condition: (M.Fields) -> QueryExpression<Bool>
    ) -> SnapshotFetch<M> {
        SnapshotFetch(source).filter(condition)
    }

    /// Snapshots of the objects of a model.
    public func fetch<M: Model>(_ type: M.Type) -> SnapshotFetch<M> { SnapshotFetch(source) }

    /// The object with an id; nil when there was none.
    ///
    /// - Complexity: one read, and one or a few more for each change of the object since.
    public func object<M: Model>(_ type: M.Type, id: ObjectID) throws -> M.Snapshot? {
        try source.object(type, id: id)
    }

    /// The members of a relationship of an object: `view.members(of: id, in: Notebook.self,
    /// \.tags)`.
    ///
    /// Those of an ordered one come in their order, else in that of their ids.
    ///
    /// - Complexity: a read or two for each member.
    public func members<M: Model, Member: Model>(
        of id: ObjectID, in type: M.Type, _ relationship: (M.Fields) -> ToManyField<Member>
    ) throws -> [Member.Snapshot] {
        try source.members(of: id, in: type, relationship)
    }
}

/// What has changed since the revision of a view, as far as it was asked.
final class ViewHistory: Sendable {
    let revision: Revision
    private let known: Mutex<ForeignChanges>

    init(_ revision: Revision) {
        self.revision = revision
        known = Mutex(ForeignChanges(since: revision))
    }

    var changes: ForeignChanges { known.withLock { $0 } }

    /// Keeps what a read has learnt.
    func keep(_ changes: ForeignChanges) {
        known.withLock { if $0.end < changes.end { $0 = changes } }
    }
}

extension Store {
    /// The store as it was when a commit had been made.
    ///
    /// - Throws: `StoreError` (`.noSuchRevision`) for one that has not been made, and
    ///   `.historyTrimmed` for one below the floor; so does a view whose revision is trimmed later,
    ///   when it is read.
    public func view(asOf revision: Revision) throws -> StoreView {
        let head = try self.revision()
        guard revision <= head else {
            throw StoreError.noSuchRevision(revision, head: head, path: path)
        }
        let floor = try floor()
        if revision < floor {
            throw StoreError.historyTrimmed(revision, floor: floor, path: path)
        }
        return StoreView(self, revision)
    }

    /// The store as it was at a time: with every commit that had been made by then.
    ///
    /// The times are those of the commits: it is the last one that is dated no later; see
    /// `Commit.time`.
    ///
    /// - Complexity: O(log commits) reads.
    public func view(asOf time: Date) throws -> StoreView {
        StoreView(
            self,
            try file.read { reader in
                try reader.lastRevision(until: time.timeIntervalSinceReferenceDate)
            })
    }
}
