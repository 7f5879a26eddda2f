import Glibc
import StetLMDB

/// Lets one migration of a store with code happen at a time, over all processes.
package struct MigrationLock {
    private let descriptor: Int32
    private let path: String

    /// Waits until nobody else has it.
    ///
    /// - Throws: `StoreError` when its file cannot be made.
    package init(_ store: String) throws {
        path = "\(store).migrating"
        while true {
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else {
                throw StoreError(LMDBError(.create, code: errno, path: path))
            }
            while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
            // Who had it before has removed its file.
            var mine = stat()
            var present = stat()
            if fstat(descriptor, &mine) == 0, stat(path, &present) == 0,
                mine.st_ino == present.st_ino
            {
                self.descriptor = descriptor
                return
            }
            close(descriptor)
        }
    }

    /// Gives it to whoever waits.
    package func release() {
        unlink(path)
        close(descriptor)
    }
}
