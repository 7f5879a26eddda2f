import Glibc

/// The transactions that are open in this process, and other uses that keep the file open.
struct OpenTransactions {
    private struct One {
        let thread: pthread_t
        let isRead: Bool
        /// The time of its beginning, by the clock of the configuration.
        let begun: Duration
        /// The object that keeps it open between uses, and that ends it before it is released.
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

    /// Returns the reads that a thread keeps open between uses.
    func kept(by thread: pthread_t) -> [Unmanaged<KeptRead>] {
        all.compactMap { $0.thread == thread ? $0.keeper : nil }
    }

    mutating func add(
        on thread: pthread_t, isRead: Bool, begun: Duration, keptBy keeper: KeptRead? = nil
    ) {
        all.append(
            One(
                thread: thread, isRead: isRead, begun: begun,
                keeper: keeper.map(Unmanaged.passUnretained)))
    }

    /// Removes the last one of a thread: of those that `keeper` keeps, or that nothing keeps.
    mutating func remove(on thread: pthread_t, keptBy keeper: KeptRead?) {
        let pointer = keeper.map { Unmanaged.passUnretained($0).toOpaque() }
        let index = all.lastIndex {
            $0.thread == thread && $0.keeper?.toOpaque() == pointer
        }
        if let index { all.remove(at: index) }
    }
}
