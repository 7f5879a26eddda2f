public import StetStore

/// The changing values of one object: an update with its current values, then one each time that
/// commits have changed them.
///
/// ```swift
/// for try await update in store.observe(Article.self, id: id) {
///     title = update.snapshot?.title ?? "deleted"
/// }
/// ```
///
/// It follows the store like a ``LiveQuery``: nothing is read while nobody awaits the next update,
/// commits between two updates are combined, and commits that do not change the object do not wake
/// the observer. A deleted object may exist again after an undo.
public struct LiveObject<M: Model>: AsyncSequence, Sendable {
    /// An update.
    public typealias Element = Update

    private let store: Store
    private let id: ObjectID

    init(_ store: Store, _ id: ObjectID) {
        self.store = store
        self.id = id
    }

    /// Creates an independent iterator, whose first update contains the values at that time.
    public func makeAsyncIterator() -> Iterator { Iterator(store, id) }

    /// The position of one observer.
    public struct Iterator: AsyncIteratorProtocol {
        private let id: ObjectID
        private let entity: EntityNumber
        private let position: LivePosition
        /// The revision of the last delivered change of the object, or nil when there was no
        /// object; nil before the first update.
        private var last: Revision??

        fileprivate init(_ store: Store, _ id: ObjectID) {
            self.id = id
            entity = _QueryRequest<M>().query(in: store).entity
            var interest = FeedInterest(inEntity: entity, of: store.file.schema)
            interest.objects = [id]
            interest.links = []
            position = LivePosition(store, [interest])
        }

        /// Returns the next update, or nil when the store was closed or the task cancelled.
        ///
        /// When it throws, the position has not moved.
        ///
        /// - Throws: `StoreError` when the store cannot be read; `.unreadableValue` for a value
        ///   that its type cannot represent.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> Update? {
            let last = last
            let update = try await position.next(isolation: actor) { try follow($0, $1, last) }
            if let update { self.last = update.changed }
            return update?.update
        }

        /// Returns the next update, or nil when the object is unchanged.
        package mutating func poll() throws -> Update? {
            let last = last
            let update = try position.poll { try follow($0, $1, last) }
            if let update { self.last = update.changed }
            return update?.update
        }

        private func follow(
            _ backlog: FeedReader.Backlog, _ state: QueryState, _ last: Revision??
        ) throws -> (update: Update, changed: Revision?)? {
            if backlog.isEmpty, last != nil { return nil }
            let row = try state.row(entity, id)
            let changed = row?.revision
            if let last, last == changed { return nil }
            let commits = last == nil ? [] : backlog.commits
            return (
                Update(
                    snapshot: try row.map { try M._$decode(id, $0.body) },
                    revision: state.revision, commits: commits,
                    changes: commits.changes(of: M.self, [id])[id] ?? []), changed
            )
        }
    }
}

extension LiveObject {
    /// The values of an observed object, and the changes since the previous update.
    public struct Update: Sendable {
        /// The values of the object; nil when it does not exist.
        public let snapshot: M.Snapshot?
        /// The revision of the values.
        public let revision: Revision
        /// The commits since the previous update that have changed the object, in order.
        ///
        /// Empty for the first update, after more than 4,096 commits at once, and when some of them
        /// were trimmed.
        public let commits: [Commit]
        /// The changes of the object by these commits, in order.
        public let changes: [Change<M>]
    }
}

extension Store {
    /// Returns the changing values of an object, including its deletion.
    ///
    /// - Parameters:
    ///   - type: the model of the object.
    ///   - id: the object, which need not exist.
    /// - Returns: a sequence whose first element contains the current values.
    public func observe<M: Model>(_ type: M.Type, id: ObjectID) -> LiveObject<M> {
        LiveObject(self, id)
    }
}

extension [Commit] {
    /// Returns the changes of some objects of a model, by object, in order; others are not decoded.
    func changes<M: Model>(
        of type: M.Type, _ ids: Set<ObjectID>
    ) -> [ObjectID: [Change<M>]] {
        if ids.isEmpty { return [:] }
        var changes: [ObjectID: [Change<M>]] = [:]
        for commit in self {
            // Cannot throw: this process encoded the bytes, or validated them when it read them.
            let found = (try? commit.changes(of: M.self) { ids.contains($0.id) }) ?? []
            for change in found where ids.contains(change.id) {
                changes[change.id, default: []].append(change)
            }
        }
        return changes
    }
}
