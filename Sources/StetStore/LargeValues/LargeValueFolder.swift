import Glibc
import StetLMDB

/// Files with the bytes of large values in a directory, each named after the digest of its bytes.
package struct LargeValueFolder {
    private let directory: String
    private let prefix: String

    /// Names a directory, and what the names of the files begin with.
    package init(_ directory: String, prefix: String = "") {
        self.directory = directory
        self.prefix = prefix
    }

    /// Returns the path of the file for a value.
    package func path(of value: LargeValue) -> String {
        "\(directory)/\(prefix)\(value.digest.hexadecimal)"
    }

    /// Returns whether there is a regular file of the size of a value.
    package func contains(_ value: LargeValue) -> Bool {
        var status = stat()
        return stat(path(of: value), &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && Int(status.st_size) == value.byteCount
    }

    /// Writes the file of a value, unless there is one.
    ///
    /// - Returns: The number of bytes that were written.
    /// - Throws: `StoreError`, as `LargeValueReader.read` does, and those of the file system.
    package func write(_ value: LargeValue, from store: StoreFile) throws -> Int {
        let path = path(of: value)
        if access(path, F_OK) == 0 { return 0 }
        do {
            let draft = try Draft(of: path)
            defer { draft.remove() }
            try StoreCopier.writeFile(at: draft.path) { write in
                try LargeValueReader(store).read(value, 0..<value.byteCount) { try write($0) }
            }
            do {
                try draft.publish(as: path)
            } catch {
                guard error.code == EEXIST else { throw error }
            }
        } catch let error as LMDBError {
            throw failure(error.code, path, "written")
        } catch let error as StoreError where error.path?.hasPrefix(path) == true {
            // The read of the value has made it of an error of the draft.
            throw failure(error.systemCode ?? EIO, path, "written")
        }
        return value.byteCount
    }

    /// Writes the bytes of a value to a store, unless it has them.
    ///
    /// - Returns: False if the file has other bytes than its name says.
    /// - Throws: `StoreError`, as a commit does, and those of the file system.
    package func load(_ value: LargeValue, into store: StoreFile) throws -> Bool {
        if try store.read({ try $0.hasBytes(of: value) }) { return true }
        let path = path(of: value)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw failure(errno, path, "read")
        }
        defer { close(descriptor) }
        let writer = try LargeValueWriter(store)
        do {
            try copy(descriptor, path, to: writer)
            return try writer.finish() == value
        } catch {
            writer.abandon()
            throw error
        }
    }

    private func copy(
        _ descriptor: Int32, _ path: String, to writer: LargeValueWriter
    ) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            if count < 0, errno == EINTR { continue }
            if count < 0 {
                throw failure(errno, path, "read")
            }
            if count == 0 { return }
            try writer.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    /// Returns the error for a file that can't be read or written.
    private func failure(_ code: Int32, _ path: String, _ attempt: String) -> StoreError {
        let cause = LMDBError(.create, code: code, path: path)
        let error = StoreError(cause)
        return StoreError(
            error.code, path: path,
            message: "The file \(path) with large data can't be \(attempt): \(cause.reason).",
            advice: error.advice, systemCode: code)
    }
}
