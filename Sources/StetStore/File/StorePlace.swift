import Glibc
package import StetLMDB

/// The place of a store's file, as far as it can be examined before anything is opened or created.
///
/// The directory's owner is trusted: users who may write to it can replace the files between this
/// check and the opening. Parent directories and access control lists are not checked.
package struct StorePlace: Hashable, Sendable {
    /// A directory entry; links are not followed.
    package struct Entry: Hashable, Sendable {
        /// The kind of a directory entry.
        package enum Kind: Hashable, Sendable { case file, directory, link, other }

        package var kind = Kind.file
        /// The user id of its owner.
        package var owner: UInt32 = 0
        /// The number of its names (hard links).
        package var nameCount = 1

        package init() {}
    }

    package let path: String
    /// The data file; nil when there is none.
    package var dataFile: Entry?
    /// The lock file; nil when there is none.
    package var lockFile: Entry?
    /// Whether users other than owner and group may create files in the directory.
    package var isWritableByAll = false
    /// Whether only its owner may remove or rename a file in the directory.
    package var isSticky = false
    /// The file systems of the directory and of the data file: a file may be mounted by itself.
    package var fileSystems: [FileSystem] = []
    /// The `errno` of a test of this process's rights: to read and write the file, or to create it.
    package var accessCode: Int32 = 0

    /// Creates a place without problems and without a file.
    package init(path: String) { self.path = path }

    package var lockPath: String { "\(path)-lock" }
}

// MARK: - Looking

extension StorePlace {
    /// Examines the place that `path` names.
    ///
    /// - Throws: `StoreError` (`.invalidPath`), `LMDBError` with the `errno` of a system call that
    ///   failed.
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

    /// Refuses an empty path, and one with a NUL, up to which a system call would read it.
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
    /// Refuses a place where a store cannot be, or is not safe.
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
        // In a directory such as /tmp, any user may have put a file at this path.
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
