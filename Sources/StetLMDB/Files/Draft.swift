import Glibc

/// A file that is made under another name, `TARGET.new-ID`, and gets its own when it is whole.
///
/// A process that is killed meanwhile leaves it behind. The next who makes such a file for the same
/// target removes it: a lock shows which are still at work.
package final class Draft {
    package let target: String
    /// Where it is until it is published.
    package let path: String
    private let descriptor: SharedDescriptor
    private static let hexDigits = Array("0123456789abcdef")

    /// A new, empty file, after those were removed that nobody works on any longer.
    ///
    /// - Throws: `LMDBError`.
    package init(of target: String) throws(LMDBError) {
        self.target = target
        Self.removeLeftovers(of: target)
        while true {
            let path = target + Self.infix + Self.uniqueSuffix()
            let descriptor = try SharedDescriptor(path, O_RDWR | O_CREAT | O_EXCL, naming: target)
            // Somebody who took it for a leftover may have removed it before it was locked.
            guard try descriptor.holdDraft(target), descriptor.identity == FileIdentity(path: path)
            else { continue }
            (self.path, self.descriptor) = (path, descriptor)
            return
        }
    }

    /// Gives the file the owner and the rights of another file; false when this process may not.
    func adoptRights(of other: SharedDescriptor) -> Bool { descriptor.adoptRights(of: other) }

    /// Removes the file unless it was published.
    package func remove() {
        unlink("\(path)-lock")
        if FileIdentity(path: path) == descriptor.identity { unlink(path) }
    }

    /// Gives the file its own name, unless that is taken, durably.
    ///
    /// - Throws: `LMDBError`: `EEXIST` when there is such a file.
    package func publish() throws(LMDBError) {
        unlink("\(path)-lock")
        try FileSystem.rename(path, toUnused: target)
        try FileSystem.syncDirectory(of: target)
    }

    /// Gives the file its own name in the place of the one that has it.
    func replaceTarget() throws(LMDBError) {
        unlink("\(path)-lock")
        if rename(path, target) != 0 { throw LMDBError(.create, code: errno, path: target) }
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
            let suffix = name.dropFirst(prefix.count)
            guard suffix.count == suffixCount, suffix.allSatisfy(hexDigits.contains) else {
                continue
            }
            let path = "\(directory)/\(name)"
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
    /// Takes the lock of who works on a draft; false when another has it.
    fileprivate func holdDraft(_ path: String) throws(LMDBError) -> Bool {
        try hold(FileLocks.draftLock, 1, path)
    }
}
