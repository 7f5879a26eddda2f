import DequeModule
public import FoundationEssentials
import StetLMDB

/// A save or an undo that was refused or rolled back; the journal contains nothing of it.
public struct Refusal: Sendable {
    /// The time of the refusal, by the store's clock.
    public let time: Date
    /// The author of the save; nil when none was named.
    public let author: String?
    /// The part of the author's work.
    public let scope: String?
    /// The label of the save.
    public let label: String?
    /// The error that the save threw.
    public let error: any Error
    /// The violations, if the changes were invalid; empty if another reason refused them.
    public let violations: [Violation]
    /// The changes that were not saved, if they are known; otherwise empty.
    public let rejected: ChangeSet
    /// The number of refusals before this one that the observer has missed because it was too slow.
    public internal(set) var missedCount = 0

    package init(
        time: Date, author: String?, scope: String?, label: String?, error: any Error,
        violations: [Violation], rejected: ChangeSet
    ) {
        self.time = time
        self.author = author
        self.scope = scope
        self.label = label
        self.error = error
        self.violations = violations
        self.rejected = rejected
    }
}

/// Delivers refusals, which the journal does not contain, to observers in this process.
///
/// The last refusals are kept as long as there are observers; a slower observer misses some, and
/// gets their number.
///
/// State: the last refusals and the number of observers, guarded by the monitor.
package final class RefusalFeed: Sendable {
    /// The greatest number of refusals that are kept.
    package static let limit = 256

    private struct State {
        /// The last refusals up to number `count`, without gaps.
        var last: Deque<Refusal> = []
        var count: UInt64 = 0
        var observerCount = 0
    }
    private let state = Monitor(State())
    private let signal = ChangeSignal()

    init() {}

    /// True when somebody observes.
    package var isObserved: Bool { state.withLock { $0.observerCount > 0 } }

    /// The number of observers that are waiting now.
    package var waiterCount: Int { signal.waiterCount }

    /// The number of refusals that were published.
    var count: UInt64 { state.withLock { $0.count } }

    /// Publishes a refusal.
    package func publish(_ refusal: Refusal) {
        state.withLock { state in
            state.count += 1
            if state.observerCount == 0 { return }
            state.last.append(refusal)
            if state.last.count > Self.limit { state.last.removeFirst() }
        }
        signal.note()
    }

    /// Lets every observer end after it has received the existing refusals.
    func end() { signal.end() }

    /// Registers an observer for as long as it lives.
    final class Observer: Sendable {
        private let feed: RefusalFeed

        init(_ feed: RefusalFeed) {
            self.feed = feed
            feed.state.withLock { $0.observerCount += 1 }
        }

        deinit {
            feed.state.withLock { state in
                state.observerCount -= 1
                if state.observerCount == 0 { state.last = [] }
            }
        }

        /// Waits for the refusal after the first `seen`, and returns it; nil when the feed has
        /// ended or the task is cancelled.
        func next(after seen: inout UInt64) async -> Refusal? {
            while !Task.isCancelled {
                if let (refusal, number) = feed.refusal(after: seen) {
                    var refusal = refusal
                    refusal.missedCount = Int(number - seen) - 1
                    seen = number
                    return refusal
                }
                guard await feed.signal.wait(after: seen) else { return nil }
            }
            return nil
        }
    }

    private func refusal(after seen: UInt64) -> (Refusal, number: UInt64)? {
        state.withLock { state in
            guard seen < state.count, !state.last.isEmpty else { return nil }
            let first = state.count - UInt64(state.last.count) + 1
            let number = max(first, seen + 1)
            return (state.last[Int(number - first)], number)
        }
    }
}

/// The saves and undos of this process that are refused from now on, in order, for an audit for
/// instance.
///
/// They are delivered only in this process, and only as they happen: no refusal is stored. At most
/// 256 wait for a slow observer, which then misses the oldest ones and gets their number. The
/// sequence ends when the store is closed, or when the task that iterates is cancelled.
public struct Refusals: AsyncSequence, Sendable {
    private let observer: RefusalFeed.Observer
    private let start: UInt64

    package init(_ feed: RefusalFeed) {
        observer = RefusalFeed.Observer(feed)
        start = feed.count
    }

    /// Creates an independent iterator, which begins with the first refusal after the sequence was
    /// made.
    public func makeAsyncIterator() -> Iterator { Iterator(observer: observer, seen: start) }

    /// The position of one observer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let observer: RefusalFeed.Observer
        fileprivate var seen: UInt64

        /// Returns the next refusal, or nil when the store was closed or the task cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async -> Refusal? {
            await observer.next(after: &seen)
        }
    }
}
