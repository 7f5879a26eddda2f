import Glibc
import StetLMDB

/// Makes the file of a new store so that it is there whole or not at all, whatever happens
/// meanwhile.
///
/// LMDB writes the first pages of a file without a sync: a power cut there leaves a file that
/// nobody can open. So the store is made under another name, and given its own name when it is on
/// the disk.
///
/// A process that is killed here leaves a small file `PATH.new-ID`, which nobody looks at again. It
/// is not removed by a later creator, who cannot tell it from that of a process still at work:
/// asking for the locks on its lock file would take them away from a thread of the same process.
enum StoreCreation {
    static func create(
        at path: String, _ schema: Schema, _ configuration: Environment.Configuration
    ) throws {
        let temporary = "\(path).new-\(ObjectID())"
        defer {
            unlink(temporary)
            unlink("\(temporary)-lock")
        }
        do {
            try make(temporary, schema, configuration)
        } catch let error as LMDBError {
            // Told of the name that the caller gave.
            throw LMDBError(error.operation, code: error.code, path: path)
        }
        // Of two creators one wins, and the other opens what is there.
        do {
            try FileSystem.rename(temporary, toUnused: path)
        } catch {
            guard error.code == EEXIST else { throw error }
        }
        try syncDirectory(of: path)
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

    /// Puts the names in the directory of `path` on the disk.
    static func syncDirectory(of path: String) throws(LMDBError) {
        let directory = StorePlace.directory(of: path)
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw LMDBError(.openEnvironment, code: errno, path: path)
        }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw LMDBError(.openEnvironment, code: errno, path: path)
        }
    }
}
