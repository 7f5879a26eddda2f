import Foundation
import StetStore
import StetTestSupport
import Testing

/// The history of derived attributes in the tool, and rows that contain them.
struct DerivedToolTests {
    private let directory = TemporaryDirectory()
    private let file: StoreFile
    private static let ann = "\(ObjectID.fixed(1))"
    private static let bob = "\(ObjectID.fixed(2))"

    /// Ann, her employee Bob, and her new name.
    init() throws {
        let boss = QueryObject.target(.root, slot: 1, entity: "Person")
        let person = Entity(
            name: "Person",
            properties: [
                Property(name: "name", type: .string),
                Property(name: "boss", type: .reference, isOptional: true, target: "Person"),
                Property(name: "bossName", type: .string, isOptional: true).derived(
                    by: .property(boss, slot: 0)),
                Property(name: "label", type: .string).derived(
                    by: .arithmetic(.add, .property(.root, slot: 0), .constant(.string("!")))),
            ], indexes: [EntityIndex([EntityIndex.Part(slot: 2)])])
        file = try StoreFile.open(
            at: directory.file("people.stet"), schema: try Schema(entities: [person]))
        let first = try importing(
            "{\"id\":\"\(Self.ann)\",\"name\":\"Ann\"}",
            "{\"id\":\"\(Self.bob)\",\"name\":\"Bob\",\"boss\":\"\(Self.ann)\"}")
        #expect(first.output == "revision 1: 2 inserted\n")
        let second = try importing("{\"id\":\"\(Self.ann)\",\"name\":\"Eva\"}")
        #expect(second.output == "revision 2: 1 updated\n")
    }

    private func run(_ words: String...) throws -> Tool.Outcome {
        var words = words
        words.insert(file.path, at: 1)
        return try Tool.Running(words).outcome()
    }

    private func importing(
        _ lines: String..., named name: String = "lines.jsonl"
    ) throws -> Tool.Outcome {
        let path = directory.file(name)
        try lines.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
        return try run("import", "Person", path, "--without-validators", "--author", "po")
    }

    private static let renamed = """
        update Person \(ann)
          name: "Ann" → "Eva"
          label: "Ann!" → "Eva!"
        update Person \(bob)
          bossName: "Ann" → "Eva"

        """

    @Test func derivedValuesAreShownWhereTheyChange() throws {
        #expect(try run("show", "2").output.hasSuffix("\n" + Self.renamed))
        #expect(try run("diff", "1", "2").output == Self.renamed)
        let blame = try run("blame", Self.bob, "bossName").output
        #expect(blame.hasPrefix("2 "), "\(blame)")
        #expect(blame.hasSuffix(" by po  bossName: \"Eva\"\n"), "\(blame)")
        let bob = try run("show", Self.bob).output
        #expect(bob.contains("  bossName: \"Eva\"\n"), "\(bob)")
        #expect(bob.contains("  bossName: \"Ann\" → \"Eva\"\n"), "\(bob)")
        let old = try run("dump", "--as-of", "1").output
        #expect(old.contains("\"bossName\":\"Ann\""), "\(old)")
        let log = try run("log", "--limit", "1").output
        #expect(log.contains("2 changes"), "\(log)")
    }

    @Test func aRevertDerivesAnew() throws {
        let preview = try run("revert", "2", "--dry-run").output
        #expect(preview.contains("  bossName: \"Eva\" → \"Ann\"\n"), "\(preview)")
        // What Bob's boss is called follows from whoever that is now.
        let own = try importing("{\"id\":\"\(Self.bob)\",\"name\":\"Bob\",\"boss\":null}")
        #expect(own.output == "revision 3: 1 updated\n")
        let reverted = try run("revert", "2", "--without-validators")
        #expect(reverted.status == 0, "\(reverted)")
        let exported = try run("export", "Person", "--format", "csv").output
        #expect(exported.contains("\(Self.ann),Ann,,,Ann!\n"), "\(exported)")
        #expect(exported.contains("\(Self.bob),Bob,,,Bob!\n"), "\(exported)")
        #expect(try run("verify").status == 0)
    }

    @Test func derivedValuesAreRedacted() throws {
        let redacted = try run("redact", Self.bob, "bossName", "--yes")
        #expect(redacted.output == "2 values redacted in commits 2, 1\n", "\(redacted)")
        let shown = try run("show", Self.bob).output
        #expect(!shown.contains("\"Ann\""), "\(shown)")
        #expect(shown.contains("  bossName: \"Eva\"\n"), "\(shown)")
        #expect(try run("verify").status == 0)
        #expect(try run("query", "Person", "bossName == \"Eva\"", "--count").output == "1\n")
    }

    @Test(arguments: ["jsonl", "csv"])
    func anExportChangesNothing(format: String) throws {
        let exported = try run("export", "Person", "--format", format).output
        let again = try importing(exported, named: "export.\(format)")
        #expect(again == Tool.Outcome(status: 0, output: "2 unchanged\n"))
        let wrong = exported.replacingOccurrences(of: "Eva!", with: "Zoe!")
        #expect(wrong != exported)
        let ignored = try importing(wrong, named: "wrong.\(format)")
        #expect(ignored == Tool.Outcome(status: 0, output: "2 unchanged\n"))
        #expect(try run("export", "Person", "--format", format).output == exported)
        let other = exported.replacingOccurrences(of: "Eva", with: "Ida")
        let updated = try importing(other, named: "other.\(format)")
        #expect(updated.output == "revision 3: 1 updated, 1 unchanged\n")
        #expect(try run("export", "Person", "--format", format).output == other)
    }
}
