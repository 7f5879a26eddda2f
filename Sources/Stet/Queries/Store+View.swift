public import FoundationEssentials
public import StetStore
import Synchronization

extension Store {
    /// A read-only view of a store at a revision, with the queries of the store.
    ///
    /// It can be sent anywhere and is cheap to keep: no read is open. Snapshots have the properties
    /// of the current models; values that a migration has changed since appear as the migration
    /// left them.
    public struct View: Sendable {
        private let source: QuerySource

        /// The revision of the view.
        public let revision: Revision

        fileprivate init(_ store: Store, _ revision: Revision) {
            self.revision = revision
            source = QuerySource(store: store, history: store.recentViews.history(of: revision))
        }

        /// Returns a query for snapshots of the objects of a model that satisfied a condition.
        public func fetch<M: Model>(
            _ type: M.Type,
            @QueryBuilder where condition: (M.Fields) -> QueryExpression<Bool>
        ) -> SnapshotFetch<M> {
            SnapshotFetch(source).filter(condition)
        }

        /// Returns a query for snapshots of all objects of a model.
        public func fetch<M: Model>(_ type: M.Type) -> SnapshotFetch<M> { SnapshotFetch(source) }

        /// Returns the object with an id; nil when there was none.
        ///
        /// - Throws: `StoreError`.
        /// - Complexity: one read, and one or a few more for each change of the object since.
        public func object<M: Model>(_ type: M.Type, id: ObjectID) throws -> M.Snapshot? {
            try source.object(type, id: id)
        }

        /// Returns the members of a relationship of an object:
        /// `view.members(of: id, in: Notebook.self, \.tags)`.
        ///
        /// Members of an ordered relationship are in its order, others in ascending order of id.
        ///
        /// - Throws: `StoreError`.
        /// - Complexity: one or two reads for each member.
        public func members<M: Model, Member: Model>(
            of id: ObjectID, in type: M.Type, _ relationship: (M.Fields) -> ToManyField<Member>
        ) throws -> [Member.Snapshot] {
            try source.members(of: id, in: type, relationship)
        }
    }
}

/// The objects that have changed since the revision of a view, as far as reads have needed them.
package final class ViewHistory: Sendable {
    let revision: Revision
    private let known: Mutex<ForeignChanges>

    init(_ revision: Revision) {
        self.revision = revision
        known = Mutex(ForeignChanges(since: revision))
    }

    package var changes: ForeignChanges { known.withLock { $0 } }

    /// Keeps the changes that a read has found.
    func keep(_ changes: ForeignChanges) {
        known.withLock { if $0.areIncluded(in: changes) { $0 = changes } }
    }
}

/// The histories of the revisions that were viewed last.
///
/// Views of one revision, such as those of the requests of a service, share one, so that the commits
/// since are examined once and not for each view. Of those with many changes only the last is kept.
package final class RecentViews: Sendable {
    /// The number of revisions that are remembered.
    package static let limit = 4
    /// The number of changes that are many.
    private static let manyChanges = 100_000

    private let histories = Mutex<[ViewHistory]>([])

    package init() {}

    /// Returns the history of a revision, which becomes the last of those that are remembered.
    package func history(of revision: Revision) -> ViewHistory {
        histories.withLock { histories in
            let known = histories.first { $0.revision == revision }
            let history = known ?? ViewHistory(revision)
            histories.removeAll { $0 === known || $0.changes.changeCount > Self.manyChanges }
            histories.append(history)
            histories.removeFirst(max(histories.count - Self.limit, 0))
            return history
        }
    }
}

extension Store {
    /// Returns a view of the store after the commit with a revision.
    ///
    /// - Throws: `StoreError` (`.noSuchRevision`) for a revision that does not exist yet, and
    ///   `.historyTrimmed` for one below the floor; a view whose revision is trimmed later throws
    ///   the latter when it is read.
    public func view(asOf revision: Revision) throws -> Store.View {
        try file.read { try $0.checkState(at: revision) }
        return Store.View(self, revision)
    }

    /// Returns a view of the store at a time, after all commits that had been made by then.
    ///
    /// It is the state after the last commit that is not dated later; see `Commit.time`.
    ///
    /// - Throws: `StoreError` (`.historyTrimmed`) for a time before the beginning of the journal.
    /// - Complexity: O(log commits) reads.
    public func view(asOf time: Date) throws -> Store.View {
        Store.View(
            self,
            try file.read { reader in
                try reader.lastRevision(until: time.timeIntervalSinceReferenceDate)
            })
    }
}

extension StoreReader {
    /// Throws unless the state at a revision can be read.
    func checkState(at revision: Revision) throws {
        let (head, floor) = (try head().revision, try floor())
        if revision > head {
            throw StoreError.noSuchRevision(revision, head: head, path: file.path)
        }
        if revision < floor {
            throw StoreError.historyTrimmed(revision, floor: floor, path: file.path)
        }
    }
}
