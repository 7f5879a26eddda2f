import CLMDB
import Glibc

/// A file that is written under a temporary name, `TARGET.new-ID`, and renamed when it is complete.
///
/// A process that is killed before that leaves it behind. The next draft for the same target
/// removes it: a lock shows which drafts are still in use.
package final class Draft {
    package let target: String
    /// The path of the file until it is published.
    package let path: String
    private let descriptor: SharedDescriptor
    private static let hexDigits = Array("0123456789abcdef")

    /// Creates an empty file, after removing abandoned drafts.
    ///
    /// - Throws: `LMDBError`.
    package init(of target: String) throws(LMDBError) {
        self.target = target
        Self.removeLeftovers(of: target)
        while true {
            let path = target + Self.infix + Self.uniqueSuffix()
            let descriptor = try SharedDescriptor(path, O_RDWR | O_CREAT | O_EXCL, naming: target)
            // Another process may have removed the draft as a leftover before it was locked.
            guard try descriptor.holdDraft(target), descriptor.identity == FileIdentity(path: path)
            else { continue }
            (self.path, self.descriptor) = (path, descriptor)
            return
        }
    }

    /// Sets owner and rights of the file to those of another file; returns false when this process
    /// may not.
    func adoptRights(of other: SharedDescriptor) -> Bool { descriptor.adoptRights(of: other) }

    /// Removes the file unless it was published.
    package func remove() {
        unlink("\(path)-lock")
        if FileIdentity(path: path) == descriptor.identity { unlink(path) }
    }

    /// Renames the file to its target, unless that exists, durably.
    ///
    /// - Parameter name: Another path in the directory of the target; nil for the target.
    /// - Throws: `LMDBError`: `EEXIST` when there is a file of that name.
    package func publish(as name: String? = nil) throws(LMDBError) {
        unlink("\(path)-lock")
        try FileSystem.rename(path, toUnused: name ?? target)
        try FileSystem.syncDirectory(of: target)
    }

    /// Renames the file and its lock file, durably, replacing those that are there.
    ///
    /// The data file is replaced first, because another lock file beside the present one would
    /// admit a second writer.
    func replaceTarget() throws(LMDBError) {
        for suffix in ["", "-lock"] where rename(path + suffix, target + suffix) != 0 {
            throw LMDBError(.create, code: errno, path: target)
        }
        try FileSystem.syncDirectory(of: target)
    }

    // MARK: Leftovers

    private static let infix = ".new-"
    private static let suffixCount = 16

    private static func uniqueSuffix() -> String {
        String((0..<suffixCount).map { _ in hexDigits[Int.random(in: 0..<16)] })
    }

    /// Removes the files that killed processes have left.
    private static func removeLeftovers(of target: String) {
        let directory = FileSystem.directory(of: target)
        let prefix = target.split(separator: "/").last.map { $0 + infix } ?? infix
        for name in FileSystem.names(in: directory) where name.hasPrefix(prefix) {
            let isLock = name.hasSuffix("-lock")
            let draft = isLock ? name.dropLast(5) : name[...]
            let suffix = draft.dropFirst(prefix.count)
            guard suffix.count == suffixCount, suffix.allSatisfy(hexDigits.contains) else {
                continue
            }
            let path = "\(directory)/\(draft)"
            if isLock {
                // Its draft was renamed, but it was not. One that is in use is about to be.
                if access(path, F_OK) != 0, (try? FileLocks.refuseInUse(lockFileOf: path)) != nil {
                    unlink("\(path)-lock")
                }
                continue
            }
            guard let leftover = try? SharedDescriptor(path, O_RDWR, naming: path),
                (try? leftover.holdDraft(path)) == true,
                leftover.identity == FileIdentity(path: path)
            else { continue }
            unlink("\(path)-lock")
            unlink(path)
        }
    }
}

extension SharedDescriptor {
    /// Takes the lock of a draft that is in use; returns false when another process has it.
    fileprivate func holdDraft(_ path: String) throws(LMDBError) -> Bool {
        try hold(FileLocks.draftLock, 1, path)
    }
}
