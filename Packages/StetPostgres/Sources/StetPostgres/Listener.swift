import Foundation

/// Waits for the notifications of a database on a thread of its own, as long as somebody listens.
///
/// State: what to call, and whether the thread runs, guarded by the lock.
final class Listener: @unchecked Sendable {  // reached under `lock` only
    private struct Waker {
        let store: String
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

    /// Calls `wake` after notifications of a store, until the returned object is released; returns
    /// nil when the database cannot be reached, or has no `LISTEN`.
    func listen(to store: String, _ wake: @escaping @Sendable () -> Void) -> AnyObject? {
        lock.withLock {
            if !isRunning {
                guard let session = makeSession() else { return nil }
                isRunning = true
                start(session)
            }
            lastNumber += 1
            wakers[lastNumber] = Waker(store: store, wake: wake)
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
                    wake { _ in true }
                }
                guard let session = current else {
                    Thread.sleep(forTimeInterval: 1)
                    continue
                }
                do {
                    guard try session.isReadable(within: .milliseconds(500)) else { continue }
                    let stores = Set(session.notifications())
                    wake(stores.contains)
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

    private func wake(_ isMeant: (String) -> Bool) {
        let all = lock.withLock { wakers.values.filter { isMeant($0.store) } }
        for waker in all { waker.wake() }
    }

    private func makeSession() -> Session? {
        guard let session = try? pool.makeSession() else { return nil }
        return (try? session.listen()) == nil ? nil : session
    }
}
