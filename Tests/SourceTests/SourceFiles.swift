import Foundation

/// The sources of this package, as the tests of the source itself read them.
struct SourceFile {
    let path: String
    let lines: [Substring]

    /// The folder of the package.
    static let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
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

    /// The lines of code of each type, by name; those of an extension are the type's.
    var codeLineCountsOfTypes: [String: Int] {
        let keywords: Set<Substring> = [
            "struct", "class", "enum", "extension", "actor", "protocol",
        ]
        var counts: [String: Int] = [:]
        var open: [(name: String, end: String)] = []
        for line in codeLines {
            let margin = line.prefix { $0 == " " }
            let words = line.split { " :<{(".contains($0) }
            if line == open.last?.end ?? "" {
                open.removeLast()
            } else if line.hasSuffix("{"), let index = words.firstIndex(where: keywords.contains),
                index + 1 < words.count, !["func", "var", "let"].contains(words[index + 1])
            {
                let outer = open.last.map { "\($0.name)." } ?? ""
                open.append(("\(outer)\(words[index + 1])", "\(margin)}"))
            } else if let name = open.last?.name {
                counts[name, default: 0] += 1
            }
        }
        return counts
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
                // An import of one declaration, `import struct Module.Name`, has a kind.
                return words.last.map { String($0.prefix { $0 != "." }) }
            })
    }
}
