import Glibc
import StetLMDB

/// The files of large values in a directory that a journal is shipped to: one for each value that
/// the shipped commits have set.
struct ShippedValues {
    let directory: String

    private func path(of value: LargeValue) -> String {
        "\(directory)/value-\(value.digest.hexadecimal)"
    }

    /// Writes the files that the directory lacks of the values that a commit has set.
    ///
    /// - Returns: The number of bytes that were written.
    func write(valuesOf commit: Commit, from file: StoreFile) throws -> Int {
        var byteCount = 0
        for value in try commit.largeValuesAfter() {
            let path = path(of: value)
            if access(path, F_OK) == 0 { continue }
            let draft = try Draft(of: path)
            defer { draft.remove() }
            try StoreCopier.writeFile(at: draft.path) { write in
                try LargeValueReader(file).read(value, 0..<value.byteCount) { try write($0) }
            }
            do {
                try draft.publish(as: path)
            } catch {
                guard error.code == EEXIST else { throw error }
            }
            byteCount += value.byteCount
        }
        return byteCount
    }

    /// Adds the values that a commit sets, and that the store lacks.
    ///
    /// - Throws: `StoreError` (`.damaged`), with the path of the file.
    func add(valuesOf commit: Commit, to file: StoreFile) throws {
        for value in try commit.largeValuesAfter() {
            let isThere = try file.read { reader in
                try file.projection.largeValues?.entry(value, in: reader.transaction) != nil
            }
            if isThere { continue }
            let path = path(of: value)
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw LMDBError(.openEnvironment, code: errno, path: path)
            }
            defer { close(descriptor) }
            let writer = try LargeValueWriter(file)
            try copy(descriptor, path, to: writer)
            guard try writer.finish() == value else {
                throw ShippedJournal.damaged("it has other bytes than its name says", path)
            }
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
            if count < 0 { throw LMDBError(.openEnvironment, code: errno, path: path) }
            if count == 0 { return }
            try writer.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }
}

extension Commit {
    /// Returns the large values that the commit has set, each once.
    fileprivate func largeValuesAfter() throws -> Set<LargeValue> {
        guard schema.hasLargeValues else { return [] }
        var values: Set<LargeValue> = []
        try forEachChange { change in
            try LargeValueCounts.forEachValue(of: change, schema.entities[change.entity]) {
                value, isBefore in
                if !isBefore { values.insert(value) }
            }
        }
        return values
    }
}
