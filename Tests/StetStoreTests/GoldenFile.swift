import Foundation
import StetTestSupport

/// A store under version control, as the present format has it: what is written today must be read
/// by every later version.
///
/// `make goldens` makes them anew, which is for changes of the format only.
enum GoldenFile {
    /// Copies a golden store to `path`, which must not be open.
    ///
    /// Where `STET_WRITE_GOLDENS` names a directory, the store is made first, and put there.
    static func copy(
        _ name: String, to path: String, madeBy make: (_ path: String) throws -> Void
    ) throws {
        let fileName = "golden-\(name).stet"
        if let directory = ProcessInfo.processInfo.environment["STET_WRITE_GOLDENS"] {
            let scratch = TemporaryDirectory()
            let made = scratch.file(fileName)
            try make(made)
            let target = URL(fileURLWithPath: directory).appendingPathComponent(fileName)
            try Data(contentsOf: URL(fileURLWithPath: made)).write(to: target)
            try Data(contentsOf: target).write(to: URL(fileURLWithPath: path))
            return
        }
        try copy(file: fileName, to: path)
    }

    /// Copies a store of an earlier format, which this version cannot make.
    static func copy(early name: String, to path: String) throws {
        try copy(file: "golden-\(name).stet", to: path)
    }

    static func copy(file fileName: String, to path: String) throws {
        let url = Bundle.module.bundleURL.appendingPathComponent("Resources/\(fileName)")
        try Data(contentsOf: url).write(to: URL(fileURLWithPath: path))
    }
}
