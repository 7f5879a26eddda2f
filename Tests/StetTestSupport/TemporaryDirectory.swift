import Foundation

/// A separate directory for a test, which is removed when the object is released.
package final class TemporaryDirectory: Sendable {
    /// The path of the directory.
    package let path: String

    /// Creates a new, empty directory.
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

    /// Returns the path of a file in the directory.
    package func file(_ name: String = "test.stet") -> String { "\(path)/\(name)" }
}
