import Testing

/// The order of the folders of a module.
struct FolderOrder: Sendable, CustomTestStringConvertible {
    let module: String
    /// The lowest first; a folder counts together with the folders inside it.
    let folders: [String]
    /// The files that use types of folders above their own, each with its reason.
    let exceptions: [String: Set<String>]

    var testDescription: String { module }

    static let stetStore = FolderOrder(
        module: "StetStore",
        folders: [
            "Values", "Bytes", "Text", "Sealing", "Schema", "Patterns", "Members", "Records",
            "Journal", "History", "Shared", "File", "Reader", "LargeValues", "Subscriptions",
            "Commit", "State", "Query", "Validation", "Observation", "Undo", "Retention",
            "Migration", "Verification", "Shipping", "Nodes",
        ],
        exceptions: [
            // The attributes of a commit may have a request to the journal.
            "Values/ChangeKind.swift": ["JournalRequest"],
            // A schema compiles its rules and counts once, when it is made.
            "Schema/Schema.swift": ["CountedRelationship", "PropertyRules"],
            // The floor stores a digest, whose computation reads changes of every schema.
            "Journal/JournalFloor.swift": ["StateDigest"],
            // The bytes of an entry are those of the change set that the commit encoded.
            "Journal/Journal.swift": ["EncodedChangeSet"],
            // An open store owns its parts: a reader for each read, the writer, and the feeds.
            "File/StoreFile.swift": [
                "CommitFeed", "LargeValueTable", "NodeOpening", "Projection", "RefusalFeed",
                "SavesUnderWay",
                "SchemaUpdate", "StoreReader", "WriterThread",
            ],
            "File/Opening/StoreOpening.swift": [
                "DerivationWork", "SchemaUpdate", "WriterThread",
            ],
            // A copy is verified before it counts as made.
            "File/StoreFile+Copy.swift": ["VerificationReport"],
            // A check of unique values reads the index changes of the commit.
            "Reader/StoreReader+Indexes.swift": ["IndexChanges"],
            // A subscription updates its position by a commit, and reads the feed.
            "Subscriptions/StoredSubscriptions.swift": ["CommitFeed", "Submission"],
            // A context builds a commit from the objects that it has encoded and queries.
            "Commit/ChangeSetBuilder+Objects.swift": ["EncodedBody", "QueryState"],
            // Which objects have entries is decided as by a query.
            "Commit/IndexChanges.swift": ["IndexMembership"],
            // The writer checks counts again, and publishes what it has committed.
            "Commit/CommitCheck.swift": ["Miscount"],
            // It also carries out the request of a commit.
            "Commit/CommitWriter.swift": ["CommitFeed", "JournalRequestWork", "SharedCommit"],
            // A node looks for a commit behind those of the other nodes.
            "Commit/Outcome.swift": ["StoreNode"],
            "Migration/StoreFile+Adopt.swift": ["StoreNode"],
        ])

    static let stet = FolderOrder(
        module: "Stet",
        folders: [
            "Model", "Attributes", "Context", "Relationships", "Pending", "Validation", "Merge",
            "Store", "Save", "Queries", "Sealing", "LargeData", "Migration", "Observation",
            "Subscriptions", "Errors",
        ],
        exceptions: [
            // The code that `@Model` writes names the fields, references and validators of a class.
            "Model/Model.swift": [
                "CodableAttribute", "ManagedContext", "RawAttribute", "_ModelFields",
                "_ObjectTable", "_Reference", "Validators",
            ],
            "Model/ModelState.swift": ["_ObjectTable"],
            "Model/Macros.swift": ["Deletable", "EmbeddedValue"],
            "Model/DerivedExpression.swift": ["QueryExpression"],
            "Model/ModelRelationship.swift": ["_ToManyProperty"],
            "Model/AttributeOption.swift": ["OrderedValue"],
            // The name of a protocol is what the compiler's error says.
            "Model/PropertyTypes.swift": [
                "CodableAttribute", "QueryExpression", "RawAttribute", "_QueryObject",
            ],
            "Model/Storable.swift": [
                "CodableAttribute", "QueryExpression", "RawAttribute", "_QueryObject",
            ],
            "Attributes/EmbeddedValue.swift": ["QueryExpression", "_QueryObject"],
            "Attributes/EmbeddedValue+Optional.swift": ["_QueryObject"],
            "Relationships/Reference.swift": ["_QueryObject"],
            // A context belongs to a store, and owns the parts that do its work.
            "Context/ContextCore.swift": [
                "ChangedObject", "EditHistory", "MemberRelationship", "MergePolicy", "OwnCommits",
                "PendingChanges", "SaveLine", "Store",
            ],
            "Context/ManagedContext.swift": ["MergePolicy", "Store", "StoreFollower"],
            "Context/ManagedContext+Reads.swift": ["_ToManyProperty"],
            "Context/ManagedContext+Snapshots.swift": ["PendingChanges"],
            // Models with protected objects do not conform to it.
            "Relationships/ModelGraph.swift": ["Deletable"],
            // A capture remembers the save that was in flight.
            "Pending/PendingChanges+Capture.swift": ["SaveInProgress"],
            // Validators look up objects of the store, and run with its messages.
            "Validation/ChangeSetCheck.swift": ["Store"],
            "Validation/Model+Validation.swift": ["Store"],
            "Validation/PendingStore.swift": ["Store"],
            // Opening a store reports the progress of its migration.
            "Store/Store+Configuration.swift": ["MigrationPlan"],
            // A change of a relationship is read by its field.
            "Store/Change.swift": ["ToManyField"],
            "Store/Store+History.swift": ["ToManyField"],
            "Validation/ManagedContext+Report.swift": ["ToManyField"],
        ])
}

/// The folders of a module form layers, as the modules do: a file uses the types of its own folder
/// and of the folders below it.
@Suite struct FolderOrderTests {
    @Test(arguments: [FolderOrder.stetStore, .stet])
    func theOrderNamesEveryFolder(order: FolderOrder) throws {
        let files = try SourceFile.all(in: "Sources/\(order.module)")
        #expect(Set(files.compactMap(\.folderOfModule)) == Set(order.folders))
        #expect(Set(order.folders).count == order.folders.count)
    }

    @Test func theArchitectureListsTheFoldersOfStetStoreInTheirOrder() throws {
        let lines = try SourceFile.text("ARCHITECTURE.md").split(separator: "\n")
        let row = "| `StetStore/"
        let listed = lines.filter { $0.hasPrefix(row) }.map { line in
            String(line.dropFirst(row.count).prefix { $0 != "`" })
        }
        #expect(listed == FolderOrder.stetStore.folders)
    }

    @Test(arguments: [FolderOrder.stetStore, .stet])
    func aFileUsesNoTypeOfAFolderAboveItsOwn(order: FolderOrder) throws {
        let files = try SourceFile.all(in: "Sources/\(order.module)")
        let levels = Dictionary(uniqueKeysWithValues: zip(order.folders, order.folders.indices))
        var levelsOfTypes: [String: Int] = [:]
        for file in files {
            for type in file.topLevelTypes {
                levelsOfTypes[type] = file.folderOfModule.flatMap { levels[$0] }
            }
        }
        #expect(levelsOfTypes.count > 150)
        var references = 0
        var found: Set<String> = []
        for file in files {
            guard let level = file.folderOfModule.flatMap({ levels[$0] }) else { continue }
            for name in file.capitalizedWords {
                guard let other = levelsOfTypes[name], other != level else { continue }
                references += 1
                if other > level { found.insert("\(file.pathInModule): \(name)") }
            }
        }
        #expect(references > 10 * order.folders.count)
        let allowed = Set(
            order.exceptions.flatMap { file, names in names.map { "\(file): \($0)" } })
        #expect(found.subtracting(allowed).sorted() == [], "a type of a folder above")
        #expect(allowed.subtracting(found).sorted() == [], "an exception without a use")
    }

    @Test func theWordsOfCodeAreNeitherInCommentsNorInStringsNorNested() {
        let file = SourceFile(
            path: "Sources/StetStore/Values/One.swift",
            lines: [
                "/// A Comment.", "package struct One: Two {  // Three", "    let text = \"Four\"",
                "    let long = \"\"\"", "        Five", "        \"\"\"",
                "    let next: Six._Seven = .Eight", "    private struct _Nine {}", "}",
                "private enum Ten {}",
            ])
        #expect(file.folderOfModule == "Values")
        #expect(file.pathInModule == "Values/One.swift")
        #expect(file.topLevelTypes == ["One"])
        #expect(file.capitalizedWords == ["One", "Two", "Six", "_Nine", "Ten"])
    }
}

extension SourceFile {
    /// The path without `Sources` and the module.
    fileprivate var pathInModule: String {
        path.split(separator: "/").dropFirst(2).joined(separator: "/")
    }

    /// The folder below that of the module; nil for a file beside the folders.
    fileprivate var folderOfModule: String? {
        let names = path.split(separator: "/")
        return names.count > 3 ? String(names[2]) : nil
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

    /// The words of its code that begin with a capital letter, also after an underscore, and are
    /// not members of another word.
    fileprivate var capitalizedWords: Set<String> {
        // Comments and strings match first, as a whole.
        let token = #/\/\/[^\n]*|"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|\.?\w+/#
        let words = lines.joined(separator: "\n").matches(of: token).map(\.output)
        return Set(
            words.filter { $0.drop { $0 == "_" }.first?.isUppercase ?? false }.map(String.init))
    }
}
