import StetStore

/// The changing result of a query: an update with the current result, then one each time that
/// commits have changed it.
///
/// ```swift
/// let best = store.fetch(Article.self) { $0.rating >= 3 }.sorted(by: \.title).limit(20)
/// for try await update in store.observe(best) {
///     titles = update.result.map(\.title)
/// }
/// ```
///
/// Nothing is read while nobody awaits the next update. Commits between two updates are combined
/// into one: a slow observer gets the newest result, and the difference from the previous one that
/// it received. Commits of every process count; those that cannot change the result, nor the values
/// in it, do not wake the observer.
///
/// A result is kept in order. Where commits change only objects of the model itself, the new result
/// follows from their changes, in O(changes · log objects). The query runs again when an object
/// changes that its conditions or order read through a reference or a relationship, when so many
/// objects have left a page that others must fill it, when the journal was trimmed before the
/// observer received a commit, and after more than 4,096 commits at once; `statistics` counts both.
///
/// The sequence ends when the store is closed, or when the task that iterates is cancelled.
public struct LiveQuery<M: Model>: AsyncSequence, Sendable {
    /// An update.
    public typealias Element = QueryUpdate<M>

    let store: Store
    private(set) var request: _QueryRequest<M>
    /// The number of objects that are kept beyond the end of a page; nil for a suitable number.
    package var spareCount: Int?
    private let counter = LiveQueryCounter()

    init(_ store: Store, _ query: SnapshotFetch<M>) {
        trap(
            unless: query.source.history == nil && query.source.store.file === store.file,
            "a live query observes the present of one store: make it with 'store.fetch'")
        self.store = store
        request = query._request
    }

    /// The counts of the work for all iterators of this sequence.
    public var statistics: LiveQueryStatistics { counter.statistics }

    /// Creates an independent iterator, whose first update is the result at that time.
    public func makeAsyncIterator() -> Iterator {
        Iterator(observer: makeObserver(section: nil))
    }

    /// Creates an observer whose objects are grouped into sections by a node.
    func makeObserver(section: QueryNode?) -> LiveObserver<M> {
        LiveObserver(
            store, request.query(in: store), section: section, spare: spareCount, counter)
    }

    /// Returns the live query with objects sorted by other values first.
    func sorted(first order: [QueryOrder]) -> LiveQuery {
        var copy = self
        copy.request.order = order + request.order
        return copy
    }

    /// The position of one observer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let observer: LiveObserver<M>

        /// Returns the next update, or nil when the store was closed or the task cancelled.
        ///
        /// When it throws, the position has not moved.
        ///
        /// - Throws: `StoreError` when the store cannot be read; `.unreadableValue` for a value
        ///   that its type cannot represent.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> QueryUpdate<M>? {
            try await observer.next(isolation: actor).map { QueryUpdate($0) }
        }

        /// Returns the next update, or nil when the result is unchanged.
        package mutating func poll() throws -> QueryUpdate<M>? {
            try observer.poll().map { QueryUpdate($0) }
        }
    }
}

extension Store {
    /// Returns the changing result of a query.
    ///
    /// - Parameter query: a query of this store, made with `fetch`.
    /// - Returns: a sequence whose first element is the current result.
    /// - Precondition: the query is not one of a view or of another store.
    public func observe<M: Model>(_ query: SnapshotFetch<M>) -> LiveQuery<M> {
        LiveQuery(self, query)
    }
}

extension _QueryRequest {
    /// Returns the query for a store that has the model.
    func query(in store: Store) -> StoreQuery {
        let schema = store.file.schema
        guard let entity = schema.number(ofEntity: M._$name) else {
            trap("\(M.self) is not a model of this store: name it in Store.open(at:for:)")
        }
        return query(entity: entity, in: schema)
    }
}
