import Glibc
import Synchronization

/// Counts the forks that lie between this process and the one that the program began as.
///
/// An LMDB environment must not be used in a child that was forked after it was opened: the locks
/// and the reader table belong to the parent. Asking for the process id in each transaction would
/// be a system call; this is one load.
enum ProcessFork {
    private static let count = Atomic<Int>(0)

    private static let isRegistered: Bool = {
        pthread_atfork(nil, nil) { ProcessFork.count.add(1, ordering: .relaxed) } == 0
    }()

    /// The forks so far, counted from the first call on.
    static var generation: Int {
        _ = isRegistered
        return count.load(ordering: .relaxed)
    }
}
