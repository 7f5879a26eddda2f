import Glibc

/// A file of a commit log: bytes that are read and written at offsets, and synced.
package protocol LogFile: AnyObject, Sendable {
    /// Returns the bytes from an offset on; fewer than asked for where the file ends.
    func read(_ byteCount: Int, at offset: Int) throws(LMDBError) -> [UInt8]
    /// Writes bytes, which a later `sync` makes durable.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(LMDBError)
    /// Makes durable all that was written; after an error nothing is known of it.
    func sync() throws(LMDBError)
}

extension LogFile {
    func write(_ bytes: [UInt8], at offset: Int) throws(LMDBError) {
        let result: Result<Void, LMDBError> = bytes.withUnsafeBytes { bytes in
            Result { () throws(LMDBError) in try write(bytes, at: offset) }
        }
        try result.get()
    }
}

/// A file of a commit log on a disk.
///
/// It grows by whole steps of zeros, so that most syncs need not write its size.
///
/// State: the number of allocated bytes, guarded by its monitor.
package final class LogFileOnDisk: LogFile {
    private let descriptor: CInt
    private let path: String
    private let byteCount: Monitor<Int>

    /// The number of bytes by which the file grows.
    private static let step = 1 << 20

    /// Opens a file that exists, or creates an empty one that only its owner can read and write.
    ///
    /// - Throws: `LMDBError`: `EEXIST` when the file to create exists.
    package init(at path: String, createsFile: Bool) throws(LMDBError) {
        let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (createsFile ? O_CREAT | O_EXCL : 0)
        let descriptor = open(path, flags, 0o600)
        guard descriptor >= 0 else { throw LMDBError(.openLog, code: errno, path: path) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw LMDBError(.openLog, code: EINVAL, path: path)
        }
        self.descriptor = descriptor
        self.path = path
        byteCount = Monitor(Int(status.st_size))
    }

    deinit { close(descriptor) }

    /// Gives the file the owner, the group and the rights of another one, as far as this process
    /// may.
    func adoptRights(of other: SharedDescriptor) {
        var wanted = stat()
        guard fstat(other.number, &wanted) == 0 else { return }
        if fchown(descriptor, wanted.st_uid, wanted.st_gid) != 0 {
            _ = fchown(descriptor, uid_t.max, wanted.st_gid)
        }
        _ = fchmod(descriptor, wanted.st_mode & 0o777)
    }

    package func read(_ byteCount: Int, at offset: Int) throws(LMDBError) -> [UInt8] {
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, filled in
            while filled < byteCount {
                let rest = UnsafeMutableBufferPointer(rebasing: buffer[filled...])
                let count = pread(descriptor, rest.baseAddress, rest.count, offset + filled)
                if count < 0, errno == EINTR { continue }
                if count < 0 { code = errno }
                if count <= 0 { return }
                filled += count
            }
        }
        if code != 0 { throw LMDBError(.readLog, code: code, path: path) }
        return bytes
    }

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(LMDBError) {
        try byteCount.withLock { (byteCount) throws(LMDBError) in
            let end = offset + bytes.count
            guard end > byteCount else { return }
            let larger = (end + Self.step - 1) / Self.step * Self.step
            let zeros = [UInt8](repeating: 0, count: larger - byteCount)
            let code = zeros.withUnsafeBytes { writeAll($0, at: byteCount) }
            try check(code, .writeLog, path)
            byteCount = larger
        }
        try check(writeAll(bytes, at: offset), .writeLog, path)
    }

    /// Returns 0, or the `errno`.
    private func writeAll(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        var done = 0
        while done < bytes.count {
            let count = pwrite(
                descriptor, bytes.baseAddress! + done, bytes.count - done, offset + done)
            if count > 0 {
                done += count
            } else if count == 0 || errno != EINTR {
                return count == 0 ? ENOSPC : errno
            }
        }
        return 0
    }

    package func sync() throws(LMDBError) {
        try check(fdatasync(descriptor) == 0 ? 0 : errno, .syncLog, path)
    }

    /// Overwrites the whole file with zeros, durably.
    func erase() throws(LMDBError) {
        let count = byteCount.withLock { $0 }
        for offset in stride(from: 0, to: count, by: Self.step) {
            try write([UInt8](repeating: 0, count: min(Self.step, count - offset)), at: offset)
        }
        try sync()
    }
}
