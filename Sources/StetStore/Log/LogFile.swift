import Glibc
import StetLMDB

/// A file of a commit log: bytes that are read and written at offsets, and synced.
package protocol LogFile: AnyObject {
    /// Returns the bytes from an offset on; fewer than asked for where the file ends.
    func read(_ byteCount: Int, at offset: Int) throws -> [UInt8]
    /// Writes bytes, which a later `sync` makes durable.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws
    /// Makes durable all that was written; after an error nothing is known of it.
    func sync() throws
}

/// A file of a commit log on a disk.
package final class LogFileOnDisk: LogFile {
    private let descriptor: CInt
    private let path: String

    /// Opens a file that exists, or creates an empty one that only its owner can read and write.
    ///
    /// - Throws: `LMDBError`.
    package init(at path: String, createsFile: Bool) throws {
        let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (createsFile ? O_CREAT | O_EXCL : 0)
        descriptor = open(path, flags, 0o600)
        self.path = path
        guard descriptor >= 0 else { throw LMDBError(.openEnvironment, code: errno, path: path) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    package func read(_ byteCount: Int, at offset: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        var done = 0
        while done < byteCount {
            let count = bytes.withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress! + done, byteCount - done, offset + done)
            }
            if count == 0 { break }
            guard count > 0 || errno == EINTR else {
                throw LMDBError(.get, code: errno, path: path)
            }
            done += max(count, 0)
        }
        bytes.removeLast(byteCount - done)
        return bytes
    }

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
        var done = 0
        while done < bytes.count {
            let count = pwrite(
                descriptor, bytes.baseAddress! + done, bytes.count - done, offset + done)
            guard count > 0 || (count < 0 && errno == EINTR) else {
                throw LMDBError(.commit, code: count == 0 ? ENOSPC : errno, path: path)
            }
            done += max(count, 0)
        }
    }

    package func sync() throws {
        guard fdatasync(descriptor) == 0 else {
            throw LMDBError(.commit, code: errno, path: path)
        }
    }
}
