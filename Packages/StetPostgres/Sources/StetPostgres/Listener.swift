import Foundation

/// Waits for notifications on a thread of its own, until it is released.
final class Listener {
    /// State: the end, guarded by the lock.
    private final class Work: @unchecked Sendable {  // `isEnded` is reached under `lock` only
        private let lock = NSLock()
        private var isEnded = false

        var goesOn: Bool { lock.withLock { !isEnded } }

        func end() { lock.withLock { isEnded = true } }
    }

    private let work = Work()

    /// Starts to listen; returns nil when the database cannot be reached, or has no `LISTEN`.
    init?(_ connection: Connection, store: String, _ wake: @escaping @Sendable () -> Void) {
        guard let session = Self.session(connection) else { return nil }
        let work = work
        // The session is used by the thread alone from here on.
        nonisolated(unsafe) var current: Session? = session
        Thread.detachNewThread {
            while work.goesOn {
                if current == nil {
                    current = Self.session(connection)
                    // Notifications may have been missed.
                    wake()
                }
                guard let session = current else {
                    Thread.sleep(forTimeInterval: 1)
                    continue
                }
                do {
                    guard try session.isReadable(within: .milliseconds(500)) else { continue }
                    if session.notifications().contains(store) { wake() }
                } catch {
                    current = nil
                }
            }
        }
    }

    deinit { work.end() }

    private static func session(_ connection: Connection) -> Session? {
        guard let session = try? connection.makeSession() else { return nil }
        return (try? session.listen()) == nil ? nil : session
    }
}
