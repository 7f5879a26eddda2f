import CLMDB
import Glibc

/// The transactions that are open in this process, and other uses that keep the file open.
struct OpenTransactions {
    private struct One {
        let thread: pthread_t
        let isRead: Bool
        /// The time of its beginning, by the clock of the configuration.
        let begun: Duration
        /// The object that keeps it open between uses.
        let keeper: Unmanaged<KeptRead>?
    }

    private var all: [One] = []

    var isEmpty: Bool { all.isEmpty }
    var hasReads: Bool { all.contains(where: \.isRead) }
    var hasOnlyReads: Bool { all.allSatisfy(\.isRead) }
    /// The times at which the reads began.
    var beginningsOfReads: [Duration] { all.filter(\.isRead).map(\.begun) }

    /// Returns whether a thread has a transaction open.
    func areOpen(on thread: pthread_t) -> Bool { all.contains { $0.thread == thread } }

    /// Returns whether a thread has a read open.
    func areReads(on thread: pthread_t) -> Bool {
        all.contains { $0.isRead && $0.thread == thread }
    }

    /// Ends the reads that are kept open and not in use; returns their number.
    @discardableResult
    mutating func endIdleReads() -> Int {
        let count = all.count
        all.removeAll { one in
            // It is alive: it removes itself from this list before it is released, unless another
            // thread has taken its transaction.
            guard let handle = one.keeper?._withUnsafeGuaranteedRef({ $0.takeIdle() }) else {
                return false
            }
            mdb_txn_abort(handle)
            return true
        }
        return count - all.count
    }

    mutating func add(
        on thread: pthread_t, isRead: Bool, begun: Duration, keptBy keeper: KeptRead? = nil
    ) {
        all.append(
            One(
                thread: thread, isRead: isRead, begun: begun,
                keeper: keeper.map(Unmanaged.passUnretained)))
    }

    /// Removes the one that `keeper` keeps, or the last one of a thread that nothing keeps.
    mutating func remove(on thread: pthread_t, keptBy keeper: KeptRead?) {
        let pointer = keeper.map { Unmanaged.passUnretained($0).toOpaque() }
        let index = all.lastIndex {
            $0.keeper?.toOpaque() == pointer && (pointer != nil || $0.thread == thread)
        }
        if let index { all.remove(at: index) }
    }
}
