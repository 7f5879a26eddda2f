import FoundationEssentials
import Glibc
import StetLMDB

/// Makes stores whose files have no names and are never synced.
package enum MemoryStore {
    /// A new, empty store.
    ///
    /// - Throws: `StoreError`.
    package static func make(
        _ schema: Schema, _ configuration: StoreFile.Configuration = .init()
    ) throws -> StoreFile {
        try schema.refuseMissingStemmers(path: nil)
        var sizes = configuration.ofEnvironment(entityCount: schema.entities.count)
        sizes.skipsSync = true
        sizes.removesNames = true
        let environment = try inPrivateDirectory { path in
            try StoreError.wrapping(path: path) { try Environment.open(at: path, sizes) }
        }
        return try StoreError.wrapping(path: environment.path) {
            try environment.write { try StoreTables.create(schema, in: $0) }
            let declared = DeclaredModels(schema: schema, origins: SchemaOrigins())
            return try environment.attachment {
                try StoreFile.connect(environment, declared, configuration)
            }
        }
    }

    /// Calls a closure with the path of a file in a directory that only this user can enter, in
    /// memory where the system has such a file system, and removes the directory.
    private static func inPrivateDirectory(
        _ body: (_ path: String) throws -> Environment
    ) throws -> Environment {
        let temporary = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var code: Int32 = 0
        for parent in ["/dev/shm", temporary] {
            var template = Array("\(parent)/stet-XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else {
                code = errno
                continue
            }
            template.removeLast()
            let directory = String(decoding: template.map(UInt8.init(bitPattern:)), as: UTF8.self)
            defer { rmdir(directory) }
            return try body("\(directory)/memory")
        }
        throw StoreError(LMDBError(.create, code: code, path: temporary))
    }
}
