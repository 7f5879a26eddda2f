import Glibc

/// An exclusive right to a file, until it is released or its process ends.
///
/// It is a lock on a byte of the file, so that it leaves nothing behind.
package final class FileLease: Sendable {
    private let descriptor: SharedDescriptor

    init(_ descriptor: SharedDescriptor) { self.descriptor = descriptor }

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
    package func end() { descriptor.close() }
}
