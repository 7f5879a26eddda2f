package import FoundationEssentials
import Glibc

/// The files with unsaved changes in the directory `PATH-drafts` beside a store.
package struct DraftFiles {
    private static let ending = ".json"

    private let directory: String

    /// The drafts of the store at a path.
    package init(of path: String) { directory = "\(path)-drafts" }

    /// The path of the file of a draft: a digest, because a name can contain anything.
    package func path(_ name: String) -> String {
        let digest = Array(name.utf8).withUnsafeBytes { Digest(of: $0) }
        return "\(directory)/\(digest.hexadecimal.prefix(32))\(Self.ending)"
    }

    /// Returns the drafts, in no particular order.
    package func all() throws -> [DraftContents] { try files().map(read) }

    /// Returns the draft with a name.
    package func draft(_ name: String) throws -> DraftContents { try read(path(name)) }

    /// Writes a draft in place of an earlier one of its name.
    package func write(_ draft: DraftContents) throws {
        try check(mkdir(directory, 0o700) == 0 || errno == EEXIST, directory, "created")
        try exclusively { try replace(path(draft.name), draft) }
    }

    /// Removes a draft; does nothing when there is none of that name.
    package func remove(_ name: String) throws {
        try delete(path(name))
    }

    /// Removes all drafts.
    package func removeAll() throws {
        for file in try files() + leftovers() { try delete(file) }
        try check(rmdir(directory) == 0 || errno == ENOENT, directory, "removed")
    }

    /// Removes the changes of some properties of objects from all drafts.
    ///
    /// It also removes changes of properties that the models no longer have: these cannot be
    /// applied, and may be earlier names of the redacted ones.
    func redact(_ requests: [RedactionRequest], _ schema: Schema) throws {
        if try files().isEmpty && leftovers().isEmpty { return }
        try exclusively {
            for file in try leftovers() { try delete(file) }
            for file in try files() {
                var draft = try read(file)
                let changes = draft.changes.compactMap { change in
                    requests.filter { $0.object == change.id }
                        .reduce(change) { $0.redacted(by: $1, schema.entities[$1.entity]) }
                        .unlessEmpty
                }
                guard changes != draft.changes else { continue }
                draft.changes = changes
                try replace(file, draft)
            }
        }
    }

    // MARK: Files

    /// The files of drafts.
    private func files() throws -> [String] {
        try entries().filter { $0.hasSuffix(Self.ending) }
    }

    /// The incomplete files of processes that were killed.
    private func leftovers() throws -> [String] {
        try entries().filter { !$0.hasSuffix(Self.ending) }
    }

    private func delete(_ file: String) throws {
        try check(unlink(file) == 0 || errno == ENOENT, file, "removed")
    }

    private func entries() throws -> [String] {
        guard let stream = opendir(directory) else {
            try check([ENOENT, ENOTDIR].contains(errno), directory, "read")
            return []
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append("\(directory)/\(name)") }
        }
        return names
    }

    private func read(_ path: String) throws -> DraftContents {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw StoreError(
                .notFound, path: path, message: "There is no draft of that name.",
                advice: "drafts.list() has the names of all drafts.")
        }
        do {
            return try JSONDecoder().decode(DraftContents.self, from: data)
        } catch {
            throw StoreError(
                .damaged, path: path, message: "The file is no draft.", advice: "Remove it.")
        }
    }

    /// Runs a closure while no other process writes drafts.
    private func exclusively(_ body: () throws -> Void) throws {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        try check(descriptor >= 0, directory, "opened")
        defer { close(descriptor) }
        try check(flock(descriptor, LOCK_EX) == 0, directory, "locked")
        try body()
        try check(fsync(descriptor) == 0, directory, "synced")
    }

    /// Writes a file that replaces an earlier one when it is complete.
    private func replace(_ path: String, _ draft: DraftContents) throws {
        let encoder = JSONEncoder()
        encoder.userInfo[.encodesHiddenValues] = true
        let data = try encoder.encode(draft)
        let temporary = "\(path).\(ObjectID())"
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
        try check(rename(temporary, path) == 0, temporary, "renamed")
        isWhole = true
    }

    private func check(_ condition: Bool, _ path: String, _ verb: String) throws {
        let code = errno
        if condition { return }
        throw StoreError(
            .inputOutput, path: path, message: "\(path) could not be \(verb).",
            advice: "Check the disk, and the permissions of the directory.", systemCode: code)
    }
}

/// A draft of unsaved changes, as its file has it.
package struct DraftContents: Codable {
    package let name: String
    package let time: Date
    /// The revision that the changes are based on.
    package let revision: Revision
    /// The id of the store.
    package let store: ObjectID
    package var changes: [ObjectChange]

    package init(
        name: String, time: Date, revision: Revision, store: ObjectID, changes: [ObjectChange]
    ) {
        self.name = name
        self.time = time
        self.revision = revision
        self.store = store
        self.changes = changes
    }
}

extension ObjectChange {
    /// The change without redacted properties, and without those that the entity does not have.
    fileprivate func redacted(by request: RedactionRequest, _ entity: Entity) -> ObjectChange {
        var change = self
        change.properties.removeAll { property in
            entity.slot(of: property.name).map(request.slots.contains) ?? true
        }
        return change
    }

    /// The change, or nil if it is an update that updates nothing.
    fileprivate var unlessEmpty: ObjectChange? {
        kind == .update && properties.isEmpty && relationships.isEmpty ? nil : self
    }
}
