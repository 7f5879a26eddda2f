import CLMDB
import Glibc

/// A write of a commit that ended early.
enum ShortWrite {
    /// Bytes that are asked for to see whether the disk is full: more than any block of one.
    private static let probeByteCount = 1 << 16

    /// What was behind an error of a commit: LMDB answers `EIO` to a write that ended early, which
    /// is how a full disk or a limit of file size shows itself first.
    ///
    /// Asks the file system for a little more room behind the end of the file.
    static func cause(of code: Int32, _ handle: OpaquePointer?) -> Int32 {
        guard code == EIO, let handle else { return code }
        var descriptor: mdb_filehandle_t = -1
        var status = stat()
        var limit = rlimit()
        guard mdb_env_get_fd(handle, &descriptor) == 0, fstat(descriptor, &status) == 0,
            getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0
        else { return code }
        // This limit is not asked where the size is kept.
        if limit.rlim_cur < rlim_t(Int(status.st_size) + probeByteCount) { return EFBIG }
        let answer = fallocate(
            descriptor, FALLOC_FL_KEEP_SIZE, status.st_size, probeByteCount)
        return answer != 0 && [ENOSPC, EDQUOT].contains(errno) ? errno : code
    }
}
