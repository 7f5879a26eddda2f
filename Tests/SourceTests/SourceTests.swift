import Foundation
import Testing

/// The source itself is tested: layers, sizes, banned calls, the README.
@Suite struct SourceTests {
    /// The modules of this package and its dependencies that each layer may import.
    private static let layers: [String: Set<String>] = [
        "StetLMDB": ["CLMDB"],
        "StetStore": [
            "StetLMDB", "Crypto", "DequeModule", "Dispatch", "Logging", "Metrics", "Tracing",
        ],
        "StetServiceLifecycle": ["Stet", "ServiceLifecycle"],
        "StetTesting": ["Stet", "StetStore", "Testing"],
        "Stet": ["Logging", "Metrics", "Observation", "StetStore", "Tracing"],
        "StetCLI": ["StetStore", "ArgumentParser"],
        "StetStemming": ["CStemmer", "StetStore"],
        "StetTool": ["StetCLI", "StetStemming", "StetStore"],
        "StetMacros": [
            "SwiftCompilerPlugin", "SwiftDiagnostics", "SwiftSyntax", "SwiftSyntaxBuilder",
            "SwiftSyntaxMacros",
        ],
    ]
    private static let system: Set<String> = [
        "Dispatch", "FoundationEssentials", "Glibc", "Synchronization",
    ]

    @Test(arguments: layers.keys.sorted())
    func aLayerImportsOnlyWhatIsBelowIt(layer: String) throws {
        let files = try SourceFile.all(in: "Sources/\(layer)")
        #expect(!files.isEmpty)
        let allowed = (Self.layers[layer] ?? []).union(Self.system)
        for file in files {
            #expect(file.imports.subtracting(allowed) == [], "\(file.path)")
        }
    }

    @Test func everyFolderOfSourcesIsALayer() throws {
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: "\(SourceFile.root)/Sources")
        #expect(Set(folders) == Set(Self.layers.keys).union(["CLMDB", "CStemmer"]))
    }

    @Test func onlyStetLMDBImportsTheCLibrary() throws {
        let files = try SourceFile.all(in: "Sources") + SourceFile.all(in: "Tests")
        let importing = files.filter { $0.imports.contains("CLMDB") }.map(\.path)
        #expect(!importing.isEmpty)
        #expect(importing.allSatisfy { $0.hasPrefix("Sources/StetLMDB/") }, "\(importing)")
    }

    @Test(arguments: ["Sources", "Tests"])
    func aFolderHasAtMost16Files(root: String) throws {
        let files = try SourceFile.all(in: root)
        let folders = Dictionary(grouping: files) { file in
            file.path.split(separator: "/").dropLast().joined(separator: "/")
        }
        #expect(folders.count > 20)
        #expect(folders.filter { $0.value.count > 16 }.map(\.key) == [])
    }

    /// `precondition` says nothing in optimised builds: `trap` of StetStore does.
    @Test(arguments: [
        "print(", "try!", "fatalError(", "precondition(", "preconditionFailure(", " assert(",
        "TODO", "FIXME", "as! ",
    ])
    func aBannedWordIsNotInTheSources(word: String) throws {
        for file in try SourceFile.all(in: "Sources")
        where file.path != "Sources/StetStore/Values/Trap.swift" {
            let places = file.lines.indices.filter { file.lines[$0].contains(word) }
            #expect(places.map { "\(file.path):\($0 + 1)" } == [])
        }
    }

    @Test func everyUncheckedSendableSaysWhatMakesItTrue() throws {
        for file in try SourceFile.all(in: "Sources") {
            for line in file.lines where line.contains("@unchecked Sendable") {
                #expect(line.contains("// "), "\(file.path): \(line)")
            }
        }
    }

    @Test(arguments: [
        "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/FileFormat.md",
        "docs/decisions.md", "docs/Internals.md", "docs/Performance.md",
    ])
    func aDocumentLinksToFilesThatExist(document: String) throws {
        let folder = document.split(separator: "/").dropLast().map { "\($0)/" }.joined()
        for part in try SourceFile.text(document).components(separatedBy: "](").dropFirst() {
            let target = part.prefix { $0 != ")" && $0 != "#" }
            guard !target.contains("://"), !target.isEmpty else { continue }
            let path = "\(SourceFile.root)/\(folder)\(target)"
            #expect(FileManager.default.fileExists(atPath: path), "\(document): \(target)")
        }
    }

    @Test func theArchitectureHasAtMost250LinesAndNamesEveryFolderOfSources() throws {
        let text = try SourceFile.text("ARCHITECTURE.md")
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 251)
        let folders = Set(
            try SourceFile.all(in: "Sources").map { file in
                file.path.split(separator: "/").dropFirst().dropLast().map(String.init)
            })
        #expect(folders.count > 30)
        // A row may name a folder without the one that the row begins with.
        let missing = folders.filter { folder in
            !folder.indices.contains { first in
                text.contains("`\(folder[first...].joined(separator: "/"))`")
            }
        }
        #expect(missing.map { $0.joined(separator: "/") } == [])
    }

    @Test func theWalksInTheArchitectureNameFunctionsThatExist() throws {
        let text = try SourceFile.text("ARCHITECTURE.md")
        let start = try #require(text.range(of: "### The walk of one save"))
        let end = try #require(text.range(of: "A test compares the names in this text"))
        let files = try SourceFile.all(in: "Sources").map { $0.lines.joined(separator: "\n") }
        let names = text[start.upperBound..<end.lowerBound]
            .matches(of: /`([A-Z]\w+)\.([a-z_$][\w$]*)`/)
        #expect(names.count > 15)
        for name in names {
            let (type, function) = (name.output.1, name.output.2)
            let isThere = files.contains { file in
                ["class", "struct", "enum", "protocol", "extension"].contains { keyword in
                    file.contains("\(keyword) \(type)")
                }
                    && ["(", "<"].contains { file.contains("func \(function)\($0)") }
            }
            #expect(isThere, "\(type).\(function)")
        }
    }
}
