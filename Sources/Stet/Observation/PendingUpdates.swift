public import StetStore
import Synchronization

/// What is pending in a context after something of it has changed.
public struct PendingUpdate: Sendable, Equatable {
    /// All pending changes, as `ManagedContext.changes` gives them: what a save would record,
    /// before normalisation, delete rules and stamps.
    public let changes: ChangeSet
    /// The objects whose pending changes are other ones than at the update before, in ascending
    /// order of id: edited since, saved, or put back.
    public let objects: [ObjectID]
}

/// The pending changes of a context as they are edited: one update for all edits of a turn of the
/// context's isolation.
///
/// A turn ends where the code that edits awaits something. Edits that are taken back in the same
/// turn are not told of; saves, rollbacks and merges are, where they leave other changes pending.
/// The sequence and its iterator belong to the isolation of the context, and do not keep it alive:
/// the sequence ends when the context and its objects are gone, or when the task that iterates is
/// cancelled. Updates are not kept for a slow observer: it gets one for all that has happened.
public struct PendingUpdates: AsyncSequence {
    /// An update.
    public typealias Element = PendingUpdate
    /// What `next` throws.
    public typealias Failure = Never

    private weak var core: ContextCore?

    init(_ core: ContextCore) { self.core = core }

    /// Creates an observer of its own, which begins with the next edit.
    public func makeAsyncIterator() -> Iterator { Iterator(core) }

    /// The position of one observer.
    public struct Iterator: AsyncIteratorProtocol {
        private weak var core: ContextCore?
        private let observer: PendingSignal.Observer?
        private var seen: UInt64
        private var last: [ObjectID: ObjectChange]

        fileprivate init(_ core: ContextCore?) {
            self.core = core
            observer = core?.observePending()
            seen = observer?.version ?? 0
            last = core?.changes().byObject ?? [:]
        }

        /// Returns what is pending after the next turn with edits, or nil when the context is gone
        /// or the task cancelled.
        ///
        /// - Complexity: O(pending changes).
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async -> PendingUpdate? {
            while !Task.isCancelled, let observer {
                let version = observer.version
                if version == seen {
                    guard await observer.wait(after: seen) else { return nil }
                    continue
                }
                seen = version
                guard let core else { return nil }
                if let update = update(core) { return update }
            }
            return nil
        }

        private mutating func update(_ core: ContextCore) -> PendingUpdate? {
            core.pending.watchNextEdits()
            let changes = core.changes()
            let now = changes.byObject
            let ids = Set(now.keys).union(last.keys).filter { now[$0] != last[$0] }
            last = now
            return ids.isEmpty ? nil : PendingUpdate(changes: changes, objects: ids.sorted())
        }
    }
}

extension ChangeSet {
    fileprivate var byObject: [ObjectID: ObjectChange] {
        Dictionary(changes.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

extension ManagedContext {
    /// The pending changes as they are edited, before anything is saved: for forms that show what
    /// has changed, and whether there is something to save.
    ///
    /// Edits of one turn of the context's isolation are one update. Iterate on that isolation.
    public var pendingChanges: PendingUpdates { PendingUpdates(core) }
}

extension ContextCore {
    /// Begins to notice edits for an observer.
    fileprivate func observePending() -> PendingSignal.Observer {
        let signal = pendingSignal ?? PendingSignal()
        pendingSignal = signal
        let observer = PendingSignal.Observer(signal)
        pending.watchNextEdits()
        return observer
    }
}

extension PendingChanges {
    /// Has the next edit of each pending object noticed.
    fileprivate func watchNextEdits() {
        func watch<M: Model>(_ object: M) { object._$state.flags.insert(.watched) }
        for entry in objects { watch(entry.object) }
    }
}

/// Tells observers of a context that something pending has changed.
///
/// State: the version and the observers, guarded by the mutex.
final class PendingSignal: Sendable {
    private struct State {
        /// Counts the changes that were noticed.
        var version: UInt64 = 0
        var observerCount = 0
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter: UInt64 = 0
        var isEnded = false

        mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
            defer { waiters = [:] }
            return Array(waiters.values)
        }
    }
    private let state = Mutex(State())

    init() {}

    /// The number of observers.
    var observerCount: Int { state.withLock { $0.observerCount } }

    /// Notices a change.
    ///
    /// Who waits goes on when the isolation of the context is free: after the turn.
    func note() {
        let waiters = state.withLock { state in
            state.version += 1
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Lets every observer end.
    func end() {
        let waiters = state.withLock { state in
            state.isEnded = true
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Stands for one observer; when it goes, nothing of the observer is left.
    final class Observer: Sendable {
        private let signal: PendingSignal

        init(_ signal: PendingSignal) {
            self.signal = signal
            signal.state.withLock { $0.observerCount += 1 }
        }

        deinit { signal.state.withLock { $0.observerCount -= 1 } }

        var version: UInt64 { signal.state.withLock { $0.version } }

        /// Waits for a change after a version; false when there will be none.
        func wait(after version: UInt64) async -> Bool {
            let number = signal.state.withLock { state in
                state.nextWaiter += 1
                return state.nextWaiter
            }
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let resumesNow = signal.state.withLock { state in
                        if state.isEnded || state.version > version || Task.isCancelled {
                            return true
                        }
                        state.waiters[number] = continuation
                        return false
                    }
                    if resumesNow { continuation.resume() }
                }
            } onCancel: {
                signal.state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
            }
            return signal.state.withLock { !$0.isEnded || $0.version > version }
        }
    }
}
