import Glibc
package import StetLMDB

/// Where a store's file stands, as far as that can be seen before anything is opened or made.
///
/// The directory's owner is trusted: who may write to it can exchange the files between this look
/// and the opening. The directories above are not looked at, nor are access control lists.
package struct StorePlace: Hashable, Sendable {
    /// What has a name; a link is not followed.
    package struct Entry: Hashable, Sendable {
        /// What can have a name in a directory.
        package enum Kind: Hashable, Sendable { case file, directory, link, other }

        package var kind = Kind.file
        /// The user that it belongs to.
        package var owner: UInt32 = 0
        /// The names (hard links) that it has.
        package var nameCount = 1

        package init() {}
    }

    package let path: String
    /// Nil when there is none.
    package var dataFile: Entry?
    /// Nil when there is none.
    package var lockFile: Entry?
    /// Whether users other than owner and group may make files in the directory.
    package var isWritableByAll = false
    /// Whether only its owner may remove or rename a file in the directory.
    package var isSticky = false
    /// Those of the directory and of the data file: a file may be mounted alone.
    package var fileSystems: [FileSystem] = []
    /// The `errno` of a test of this process's rights: to read and write the file, or to make it.
    package var accessCode: Int32 = 0

    /// A place where nothing is wrong and no file is.
    package init(path: String) { self.path = path }

    package var lockPath: String { "\(path)-lock" }
}

// MARK: - Looking

extension StorePlace {
    /// Looks at the place that `path` names.
    ///
    /// - Throws: `StoreError` (`.invalidPath`), `LMDBError` with the `errno` of what the system
    ///   refuses.
    package init(lookingAt path: String) throws {
        self.init(path: path)
        try Self.checkName(path)
        dataFile = try entry(path)
        lockFile = try entry(lockPath)
        let directory = FileSystem.directory(of: path)
        var status = stat()
        guard stat(directory, &status) == 0 else { throw failure(errno) }
        isWritableByAll = status.st_mode & S_IWOTH != 0
        isSticky = status.st_mode & S_ISVTX != 0
        if let dataFile, dataFile.kind != .file { return }
        for place in dataFile == nil ? [directory] : [directory, path] {
            do { fileSystems.append(try FileSystem(of: place)) } catch { throw failure(error.code) }
        }
        let isAllowed =
            dataFile == nil
            ? faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS)
            : faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS)
        if isAllowed != 0 { accessCode = errno }
    }

    /// Refuses what is no path: a call of the system would read it up to its NUL.
    static func checkName(_ path: String) throws {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw StoreError(
                .invalidPath, path: path,
                message: "The store can't be opened: its path is empty or contains a NUL.",
                advice: "Correct the path.")
        }
    }

    private func failure(_ code: Int32) -> LMDBError {
        LMDBError(.openEnvironment, code: code, path: path)
    }

    private func entry(_ name: String) throws(LMDBError) -> Entry? {
        var status = stat()
        guard lstat(name, &status) == 0 else {
            if errno == ENOENT { return nil }
            throw failure(errno)
        }
        var entry = Entry()
        entry.kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .directory
            case S_IFLNK: .link
            default: .other
            }
        entry.owner = status.st_uid
        entry.nameCount = Int(status.st_nlink)
        return entry
    }
}

// MARK: - Judging

extension StorePlace {
    /// Refuses a place where a store cannot be, or is in danger.
    ///
    /// - Parameters:
    ///   - allowsUnsafe: Whether the directory and the file system may be unsafe.
    ///   - user: The effective user of this process.
    /// - Throws: `StoreError`: `.invalidPath`, `.unsafePlace`, `.noPermission`.
    package func check(allowsUnsafe: Bool, user: UInt32 = geteuid()) throws {
        try checkDataFile()
        try checkLockFile()
        if !allowsUnsafe {
            try checkDirectory(user)
            try checkFileSystems()
        }
        if accessCode != 0 { throw StoreError(failure(accessCode)) }
    }

    private func refusal(
        _ code: StoreError.Code, _ reason: String, _ advice: String, _ systemCode: Int32? = nil
    ) -> StoreError {
        StoreError(
            code, path: path, message: "The store \(path) can't be opened: \(reason).",
            advice: advice, systemCode: systemCode)
    }

    private func checkDataFile() throws {
        guard let dataFile else { return }
        switch dataFile.kind {
        case .file: break
        case .link:
            throw refusal(
                .invalidPath, "it is a symbolic link",
                "Give the path of the file itself: beside the link there would be another lock "
                    + "file, and so a second writer.", ELOOP)
        case .directory:
            throw refusal(.invalidPath, "it is a directory", "Name a file in it.", EISDIR)
        case .other:
            throw refusal(
                .invalidPath, "it is a device, a pipe or a socket", "Name a regular file.")
        }
        if dataFile.nameCount > 1 {
            throw refusal(
                .unsafePlace, "its file has \(dataFile.nameCount) names",
                "Remove the others (find -samefile shows them): beside each there would be another "
                    + "lock file, and so a second writer.")
        }
    }

    private func checkLockFile() throws {
        guard let lockFile, lockFile.kind != .file || lockFile.nameCount > 1 else { return }
        throw refusal(
            .unsafePlace,
            lockFile.kind == .file
                ? "its lock file \(lockPath) has \(lockFile.nameCount) names"
                : "its lock file \(lockPath) is not a regular file",
            "Remove \(lockPath) while no process has the store open.")
    }

    private func checkDirectory(_ user: UInt32) throws {
        guard isWritableByAll else { return }
        guard isSticky else {
            throw refusal(
                .unsafePlace, "every user may exchange the files in its directory",
                "Use a directory that only its owner may write to (chmod o-w), or set "
                    + "allowsUnsafePlace.")
        }
        // Here, as in /tmp, anybody may have put a file where this process looks for its own.
        for entry in [dataFile, lockFile] {
            guard let entry, entry.owner != user, entry.owner != 0 else { continue }
            throw refusal(
                .unsafePlace,
                "its directory is open to every user, and its files belong to user \(entry.owner)",
                "Use a directory that only its owner may write to, or set allowsUnsafePlace.")
        }
    }

    private func checkFileSystems() throws {
        guard let name = fileSystems.lazy.compactMap(\.unsafeName).first else { return }
        throw refusal(
            .unsafePlace, "it is on a file system (\(name)) whose locks or memory are unreliable",
            "Use a local file system, or set allowsUnsafePlace.")
    }
}
