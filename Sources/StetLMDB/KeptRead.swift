import CLMDB
import Glibc

/// A read that stays open between uses, so that many small ones cost one transaction.
///
/// It begins with the first use. It does not show one state: it is begun anew when it has been open
/// for a while, so that it does not keep the pages of old states, and after its thread had to wait
/// for others, who may wait for the end of all reads.
///
/// State: belongs to the thread that created it. `handle` is LMDB's open transaction; `useCount`
/// the number of uses that are running, one inside another.
package final class KeptRead {
    private let environment: Environment
    private var handle: OpaquePointer?
    private var useCount = 0
    /// True when the read must not be used again, but is in use.
    private var isOutdated = false
    private var begun = Duration.zero
    private var remainingCount = 0

    /// The longest time for which it is open, and the number of uses after which that is checked.
    private static let limit = Duration.milliseconds(100)
    private static let checkedCount = 64

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
        if isOutdated || environment.isForked { return try environment.read(body) }
        let handle = try current()
        useCount += 1
        var hasThrown = true
        defer {
            useCount -= 1
            if hasThrown || isOutdated { end() }
        }
        let result = try body(ReadTransaction(handle: handle, environment: environment))
        hasThrown = false
        return result
    }

    private func current() throws(LMDBError) -> OpaquePointer {
        remainingCount -= 1
        if remainingCount < 0, useCount == 0 {
            remainingCount = Self.checkedCount
            if handle != nil, environment.configuration.uptime() - begun > Self.limit { end() }
        }
        if let handle { return handle }
        #if STET_FAULTS
            environment.faults.countRead()
        #endif
        let handle = try environment.beginRead(keptBy: self)
        self.handle = handle
        begun = environment.configuration.uptime()
        return handle
    }

    /// Ends the read, at the end of the use that is running; the next use begins another one.
    package func end() {
        guard useCount == 0 else {
            isOutdated = true
            return
        }
        isOutdated = false
        guard let handle else { return }
        self.handle = nil
        if !environment.isForked { environment.endUse(keeping: handle, keptBy: self) }
    }
}

extension Environment {
    /// Ends the reads that this thread keeps open, before it waits for others.
    package func endKeptReads() {
        let thread = pthread_self()
        let kept = state.withLock { $0.openTransactions.kept(by: thread) }
        for read in kept { read.takeUnretainedValue().end() }
    }
}
