import Glibc
import Synchronization

/// Counts the forks between this process and the one in which the program started.
///
/// An LMDB environment must not be used in a child that was forked after it was opened: the locks
/// and the reader table belong to the parent. Reading the process id in each transaction would be a
/// system call; this is one load.
///
/// State: the descriptors that a child closes, guarded by their monitor, which is held across a
/// fork.
package enum ProcessFork {
    private static let count = Atomic<Int>(0)
    private static let descriptors = Monitor<Set<Int32>>([])

    private static let isRegistered: Bool = {
        pthread_atfork(
            { ProcessFork.descriptors.lock() }, { ProcessFork.descriptors.unlock() },
            {
                // The child would otherwise hold the locks of open file descriptions until it ends.
                for descriptor in ProcessFork.descriptors.value { Glibc.close(descriptor) }
                ProcessFork.descriptors.value = []
                ProcessFork.count.add(1, ordering: .relaxed)
                ProcessFork.descriptors.unlock()
            }) == 0
    }()

    /// The number of forks, counted from the first call on.
    package static var generation: Int {
        _ = isRegistered
        return count.load(ordering: .relaxed)
    }

    /// Opens a file whose descriptor a forked child does not keep; returns -1 on failure, with
    /// `errno` set.
    static func closingInChild(_ open: () -> Int32) -> Int32 {
        _ = isRegistered
        return descriptors.withLock { descriptors in
            let descriptor = open()
            let code = errno
            if descriptor >= 0 { descriptors.insert(descriptor) }
            errno = code
            return descriptor
        }
    }

    /// Closes such a descriptor.
    static func close(_ descriptor: Int32) {
        descriptors.withLock { descriptors in
            descriptors.remove(descriptor)
            _ = Glibc.close(descriptor)
        }
    }
}
