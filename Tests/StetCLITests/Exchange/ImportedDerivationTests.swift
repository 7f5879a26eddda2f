import Foundation
import StetStore
import StetTestSupport
import Testing

/// An import of objects that derived attributes of others read.
struct ImportedDerivationTests {
    private let directory = TemporaryDirectory()
    private let file: StoreFile

    private static func id(_ number: Int) -> String { "\(ObjectID.fixed(number))" }

    init() throws {
        let boss = QueryObject.target(.root, slot: 1, entity: "Person")
        let person = Entity(
            name: "Person",
            properties: [
                Property(name: "name", type: .string),
                Property(name: "boss", type: .reference, isOptional: true, target: "Person"),
                Property(
                    name: "bossName", type: .string, isOptional: true,
                    rules: [.length(minimum: 0, maximum: 4)]
                ).derived(by: .property(boss, slot: 0)),
                Property(
                    name: "farName", type: .string, isOptional: true,
                    rules: [.length(minimum: 0, maximum: 3)]
                ).derived(by: .property(boss, slot: 2)),
            ],
            indexes: [EntityIndex([EntityIndex.Part(slot: 3)], isUnique: true)])
        file = try StoreFile.open(
            at: directory.file("people.stet"), schema: try Schema(entities: [person]))
        let outcome = try importing([
            "{\"id\":\"\(Self.id(1))\",\"name\":\"Ann\"}",
            "{\"id\":\"\(Self.id(2))\",\"name\":\"Bob\",\"boss\":\"\(Self.id(1))\"}",
            "{\"id\":\"\(Self.id(3))\",\"name\":\"Cy\",\"boss\":\"\(Self.id(2))\"}",
        ])
        #expect(outcome == Tool.Outcome(status: 0, output: "revision 1: 3 inserted\n"))
    }

    private func importing(_ lines: [String]) throws -> Tool.Outcome {
        let path = directory.file("lines.jsonl")
        try lines.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
        return try Tool.Running(
            ["import", file.path, "Person", path, "--without-validators"]
        ).outcome()
    }

    @Test func theDerivedAttributesOfReferrersAreComputed() throws {
        let outcome = try importing(["{\"id\":\"\(Self.id(1))\",\"name\":\"Eva\"}"])
        #expect(outcome.status == 0, "\(outcome)")
        let exported = try Tool.run("export", file.path, "Person", "--format", "csv").output
        #expect(exported.contains("\(Self.id(2)),Bob,\(Self.id(1)),Eva,"), "\(exported)")
        #expect(exported.contains("\(Self.id(3)),Cy,\(Self.id(2)),Bob,Eva"), "\(exported)")
    }

    @Test(arguments: [("Maria", 2, "bossName"), ("Mary", 3, "farName")])
    func aRuleOfAReferrerIsHeld(name: String, referrer: Int, property: String) throws {
        let outcome = try importing(["{\"id\":\"\(Self.id(1))\",\"name\":\"\(name)\"}"])
        #expect(outcome.status != 0, "\(outcome)")
        #expect(outcome.output.contains("line 1"), "\(outcome)")
        #expect(outcome.output.contains(property), "\(outcome)")
        #expect(outcome.output.contains("Person \(Self.id(referrer))"), "\(outcome)")
        #expect(try file.read { try $0.head().revision } == 1)
    }

    /// The boss of Cy's boss and of Flo's boss would have one name.
    @Test func aUniqueValueOfReferrersIsHeld() throws {
        let others = try importing([
            "{\"id\":\"\(Self.id(4))\",\"name\":\"Dan\"}",
            "{\"id\":\"\(Self.id(5))\",\"name\":\"Eve\",\"boss\":\"\(Self.id(4))\"}",
            "{\"id\":\"\(Self.id(6))\",\"name\":\"Flo\",\"boss\":\"\(Self.id(5))\"}",
        ])
        #expect(others.status == 0, "\(others)")
        for lines in [
            ["{\"id\":\"\(Self.id(4))\",\"name\":\"Ann\"}"],
            [
                "{\"id\":\"\(Self.id(1))\",\"name\":\"Gus\"}",
                "{\"id\":\"\(Self.id(4))\",\"name\":\"Gus\"}",
            ],
        ] {
            let outcome = try importing(lines)
            #expect(outcome.status != 0, "\(outcome)")
            #expect(outcome.output.contains("farName"), "\(outcome)")
            #expect(try file.read { try $0.head().revision } == 2)
        }
    }
}
