import Glibc
import StetLMDB

/// Makes the file of a new store so that it is there whole or not at all, whatever happens
/// meanwhile.
///
/// LMDB writes the first pages of a file without a sync: a power cut there leaves a file that
/// nobody can open. So the store is made under another name, and given its own name when it is on
/// the disk.
///
/// A process that is killed here leaves a small file `PATH.new-ID`, which the next one removes.
enum StoreCreation {
    static func create(
        at path: String, _ schema: Schema, _ configuration: Environment.Configuration
    ) throws {
        let draft = try Draft(of: path)
        defer { draft.remove() }
        do {
            try make(draft.path, schema, configuration)
        } catch let error as LMDBError {
            // Told of the name that the caller gave.
            throw LMDBError(error.operation, code: error.code, path: path)
        }
        try publishUnlessThere(draft)
    }

    /// Of two creators one wins, and the other opens what is there.
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
