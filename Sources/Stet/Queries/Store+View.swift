public import FoundationEssentials
public import StetStore

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
