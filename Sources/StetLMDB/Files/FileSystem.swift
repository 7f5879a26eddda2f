import CLMDB
import Glibc

/// A kind of file system, by the magic number of `statfs`.
package struct FileSystem: Hashable, Sendable {
    /// The number: `f_type` of `statfs(2)`.
    package let magic: UInt32

    /// Creates the file system with a number.
    package init(magic: UInt32) { self.magic = magic }

    /// Creates the file system that `path` is on.
    package init(of path: String) throws(LMDBError) {
        var status = statfs()
        guard statfs(path, &status) == 0 else {
            throw LMDBError(.openEnvironment, code: errno, path: path)
        }
        self.init(magic: UInt32(truncatingIfNeeded: status.f_type))
    }

    /// The name of a file system on which LMDB must not be used; nil for all others.
    ///
    /// Such file systems belong to another machine or to a program: locks may be missing or not
    /// reach everyone who opens the file, and the memory of one process may not show what another
    /// writes.
    package var unsafeName: String? { Self.unsafeNames[magic] }

    /// The names by magic number, from linux/magic.h; for those that Linux defines elsewhere, from
    /// coreutils' `stat`.
    private static let unsafeNames: [UInt32: String] = [
        0x0000_564C: "NCP",
        0x0000_517B: "SMB",
        0x0000_6969: "NFS",
        0x00C0_FFEE: "hostfs",
        0x00C3_6400: "Ceph",
        0x0102_1997: "9p",
        0x0116_1970: "GFS2",
        0x0BD0_0BD0: "Lustre",
        0x1983_0326: "BeeGFS",
        0x2003_0528: "OrangeFS",
        0x4750_4653: "GPFS",
        0x5346_414F: "AFS",
        0x6573_5546: "FUSE",
        0x6B41_4653: "AFS",
        0x7375_7245: "Coda",
        0x7461_636F: "OCFS2",
        0x786F_4256: "VirtualBox shared folders",
        0xAAD7_AAEA: "PanFS",
        0xBACB_ACBC: "VMware shared folders",
        0xFE53_4D42: "SMB2",
        0xFF53_4D42: "CIFS",
    ]
}

extension FileSystem {
    /// Renames a file, unless the new name exists: then it throws `EEXIST`.
    package static func rename(
        _ path: String, toUnused newPath: String
    ) throws(LMDBError) {
        // 1 is RENAME_NOREPLACE of linux/fs.h.
        if renameat2(AT_FDCWD, path, AT_FDCWD, newPath, 1) == 0 { return }
        guard errno == EINVAL || errno == ENOSYS else {
            throw LMDBError(.openEnvironment, code: errno, path: newPath)
        }
        try linkAndUnlink(path, newPath)
    }

    /// Renames a file on a file system without that operation: for a moment the file has both
    /// names, and keeps them when the process is killed then.
    package static func linkAndUnlink(_ path: String, _ newPath: String) throws(LMDBError) {
        guard link(path, newPath) == 0 else {
            throw LMDBError(.openEnvironment, code: errno, path: newPath)
        }
        unlink(path)
    }

    /// Returns the path of the directory that contains a path.
    package static func directory(of path: String) -> String {
        let end = path.lastIndex(of: "/")
        return end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// Returns the names in a directory; none when it cannot be read.
    package static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) {
                    names.append(String(cString: $0))
                }
            }
        }
        return names
    }

    /// Syncs the directory of `path`, and so the names in it, to the disk.
    package static func syncDirectory(of path: String) throws(LMDBError) {
        let descriptor = open(directory(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw LMDBError(.openEnvironment, code: errno, path: path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw LMDBError(.openEnvironment, code: errno, path: path)
        }
    }
}
