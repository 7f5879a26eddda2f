import CLMDB
import Glibc

/// A value that one thread at a time can access, and whose changes threads can wait for.
///
/// It is a POSIX mutex with a condition variable: `Synchronization.Mutex` offers no waiting, and
/// thread sanitizer does not support it on Linux.
///
/// State: `value`, guarded by `mutex`.
@usableFromInline
package final class Monitor<Value>: @unchecked Sendable {  // `value` is reached under `mutex` only
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    @exclusivity(unchecked) @usableFromInline var value: Value

    /// Creates a monitor of a value.
    package init(_ value: sending Value) {
        self.value = value
        // Neither call allocates memory, so neither can fail.
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` while no other thread is inside.
    ///
    /// `body` must not use the same monitor.
    @inlinable
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body(&value)
    }

    @usableFromInline
    func lock() { pthread_mutex_lock(mutex) }

    @usableFromInline
    func unlock() { pthread_mutex_unlock(mutex) }

    /// Runs `body`, and again after each `notify()`, until it returns a result.
    package func wait<Result>(until body: (inout Value) -> Result?) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&value) { return result }
            pthread_cond_wait(condition, mutex)
        }
    }

    /// Waits for `notify()`, at most for a time, unless the value needs no waiting.
    package func wait(atMost limit: Duration, while isNeeded: (Value) -> Bool = { _ in true }) {
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        let (seconds, attoseconds) = limit.components
        let nanoseconds = end.tv_nsec + Int(attoseconds / 1_000_000_000)
        end.tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
        end.tv_nsec = nanoseconds % 1_000_000_000
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard isNeeded(value) else { return }
        pthread_cond_timedwait(condition, mutex, &end)
    }

    /// Wakes all waiting threads, which then check again.
    package func notify() {
        pthread_cond_broadcast(condition)
    }
}
