import ArgumentParser
import Glibc
import StetStore

/// The bytes of a file, one after another, in bounded memory.
///
/// State: the position in the file and the bytes that were read ahead; one thread uses it.
final class FileBytes {
    /// The greatest length of a line or field, in bytes.
    static let lineByteCount = 1 << 28

    private let path: String
    private let descriptor: Int32
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)
    private var place = 0
    private var end = 0
    /// The number of bytes of the file; 0 when it is unknown.
    let byteCount: Int
    /// The number of bytes that were read so far.
    private(set) var readByteCount = 0

    init(path: String) throws {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(path, .noInput) }
        var status = stat()
        byteCount = fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    deinit { close(descriptor) }

    /// Returns the next byte without consuming it; nil at the end.
    func peek() throws -> UInt8? {
        if place == end { try fill() }
        return place < end ? buffer[place] : nil
    }

    /// Returns and consumes the next byte; nil at the end.
    func next() throws -> UInt8? {
        let byte = try peek()
        if byte != nil { place += 1 }
        return byte
    }

    /// Returns the bytes up to the end of the line, without it; nil at the end of the file.
    ///
    /// - Throws: `Failure` when the file can't be read. Of a line that is too long only the first
    ///   bytes are returned.
    func line() throws -> [UInt8]? {
        guard try peek() != nil else { return nil }
        var line: [UInt8] = []
        while try peek() != nil {
            let part = buffer[place..<end]
            let stop = part.firstIndex(of: 0x0a)
            if line.count <= Self.lineByteCount { line += part[..<(stop ?? end)] }
            place = stop.map { $0 + 1 } ?? end
            if stop != nil { break }
        }
        return line
    }

    private func fill() throws {
        while true {
            let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.failure(path, .inputOutputError) }
            (place, end) = (0, count)
            readByteCount += count
            return
        }
    }

    private static func failure(_ path: String, _ exitCode: ExitCode) -> Failure {
        Failure(
            exitCode, code: StoreError.Code.inputOutput.rawValue, path: path,
            message: "\(path) can't be read: \(String(cString: strerror(errno))).",
            advice: "Name a file that can be read.")
    }
}

/// The error of a malformed file to be imported.
struct ExchangeError: Error, Hashable {
    /// The number of the line, starting at 1.
    var line: Int
    var message: String
}
