public import StetStore

/// The changes that a durable subscription delivers: a feed of a store, with its filters.
///
/// `Commits` and `Changes` are sources. The subscription keeps the position; the feed's own start
/// is where a new subscription begins.
public protocol SubscriptionSource<Element>: Sendable {
    /// A commit, or the changes of one that are asked for.
    associatedtype Element: Sendable
    /// The feed as a subscription reads it.
    var _subscriptionSource: _SubscriptionSource<Element> { get }
}

/// A feed as a durable subscription reads it.
public struct _SubscriptionSource<Element: Sendable>: Sendable {
    let start: FeedStart
    /// The part of the filter that the headers of changes answer; nil for an interest in
    /// everything.
    let interests: [FeedInterest]?
    /// Returns the element that a commit comes to, with the objects that it concerns; nil when the
    /// commit is not asked for.
    let item: @Sendable (Commit) throws -> (element: Element, objects: [ObjectID])?
}

extension Commits: SubscriptionSource {
    /// Every commit, with all objects that it changes.
    public var _subscriptionSource: _SubscriptionSource<Commit> {
        _SubscriptionSource(start: start, interests: nil) { commit in
            var objects: Set<ObjectID> = []
            try commit.forEachChange { objects.insert($0.id) }
            return (commit, objects.sorted())
        }
    }
}

extension Changes: SubscriptionSource {
    /// The commits with changes that are asked for, with the objects that these change.
    public var _subscriptionSource: _SubscriptionSource<ChangeEvent<M>> {
        _SubscriptionSource(start: start, interests: [filter.interest]) { [filter, store] commit in
            let changes = try filter.changes(of: commit, in: store)
            if changes.isEmpty { return nil }
            return (ChangeEvent(commit: commit, changes: changes), changes.map(\.id))
        }
    }
}
