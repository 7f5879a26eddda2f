import ArgumentParser
import FoundationEssentials
import Glibc
import StetStore

/// The folder with the bytes of large data that `stet export` writes and `stet import` reads.
struct LargeDataFolder {
    private let path: String
    private let files: LargeValueFolder

    init(path: String) {
        self.path = path
        files = LargeValueFolder(path)
    }

    /// Returns whether there is a file of the size of a value.
    func contains(_ value: LargeValue) -> Bool { files.contains(value) }

    /// Writes the bytes of values that the folder does not have, which is created if there is none.
    ///
    /// - Throws: `Failure`; `StoreError`.
    func write(_ values: Set<LargeValue>, of store: StoreFile) throws {
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw Failure(
                .cannotCreate, code: StoreError.Code.inputOutput.rawValue, path: path,
                message: "\(path) can't be created: \(String(cString: strerror(errno))).",
                advice: "Name a folder that can be created.")
        }
        for value in values where try files.write(value, from: store) == 0 {
            if !contains(value) { throw otherBytes(value) }
        }
    }

    /// Writes the bytes of values that a store does not have to it.
    ///
    /// - Throws: `Failure` for a file with other bytes than its name says; `StoreError`.
    func load(_ values: Set<LargeValue>, into store: StoreFile) throws {
        for value in values where try !files.load(value, into: store) { throw otherBytes(value) }
    }

    private func otherBytes(_ value: LargeValue) -> Failure {
        let path = files.path(of: value)
        return Failure(
            .dataError, code: "malformedFile", path: path,
            message: "\(path) has other bytes than the large data whose digest is its name.",
            advice: "Remove it, and export the large data again.")
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
