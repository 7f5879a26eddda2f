import Glibc

/// A right of which a file has one, until it is given back or its process ends.
///
/// It is a lock on a byte of the file, so that nothing of it is left behind, whoever has had it.
package final class FileLease: Sendable {
    private let descriptor: SharedDescriptor

    init(_ descriptor: SharedDescriptor) { self.descriptor = descriptor }

    /// Waits for the right to migrate a file with code, in this process or another.
    ///
    /// - Throws: `LMDBError` if the file cannot be opened for writing.
    package static func migration(ofFileAt path: String) throws(LMDBError) -> FileLease {
        while true {
            // A lock excludes those of other descriptors only.
            let descriptor = try SharedDescriptor(path, O_RDWR, naming: path)
            try descriptor.wait(FileLocks.migrationLock, path)
            // Meanwhile another file may have been put in its place.
            if descriptor.identity == FileIdentity(path: path) { return FileLease(descriptor) }
        }
    }

    /// Gives the right back.
    package func end() { descriptor.close() }
}
