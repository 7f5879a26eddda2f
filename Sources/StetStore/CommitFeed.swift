import DequeModule
import Metrics
import StetLMDB

/// Tells observers in this process of commits, in order.
///
/// Nobody's slowness holds up a commit: recent commits are kept in a ring that is bounded in bytes,
/// and who has fallen behind it reads the journal. Without observers nothing is kept.
///
/// State: the ring and the waiting observers, guarded by the mutex.
package final class CommitFeed: Sendable {
    /// The bytes of memory that the ring holds at most, about.
    static let ringByteCount = 16 << 20
    /// The waiting observers that are woken by the one who publishes; more are woken by a task.
    private static let wakeLimit = 2

    private struct State {
        /// Without gaps, up to the head.
        var ring: Deque<Commit> = []
        var byteCount = 0
        var head: Revision
        var observerCount = 0
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter: UInt64 = 0
        var isEnded = false
    }
    private let state: Monitor<State>

    init(head: Revision) {
        state = Monitor(State(head: head))
    }

    /// The last revision that was published.
    package var head: Revision { state.withLock { $0.head } }

    /// The observers that there are.
    package var observerCount: Int { state.withLock { $0.observerCount } }

    /// The observers that are waiting now.
    package var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// The bytes of memory that the ring holds, about.
    package var byteCount: Int { state.withLock { $0.byteCount } }

    /// Makes commits known.
    ///
    /// They follow each other; what is known already is left out. Where they do not follow the
    /// head, those between are left to the journal.
    func publish(_ commits: [Commit]) {
        let waiters = state.withLock { state in
            for commit in commits where commit.revision > state.head {
                if commit.revision != state.head.next { Self.clear(&state) }
                state.head = commit.revision
                if state.observerCount == 0 { continue }
                state.ring.append(commit)
                state.byteCount += commit.memoryByteCount
            }
            while state.byteCount > Self.ringByteCount, let first = state.ring.popFirst() {
                state.byteCount -= first.memoryByteCount
            }
            return Self.takeWaiters(&state)
        }
        wake(waiters)
    }

    /// Makes known that there are commits up to `head`; observers read them from the journal.
    func advance(to head: Revision) {
        let waiters = state.withLock { state in
            guard head > state.head else { return [CheckedContinuation<Void, Never>]() }
            Self.clear(&state)
            state.head = head
            return Self.takeWaiters(&state)
        }
        wake(waiters)
    }

    /// Lets observers read what they have not seen from the journal, as it is by now.
    func forgetRing() { state.withLock { Self.clear(&$0) } }

    private static func clear(_ state: inout State) {
        state.ring = []
        state.byteCount = 0
    }

    /// Waking one takes about a microsecond, which the writer must not spend on each of a hundred.
    private func wake(_ waiters: [CheckedContinuation<Void, Never>]) {
        if waiters.count <= Self.wakeLimit {
            for waiter in waiters { waiter.resume() }
        } else {
            Task.detached { for waiter in waiters { waiter.resume() } }
        }
    }

    // MARK: Observers

    /// Stands for one observer; when it goes, nothing of the observer is left.
    final class Observer: Sendable {
        private let feed: CommitFeed

        init(_ feed: CommitFeed) {
            self.feed = feed
            feed.state.withLock { $0.observerCount += 1 }
        }

        deinit {
            feed.state.withLock { state in
                state.observerCount -= 1
                if state.observerCount == 0 { CommitFeed.clear(&state) }
            }
        }
    }

    /// Lets every observer end once it has seen what there is.
    func end() {
        let waiters = state.withLock { state in
            state.isEnded = true
            return Self.takeWaiters(&state)
        }
        wake(waiters)
    }

    private static func takeWaiters(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        defer { state.waiters = [:] }
        return Array(state.waiters.values)
    }

    /// What an observer that has seen everything up to a revision does next.
    enum Step {
        case deliver(Commit)
        case readJournal
        case wait
        case end
    }

    func step(after seen: Revision) -> Step {
        state.withLock { state in
            guard state.head > seen else { return state.isEnded ? .end : .wait }
            guard let first = state.ring.first?.revision, first <= seen.next else {
                return .readJournal
            }
            return .deliver(state.ring[Int(seen.next.number - first.number)])
        }
    }

    /// Returns when there may be something after `seen`, when the feed has ended, or when the task
    /// is cancelled.
    func wait(after seen: Revision) async {
        let waiter = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let resumesNow = state.withLock { state in
                    if state.isEnded || state.head > seen || Task.isCancelled { return true }
                    state.waiters[waiter] = continuation
                    return false
                }
                if resumesNow { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume()
        }
    }
}

/// The commits of a store, as they are made: every one, in order, once.
///
/// A slow observer is served from the journal without noticing. The sequence ends when the store is
/// closed, once the observer has seen what there was, or when the task that iterates is cancelled.
/// An observer that was so slow that the rest is only in the journal, which is closed then, gets
/// the error `storeClosed`.
public struct Commits: AsyncSequence, Sendable {
    private let file: StoreFile
    private let start: Revision

    package init(file: StoreFile, after start: Revision) {
        self.file = file
        self.start = start
    }

    /// An observer of its own; it begins after the commit that was the last when the sequence was
    /// made.
    public func makeAsyncIterator() -> Iterator {
        let iterator = Iterator(
            file: file, observer: CommitFeed.Observer(file.feed), seen: start)
        // The thread begins to look for the commits of other processes.
        try? file.writer.attend()
        return iterator
    }

    /// The position of one observer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let file: StoreFile
        fileprivate let observer: CommitFeed.Observer
        fileprivate var seen: Revision

        /// The next commit; nil when the store was closed or the task cancelled.
        ///
        /// - Throws: `StoreError` when the journal cannot be read; `.historyTrimmed` for one that
        ///   is so far behind that what it has not seen was trimmed; `.noThread`.
        public mutating func next() async throws -> Commit? {
            try await next(isolation: nil)
        }

        /// The next commit; nil when the store was closed or the task cancelled.
        ///
        /// - Throws: `StoreError` when the journal cannot be read; `.historyTrimmed` for one that
        ///   is so far behind that what it has not seen was trimmed; `.noThread`.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Commit? {
            while !Task.isCancelled {
                switch file.feed.step(after: seen) {
                case .end: return nil
                case .wait:
                    try file.writer.begin()
                    await file.feed.wait(after: seen)
                case .deliver(let commit): return deliver(commit)
                case .readJournal:
                    let next = seen.next
                    return deliver(try file.read { reader in try reader.commit(next) })
                }
            }
            return nil
        }

        private mutating func deliver(_ commit: Commit) -> Commit {
            seen = commit.revision
            let head = Swift.max(file.feed.head, seen)
            file.metrics.observerLag.record(Int64(clamping: head.number - seen.number))
            return commit
        }
    }
}

// MARK: - Commits of other processes

extension StoreFile {
    /// Foreign commits that are read ahead for the observers at most; more are left to each of
    /// them.
    private static let readAheadLimit = 10_000

    /// Makes known what other processes have committed, up to `last` or to the head.
    ///
    /// A failure is left to the observers, who meet it when they read the journal.
    func catchUp(through last: Revision? = nil) {
        if let last, feed.head >= last { return }
        do {
            try read { reader in
                let head = min(try reader.head().revision, last ?? Revision(.max))
                var revision = feed.head
                guard head > revision else { return }
                if feed.observerCount > 0, head.number - revision.number <= Self.readAheadLimit {
                    while revision < head {
                        revision = revision.next
                        feed.publish([try reader.commit(revision)])
                    }
                }
                feed.advance(to: head)
            }
        } catch {
            // Where the schema is another the head can still be read, so that they wake.
            let head = try? environment.read { try Head.read(in: $0).revision }
            if let reached = last ?? head { feed.advance(to: reached) }
        }
    }
}
