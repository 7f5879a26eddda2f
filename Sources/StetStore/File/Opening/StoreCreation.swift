import Glibc
import StetLMDB

/// Creates the file of a new store so that it exists complete or not at all, whatever happens.
///
/// LMDB writes the first pages of a file without a sync: a power cut at that time leaves a file
/// that cannot be opened. The store is therefore created under another name, and renamed after it
/// is on the disk.
///
/// A process that is killed here leaves a small file `PATH.new-ID`, which the next creation
/// removes.
enum StoreCreation {
    /// Refuses to create a store beside the log of a file that was moved or removed: the log may
    /// have its last commits.
    static func refuseLog(of path: String) throws {
        // If there is a file by now, another process has created the store.
        guard LogFiles.exist(path), access(path, F_OK) != 0 else { return }
        throw StoreError(
            .alreadyExists, path: path,
            message: "The log of another file, \(path)-log-0 and -log-1, is in the place of the "
                + "store's own.",
            advice: "Move it to the file that it belongs to, beside which it needs the same name; "
                + "or remove it, if that file is not needed any more.")
    }

    static func create(
        at path: String, _ schema: Schema, _ configuration: Environment.Configuration
    ) throws {
        let draft = try Draft(of: path)
        defer { draft.remove() }
        do {
            try make(draft.path, schema, configuration)
        } catch let error as LMDBError {
            // The error names the requested path, not the draft.
            throw LMDBError(error.operation, code: error.code, path: path)
        }
        try publishUnlessThere(draft)
    }

    /// Publishes a draft unless the store exists: of two creators one wins, and the other opens its
    /// file.
    static func publishUnlessThere(_ draft: Draft) throws {
        do {
            try draft.publish()
        } catch {
            guard error.code == EEXIST else { throw error }
        }
    }

    private static func make(
        _ path: String, _ schema: Schema, _ configuration: Environment.Configuration
    ) throws {
        let environment = try Environment.open(at: path, configuration)
        defer { environment.close() }
        try environment.write { transaction in
            try StoreTables.create(schema, in: transaction)
        }
    }
}
