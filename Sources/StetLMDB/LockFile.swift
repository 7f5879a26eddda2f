import CLMDB
import Glibc

/// The file beside the data file in which LMDB keeps its locks and the table of readers.
enum LockFile {
    /// Bytes of a reader's slot, and of what stands before the slots: `MDB_reader` and
    /// `MDB_txninfo` of mdb.c, less one slot that counts as part of the latter.
    private static let slotByteCount = 64
    private static let headerByteCount = 128

    /// Makes sure that the lock file has its blocks.
    ///
    /// LMDB makes it by its size alone and writes through a map: where the disk has no room left,
    /// the first use of a page would end the process with SIGBUS.
    ///
    /// - Throws: `LMDBError` with the code of a full disk. Other failures are left to LMDB, which
    ///   meets them too.
    static func reserve(besides path: String, readerCount: Int) throws(LMDBError) {
        let descriptor = open("\(path)-lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let byteCount = headerByteCount + max(readerCount, 1) * slotByteCount
        // Its size stays LMDB's affair: it tells every process how many slots there are.
        if fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, byteCount) != 0,
            [ENOSPC, EDQUOT].contains(errno)
        {
            throw LMDBError(.openEnvironment, code: errno, path: path)
        }
    }
}
