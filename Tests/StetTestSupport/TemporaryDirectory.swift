import Foundation

/// A directory of its own for a test; removed when the value goes.
package final class TemporaryDirectory: Sendable {
    /// The directory's path.
    package let path: String

    /// A new, empty directory.
    package init() {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("stet-test-\(UUID().uuidString)")
        path = url.path
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        } catch {
            preconditionFailure("no temporary directory can be made: \(error)")
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a file in the directory.
    package func file(_ name: String = "test.stet") -> String { "\(path)/\(name)" }
}
