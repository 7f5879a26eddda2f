import Foundation
import StetStore
import StetTestSupport
import Testing

/// The members of embedded values in the tool: properties with two words.
struct EmbeddedMembersTests {
    private let directory = TemporaryDirectory()
    private let file: StoreFile

    init() throws {
        let person = Entity(
            name: "Person",
            properties: [
                Property(name: "name", type: .string),
                Property(
                    name: "address.city", type: .string, rules: [.length(minimum: 1, maximum: 9)]),
                Property(name: "address.zip", type: .int, isOptional: true),
                Property(
                    name: "landlord", type: .reference, isOptional: true, target: "Person"),
            ],
            indexes: [EntityIndex([EntityIndex.Part(slot: 1)], isUnique: false)])
        file = try StoreFile.open(
            at: directory.file("people.stet"), schema: try Schema(entities: [person]))
        let lines = """
            {"id":"\(Self.ann)","name":"Ann","address.city":"Bern"}
            {"name":"Bob","address.city":"Genf","address.zip":1200,"landlord":"\(Self.ann)"}

            """
        let outcome = try importing(lines, "Person")
        #expect(outcome == Tool.Outcome(status: 0, output: "revision 1: 2 inserted\n"))
    }

    private static let ann = "01900000-0000-7000-8000-000000000001"

    private func importing(_ text: String, _ words: String...) throws -> Tool.Outcome {
        let path = directory.file("lines.jsonl")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try Tool.Running(
            ["import", file.path] + words + [path, "--without-validators"]
        ).outcome()
    }

    private func names(_ words: String...) throws -> [String] {
        let outcome = try Tool.Running(
            ["query", file.path, "Person", "--format", "csv"] + words
        ).outcome()
        #expect(outcome.status == 0, "\(outcome)")
        return outcome.output.split(separator: "\n").dropFirst().compactMap {
            $0.split(separator: ",").dropFirst().first.map(String.init)
        }
    }

    @Test func conditionsAndOrdersNameMembers() throws {
        #expect(try names("address.city == \"Bern\"") == ["Ann"])
        #expect(try names("address.zip > 1000 && address.city != \"Bern\"") == ["Bob"])
        #expect(try names("landlord.address.city == \"Bern\"") == ["Bob"])
        #expect(try names("landlord?.address.city ==[c] \"BERN\" || name == \"x\"") == ["Bob"])
        #expect(try names("--sort", "-address.city") == ["Bob", "Ann"])
        #expect(try names("`address.city` in [\"Genf\"]") == ["Bob"])
        let plan = try Tool.run(
            "query", file.path, "Person", "address.city == \"Bern\"", "--explain")
        #expect(plan.output.contains("address.city"), "\(plan)")
        let unknown = try Tool.run("query", file.path, "Person", "address.town == \"Bern\"")
        #expect(unknown.status != 0)
        #expect(unknown.errors.contains("Person has no property address"), "\(unknown)")
    }

    @Test func membersAreShownEditedAndExported() throws {
        let edited = try importing(
            "{\"id\":\"\(Self.ann)\",\"name\":\"Ann\",\"address.city\":\"Chur\","
                + "\"address.zip\":7000}\n", "Person")
        #expect(edited == Tool.Outcome(status: 0, output: "revision 2: 1 updated\n"))
        #expect(try Tool.run("show", file.path, Self.ann).output.contains("address.city"))
        let commit = try Tool.run("show", file.path, "2")
        #expect(commit.output.contains("address.city"), "\(commit)")
        let blame = try Tool.run("blame", file.path, Self.ann)
        #expect(blame.output.contains("address.city"), "\(blame)")
        let exported = try Tool.run("export", file.path, "Person", "--format", "csv").output
        #expect(exported.hasPrefix("id,name,address.city,address.zip,landlord\n"), "\(exported)")
        #expect(exported.contains("\(Self.ann),Ann,Chur,7000,"), "\(exported)")
        let refused = try importing("{\"name\":\"Cid\",\"address.city\":\"\"}\n", "Person")
        #expect(refused.status != 0, "\(refused)")
        #expect(refused.output.contains("address.city"), "\(refused)")
    }
}
