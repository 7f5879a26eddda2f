import Glibc

/// A value that one thread at a time can reach, and a way to wait until it changes.
///
/// A POSIX mutex with a condition variable: `Synchronization.Mutex` cannot be waited on, and thread
/// sanitizer does not know it on Linux.
///
/// State: `value`, guarded by `mutex`.
@usableFromInline
package final class Monitor<Value>: @unchecked Sendable {  // `value` is reached under `mutex` only
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    @usableFromInline var value: Value

    /// A monitor of a value that nobody else holds.
    package init(_ value: sending Value) {
        self.value = value
        let hasMutex = pthread_mutex_init(mutex, nil) == 0
        precondition(hasMutex && pthread_cond_init(condition, nil) == 0, "no memory for a lock")
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` while no other thread is inside.
    ///
    /// It must not come back to the same monitor.
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

    /// Runs `body`, and again after each `notify()`, until it answers something.
    package func wait<Result>(until body: (inout Value) -> Result?) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&value) { return result }
            pthread_cond_wait(condition, mutex)
        }
    }

    /// Lets everybody who waits look again.
    package func notify() {
        pthread_cond_broadcast(condition)
    }
}
