import DequeModule
public import FoundationEssentials
import StetLMDB

/// A save, or an undo, that was refused or rolled back: nothing of it is in the journal.
public struct Refusal: Sendable {
    /// When it was refused, by the store's clock.
    public let time: Date
    /// Who wanted to save; nil when nobody was named.
    public let author: String?
    /// The part of the author's work.
    public let scope: String?
    /// What the commit would have been called.
    public let label: String?
    /// What the one who saved was thrown.
    public let error: any Error
    /// What was wrong with the changes; empty when they were refused for something else.
    public let violations: [Violation]
    /// What would have been saved, as far as it is known; empty otherwise.
    public let rejected: ChangeSet
    /// The refusals before this one that the observer was too slow for, and that it does not get.
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

/// Tells observers in this process of refusals, which no journal keeps.
///
/// The last ones are held as long as there are observers; one that is slower misses some, and is
/// told how many.
///
/// State: the last refusals and the observers, guarded by the monitor.
package final class RefusalFeed: Sendable {
    /// The refusals that are held at most.
    package static let limit = 256

    private struct State {
        /// Without gaps, up to number `count`.
        var last: Deque<Refusal> = []
        var count = 0
        var observerCount = 0
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter: UInt64 = 0
        var isEnded = false
    }
    private let state = Monitor(State())

    init() {}

    /// True when somebody observes.
    package var isObserved: Bool { state.withLock { $0.observerCount > 0 } }

    /// The number of observers that are waiting now.
    package var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// The number of refusals that were published.
    var count: Int { state.withLock { $0.count } }

    /// Makes a refusal known.
    package func publish(_ refusal: Refusal) {
        let waiters = state.withLock { state in
            state.count += 1
            if state.observerCount == 0 { return [CheckedContinuation<Void, Never>]() }
            state.last.append(refusal)
            if state.last.count > Self.limit { state.last.removeFirst() }
            return Self.takeWaiters(&state)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Lets every observer end once it has seen what there is.
    func end() {
        let waiters = state.withLock { state in
            state.isEnded = true
            return Self.takeWaiters(&state)
        }
        for waiter in waiters { waiter.resume() }
    }

    private static func takeWaiters(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        defer { state.waiters = [:] }
        return Array(state.waiters.values)
    }

    /// Stands for one observer; when it goes, nothing of the observer is left.
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

        /// The next refusal after the first `seen`, waiting for it; nil when the feed has ended or
        /// the task is cancelled.
        func next(after seen: inout Int) async -> Refusal? {
            while !Task.isCancelled {
                if let (refusal, number) = feed.refusal(after: seen) {
                    var refusal = refusal
                    refusal.missedCount = number - seen - 1
                    seen = number
                    return refusal
                }
                guard await feed.wait(after: seen) else { return nil }
            }
            return nil
        }
    }

    private func refusal(after seen: Int) -> (Refusal, number: Int)? {
        state.withLock { state in
            guard seen < state.count, !state.last.isEmpty else { return nil }
            let first = state.count - state.last.count + 1
            let number = max(first, seen + 1)
            return (state.last[number - first], number)
        }
    }

    /// Returns true when there may be more, false when there is no more.
    private func wait(after seen: Int) async -> Bool {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let resumesNow = state.withLock { state in
                    if state.isEnded || state.count > seen || Task.isCancelled { return true }
                    state.waiters[number] = continuation
                    return false
                }
                if resumesNow { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
        return state.withLock { !$0.isEnded || $0.count > seen }
    }
}

/// The saves and undos of this process that are refused from now on, in order: for an audit, say.
///
/// Only this process hears of them, and only as they happen: no refusal is stored. At most 256 wait
/// for a slow observer, which then misses the oldest and is told how many. The sequence ends when
/// the store is closed, or when the task that iterates is cancelled.
public struct Refusals: AsyncSequence, Sendable {
    private let observer: RefusalFeed.Observer
    private let start: Int

    package init(_ feed: RefusalFeed) {
        observer = RefusalFeed.Observer(feed)
        start = feed.count
    }

    /// Creates a position of its own, which begins with the first refusal after the sequence was
    /// made.
    public func makeAsyncIterator() -> Iterator { Iterator(observer: observer, seen: start) }

    /// The position of one observer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let observer: RefusalFeed.Observer
        fileprivate var seen: Int

        /// Returns the next refusal, or nil when the store was closed or the task cancelled.
        public mutating func next() async -> Refusal? { await observer.next(after: &seen) }

        /// Returns the next refusal, or nil when the store was closed or the task cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async -> Refusal? {
            await observer.next(after: &seen)
        }
    }
}
