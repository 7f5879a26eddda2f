import Foundation

/// The contents of a directory: each name with its kind, permissions and bytes.
///
/// The bytes of lock files are left out, as LMDB may write them whenever no other process has the
/// file open.
struct DirectoryContents: Hashable {
    struct Entry: Hashable {
        var kind: String
        var permissions: Int
        var bytes: Data?
        var destination: String?
    }

    let entries: [String: Entry]

    init(_ path: String) throws {
        let manager = FileManager.default
        var entries: [String: Entry] = [:]
        for name in try manager.contentsOfDirectory(atPath: path) {
            let file = "\(path)/\(name)"
            let attributes = try manager.attributesOfItem(atPath: file)
            let kind = attributes[.type] as? FileAttributeType ?? .typeUnknown
            entries[name] = Entry(
                kind: kind.rawValue, permissions: attributes[.posixPermissions] as? Int ?? -1,
                // Nil for files that this process may not read.
                bytes: kind == .typeRegular && !name.hasSuffix("-lock")
                    ? manager.contents(atPath: file) : nil,
                destination: try? manager.destinationOfSymbolicLink(atPath: file))
        }
        self.entries = entries
    }
}
