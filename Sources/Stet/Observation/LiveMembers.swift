public import StetStore

/// The changing members of a relationship of an object, in order: an update with the current
/// members, then one each time that commits have changed them, their order or their values.
///
/// ```swift
/// for try await update in store.observe(membersOf: id, in: Playlist.self, \.songs) {
///     titles = update.result.map(\.title)
/// }
/// ```
///
/// Members of an ordered relationship come in its order, others in ascending order of id. The
/// sequence follows the store like a ``LiveQuery``, and reads the members again, in O(members),
/// when a commit has changed an object of their model or their links. To observe only some members,
/// or another order, observe a query instead: `store.fetch(Song.self) { $0.playlist?.id == id }`.
public struct LiveMembers<Member: Model>: AsyncSequence, Sendable {
    /// An update.
    public typealias Element = QueryUpdate<Member>

    private let store: Store
    private let owner: ObjectID
    private let end: MemberEnd
    private let relationship: Int

    fileprivate init(_ store: Store, _ owner: ObjectID, _ end: MemberEnd, _ relationship: Int) {
        self.store = store
        self.owner = owner
        self.end = end
        self.relationship = relationship
    }

    /// Creates an independent iterator, whose first update contains the members at that time.
    public func makeAsyncIterator() -> Iterator {
        let list = LiveMemberList(of: owner, at: end, relationship: relationship) { row in
            LiveElement<Member>(
                snapshot: try Member._$decode(row.id, row.body), revision: row.revision,
                section: .null)
        }
        return Iterator(
            list: list, position: LivePosition(store, list.interests(in: store.file.schema)))
    }

    /// The position of one observer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let list: LiveMemberList<LiveElement<Member>>
        fileprivate let position: LivePosition
        private var hasBegun = false

        fileprivate init(list: LiveMemberList<LiveElement<Member>>, position: LivePosition) {
            self.list = list
            self.position = position
        }

        /// Returns the next update, or nil when the store was closed or the task cancelled.
        ///
        /// When it throws, the position has not moved.
        ///
        /// - Throws: `StoreError` when the store cannot be read; `.unreadableValue` for a value
        ///   that its type cannot represent.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> QueryUpdate<Member>? {
            let isFirst = !hasBegun
            let step = try await position.next(isolation: actor) { try follow($0, $1, isFirst) }
            if step != nil { hasBegun = true }
            return step.map { QueryUpdate($0) }
        }

        /// Returns the next update, or nil when the members are unchanged.
        package mutating func poll() throws -> QueryUpdate<Member>? {
            let isFirst = !hasBegun
            let step = try position.poll { try follow($0, $1, isFirst) }
            if step != nil { hasBegun = true }
            return step.map { QueryUpdate($0) }
        }

        private func follow(
            _ backlog: FeedReader.Backlog, _ state: QueryState, _ isFirst: Bool
        ) throws -> LiveObserver<Member>.Step? {
            try list.follow(backlog, state).map { update in
                LiveObserver<Member>.Step(
                    update: update, revision: state.revision,
                    commits: isFirst ? [] : backlog.commits,
                    rerunReason: "members are read in their order")
            }
        }
    }
}

extension Store {
    /// Returns the changing members of a relationship of an object, in order:
    /// `store.observe(membersOf: id, in: Playlist.self, \.songs)`.
    ///
    /// - Parameters:
    ///   - id: the object, which need not exist.
    ///   - type: the model of the object.
    ///   - relationship: a to-many relationship of the model.
    /// - Returns: a sequence whose first element contains the current members.
    public func observe<M: Model, Member: Model>(
        membersOf id: ObjectID, in type: M.Type,
        _ relationship: (M.Fields) -> ToManyField<Member>
    ) -> LiveMembers<Member> {
        let (schema, field) = (file.schema, relationship(M.fields))
        guard
            let declared = schema.entity(named: M._$name)?.relationships
                .element(at: field.relationship),
            let end = schema.membersEnd(of: declared)
        else {
            trap("\(M.self) is not a model of this store: name it in Store.open(at:for:)")
        }
        return LiveMembers(self, id, end, field.relationship)
    }
}
