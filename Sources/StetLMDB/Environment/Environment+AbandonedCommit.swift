import CLMDB
import Glibc

// A commit ends with the write of a meta page. If that write succeeds but is reported as failed,
// and LMDB also fails to restore the older page, the commit is on the disk. But while any other
// process has the file open, the lock file contains the number of the last commit, which is the one
// before: every process continues from there, treats the pages of the abandoned commit as free, and
// overwrites them. A process that later opens the file alone relies on the meta pages, and finds a
// commit that was reported as not committed, or a damaged one.

extension Environment {
    /// Makes the state that transactions read equal to the one that the next process to open the
    /// file would read.
    ///
    /// Waits for the writer lock when the two differ, which also happens while a commit is just
    /// ending, and when the log of a process that has died may contain a commit more.
    ///
    /// - Throws: `LMDBError`: the file may still contain parts of a failed commit.
    package func settle() throws {
        let seen = try read { transaction in transaction.number }
        let log = try log.overview()
        if try lastCommit().transaction <= seen, log == nil || log?.owner != nil { return }
        mdb_txn_abort(try beginWrite())
        endWrite()
    }
}

/// A commit that is on the disk and was reported as failed.
enum AbandonedCommit {
    /// Rewrites the meta pages as they are read, so that the next sync brings them to the disk.
    ///
    /// After an error the system treats pages that it could not write as written: a later sync
    /// would not make durable what a read shows of a commit whose meta page failed.
    static func rewriteMetaPages(
        _ handle: OpaquePointer?, _ path: String
    ) throws(LMDBError) {
        var statistics = MDB_stat()
        try check(mdb_env_stat(handle, &statistics), .openEnvironment, path)
        var descriptor: mdb_filehandle_t = -1
        try check(mdb_env_get_fd(handle, &descriptor), .openEnvironment, path)
        let count = Format.metaByteCount
        var bytes = [UInt8](repeating: 0, count: count)
        for page in 0..<Format.metaPageCount {
            // Smaller than a sector, and a sector is written atomically.
            let offset = page * Int(statistics.ms_psize)
            guard pread(descriptor, &bytes, count, offset) == count,
                pwrite(descriptor, bytes, count, offset) == count
            else { throw LMDBError(.openEnvironment, code: EIO, path: path) }
        }
    }

    /// Restores the previous number of the meta page of an abandoned commit.
    ///
    /// Each writer calls it with the writer lock, before it writes anything.
    static func withdraw(
        _ handle: OpaquePointer, _ transaction: OpaquePointer, _ path: String
    ) throws(LMDBError) {
        var information = MDB_envinfo()
        try check(mdb_env_info(handle, &information), .begin, path)
        let last = mdb_txn_id(transaction) - 1
        let abandoned = information.me_last_txnid
        guard abandoned == last + 1 else { return }
        var statistics = MDB_stat()
        try check(mdb_env_stat(handle, &statistics), .begin, path)
        var descriptor: mdb_filehandle_t = -1
        try check(mdb_env_get_fd(handle, &descriptor), .begin, path)
        let offset =
            abandoned % Format.metaPageCount * Int(statistics.ms_psize)
            + Format.metaTransactionOffset
        // Eight aligned bytes are written atomically.
        var number = UInt64(max(last - 1, 0))
        let count = MemoryLayout.size(ofValue: number)
        guard pwrite(descriptor, &number, count, offset) == count, fdatasync(descriptor) == 0 else {
            throw LMDBError(.begin, code: EIO, path: path)
        }
    }
}
