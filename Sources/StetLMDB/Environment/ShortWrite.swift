import CLMDB
import Glibc

/// A write of a commit that ended early.
enum ShortWrite {
    /// The number of bytes that are requested to test whether the disk is full: more than any block
    /// size.
    private static let probeByteCount = 1 << 16

    /// Returns the cause of a commit's error: LMDB reports `EIO` for a write that ended early,
    /// which is the first sign of a full disk or of a limit of file size.
    ///
    /// It requests a little more room after the end of the file from the file system.
    static func cause(of code: Int32, _ handle: OpaquePointer?) -> Int32 {
        guard code == EIO, let handle else { return code }
        var descriptor: mdb_filehandle_t = -1
        var status = stat()
        var limit = rlimit()
        guard mdb_env_get_fd(handle, &descriptor) == 0, fstat(descriptor, &status) == 0,
            getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0
        else { return code }
        // `fallocate` ignores this limit if it keeps the size.
        if limit.rlim_cur < rlim_t(Int(status.st_size) + probeByteCount) { return EFBIG }
        let answer = fallocate(
            descriptor, FALLOC_FL_KEEP_SIZE, status.st_size, probeByteCount)
        return answer != 0 && [ENOSPC, EDQUOT].contains(errno) ? errno : code
    }
}
