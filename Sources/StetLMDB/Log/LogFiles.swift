import Glibc

/// The files of a log beside a data file: `PATH-log-0` and `PATH-log-1`.
package enum LogFiles {
    static func paths(of path: String) -> [String] { (0..<2).map { "\(path)-log-\($0)" } }

    /// Creates both files, which replace any that are there, with the rights of the data file.
    static func create(
        _ path: String, like data: SharedDescriptor
    ) throws(LMDBError) -> [LogFileOnDisk] {
        remove(path)
        var files: [LogFileOnDisk] = []
        for path in paths(of: path) {
            let file = try LogFileOnDisk(at: path, createsFile: true)
            file.adoptRights(of: data)
            // So that it has its first blocks before anything depends on it.
            try file.write([UInt8](repeating: 0, count: LogSlot.headByteCount), at: 0)
            files.append(file)
        }
        return files
    }

    /// Opens the files of the log that a mark names.
    ///
    /// - Throws: `LMDBError`: `missingLog` when one is missing.
    static func open(_ path: String) throws(LMDBError) -> [LogFileOnDisk] {
        var files: [LogFileOnDisk] = []
        for logPath in paths(of: path) {
            do throws(LMDBError) {
                files.append(try LogFileOnDisk(at: logPath, createsFile: false))
            } catch let error where error.code == ENOENT {
                throw LMDBError(missingLogOf: path)
            }
        }
        return files
    }

    /// Whether a file of a log is beside a data file, or in the place of one.
    package static func exist(_ path: String) -> Bool {
        paths(of: path).contains { access($0, F_OK) == 0 }
    }

    static func byteCount(_ path: String) -> Int {
        paths(of: path).reduce(0) { count, path in
            var status = stat()
            return stat(path, &status) == 0 ? count + Int(status.st_size) : count
        }
    }

    /// Removes the log of a file that does not need it, or is removed, too.
    package static func remove(_ path: String) {
        for path in paths(of: path) { unlink(path) }
    }

    /// The number of bytes that the disk of a file writes at once; 4,096 where it is unknown.
    static func sectorByteCount(_ descriptor: Int32) -> Int {
        let unknown = 4_096
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return unknown }
        let device = UInt(status.st_dev)
        let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
        let minor = device & 0xFF | (device >> 12) & ~0xFF
        let directory = "/sys/dev/block/\(major):\(minor)"
        // A partition has the queue of its disk.
        for parent in [directory, "\(directory)/.."] {
            if let count = number(in: "\(parent)/queue/physical_block_size"),
                count >= 512, count <= LogSlot.longestSectorByteCount, count & (count - 1) == 0
            {
                return count
            }
        }
        return unknown
    }

    private static func number(in file: String) -> Int? {
        let descriptor = Glibc.open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        return Int(String(decoding: bytes.prefix(max(count, 0)).prefix { $0 > 32 }, as: UTF8.self))
    }
}

extension LMDBError {
    /// Creates the error for a data file whose log is not beside it.
    init(missingLogOf path: String) {
        self.init(
            .openEnvironment, code: Self.missingLog, path: path,
            detail: "its last commits are in a log (\(path)-log-0 and -1) that is not there")
    }
}
