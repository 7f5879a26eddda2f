import Foundation

/// Waits for the notifications of a database on a thread of its own, as long as somebody listens.
///
/// State: what to call, and whether the thread runs, guarded by the lock.
final class Listener: @unchecked Sendable {  // reached under `lock` only
    private struct Waker {
        let store: String
        let journal: UInt64
        let wake: @Sendable () -> Void
    }

    /// What a journal holds while it listens.
    private final class Registration {
        private let listener: Listener
        private let number: Int

        init(_ listener: Listener, _ number: Int) {
            self.listener = listener
            self.number = number
        }

        deinit {
            // What the closure holds is released outside of the lock.
            _ = listener.lock.withLock { listener.wakers.removeValue(forKey: number) }
        }
    }

    private let pool: ConnectionPool
    private let lock = NSLock()
    private var wakers: [Int: Waker] = [:]
    private var lastNumber = 0
    private var isRunning = false

    init(_ pool: ConnectionPool) { self.pool = pool }

    /// Calls `wake` after appends to a store by other journals, until the returned object is
    /// released; returns nil when the database cannot be reached, or has no `LISTEN`.
    func listen(
        to store: String, for journal: UInt64, _ wake: @escaping @Sendable () -> Void
    ) -> AnyObject? {
        lock.withLock {
            if !isRunning {
                guard let session = makeSession() else { return nil }
                isRunning = true
                start(session)
            }
            lastNumber += 1
            wakers[lastNumber] = Waker(store: store, journal: journal, wake: wake)
            return Registration(self, lastNumber)
        }
    }

    private func start(_ session: Session) {
        // The session is used by the thread alone from here on.
        nonisolated(unsafe) var current: Session? = session
        Thread.detachNewThread { [self] in
            while goesOn() {
                if current == nil {
                    current = makeSession()
                    // Notifications may have been missed.
                    wake { _, _ in true }
                }
                guard let session = current else {
                    Thread.sleep(forTimeInterval: 1)
                    continue
                }
                do {
                    guard try session.isReadable(within: .milliseconds(500)) else { continue }
                    let notifications = Set(session.notifications())
                    wake { waker, isAlone in
                        notifications.contains {
                            // A node knows what it has appended itself.
                            $0.store == waker.store
                                && !($0.sender == waker.journal && isAlone)
                        }
                    }
                } catch {
                    current = nil
                }
            }
        }
    }

    /// Whether somebody listens; otherwise the thread ends.
    private func goesOn() -> Bool {
        lock.withLock {
            isRunning = !wakers.isEmpty
            return isRunning
        }
    }

    /// Wakes some; a waker is alone when no other one has the same journal.
    private func wake(_ isMeant: (_ waker: Waker, _ isAlone: Bool) -> Bool) {
        let all = lock.withLock {
            let counts = wakers.values.reduce(into: [:]) { $0[$1.journal, default: 0] += 1 }
            return wakers.values.filter { isMeant($0, counts[$0.journal] == 1) }
        }
        for waker in all { waker.wake() }
    }

    private func makeSession() -> Session? {
        guard let session = try? pool.makeSession() else { return nil }
        return (try? session.listen()) == nil ? nil : session
    }
}
