import Glibc
import Synchronization

/// A lock of an open file description, such as another process would hold.
///
/// State: the descriptor is constant; whether the lock is held is atomic.
package final class ForeignLock: Sendable {
    private let descriptor: Int32
    private let isHeld = Atomic(true)

    /// Locks `count` bytes from `start`, or returns nil if another description has locked one of
    /// them, or the file cannot be opened.
    package init?(_ path: String, from start: Int, count: Int = 1, isShared: Bool = false) {
        descriptor = open(path, O_RDWR | O_CLOEXEC)
        var lock = flock()
        lock.l_type = Int16(isShared ? F_RDLCK : F_WRLCK)
        lock.l_start = off_t(start)
        lock.l_len = off_t(count)
        // F_OFD_SETLK of linux/fcntl.h.
        if fcntl(descriptor, 37, &lock) != 0 { return nil }
    }

    deinit { release() }

    /// Releases the lock.
    package func release() {
        guard isHeld.exchange(false, ordering: .relaxed) else { return }
        var lock = flock()
        lock.l_type = Int16(F_UNLCK)
        _ = fcntl(descriptor, 37, &lock)
        close(descriptor)
    }

    /// Takes the right to write as a process with this id would.
    package convenience init?(writing path: String, process: Int32) {
        self.init(path, from: 2 << 48, count: Int(process) + 1)
    }
}
