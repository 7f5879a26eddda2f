public import FoundationEssentials
import Glibc
public import StetStore

/// Unsaved changes that are kept under a name, also across restarts of the process.
///
/// ```swift
/// try store.drafts.save(context, as: "article 7")      // before the process ends
/// try context.apply(try store.drafts.changes("article 7"))
/// try store.drafts.remove("article 7")                  // once it is saved
/// ```
///
/// A draft is not part of the store: it has no revision, is in no backup, and others do not see it.
/// When it is applied, it is merged with what others have saved since, like every change set. Each
/// is a file in the directory `PATH-drafts`, which only its owner can read; a store in memory has
/// none. `requestErase()` removes them; redactions do not reach them.
public struct Drafts: Sendable {
    /// A draft without its changes.
    public struct Entry: Sendable, Hashable, Codable {
        /// The name.
        public let name: String
        /// The time when it was saved, by the clock of the store's configuration.
        public let time: Date
        /// The revision that its changes are based on.
        public let revision: Revision
        /// The number of changed objects.
        public let changeCount: Int
    }

    private struct Contents: Codable {
        var entry: Entry
        var store: ObjectID
        var changes: [ObjectChange]
    }

    private let store: Store
    private var directory: String { "\(store.path)-drafts" }

    fileprivate init(_ store: Store) { self.store = store }

    /// Saves the pending changes of a context, in place of an earlier draft of that name; they stay
    /// pending.
    ///
    /// - Throws: the error of a read that failed inside an accessor; `StoreError`.
    /// - Complexity: O(pending changes), and a sync of a file.
    public func save(_ context: ManagedContext, as name: String) throws {
        try context.core.checkUsable()
        try save(context.changes, at: context.revision, as: name)
    }

    private func save(_ changeSet: ChangeSet, at revision: Revision, as name: String) throws {
        let entry = Entry(
            name: name, time: store.configuration.clock(), revision: revision,
            changeCount: changeSet.changes.count)
        let encoder = JSONEncoder()
        encoder.userInfo[.encodesHiddenValues] = true
        let contents = Contents(
            entry: entry, store: store.file.storeID, changes: changeSet.changes)
        try write(try encoder.encode(contents), name)
    }

    /// Returns the drafts, in the order of their names.
    ///
    /// - Throws: `StoreError`, also for a file that is no draft (`.damaged`).
    public func list() throws -> [Entry] {
        try files().map { try read($0).entry }.sorted { $0.name < $1.name }
    }

    /// Returns the changes of a draft, for `ManagedContext.apply`.
    ///
    /// - Throws: `StoreError`: `.notFound` when there is no draft of that name, `.damaged`.
    public func changes(_ name: String) throws -> ChangeSet {
        let contents = try read(path(name))
        guard contents.store == store.file.storeID else {
            throw StoreError(
                .notFound, path: path(name),
                message: "The draft belongs to another store that was at this path.",
                advice: "Remove it with drafts.remove(_:).")
        }
        return ChangeSet(changes: contents.changes)
    }

    /// Removes a draft; does nothing when there is none of that name.
    ///
    /// - Throws: `StoreError`.
    public func remove(_ name: String) throws {
        try check(unlink(path(name)) == 0 || errno == ENOENT, path(name), "removed")
    }

    /// Removes all drafts.
    ///
    /// - Throws: `StoreError`.
    public func removeAll() throws {
        for file in try files() { try check(unlink(file) == 0 || errno == ENOENT, file, "removed") }
        try check(rmdir(directory) == 0 || errno == ENOENT, directory, "removed")
    }

    // MARK: Files

    /// The file of a draft: a digest, because a name can contain anything.
    private func path(_ name: String) -> String {
        let digest = Array(name.utf8).withUnsafeBytes { Digest(of: $0) }
        return "\(directory)/\(digest.hexadecimal.prefix(32)).json"
    }

    private func files() throws -> [String] {
        guard let stream = opendir(directory) else {
            try check(errno == ENOENT, directory, "read")
            return []
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasSuffix(".json") { names.append("\(directory)/\(name)") }
        }
        return names
    }

    private func read(_ path: String) throws -> Contents {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw StoreError(
                .notFound, path: path, message: "There is no draft of that name.",
                advice: "drafts.list() has the names of all drafts.")
        }
        do {
            return try JSONDecoder().decode(Contents.self, from: data)
        } catch {
            throw StoreError(
                .damaged, path: path, message: "The file is no draft.", advice: "Remove it.")
        }
    }

    /// Writes a file that replaces an earlier one when it is complete.
    private func write(_ data: Data, _ name: String) throws {
        try check(mkdir(directory, 0o700) == 0 || errno == EEXIST, directory, "created")
        let temporary = "\(path(name)).\(ObjectID())"
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        try check(file >= 0, temporary, "created")
        var isWhole = false
        defer {
            close(file)
            if !isWhole { unlink(temporary) }
        }
        try data.withUnsafeBytes { bytes in
            var rest = UnsafeRawBufferPointer(rebasing: bytes[...])
            while !rest.isEmpty {
                let count = Glibc.write(file, rest.baseAddress, rest.count)
                try check(count > 0 || errno == EINTR, temporary, "written")
                if count > 0 { rest = UnsafeRawBufferPointer(rebasing: rest[count...]) }
            }
        }
        try check(fsync(file) == 0, temporary, "written")
        try check(rename(temporary, path(name)) == 0, temporary, "renamed")
        isWhole = true
        try syncDirectory()
    }

    private func syncDirectory() throws {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        try check(descriptor >= 0, directory, "synced")
        defer { close(descriptor) }
        try check(fsync(descriptor) == 0, directory, "synced")
    }

    private func check(_ condition: Bool, _ path: String, _ verb: String) throws {
        let code = errno
        if condition { return }
        throw StoreError(
            .inputOutput, path: path, message: "\(path) could not be \(verb).",
            advice: "Check the disk, and the permissions of the directory.", systemCode: code)
    }
}

extension Store {
    /// Unsaved changes that are kept under names.
    public var drafts: Drafts { Drafts(self) }
}
