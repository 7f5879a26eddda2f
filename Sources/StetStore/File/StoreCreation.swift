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
