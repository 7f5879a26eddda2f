public import StetStore

/// The changes that a durable subscription delivers: a feed of a store, with its filters.
///
/// `Commits` and `Changes` are sources. The subscription keeps the position; a new subscription
/// begins at the feed's own start.
public protocol SubscriptionSource<Element>: Sendable {
    /// A commit, or the wanted changes of one.
    associatedtype Element: Sendable
    /// The feed as a subscription reads it.
    var _subscriptionSource: _SubscriptionSource<Element> { get }
}

/// A feed as a durable subscription reads it.
public struct _SubscriptionSource<Element: Sendable>: Sendable {
    let start: FeedStart
    /// The part of the filter that the headers of changes decide; nil for every change.
    let interests: [FeedInterest]?
    /// Returns the element for a commit, with the objects that it concerns; nil when the commit is
    /// not wanted.
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
    /// The commits with wanted changes, with the objects that these change.
    public var _subscriptionSource: _SubscriptionSource<ChangeEvent<M>> {
        _SubscriptionSource(start: start, interests: [filter.interest]) { [filter, store] commit in
            let changes = try filter.changes(of: commit, in: store)
            if changes.isEmpty { return nil }
            return (ChangeEvent(commit: commit, changes: changes), changes.map(\.id))
        }
    }
}
