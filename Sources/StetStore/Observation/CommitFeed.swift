import DequeModule
import StetLMDB

/// Delivers commits to observers in this process, in order.
///
/// A slow observer never delays a commit: recent commits are kept in a ring of bounded size, and
/// observers that have fallen behind it read the journal. Without observers nothing is kept, and
/// observers that a commit does not concern are not woken.
///
/// State: the ring, the observers and the counts, guarded by the monitor.
package final class CommitFeed: Sendable {
    /// The approximate limit of the ring, in bytes of memory.
    static let ringByteCount = 16 << 20
    /// The greatest number of waiting observers that the publisher wakes itself; a task wakes more.
    private static let wakeLimit = 2

    /// Counts of the work that a feed has done for its observers since the store was opened.
    package struct Counts: Hashable, Sendable {
        /// The number of waiting observers that were woken.
        package var wakes = 0
        /// The number of journal entries that observers have read.
        package var entries = 0
        /// The number of changes that were decoded into values of a model.
        package var decodedChanges = 0

        package init(wakes: Int = 0, entries: Int = 0, decodedChanges: Int = 0) {
            self.wakes = wakes
            self.entries = entries
            self.decodedChanges = decodedChanges
        }
    }

    private struct State {
        /// The recent commits up to the head, without gaps.
        var ring: Deque<Commit> = []
        var byteCount = 0
        var head: Revision
        var routes = FeedRoutes()
        var nextWaiter: UInt64 = 0
        var isEnded = false
        var counts = Counts()
    }
    private let state: Monitor<State>

    init(head: Revision) {
        state = Monitor(State(head: head))
    }

    /// The last revision that was published.
    package var head: Revision { state.withLock { $0.head } }

    /// The number of observers.
    package var observerCount: Int { state.withLock { $0.routes.count } }

    /// The number of observers that commits are kept for.
    var keeperCount: Int { state.withLock { $0.routes.keeperCount } }

    /// The number of observers that are waiting now.
    package var waiterCount: Int { state.withLock { $0.routes.waiterCount } }

    /// The approximate number of bytes of memory of the ring.
    package var byteCount: Int { state.withLock { $0.byteCount } }

    /// The counts of the work that was done for observers.
    package var counts: Counts { state.withLock { $0.counts } }

    /// Counts work for an observer.
    package func count(_ change: (inout Counts) -> Void) { state.withLock { change(&$0.counts) } }

    // MARK: Publishing

    /// Publishes commits.
    ///
    /// They must be consecutive; those that were published before are ignored. If they do not
    /// follow the head, observers read the commits between from the journal.
    func publish(_ commits: [Commit]) {
        let wakes = state.withLock { state in
            var wakes: [FeedRoutes.Wake] = []
            for commit in commits where commit.revision > state.head {
                let before = state.head
                state.head = commit.revision
                if commit.revision == before.next {
                    wakes += state.routes.take(for: commit, seen: before)
                } else {
                    Self.clear(&state)
                    wakes += state.routes.takeAll(seen: before)
                }
                if state.routes.keeperCount == 0 { continue }
                state.ring.append(commit)
                state.byteCount += commit.memoryByteCount
            }
            while state.byteCount > Self.ringByteCount, let first = state.ring.popFirst() {
                state.byteCount -= first.memoryByteCount
            }
            state.counts.wakes += wakes.count
            return wakes
        }
        Self.wake(wakes)
    }

    /// Publishes that there are commits up to `head`, which observers read from the journal.
    func advance(to head: Revision) {
        let wakes = state.withLock { state in
            guard head > state.head else { return [FeedRoutes.Wake]() }
            Self.clear(&state)
            defer { state.head = head }
            let wakes = state.routes.takeAll(seen: state.head)
            state.counts.wakes += wakes.count
            return wakes
        }
        Self.wake(wakes)
    }

    /// Clears the ring, so that observers read the journal in its current form.
    package func forgetRing() { state.withLock { Self.clear(&$0) } }

    private static func clear(_ state: inout State) {
        state.ring = []
        state.byteCount = 0
    }

    /// Resumes waiters; waking one takes about a microsecond, which the writer must not spend on
    /// each of a hundred.
    private static func wake(_ wakes: [FeedRoutes.Wake]) {
        if wakes.count <= wakeLimit {
            for wake in wakes { wake.waiter.resume(returning: wake.seen) }
        } else {
            Task.detached { for wake in wakes { wake.waiter.resume(returning: wake.seen) } }
        }
    }

    /// Wakes the observers that also observe other things than commits.
    package func nudge() {
        let wakes = state.withLock { $0.routes.takeNudged(seen: $0.head) }
        Self.wake(wakes)
    }

    /// Lets every observer end after it has received the existing commits.
    func end() {
        let wakes = state.withLock { state in
            state.isEnded = true
            return state.routes.takeAll(seen: state.head)
        }
        Self.wake(wakes)
    }

    // MARK: Observers

    /// Registers an observer for as long as it lives.
    package final class Observer: Sendable {
        fileprivate let feed: CommitFeed
        fileprivate let number: UInt64
        /// The changes that the observer wants; nil for all of them.
        let interests: [FeedInterest]?

        /// Creates an observer of every commit, or of those that may concern one of its interests.
        ///
        /// If `keepsCommits` is false, it requests no commits, and none are kept for it. If
        /// `isNudged` is true, its waits also end when the state of a subscription may have
        /// changed.
        package init(
            _ feed: CommitFeed, _ interests: [FeedInterest]? = nil, keepsCommits: Bool = true,
            isNudged: Bool = false
        ) {
            self.feed = feed
            self.interests = interests
            number = feed.state.withLock { state in
                state.routes.add(interests, keepsCommits: keepsCommits, isNudged: isNudged)
            }
        }

        /// Creates an observer of no commit, which only waits to be nudged.
        package convenience init(nudgesOf feed: CommitFeed) {
            self.init(feed, [], keepsCommits: false, isNudged: true)
        }

        deinit {
            feed.state.withLock { state in
                state.routes.remove(number)
                if state.routes.keeperCount == 0 { CommitFeed.clear(&state) }
            }
        }

        /// Returns whether a commit may concern the observer.
        func includes(_ commit: Commit) throws -> Bool { try interests?.includes(commit) ?? true }

        /// Waits until something after `seen` may concern the observer, the feed has ended, or the
        /// task is cancelled.
        ///
        /// - Returns: the revision up to which nothing concerns the observer.
        package func wait(after seen: Revision) async -> Revision {
            await feed.wait(after: seen, number)
        }
    }

    /// The next step of an observer that has received everything up to a revision.
    package enum Step {
        case deliver(Commit)
        /// The next commits are only in the journal, up to this revision.
        case readJournal(through: Revision)
        case wait
        case end
    }

    package func step(after seen: Revision) -> Step {
        state.withLock { state in
            guard state.head > seen else { return state.isEnded ? .end : .wait }
            guard let first = state.ring.first?.revision, first <= seen.next else {
                return .readJournal(
                    through: state.ring.first?.revision.previous ?? state.head)
            }
            return .deliver(state.ring[Int(seen.next.number - first.number)])
        }
    }

    private func wait(after seen: Revision, _ observer: UInt64) async -> Revision {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let resumesNow = state.withLock { state in
                    if state.isEnded || state.head > seen || Task.isCancelled { return true }
                    state.routes.wait(continuation, numbered: number, of: observer)
                    return false
                }
                if resumesNow { continuation.resume(returning: seen) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.routes.takeWaiter(numbered: number, of: observer) }
            waiter?.resume(returning: seen)
        }
    }
}

// MARK: - Commits of other processes

extension StoreFile {
    /// The greatest number of foreign commits that are read ahead for the observers; each of them
    /// reads more by itself.
    private static let readAheadLimit = 10_000

    /// Publishes the commits of other processes, up to `last` or to the head.
    ///
    /// A failure is ignored: observers get it when they read the journal.
    func catchUp(through last: Revision? = nil) {
        if let last, feed.head >= last { return }
        do {
            try read { reader in
                let head = min(try reader.head().revision, last ?? Revision(.max))
                var revision = feed.head
                guard head > revision else { return }
                if feed.keeperCount > 0, head.number - revision.number <= Self.readAheadLimit {
                    while revision < head {
                        revision = revision.next
                        feed.publish([try reader.commit(revision)])
                    }
                }
                feed.advance(to: head)
            }
        } catch {
            // Wakes observers at the head, which can be read even if the schema has changed.
            let head = try? environment.read { try Head.read(in: $0).revision }
            if let reached = last ?? head { feed.advance(to: reached) }
        }
    }
}
