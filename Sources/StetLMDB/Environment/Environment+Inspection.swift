import CLMDB
import Glibc

extension Environment {
    /// Inspects every page of the file while no other process can change it.
    ///
    /// It holds the writer lock. No page but the two meta pages is read through the map, neither
    /// here nor by opening an environment: a damaged page is found before LMDB reads it.
    ///
    /// - Complexity: O(pages).
    package func inspectPages() throws(LMDBError) -> FileInspection {
        let transaction = try beginWrite()
        defer {
            mdb_txn_abort(transaction)
            endWrite()
        }
        var descriptor: mdb_filehandle_t = -1
        try check(mdb_env_get_fd(mdb_txn_env(transaction), &descriptor), .inspect, path)
        // Inspects the open file, even if the path names another one now.
        return try FileInspection.inspect(
            InspectedFile(duplicating: descriptor, path), walkingPages: true)
    }
}
