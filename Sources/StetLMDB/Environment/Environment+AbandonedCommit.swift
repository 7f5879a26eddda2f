import CLMDB
import Glibc

// A commit ends with the write of a meta page. When that write was carried out but is reported as
// failed, and LMDB's attempt to put the older page back fails too, the commit is on the disk. But
// while any other process has the file open, the number of the last commit stands in the lock file,
// and is the one before: every process goes on from there, takes the pages of the abandoned commit
// for free, and overwrites them. Whoever then opens the file alone goes by the meta pages, and
// finds a commit that was called not committed, or a damaged one.

extension Environment {
    /// Makes the state that transactions see the one that the file has for whoever opens it next.
    ///
    /// Waits for the writer's lock when the two differ, which a commit that is just ending shows,
    /// too.
    ///
    /// - Throws: `LMDBError`: what a failed commit has left may still be in the file.
    package func settle() throws {
        let seen = try read { transaction in transaction.number }
        if try lastTransaction() <= seen { return }
        mdb_txn_abort(try beginWrite())
        endWrite()
    }
}

/// A commit that is on the disk and was reported as failed.
enum AbandonedCommit {
    /// Writes the meta pages again as they are read, so that the next sync brings them to the disk.
    ///
    /// After an error the system takes pages that it could not write for written: what a read then
    /// shows, of a commit whose meta page was reported as failed, no sync would make safe.
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
            // Less than a sector, which is written whole or not at all.
            let offset = page * Int(statistics.ms_psize)
            guard pread(descriptor, &bytes, count, offset) == count,
                pwrite(descriptor, bytes, count, offset) == count
            else { throw LMDBError(.openEnvironment, code: EIO, path: path) }
        }
    }

    /// Gives the meta page of an abandoned commit back the number that it had before.
    ///
    /// Called by each writer, who has the lock, before it writes anything.
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
        // Eight aligned bytes are written whole or not at all.
        var number = UInt64(max(last - 1, 0))
        let count = MemoryLayout.size(ofValue: number)
        guard pwrite(descriptor, &number, count, offset) == count, fdatasync(descriptor) == 0 else {
            throw LMDBError(.begin, code: EIO, path: path)
        }
    }
}
