import Synchronization

/// The histories of the revisions that were viewed last.
///
/// Views of one revision, such as those of the requests of a service, share one, so that the
/// commits since are examined once and not for each view. Those of many changes are left to their
/// views.
package final class RecentViews: Sendable {
    /// The number of revisions that are remembered.
    package static let limit = 4

    /// The most changes of a history that is remembered, which takes about 100 bytes for each.
    private let changeLimit: Int
    private let histories = Mutex<[ViewHistory]>([])

    /// Creates a memory for histories of at most so many changes.
    package init(changeLimit: Int = 50_000) { self.changeLimit = changeLimit }

    /// Returns the history of a revision, which becomes the last of those that are remembered.
    package func history(of revision: Revision) -> ViewHistory {
        histories.withLock { histories in
            let known = histories.first { $0.revision == revision }
            let history = known ?? ViewHistory(revision)
            histories.removeAll { $0 === known }
            histories.append(history)
            histories.removeFirst(max(histories.count - Self.limit, 0))
            return history
        }
    }

    /// Adds changes that a read has found to the history of its view.
    package func keep(_ changes: ForeignChanges, in history: ViewHistory) {
        history.keep(changes)
        if changes.changeCount > changeLimit {
            histories.withLock { $0.removeAll { $0 === history } }
        }
    }

    /// Forgets all, as their records may have values that were redacted; views that somebody holds
    /// keep their histories.
    package func forget() { histories.withLock { $0 = [] } }
}

/// The objects that have changed since the revision of a view, as far as reads have needed them.
package final class ViewHistory: Sendable {
    package let revision: Revision
    private let known: Mutex<ForeignChanges>

    package init(_ revision: Revision) {
        self.revision = revision
        known = Mutex(ForeignChanges(since: revision))
    }

    package var changes: ForeignChanges { known.withLock { $0 } }

    /// Keeps the changes that a read has found.
    fileprivate func keep(_ changes: ForeignChanges) {
        known.withLock { if $0.areIncluded(in: changes) { $0 = changes } }
    }
}
