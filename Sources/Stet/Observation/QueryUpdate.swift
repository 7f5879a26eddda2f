public import StetStore

/// A result of a live query, with its difference from the previous update's result.
public struct QueryUpdate<M: Model>: Sendable {
    /// The whole result, in order.
    public let result: QueryResult<M>
    /// The revision that the result shows.
    public let revision: Revision
    /// The commits since the previous update that may have changed the result, in order.
    ///
    /// Empty for the first update, and when the query has run again because there were too many
    /// commits, or some were trimmed.
    public let commits: [Commit]
    /// The difference from the previous result, by ids, with moves associated; for the first
    /// update, the difference from an empty result.
    ///
    /// Offsets of removals refer to the previous result, offsets of insertions to this one.
    public let difference: CollectionDifference<ObjectID>
    /// The objects that were in the previous result with other values, in the order of this result.
    ///
    /// An object that has also moved is in `difference`, too.
    public let updatedObjects: [UpdatedObject]
    /// The reason why the query has run, in words for people; nil when the result was derived from
    /// the changes of the commits.
    public let rerunReason: String?
}

extension QueryUpdate {
    /// An object of a result whose values have changed since the previous result.
    public struct UpdatedObject: Sendable, Equatable, Identifiable {
        /// The id of the object.
        public let id: ObjectID
        /// The index of the object in the previous result.
        public let oldIndex: Int
        /// The index of the object in this result.
        public let newIndex: Int
        /// The changes of the object, commit by commit, as far as the update contains the commits.
        public let changes: [Change<M>]
    }
}

/// The snapshots of a result, in order.
///
/// Copies are cheap and do not change with later updates; they share unchanged parts.
public struct QueryResult<M: Model>: RandomAccessCollection, Sendable {
    private let entries: SortedEntries<LiveElement<M>>
    private let starts: [Int]
    private let page: Range<Int>

    init(_ entries: SortedEntries<LiveElement<M>>, _ page: Range<Int>) {
        self.entries = entries
        self.page = page
        starts = entries.starts
    }

    /// The index of the first snapshot: 0.
    public var startIndex: Int { 0 }
    /// The number of snapshots.
    public var endIndex: Int { page.count }

    /// Accesses the snapshot at an index.
    ///
    /// - Complexity: O(log count).
    public subscript(position: Int) -> M.Snapshot {
        trap(unless: position >= 0 && position < page.count, "a result has no place \(position)")
        return entries[page.lowerBound + position, starts].payload.snapshot
    }

    /// The snapshots with their sections, in order.
    var elements: [LiveElement<M>] { entries.entries(in: page).map(\.payload) }

    /// The ids of the objects, in order.
    ///
    /// - Complexity: O(count).
    public var ids: [ObjectID] { entries.entries(in: page).map(\.id) }

    /// The snapshots, in order.
    ///
    /// - Complexity: O(count).
    public var snapshots: [M.Snapshot] { entries.entries(in: page).map(\.payload.snapshot) }
}

extension QueryResult: Equatable {
    /// Returns whether both results contain equal snapshots in the same order.
    public static func == (one: QueryResult, other: QueryResult) -> Bool {
        one.elementsEqual(other)
    }
}

extension QueryUpdate {
    init(_ step: LiveObserver<M>.Step) {
        result = QueryResult(step.update.entries, step.update.page)
        revision = step.revision
        commits = step.commits
        difference = step.update.difference.collectionDifference
        rerunReason = step.rerunReason
        let changes = step.commits.changes(of: M.self, Set(step.update.updated.map(\.id)))
        updatedObjects = step.update.updated.map { object in
            QueryUpdate.UpdatedObject(
                id: object.id, oldIndex: object.old, newIndex: object.new,
                changes: changes[object.id] ?? [])
        }
    }
}
