import CLMDB
import Glibc
import Synchronization

/// A read that stays open between uses, so that many small ones cost one transaction.
///
/// It begins with the first use. It does not show one state: it is begun anew when it has been open
/// for a while, so that it does not keep the pages of old states. While it is not in use, anybody
/// who needs the end of all reads ends it; a writer thread does so every 30 seconds.
///
/// State: belongs to the thread that created it, on which alone it is kept, except for `idle`: the
/// open transaction between uses, which whoever exchanges it for nil has to end. `held` is the
/// transaction during uses, and `useCount` their number, one inside another.
package final class KeptRead {
    private let environment: Environment
    private let thread = pthread_self()
    private let idle = Atomic<OpaquePointer?>(nil)
    private var held: OpaquePointer?
    private var useCount = 0
    /// True when the transaction that is in use is not to be kept.
    private var isOutdated = false
    private var begun = Duration.zero

    /// The longest time for which it is open, apart from the last use.
    private static let limit = Duration.milliseconds(100)

    package init(_ environment: Environment) { self.environment = environment }

    /// Runs `body` on a consistent view: that of the last commit, or of one that was the last a
    /// short time ago.
    ///
    /// When `body` throws, the read ends.
    ///
    /// - Throws: `LMDBError`, and the error of `body`.
    @_semantics("optimize.sil.specialize.generic.never")  // As for `Environment.read`.
    package func use<Result>(
        _ body: (borrowing ReadTransaction) throws -> Result
    ) throws -> Result {
        if isOutdated || thread != pthread_self() || environment.isForked {
            return try environment.read(body)
        }
        let handle = try held ?? current()
        held = handle
        useCount += 1
        var hasThrown = true
        defer { endUse(isOutdated: hasThrown) }
        let result = try body(ReadTransaction(handle: handle, environment: environment))
        hasThrown = false
        return result
    }

    /// Returns the transaction that is kept, or another one; nobody else can end it.
    private func current() throws(LMDBError) -> OpaquePointer {
        let now = environment.configuration.uptime()
        if let handle = idle.exchange(nil, ordering: .sequentiallyConsistent) {
            if now - begun <= Self.limit { return handle }
            environment.endUse(keeping: handle, keptBy: self)
        }
        #if STET_FAULTS
            environment.faults.countRead()
        #endif
        begun = now
        return try environment.beginRead(keptBy: self)
    }

    private func endUse(isOutdated hasThrown: Bool) {
        useCount -= 1
        isOutdated = isOutdated || hasThrown
        guard useCount == 0, let handle = held else { return }
        held = nil
        idle.store(handle, ordering: .sequentiallyConsistent)
        if isOutdated { end() }
        // Whoever waits for the end of all reads has counted itself before it looked for idle ones.
        if environment.readAwaiterCount.load(ordering: .sequentiallyConsistent) > 0 {
            end()
            // Also when a third thread has just ended it, which does not notify.
            environment.state.notify()
        }
    }

    /// Ends the read, at the end of the use that is running; the next use begins another one.
    package func end() {
        isOutdated = useCount > 0
        guard useCount == 0, !environment.isForked, let handle = takeIdle() else { return }
        environment.endUse(keeping: handle, keptBy: self)
    }

    /// Returns the transaction if it is not in use; the caller ends it.
    ///
    /// Other threads may call it as long as the environment lists the read.
    func takeIdle() -> OpaquePointer? {
        idle.exchange(nil, ordering: .sequentiallyConsistent)
    }
}
