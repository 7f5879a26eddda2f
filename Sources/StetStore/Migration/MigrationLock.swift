import Glibc
import StetLMDB
import Synchronization

/// Serialises the migrations of a store with code, over all processes.
///
/// State: the threads that have one, guarded by their mutex.
package final class MigrationLock: Sendable {
    private static let holders = Mutex<[pthread_t: String]>([:])

    private let lease: FileLease
    private let thread = pthread_self()

    /// Waits until nobody else holds the lock.
    ///
    /// Traps when this thread holds it, because the thread would wait for itself.
    ///
    /// - Throws: `StoreError` when the file of the store cannot be opened.
    package init(_ store: String) throws {
        let holder = Self.holders.withLock { [thread] in $0[thread] }
        trap(unless: holder != store, "The migration of \(store) opens the store to migrate it.")
        do { lease = try FileLease.migration(ofFileAt: store) } catch { throw StoreError(error) }
        Self.holders.withLock { [thread] in $0[thread] = store }
    }

    /// Releases the lock to the next one that waits.
    package func release() {
        Self.holders.withLock { [thread] in $0[thread] = nil }
        lease.end()
    }
}
