public import StetStore

/// The changing result of a query in sections, which are runs of objects with the same value.
///
/// ```swift
/// let articles = store.observe(store.fetch(Article.self).sorted(by: \.title))
/// for try await update in articles.sectioned(by: \.notebook?.name) {
///     for section in update.sections { show(section.key, update.result[section.range]) }
/// }
/// ```
///
/// Sections come in the order of their values, and the objects of a section in the order of the
/// query. It follows the store like the ``LiveQuery`` that it is made from.
public struct SectionedLiveQuery<M: Model, Key: StoredValue>: AsyncSequence, Sendable {
    /// An update.
    public typealias Element = Update

    private let live: LiveQuery<M>
    private let section: QueryNode

    fileprivate init(_ live: LiveQuery<M>, by section: QueryNode, _ order: [QueryOrder]) {
        self.live = live.sorted(first: order)
        self.section = section
    }

    /// The counts of the work for all iterators of this sequence, and of the query that it was made
    /// from.
    public var statistics: LiveQueryStatistics { live.statistics }

    /// Creates an independent iterator, whose first update is the result at that time.
    public func makeAsyncIterator() -> Iterator {
        Iterator(observer: live.makeObserver(section: section))
    }

    /// The position of one observer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let observer: LiveObserver<M>
        private var keys: [SectionKey] = []

        fileprivate init(observer: LiveObserver<M>) { self.observer = observer }

        /// Returns the next update, or nil when the store was closed or the task cancelled.
        ///
        /// When it throws, the position has not moved.
        ///
        /// - Throws: `StoreError` when the store cannot be read; `.unreadableValue` for a value
        ///   that its type cannot represent.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> Update? {
            try await observer.next(isolation: actor).map { update(QueryUpdate($0)) }
        }

        /// Returns the next update, or nil when the result is unchanged.
        package mutating func poll() throws -> Update? {
            try observer.poll().map { update(QueryUpdate($0)) }
        }

        private mutating func update(_ update: QueryUpdate<M>) -> Update {
            let runs = update.result.runs
            let before = keys
            keys = runs.map(\.key)
            return Update(update, runs, before: before)
        }
    }
}

extension SectionedLiveQuery {
    /// A result of a live query in sections, with its difference from the previous update's result.
    public struct Update: Sendable {
        /// The whole result with the difference of its objects, without regard to sections.
        public let update: QueryUpdate<M>
        /// The sections, in order; none is empty.
        public let sections: [Section]
        /// The difference from the previous sections, by their values, with moves associated.
        ///
        /// A section can move only when sections are sorted by another value than their own.
        public let sectionDifference: CollectionDifference<Key?>

        /// The whole result, in order.
        public var result: QueryResult<M> { update.result }

        fileprivate init(
            _ update: QueryUpdate<M>, _ runs: [(key: SectionKey, range: Range<Int>)],
            before: [SectionKey]
        ) {
            self.update = update
            sections = runs.map {
                Section(key: Key(_value: $0.key.value), range: $0.range)
            }
            let changes = runs.map(\.key).difference(from: before).inferringMoves().map(Self.change)
            guard let difference = CollectionDifference(changes) else {
                trap("a difference of sections names a place twice")
            }
            sectionDifference = difference
        }

        private static func change(
            _ change: CollectionDifference<SectionKey>.Change
        ) -> CollectionDifference<Key?>.Change {
            switch change {
            case .remove(let offset, let key, let other):
                .remove(offset: offset, element: Key(_value: key.value), associatedWith: other)
            case .insert(let offset, let key, let other):
                .insert(offset: offset, element: Key(_value: key.value), associatedWith: other)
            }
        }
    }
}

extension SectionedLiveQuery {
    /// A section of a result.
    public struct Section: Sendable {
        /// The common value of the section's objects; nil for objects without one.
        public let key: Key?
        /// The indexes of the objects in the result.
        public let range: Range<Int>
    }
}

/// The value of a section; values that sort as equal are one section.
private struct SectionKey: Hashable {
    let value: Value
    private let key: QueryKey

    init(_ value: Value) {
        self.value = value
        key = QueryKey(value)
    }

    static func == (one: Self, other: Self) -> Bool { one.key == other.key }
    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

extension QueryResult {
    /// The sections of the elements, with their ranges.
    ///
    /// - Complexity: O(count).
    fileprivate var runs: [(key: SectionKey, range: Range<Int>)] {
        var runs: [(key: SectionKey, range: Range<Int>)] = []
        var last: Value?
        for (place, element) in elements.enumerated() {
            if element.section != last {
                last = element.section
                let key = SectionKey(element.section)
                if runs.last?.key != key { runs.append((key, place..<place)) }
            }
            runs[runs.count - 1].range = runs[runs.count - 1].range.lowerBound..<place + 1
        }
        return runs
    }
}

extension LiveQuery {
    /// Returns the result in sections of objects with the same value: `.sectioned(by: \.rating)`.
    ///
    /// - Parameters:
    ///   - value: the value that determines an object's section.
    ///   - direction: the order of the sections by their values.
    /// - Returns: a sequence whose first element is the current result.
    /// - Complexity: O(result) for each update, in addition to the query.
    public func sectioned<Key: StoredValue>(
        by value: (M.Fields) -> QueryExpression<Key>, _ direction: SortDirection = .ascending
    ) -> SectionedLiveQuery<M, Key> {
        sectioned(value(M.fields).node, direction)
    }

    /// Returns the result in sections by the value of an expression behind a `?`:
    /// `.sectioned(by: \.notebook?.name)`.
    ///
    /// Objects without the value form a separate section, the first one in ascending order.
    ///
    /// - Parameters:
    ///   - value: the value that determines an object's section.
    ///   - direction: the order of the sections by their values.
    /// - Returns: a sequence whose first element is the current result.
    /// - Complexity: O(result) for each update, in addition to the query.
    public func sectioned<Key: StoredValue>(
        by value: (M.Fields) -> QueryExpression<Key>?, _ direction: SortDirection = .ascending
    ) -> SectionedLiveQuery<M, Key> {
        sectioned(value(M.fields)?.node ?? .constant(.null), direction)
    }

    /// Returns the result in sections of objects that refer to the same object, in the order of a
    /// value of that object: `.sectioned(by: \.notebook, sortedBy: \.name)`.
    ///
    /// A section moves when the value changes.
    ///
    /// - Parameters:
    ///   - reference: the reference that determines an object's section.
    ///   - value: the value of the referenced object by which sections are sorted.
    ///   - direction: the order of the sections.
    /// - Returns: a sequence whose first element is the current result.
    /// - Complexity: O(result) for each update, in addition to the query.
    public func sectioned<Target: _ModelFields, T: StoredValue>(
        by reference: (M.Fields) -> Target?, sortedBy value: (Target) -> QueryExpression<T>,
        _ direction: SortDirection = .ascending
    ) -> SectionedLiveQuery<M, ObjectID> {
        let target = reference(M.fields)
        let node = target?._object.reference ?? .constant(.null)
        let order = [target.map { value($0).node } ?? .constant(.null), node]
        return SectionedLiveQuery(
            self, by: node,
            order.map { QueryOrder($0, isDescending: direction == .descending) })
    }

    /// Returns the result in sections of objects with the same value, which may be nil.
    ///
    /// Objects without a value form a separate section, the first one in ascending order.
    ///
    /// - Parameters:
    ///   - value: the value that determines an object's section.
    ///   - direction: the order of the sections by their values.
    /// - Returns: a sequence whose first element is the current result.
    /// - Complexity: O(result) for each update, in addition to the query.
    public func sectioned<Key: StoredValue>(
        by value: (M.Fields) -> QueryExpression<Key?>, _ direction: SortDirection = .ascending
    ) -> SectionedLiveQuery<M, Key> {
        sectioned(value(M.fields).node, direction)
    }

    private func sectioned<Key: StoredValue>(
        _ node: QueryNode, _ direction: SortDirection
    ) -> SectionedLiveQuery<M, Key> {
        SectionedLiveQuery(
            self, by: node, [QueryOrder(node, isDescending: direction == .descending)])
    }
}
