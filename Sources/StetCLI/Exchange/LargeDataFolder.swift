import ArgumentParser
import FoundationEssentials
import Glibc
import StetStore

/// A folder with the bytes of large data, each in a file that has the digest as its name.
struct LargeDataFolder {
    let path: String

    private func path(of value: LargeValue) -> String { "\(path)/\(value.digest.hexadecimal)" }

    /// Returns whether there is a file of the size of a value.
    func contains(_ value: LargeValue) -> Bool {
        var status = stat()
        return stat(path(of: value), &status) == 0 && Int(status.st_size) == value.byteCount
    }

    // MARK: Exporting

    /// Writes the bytes of values that the folder does not have, which is created if there is none.
    ///
    /// - Throws: `Failure`; `StoreError`: `.alreadyExists` for a file of another size.
    func write(_ values: Set<LargeValue>, of store: StoreFile) throws {
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw failure(path, .cannotCreate, "created", "Name a folder that can be created.")
        }
        for value in values where !contains(value) {
            let file = try NewFile(at: path(of: value))
            try LargeValueReader(store).read(value, 0..<value.byteCount) { part in
                guard Output.write(part, to: file.descriptor) == 0 else {
                    throw failure(
                        path(of: value), .inputOutputError, "written", "Make room on the disk.")
                }
            }
            try file.publish()
        }
    }

    // MARK: Importing

    /// Writes the bytes of values that a store does not have to it.
    ///
    /// - Throws: `Failure`, also for a file with other bytes than its name says.
    func load(_ values: Set<LargeValue>, into store: StoreFile) throws {
        for value in values where try !store.read({ try $0.hasBytes(of: value) }) {
            let path = path(of: value)
            let writer = try LargeValueWriter(store)
            do {
                try read(path) { try writer.append($0) }
                if try writer.finish() == value { continue }
            } catch {
                writer.abandon()
                throw error
            }
            throw Failure(
                .dataError, code: "malformedFile", path: path,
                message: "\(path) has other bytes than the large data whose digest is its name.",
                advice: "Export the large data again.")
        }
    }

    private func read(_ path: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        let advice = "Name the folder that export has written."
        guard descriptor >= 0 else { throw failure(path, .noInput, "opened", advice) }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = buffer.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(path, .inputOutputError, "read", advice) }
            if count == 0 { return }
            try buffer.withUnsafeBytes {
                try body(UnsafeRawBufferPointer(rebasing: $0[..<count]))
            }
        }
    }

    private func failure(
        _ path: String, _ exitCode: ExitCode, _ verb: String, _ advice: String
    ) -> Failure {
        Failure(
            exitCode, code: StoreError.Code.inputOutput.rawValue, path: path,
            message: "\(path) can't be \(verb): \(String(cString: strerror(errno))).",
            advice: advice)
    }
}

extension Entity {
    /// Returns the large data among the values of an object, with the names of the properties.
    func largeValues(of values: [Value]) -> [(property: String, value: LargeValue)] {
        zip(properties, values).compactMap { property, value in
            guard property.isLarge, case .data(let data) = value else { return nil }
            return data.withUnsafeBytes { LargeValue(stored: $0) }.map { (property.name, $0) }
        }
    }
}
