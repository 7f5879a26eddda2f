import StetStore
import Synchronization

/// An observer of a live query: a position in the feed of commits, and the result at it.
///
/// State: belongs to one iterator; it has no lock.
final class LiveObserver<M: Model> {
    typealias Matches = LiveMatches<LiveElement<M>>

    /// A change of the result, with its cause.
    struct Step {
        let update: Matches.Update
        let revision: Revision
        let commits: [Commit]
        let rerunReason: String?
    }

    private let counter: LiveQueryCounter
    private let matches: Matches
    private let position: LivePosition

    init(
        _ store: Store, _ query: StoreQuery, section: QueryNode?, spare: Int?,
        _ counter: LiveQueryCounter
    ) {
        self.counter = counter
        let schema = store.file.schema
        let nodes = section.map { [$0] } ?? []
        matches = LiveMatches(query, beside: nodes, in: schema, spare: spare) { row, state in
            LiveElement(
                snapshot: try M._$decode(row.id, row.body), revision: row.revision,
                section: try section.map { try state.value($0, of: row, query.entity) } ?? .null)
        }
        position = LivePosition(
            store, LiveQueryInterests.ofObjects(of: query, beside: nodes, in: schema))
    }

    /// Returns the next change of the result, or nil when the store was closed or the task
    /// cancelled.
    func next(isolation actor: isolated (any Actor)?) async throws -> Step? {
        try await position.next(isolation: actor) { try follow($0, $1) }
    }

    /// Follows the commits, and returns the change of the result, or nil when it is unchanged.
    func poll() throws -> Step? { try position.poll { try follow($0, $1) } }

    private func follow(_ backlog: FeedReader.Backlog, _ state: QueryState) throws -> Step? {
        if backlog.isEmpty, !matches.isDue { return nil }
        let isFirst = !matches.hasShown
        let (update, way) = try matches.follow(backlog, state)
        counter.count(way, isDelivered: update != nil)
        guard let update else { return nil }
        return Step(
            update: update, revision: state.revision, commits: isFirst ? [] : backlog.commits,
            rerunReason: way.reason)
    }
}

/// An element of a live query: a snapshot and its section.
struct LiveElement<M: Model>: Equatable, Sendable {
    let snapshot: M.Snapshot
    /// The revision of the object's last change.
    let revision: Revision
    /// The value of the section; null in a query without sections.
    let section: Value

    /// Returns whether the object is unchanged; snapshots with NaN are not equal to themselves.
    static func == (one: Self, other: Self) -> Bool {
        one.revision == other.revision && one.section == other.section
    }
}

extension LiveQueryWay {
    fileprivate var reason: String? {
        if case .run(let reason) = self { reason } else { nil }
    }
}

/// Counts of the work that was done for a live query since its sequence was made.
public struct LiveQueryStatistics: Hashable, Sendable {
    /// The number of delivered updates.
    public internal(set) var updateCount = 0
    /// The number of times that the result was derived from the changes of commits.
    public internal(set) var incrementalStepCount = 0
    /// The number of times that the query has run, by the reason in words for people.
    public internal(set) var rerunCounts: [String: Int] = [:]

    /// The number of times that the query has run, for any reason.
    ///
    /// The first result of each iterator is one of them.
    public var rerunCount: Int { rerunCounts.values.reduce(0, +) }
}

/// Counts the work for all iterators of a live query.
///
/// State: the statistics, guarded by the mutex.
final class LiveQueryCounter: Sendable {
    private let state = Mutex(LiveQueryStatistics())

    var statistics: LiveQueryStatistics { state.withLock { $0 } }

    func count(_ way: LiveQueryWay, isDelivered: Bool) {
        state.withLock { state in
            switch way {
            case .changes: state.incrementalStepCount += 1
            case .run(let reason): state.rerunCounts[reason, default: 0] += 1
            }
            if isDelivered { state.updateCount += 1 }
        }
    }
}
