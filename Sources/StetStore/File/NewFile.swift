import Glibc
import StetLMDB

/// A file that gets its name only when it is complete, and that only its owner can read and write.
///
/// It is written under another name, `PATH.new-ID`. If the process is killed, the next `NewFile` at
/// the same path removes the remains.
package final class NewFile {
    /// The descriptor to write to.
    package let descriptor: Int32
    private let draft: Draft

    /// Creates a file for `path`, which must not exist.
    ///
    /// - Throws: `StoreError` (`.alreadyExists`), and those of the file system.
    package init(at path: String) throws {
        try StorePlace.checkName(path)
        var status = stat()
        if lstat(path, &status) == 0 { throw StoreCopier.alreadyExists(path) }
        do {
            draft = try Draft(of: path)
        } catch {
            throw StoreError(LMDBError(.create, code: error.code, path: path))
        }
        descriptor = open(draft.path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        if descriptor < 0 {
            let code = errno
            draft.remove()
            throw StoreError(LMDBError(.create, code: code, path: path))
        }
    }

    /// Removes the file unless it was published.
    deinit {
        close(descriptor)
        draft.remove()
    }

    /// Syncs the file and gives it its name.
    ///
    /// - Throws: `StoreError` (`.alreadyExists`), and those of the file system.
    package func publish() throws {
        guard fsync(descriptor) == 0 else {
            throw StoreError(LMDBError(.create, code: errno, path: draft.target))
        }
        do {
            try draft.publish()
        } catch let error where error.code == EEXIST {
            throw StoreCopier.alreadyExists(draft.target)
        } catch {
            throw StoreError(LMDBError(.create, code: error.code, path: draft.target))
        }
    }
}
