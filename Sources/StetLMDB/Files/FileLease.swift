import Glibc

/// An exclusive right to a file, until it is released or its process ends.
///
/// It is a lock on a byte of the file, so that it leaves nothing behind.
///
/// State: `descriptor`, guarded by its monitor.
package final class FileLease: Sendable {
    /// The descriptor that has the lock; nil once the lease has ended.
    private let descriptor: Monitor<SharedDescriptor?>

    init(_ descriptor: SharedDescriptor) { self.descriptor = Monitor(descriptor) }

    /// Waits for the right to migrate a file with code, in this process or another.
    ///
    /// - Throws: `LMDBError` if the file cannot be opened for writing.
    package static func migration(ofFileAt path: String) throws(LMDBError) -> FileLease {
        while true {
            // Needs its own descriptor, because a lock conflicts only with those of other
            // descriptors.
            let descriptor = try SharedDescriptor(path, O_RDWR, naming: path)
            try descriptor.wait(FileLocks.migrationLock, path)
            // Another file may have replaced it during the wait.
            if descriptor.identity == FileIdentity(path: path) { return FileLease(descriptor) }
        }
    }

    /// Releases the right.
    package func end() {
        descriptor.withLock { descriptor in
            descriptor?.close()
            descriptor = nil
        }
    }

    /// Whether the right has been released.
    var hasEnded: Bool { descriptor.withLock { $0 == nil } }

    /// Continues with a lock on the file that replaces the present one, unless the lease has ended.
    func continueWith(_ next: SharedDescriptor) {
        descriptor.withLock { if $0 != nil { $0 = next } }
    }
}

/// The right that one holder at a time has to a number of an environment's file.
struct WeakLease {
    let number: Int
    weak var lease: FileLease?

    /// Returns the lease and a lock for it on the file that will replace the present one; nil when
    /// the lease has ended.
    func successor(
        _ locks: FileLocks, _ draft: Draft
    ) throws(LMDBError) -> (FileLease, SharedDescriptor)? {
        guard let lease, !lease.hasEnded else { return nil }
        guard let descriptor = try locks.lease(number, presently: draft.path) else {
            throw LMDBError(.create, code: LMDBError.busy, path: locks.path)
        }
        return (lease, descriptor)
    }
}

extension FileLease {
    /// Acquires a right that only one holder at a time can have, in this process or another.
    ///
    /// The holder keeps it when the environment replaces its file.
    ///
    /// - Parameters:
    ///   - number: The number of the right, from 0 up to 2^48.
    ///   - environment: The environment of the file.
    /// - Returns: The right; nil while another holder has it.
    /// - Throws: `LMDBError`.
    package static func acquire(
        _ number: Int, of environment: Environment
    ) throws(LMDBError) -> FileLease? {
        try environment.leases.withLock { (leases) throws(LMDBError) -> FileLease? in
            guard let descriptor = try environment.locks.lease(number) else { return nil }
            let lease = FileLease(descriptor)
            leases.removeAll { $0.lease?.hasEnded ?? true }
            leases.append(WeakLease(number: number, lease: lease))
            return lease
        }
    }

    /// Returns whether a lease is held, by this process or another.
    package static func isHeld(
        _ number: Int, of environment: Environment
    ) throws(LMDBError) -> Bool {
        try environment.locks.isLeased(number)
    }
}
