import Testing

/// The names of the source files, by which a reader finds a type.
@Suite struct FileNameTests {
    /// The files that are named after a family of declarations.
    private static let families: Set<String> = [
        // Functions, which belong to no type.
        "Sources/StetCLI/Quantities.swift",
        "Sources/StetStore/Values/TimeText.swift",
        "Sources/StetStore/Values/Trap.swift",
        "Sources/StetTesting/Expectations.swift",
        // Names for generated code, for macros, and for what is exported.
        "Sources/Stet/Model/GeneratedCode.swift",
        "Sources/Stet/Model/Macros.swift",
        "Sources/Stet/Stet.swift",
        // Types of one kind, none of which is the main one.
        "Sources/Stet/Attributes/CollectionAttributes.swift",
        "Sources/Stet/Attributes/NumberAttributes.swift",
        "Sources/Stet/Model/PropertyTypes.swift",
        "Sources/Stet/Store/Confirmers.swift",
        "Sources/StetCLI/Commands/CopyCommands.swift",
        "Sources/StetCLI/Commands/HistoryCommands.swift",
        "Sources/StetCLI/Commands/JournalCommands.swift",
        "Sources/StetCLI/Commands/RetentionCommands.swift",
        "Sources/StetCLI/Commands/UndoCommands.swift",
        "Sources/StetCLI/Exchange/NumberText.swift",
        "Sources/StetLMDB/Transaction.swift",
        "Sources/StetMacros/Properties/PropertyMacros.swift",
        "Sources/StetMacros/RelationshipMacros.swift",
        "Sources/StetStore/Query/Program/QueryConditions.swift",
        "Sources/StetStore/Query/Program/QueryOperands.swift",
        "Sources/StetStore/Query/Program/TextConditions.swift",
    ]

    /// The files that declare another type before that of their name.
    private static let openings: Set<String> = [
        "Sources/Stet/Model/Hook.swift",
        "Sources/Stet/Model/ModelRelationship.swift",
        "Sources/Stet/Model/ObservableModel.swift",
        "Sources/Stet/Model/StoredValue.swift",
    ]

    private static let sources = Result { try SourceFile.all(in: "Sources") }

    @Test func aFileIsNamedAfterATypeThatItDeclaresOrExtends() throws {
        let files = try Self.sources.get()
        let unnamed = files.filter { file in
            !file.declarations.contains { $0.names.contains(file.mainName) }
        }
        #expect(files.count > 400)
        #expect(Set(unnamed.map(\.path)).subtracting(Self.families) == [])
        #expect(Self.families.subtracting(unnamed.map(\.path)) == [], "a family without a need")
    }

    @Test func aFileOpensWithTheTypeOfItsName() throws {
        let late = try Self.sources.get().filter { file in
            guard file.suffix == nil else { return false }
            let index = file.declarations.firstIndex {
                !$0.isExtension && $0.names.contains(file.mainName)
            }
            return index ?? 0 > 0
        }
        #expect(Set(late.map(\.path)).subtracting(Self.openings) == [])
        #expect(Self.openings.subtracting(late.map(\.path)) == [], "an exception without a need")
    }

    @Test func noNameEndsAsAGerundUnlessItIsThatOfAType() throws {
        let files = try Self.sources.get()
        let types = Set(files.flatMap { $0.declarations.flatMap(\.names) })
        let gerunds = files.filter { file in
            let names = [file.mainName, file.suffix ?? ""]
            return names.contains { $0.hasSuffix("ing") && !types.contains($0) }
        }
        #expect(types.contains("StoreOpening"))
        #expect(gerunds.map(\.path) == [])
    }

    @Test func theDeclarationsOfAFileAreFound() {
        let file = SourceFile(
            path: "Sources/Stet/One+Reads.swift",
            lines: """
                // struct No {
                import Zero
                @Macro(1) public final class One {
                    struct Inner {}
                }
                extension One.Two: Three {}
                package func four() {}
                public protocol _Five {}
                    package enum Six {
                """.split(separator: "\n"))
        #expect(file.mainName == "One")
        #expect(file.suffix == "Reads")
        #expect(file.declarations.map(\.names) == [["One"], ["One", "Two", "OneTwo"], ["Five"]])
        #expect(file.declarations.map(\.isExtension) == [false, true, false])
    }
}

extension SourceFile {
    fileprivate struct Declaration {
        /// The name without a leading underscore; of a nested type, the parts and the whole.
        let names: Set<String>
        let isExtension: Bool
    }

    /// The part of the file's name before a plus sign.
    fileprivate var mainName: String { nameParts[0] }

    /// The part of the file's name after a plus sign.
    fileprivate var suffix: String? { nameParts.count > 1 ? nameParts[1] : nil }

    private var nameParts: [String] {
        let name = path.split(separator: "/").last?.dropLast(".swift".count) ?? ""
        return name.split(separator: "+").map(String.init)
    }

    /// The types that are declared or extended at top level, also inside of a conditional
    /// compilation block.
    fileprivate var declarations: [Declaration] {
        let isConditional = lines.first?.hasPrefix("#if") == true
        // A regular expression is parsed where it is evaluated.
        let declaration = Self.typeDeclaration
        return lines.compactMap { line in
            let text = isConditional && line.hasPrefix("    ") ? line.dropFirst(4) : line
            guard let match = text.prefixMatch(of: declaration) else { return nil }
            let parts = match.2.split(separator: ".").map { String($0.drop { $0 == "_" }) }
            return Declaration(
                names: Set(parts + [parts.joined()]), isExtension: match.1 == "extension")
        }
    }

    private static var typeDeclaration: Regex<(Substring, Substring, Substring)> {
        /(?:[@\w]+(?:\([^)]*\))? )*(struct|class|enum|protocol|actor|extension|typealias) ([\w.]+)/
    }
}
