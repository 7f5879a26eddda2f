import Glibc
import StetLMDB

/// A file that appears under its name when it is whole, readable and writable for its owner alone.
///
/// It is written under another name, `PATH.new-ID`; what a process that is killed meanwhile leaves
/// is removed by the next that makes a file at the same path.
package final class NewFile {
    /// The descriptor that it is written through.
    package let descriptor: Int32
    private let draft: Draft

    /// Begins a file at `path`, where there is none.
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

    /// Gives the file its name, once it is on the disk.
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
