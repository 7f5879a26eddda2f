import Foundation
import StetLMDB
import StetStore
import Testing

/// Keeps LMDB's writer lock, so that change sets wait until it lets go.
final class HeldWriter: Sendable {
    private enum Phase { case beginning, held, released, ended }
    private let phase = Monitor(Phase.beginning)

    /// Nothing is committed with it.
    private struct NothingToWrite: Error {}

    /// Returns when the lock is held.
    init(_ environment: Environment) {
        let phase = phase
        Thread {
            do {
                try environment.write { _ in
                    phase.withLock { $0 = .held }
                    phase.notify()
                    phase.wait { $0 == .released ? () : nil }
                    throw NothingToWrite()
                }
            } catch {
                if !(error is NothingToWrite) { Issue.record("nothing is held: \(error)") }
            }
            phase.withLock { $0 = .ended }
            phase.notify()
        }.start()
        phase.wait { $0 == .beginning ? nil : () }
    }

    /// Lets go; returns when the transaction has ended.
    func release() {
        phase.withLock { if $0 == .held { $0 = .released } }
        phase.notify()
        phase.wait { $0 == .ended ? () : nil }
    }

    deinit { phase.withLock { if $0 == .held { $0 = .released } } }
}
