import CLMDB
import Glibc

extension Environment {
    /// Examines every page of the file while no other process can change it.
    ///
    /// The writer's lock is held meanwhile. No page but the two meta pages is reached through the
    /// map, neither here nor by opening an environment: a damaged page is found before LMDB meets
    /// it.
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
        // The file that is open, whatever the path names by now.
        return try FileInspection.inspect(
            InspectedFile(duplicating: descriptor, path), walkingPages: true)
    }
}
