import Foundation

/// The sources of this package, as the tests of the source itself read them.
struct SourceFile {
    let path: String
    let lines: [Substring]

    /// The folder of the package.
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

    static func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
    }

    /// The Swift files below a folder.
    static func all(in folder: String) throws -> [SourceFile] {
        let names = FileManager.default.enumerator(atPath: "\(root)/\(folder)")?.allObjects ?? []
        return try names.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted()
            .map { name in
                let text = try text("\(folder)/\(name)")
                return SourceFile(
                    path: "\(folder)/\(name)",
                    lines: text.split(separator: "\n", omittingEmptySubsequences: false))
            }
    }

    /// Lines that are neither empty nor comments.
    var codeLines: [Substring] {
        lines.filter { line in
            let text = line.drop { $0 == " " }
            return !text.isEmpty && !text.hasPrefix("//")
        }
    }

    /// The modules that it imports.
    var imports: Set<String> {
        Set(
            lines.compactMap { line in
                let words = line.split(separator: " ")
                guard let index = words.firstIndex(of: "import"), index + 1 < words.count,
                    words[..<index].allSatisfy({
                        ["public", "package", "internal", "@_exported", "@testable"].contains($0)
                    })
                else { return nil }
                return String(words[index + 1])
            })
    }
}
