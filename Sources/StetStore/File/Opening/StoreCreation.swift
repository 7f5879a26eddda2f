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
struct StoreCreation {
    let path: String
    let declared: DeclaredModels
    /// The file whose contents the store begins with; nil for an empty store.
    let seed: String?
    let configuration: StoreFile.Configuration

    /// Refuses to create a store in the place of a file that was moved or removed, and is still
    /// open or has left its log.
    static func refuseRemains(of path: String) throws {
        try Environment.refuseInUse(path)
        try refuseLog(of: path)
    }

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

    /// Creates the file, unless somebody else does so at the same time.
    func create() throws {
        _ = try create(isNode: false) { _, _, _ in true }
    }

    /// Creates the file, unless somebody else does so at the same time, if `accept` agrees, which
    /// gets the path, the store and the head of a draft of it.
    func create(
        isNode: Bool, if accept: (_ draft: String, ObjectID, Head) throws -> Bool
    ) throws -> Bool {
        try Self.refuseRemains(of: path)
        let draft = try Draft(of: path)
        defer { draft.remove() }
        let (store, head) = try fill(draft, isNode: isNode)
        guard try accept(draft.path, store, head) else { return false }
        try Self.publishUnlessThere(draft)
        return true
    }

    private func fill(_ draft: Draft, isNode: Bool) throws -> (store: ObjectID, head: Head) {
        if let seed { return try copySeed(seed, to: draft, isNode: isNode) }
        do {
            return (try makeEmpty(draft.path, isNode), Head())
        } catch let error as LMDBError {
            // The error names the requested path, not the draft.
            throw LMDBError(error.operation, code: error.code, path: path)
        }
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

    private func makeEmpty(_ path: String, _ isNode: Bool) throws -> ObjectID {
        let schema = declared.schema
        let options = configuration.ofEnvironment(entityCount: schema.entities.count)
        let environment = try Environment.open(at: path, options)
        defer { environment.close() }
        return try environment.write { transaction in
            try StoreTables.create(schema, in: transaction)
            try AttachedMark.put(isNode, in: transaction)
            return try StoreTables.identity(in: transaction.reading)
        }
    }
}
