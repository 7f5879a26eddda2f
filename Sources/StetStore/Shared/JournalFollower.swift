import Glibc
import StetLMDB

/// The thread of a node that applies the commits of others: after a hint of the shared journal, or
/// after a pause.
///
/// State: the end and the hint, guarded by the monitor.
package final class JournalFollower: Sendable {
    private struct State {
        var isStarted = false
        var isEnded = false
        var isHinted = false
        /// The thread, from its start, while it follows.
        var working: pthread_t?
        var listening: AnyObject?

        /// Whether another thread than this one follows.
        var isWorkingElsewhere: Bool { working.map { $0 != pthread_self() } ?? false }
    }

    /// The pause while the journal gives hints, which may be lost.
    private static let hintedPause = Duration.seconds(1)
    /// The longest pause after failures.
    private static let longestPause = Duration.seconds(5)

    private let journal: any SharedJournal
    private let pause: Duration
    private let state = Monitor(State())

    init(_ journal: any SharedJournal, pause: Duration) {
        self.journal = journal
        self.pause = pause
    }

    /// Starts the thread, once, which calls `follow` until that returns nil: whether it succeeded.
    ///
    /// - Throws: `StoreError` (`.noThread`).
    func start(path: String, _ follow: @escaping @Sendable () -> Bool?) throws {
        guard
            state.withLock({ state in
                defer { state.isStarted = true }
                return !state.isStarted
            })
        else { return }
        let body = Body { [self] in run(follow) }
        let context = Unmanaged.passRetained(body)
        // The thread waits for the lock, and so is noted before it does anything.
        let code = state.withLock { state in
            var thread = pthread_t()
            let code = pthread_create(
                &thread, nil,
                { context in
                    guard let context else { return nil }
                    Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                    return nil
                }, context.toOpaque())
            if code == 0 {
                pthread_detach(thread)
                state.working = thread
            }
            return code
        }
        guard code == 0 else {
            context.release()
            throw StoreError.noThread(path: path, systemCode: code)
        }
    }

    private final class Body {
        let run: () -> Void
        init(_ run: @escaping () -> Void) { self.run = run }
    }

    /// The time for which the end waits for a journal that does not answer.
    private static let endingLimit = Duration.seconds(10)

    /// Ends the thread; returns when it does not use the store any more.
    func end() {
        let listening = state.withLock { state in
            state.isEnded = true
            defer { state.listening = nil }
            return state.listening
        }
        state.notify()
        withExtendedLifetime(listening) {}
        waitUntilIdle(Self.endingLimit)
    }

    /// Returns when the thread does not use the store, or after a limit.
    package func waitUntilIdle(_ limit: Duration) {
        let end = systemUptime() + limit
        while state.withLock(\.isWorkingElsewhere), systemUptime() < end {
            state.wait(atMost: .milliseconds(100), while: \.isWorkingElsewhere)
        }
    }

    private func hint() {
        state.withLock { $0.isHinted = true }
        state.notify()
    }

    /// The pause after a success.
    private var usualPause: Duration {
        state.withLock { $0.listening == nil } ? pause : max(pause, Self.hintedPause)
    }

    private func run(_ follow: () -> Bool?) {
        // The lock is held until the thread is noted.
        if !state.withLock(\.isEnded) { listen() }
        var current = pause
        while true {
            let isEnded = state.withLock { state in
                state.isHinted = false
                state.working = pthread_self()
                return state.isEnded
            }
            let result = isEnded ? nil : follow()
            state.withLock { $0.working = nil }
            state.notify()
            guard let isDone = result else { return }
            current = isDone ? usualPause : min(current * 2, Self.longestPause)
            if !isDone { listen() }
            state.wait(atMost: current) { !$0.isEnded && !$0.isHinted }
        }
    }

    /// Asks the journal for hints, anew after a failure.
    private func listen() {
        let listening = journal.listen { [weak self] in self?.hint() }
        let former = state.withLock { state in
            defer { state.listening = state.isEnded ? nil : listening }
            return state.listening
        }
        withExtendedLifetime((former, listening)) {}
    }
}
