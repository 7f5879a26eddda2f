import Glibc
import StetLMDB
import Synchronization

/// Lets one migration of a store with code happen at a time, over all processes.
///
/// State: the threads that have one, guarded by their mutex.
package final class MigrationLock: Sendable {
    private static let holders = Mutex<[pthread_t: String]>([:])

    private let lease: FileLease
    private let thread = pthread_self()

    /// Waits until nobody else has it.
    ///
    /// Traps when this thread has it, which would wait for itself.
    ///
    /// - Throws: `StoreError` when the file of the store cannot be opened.
    package init(_ store: String) throws {
        let holder = Self.holders.withLock { [thread] in $0[thread] }
        trap(unless: holder != store, "The migration of \(store) opens the store to migrate it.")
        do { lease = try FileLease.migration(ofFileAt: store) } catch { throw StoreError(error) }
        Self.holders.withLock { [thread] in $0[thread] = store }
    }

    /// Gives it to whoever waits.
    package func release() {
        Self.holders.withLock { [thread] in $0[thread] = nil }
        lease.end()
    }
}
