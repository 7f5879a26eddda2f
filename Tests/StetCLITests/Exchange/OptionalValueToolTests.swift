import Foundation
import StetStore
import StetTestSupport
import Testing

/// Optional embedded values in the tool: a presence and members that go together.
struct OptionalValueToolTests {
    private let directory = TemporaryDirectory()
    private let file: StoreFile

    init() throws {
        let person = Entity(
            name: "Person",
            properties: [
                Property(name: "name", type: .string),
                Property(name: "site", type: .bool, isOptional: true),
                Property(
                    name: "site.city", type: .string, isOptional: true,
                    rules: [.length(minimum: nil, maximum: 9), .required]),
                Property(name: "site.zip", type: .int, isOptional: true),
                Property(
                    name: "site.seen", type: .date, isOptional: true, rules: [.required],
                    stamp: .update),
                Property(name: "boss", type: .reference, isOptional: true, target: "Person"),
            ], indexes: [EntityIndex([EntityIndex.Part(slot: 2)], isUnique: false)])
        file = try StoreFile.open(
            at: directory.file("people.stet"), schema: try Schema(entities: [person]))
        let lines = """
            {"id":"\(Self.ann)","name":"Ann","site":true,"site.city":"Bern"}
            {"name":"Bob","boss":"\(Self.ann)"}
            {"id":"\(Self.cid)","name":"Cid","site.city":"Genf","site.zip":1200}

            """
        let outcome = try importing(lines)
        #expect(outcome == Tool.Outcome(status: 0, output: "revision 1: 3 inserted\n"))
    }

    private static let ann = "01900000-0000-7000-8000-000000000001"
    private static let cid = "01900000-0000-7000-8000-000000000003"

    private func importing(_ text: String, _ name: String = "lines.jsonl") throws -> Tool.Outcome {
        let path = directory.file(name)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try Tool.Running(
            ["import", file.path, "Person", path, "--without-validators"]
        ).outcome()
    }

    private func names(_ condition: String) throws -> [String] {
        let outcome = try Tool.Running(
            ["query", file.path, "Person", "--format", "csv", condition]
        ).outcome()
        #expect(outcome.status == 0, "\(outcome)")
        return outcome.output.split(separator: "\n").dropFirst().compactMap {
            $0.split(separator: ",").dropFirst().first.map(String.init)
        }
    }

    private func verify() throws {
        #expect(try Tool.run("verify", file.path).status == 0)
    }

    @Test func conditionsNameThePresenceAndMembers() throws {
        #expect(try names("site == nil") == ["Bob"])
        #expect(try names("site != nil") == ["Ann", "Cid"])
        #expect(try names("site?.city == \"Bern\"") == ["Ann"])
        #expect(try names("site.city == \"Bern\"") == ["Ann"])
        #expect(try names("boss?.site?.city == \"Bern\"") == ["Bob"])
    }

    @Test func anImportSetsAndRemovesTheValue() throws {
        let removed = try importing("{\"id\":\"\(Self.ann)\",\"name\":\"Ann\",\"site\":null}\n")
        #expect(removed == Tool.Outcome(status: 0, output: "revision 2: 1 updated\n"))
        #expect(try names("site == nil") == ["Ann", "Bob"])
        #expect(try names("site.city != nil || site.seen != nil") == ["Cid"])
        let set = try importing(
            "{\"id\":\"\(Self.ann)\",\"name\":\"Ann\",\"site.city\":\"Chur\"}\n")
        #expect(set == Tool.Outcome(status: 0, output: "revision 3: 1 updated\n"))
        #expect(try names("site != nil && site.seen != nil") == ["Ann", "Cid"])
        try verify()
    }

    @Test(arguments: [
        (
            "{\"name\":\"D\",\"site\":null,\"site.city\":\"x\"}",
            "site is nil, and its members are not"
        ),
        ("{\"name\":\"D\",\"site\":true}", "site.city is missing"),
        ("{\"name\":\"D\",\"site.zip\":1}", "site.city is missing"),
        ("{\"name\":\"D\",\"site\":false}", "site is true, or nil for no value"),
        ("{\"id\":\"\(cid)\",\"name\":\"Cid\",\"site.city\":null}", "site.city is missing"),
    ])
    func anImportOfAPartIsRefused(line: String, problem: String) throws {
        let outcome = try importing(line + "\n")
        #expect(outcome.status != 0)
        #expect((outcome.output + outcome.errors).contains(problem), "\(outcome)")
        #expect(try names("name == \"D\"") == [])
    }

    @Test func anExportIsImportedAgain() throws {
        let exported = try Tool.run("export", file.path, "Person", "--format", "csv").output
        #expect(
            exported.hasPrefix("id,name,site,site.city,site.zip,site.seen,boss\n"), "\(exported)")
        #expect(exported.contains("\(Self.cid),Cid,true,Genf,1200,"), "\(exported)")
        let again = try importing(exported, "people.csv")
        #expect(again.status == 0, "\(again)")
        #expect(!again.output.contains("updated"), "\(again)")
        let lines = try Tool.run("export", file.path, "Person").output
        #expect(try importing(lines).output == again.output)
    }

    @Test func theToolShowsAndUndoesTheValue() throws {
        _ = try importing("{\"id\":\"\(Self.ann)\",\"name\":\"Ann\",\"site\":null}\n")
        #expect(try Tool.run("show", file.path, "2").output.contains("site.city"))
        #expect(try Tool.run("blame", file.path, Self.ann).output.contains("site"))
        let undone = try Tool.run("revert", file.path, "2", "--without-validators")
        #expect(undone.status == 0, "\(undone)")
        #expect(try names("site.city == \"Bern\"") == ["Ann"])
        try verify()
    }
}
