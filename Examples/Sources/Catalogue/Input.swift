import Foundation

/// The bytes of a status file, and its name in the output.
struct Input {
    let name: String
    let bytes: Data

    /// The path of the machine's own status file.
    static let machinePath = "/var/lib/dpkg/status"
    /// The size of the largest file that is read.
    ///
    /// A status file of ten thousand packages has about 10 MB.
    static let byteLimit = 256 << 20

    /// - Throws: `Failure`.
    static func read(_ source: Options.StatusSource) throws -> Input {
        switch source {
        case .file(let path): try file(path)
        case .excerpt: try excerpt()
        case .machine where FileManager.default.fileExists(atPath: machinePath):
            try file(machinePath)
        case .machine: try excerpt()
        }
    }

    /// Returns the 200 packages that come with the program.
    static func excerpt() throws -> Input {
        guard let path = Bundle.module.path(forResource: "status-excerpt", ofType: nil) else {
            throw Failure(message: "the excerpt is missing: run the program where it was built")
        }
        return Input(name: "the bundled excerpt", bytes: try file(path).bytes)
    }

    /// Returns the contents of a file, of a pipe, or of anything else that can be read to its end.
    private static func file(_ path: String) throws -> Input {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw Failure(message: "can't read \(path): there is no such file")
        }
        guard !isDirectory.boolValue else {
            throw Failure(message: "can't read \(path): it is a directory")
        }
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw Failure(message: "can't read \(path): permission denied")
        }
        defer { try? handle.close() }
        var bytes = Data()
        do {
            while let part = try handle.read(upToCount: 1 << 20), !part.isEmpty {
                bytes.append(part)
                if bytes.count > byteLimit { break }
            }
        } catch {
            throw Failure(message: "can't read \(path): \(error.localizedDescription)")
        }
        guard bytes.count <= byteLimit else {
            throw Failure(message: "can't read \(path): it has more than \(byteLimit >> 20) MiB")
        }
        return Input(name: path, bytes: bytes)
    }
}
