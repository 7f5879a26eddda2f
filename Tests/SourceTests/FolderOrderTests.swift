import Testing

/// The folders of StetStore form layers, as its modules do: a file uses the types of its own folder
/// and of the folders below it.
@Suite struct FolderOrderTests {
    /// The lowest first; a folder counts together with the folders inside it.
    private static let folders = [
        "Values", "Bytes", "Schema", "Patterns", "Members", "Records", "Journal", "History", "Log",
        "File", "Reader", "Subscriptions", "Commit", "State", "Query", "Validation", "Observation",
        "Undo", "Retention", "Migration", "Verification",
    ]

    /// The files that use types of folders above their own, each with its reason.
    private static let exceptions: [String: Set<String>] = [
        // A schema compiles its rules and counts once, when it is made.
        "Schema/Schema.swift": ["CountedRelationship", "PropertyRules"],
        // The kinds of text search are cases of the query that they belong to.
        "Patterns/TextPattern.swift": ["QueryNode"],
        // The floor stores a digest, whose computation reads changes of every schema.
        "Journal/JournalFloor.swift": ["StateDigest"],
        // The bytes of an entry are those of the change set that the commit encoded.
        "Journal/Journal.swift": ["EncodedChangeSet"],
        // An open store owns its parts: a reader for each read, the writer, and the feeds.
        "File/StoreFile.swift": [
            "CommitFeed", "Projection", "RefusalFeed", "SavesUnderWay", "SchemaUpdate",
            "StoreReader", "WriterThread",
        ],
        // A copy is verified before it counts as made.
        "File/StoreFile+Copy.swift": ["VerificationReport"],
        // A check of unique values reads the index changes of the commit.
        "Reader/StoreReader+Indexes.swift": ["IndexChanges"],
        // A subscription updates its position by a commit, and reads the feed.
        "Subscriptions/StoredSubscriptions.swift": ["CommitFeed", "Submission"],
        // A context builds a commit from the objects that it has encoded and queries.
        "Commit/NetChanges+Objects.swift": ["EncodedBody", "QueryState"],
        // The writer checks counts again, and publishes what it has committed.
        "Commit/CommitCheck.swift": ["Miscount"],
        "Commit/CommitWriter.swift": ["CommitFeed"],
    ]

    @Test func theOrderNamesEveryFolderOfStetStore() throws {
        let files = try SourceFile.all(in: "Sources/StetStore")
        #expect(Set(files.map(\.folderOfModule)) == Set(Self.folders))
        #expect(Set(Self.folders).count == Self.folders.count)
    }

    @Test func theArchitectureListsTheFoldersInTheirOrder() throws {
        let lines = try SourceFile.text("ARCHITECTURE.md").split(separator: "\n")
        let row = "| `StetStore/"
        let listed = lines.filter { $0.hasPrefix(row) }.map { line in
            String(line.dropFirst(row.count).prefix { $0 != "`" })
        }
        #expect(listed == Self.folders)
    }

    @Test func aFileOfStetStoreUsesNoTypeOfAFolderAboveItsOwn() throws {
        let files = try SourceFile.all(in: "Sources/StetStore")
        let levels = Dictionary(uniqueKeysWithValues: zip(Self.folders, Self.folders.indices))
        var levelsOfTypes: [String: Int] = [:]
        for file in files {
            for type in file.topLevelTypes {
                levelsOfTypes[type] = levels[file.folderOfModule]
            }
        }
        #expect(levelsOfTypes.count > 200)
        var references = 0
        var found: Set<String> = []
        for file in files {
            let level = try #require(levels[file.folderOfModule])
            for name in file.capitalizedWords {
                guard let other = levelsOfTypes[name], other != level else { continue }
                references += 1
                if other > level { found.insert("\(file.pathInModule): \(name)") }
            }
        }
        #expect(references > 1_000)
        let allowed = Set(
            Self.exceptions.flatMap { file, names in names.map { "\(file): \($0)" } })
        #expect(found.subtracting(allowed).sorted() == [], "a type of a folder above")
        #expect(allowed.subtracting(found).sorted() == [], "an exception without a use")
    }

    @Test func theWordsOfCodeAreNeitherInCommentsNorInStringsNorNested() {
        let file = SourceFile(
            path: "Sources/StetStore/Values/One.swift",
            lines: [
                "/// A Comment.", "package struct One: Two {  // Three", "    let text = \"Four\"",
                "    let long = \"\"\"", "        Five", "        \"\"\"",
                "    let next: Six.Seven = .Eight", "    private struct Nine {}", "}",
                "private enum Ten {}",
            ])
        #expect(file.folderOfModule == "Values")
        #expect(file.pathInModule == "Values/One.swift")
        #expect(file.topLevelTypes == ["One"])
        #expect(file.capitalizedWords == ["One", "Two", "Six", "Nine", "Ten"])
    }
}

extension SourceFile {
    /// The path without `Sources` and the module.
    fileprivate var pathInModule: String {
        path.split(separator: "/").dropFirst(2).joined(separator: "/")
    }

    /// The folder below that of the module.
    fileprivate var folderOfModule: String {
        String(path.split(separator: "/")[2])
    }

    /// The names of the types that it declares for other files, without nested ones.
    fileprivate var topLevelTypes: [String] {
        let keywords: Set<Substring> = [
            "struct", "class", "enum", "actor", "protocol", "typealias",
        ]
        let modifiers: Set<Substring> = ["public", "package", "final", "indirect", "nonisolated"]
        return lines.compactMap { line in
            if line.hasPrefix(" ") { return nil }
            let words = line.split { " :<({".contains($0) }
            let rest = words.drop { modifiers.contains($0) || $0.hasPrefix("@") }
            guard let keyword = rest.first, keywords.contains(keyword), rest.count > 1 else {
                return nil
            }
            return String(rest[rest.startIndex + 1])
        }
    }

    /// The words of its code that begin with a capital letter and are not members of another word.
    fileprivate var capitalizedWords: Set<String> {
        // Comments and strings match first, as a whole.
        let token = #/\/\/[^\n]*|"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|\.?\w+/#
        let words = lines.joined(separator: "\n").matches(of: token).map(\.output)
        return Set(words.filter { $0.first?.isUppercase ?? false }.map(String.init))
    }
}
