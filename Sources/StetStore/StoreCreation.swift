import Glibc
import StetLMDB

/// Makes the file of a new store so that it is there whole or not at all, whatever happens
/// meanwhile.
///
/// LMDB writes the first pages of a file without a sync: a power cut there leaves a file that
/// nobody can open. So the store is made under another name, and given its own name when it is on
/// the disk.
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
        // A link fails where a name is taken, so that of two creators one wins and the other opens
        // what is there.
        if link(temporary, path) != 0, errno != EEXIST {
            throw LMDBError(.openEnvironment, code: errno, path: path)
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

    private static func syncDirectory(of path: String) throws(LMDBError) {
        let end = path.lastIndex(of: "/")
        let directory = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw LMDBError(.openEnvironment, code: errno, path: directory)
        }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw LMDBError(.openEnvironment, code: errno, path: directory)
        }
    }
}
