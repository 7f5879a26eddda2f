import Synchronization

/// Tells observers in this process of commits, in order.
///
/// Nobody's slowness holds up a commit: recent commits are kept in a ring that is bounded in bytes,
/// and who has fallen behind it reads the journal.
///
/// State: the ring and the waiting observers, guarded by the mutex.
package final class CommitFeed: Sendable {
    /// The bytes of journal that the ring holds at most.
    private static let ringByteCount = 16 << 20

    private struct State {
        /// Ascending by revision; gaps where another process has committed.
        var ring: [Commit] = []
        var byteCount = 0
        var head: Revision
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter: UInt64 = 0
        var isEnded = false
    }
    private let state: Mutex<State>

    init(head: Revision) {
        state = Mutex(State(head: head))
    }

    /// The last revision that was published.
    package var head: Revision { state.withLock { $0.head } }

    /// The observers that are waiting now.
    package var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Makes a commit known.
    ///
    /// Commits of several threads may arrive out of order.
    func publish(_ commit: Commit) {
        let waiters = state.withLock { state in
            let index = state.ring.lastIndex { $0.revision < commit.revision }.map { $0 + 1 } ?? 0
            state.ring.insert(commit, at: index)
            state.byteCount += commit.body.count
            var evicted = 0
            while state.byteCount > Self.ringByteCount, evicted < state.ring.count {
                state.byteCount -= state.ring[evicted].body.count
                evicted += 1
            }
            state.ring.removeFirst(evicted)
            state.head = max(state.head, commit.revision)
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
            let next = seen.next
            guard let first = state.ring.first?.revision, first <= next else { return .readJournal }
            // Without gaps the commit stands at its distance from the first.
            let index = Int(clamping: next.number - first.number)
            if let commit = state.ring.element(at: index), commit.revision == next {
                return .deliver(commit)
            }
            return state.ring.first { $0.revision == next }.map(Step.deliver) ?? .readJournal
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
        Iterator(file: file, seen: start)
    }

    /// The position of one observer.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let file: StoreFile
        fileprivate var seen: Revision

        /// The next commit; nil when the store was closed or the task cancelled.
        ///
        /// - Throws: `StoreError` when the journal cannot be read.
        public mutating func next() async throws -> Commit? {
            try await next(isolation: nil)
        }

        /// The next commit; nil when the store was closed or the task cancelled.
        ///
        /// - Throws: `StoreError` when the journal cannot be read.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Commit? {
            while !Task.isCancelled {
                switch file.feed.step(after: seen) {
                case .end: return nil
                case .wait: await file.feed.wait(after: seen)
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
            return commit
        }
    }
}
