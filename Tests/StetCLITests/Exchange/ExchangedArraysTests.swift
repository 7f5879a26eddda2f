import Foundation
import StetStore
import StetTestSupport
import Testing

/// Arrays of embedded values in files: without identity, optional, and with mistakes.
struct ExchangedArraysTests {
    private let directory = TemporaryDirectory()
    private let file: StoreFile

    init() throws {
        let points = EmbeddedElements(
            members: [
                Property(name: "x", type: .int8),
                Property(name: "label", type: .string, isOptional: true),
            ], identity: nil)
        let path = Entity(
            name: "Path",
            properties: [
                Property(name: "name", type: .string),
                Property(name: "points", type: .list, elements: [.embedded]).array(of: points),
                Property(name: "more", type: .list, elements: [.embedded], isOptional: true)
                    .array(of: points),
            ])
        file = try StoreFile.open(
            at: directory.file("paths.stet"), schema: try Schema(entities: [path]))
    }

    private func importing(_ text: String, _ name: String = "lines.jsonl") throws -> Tool.Outcome {
        let path = directory.file(name)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try Tool.Running(
            ["import", file.path, "Path", path, "--without-validators"]
        ).outcome()
    }

    private static let lines = """
        {"name":"equal","points":[{"x":1},{"x":1},{"x":1,"label":"a"}],"more":[]}
        {"name":"none","points":[]}
        {"name":"both","points":[{"x":-2,"label":""}],"more":[{"x":3},{"x":3}]}

        """

    @Test(arguments: ["jsonl", "csv"])
    func anExportIsImportedAgain(format: String) throws {
        #expect(try importing(Self.lines).output == "revision 1: 3 inserted\n")
        let exported = try Tool.run("export", file.path, "Path", "--format", format).output
        let name = "paths.\(format)"
        #expect(try importing(exported, name).output == "3 unchanged\n", "\(exported)")
        // What was deleted comes back with the same values.
        let changed = try importing("{\"name\":\"new\",\"points\":[]}")
        #expect(changed.output == "revision 2: 1 inserted\n")
        #expect(try Tool.run("revert", file.path, "1", "--without-validators").status == 0)
        #expect(try importing(exported, name).output == "revision 4: 3 inserted\n")
        #expect(try Tool.run("revert", file.path, "2", "--without-validators").status == 0)
        #expect(
            try Tool.run("export", file.path, "Path", "--format", format).output == exported)
        #expect(try Tool.run("verify", file.path).status == 0)
    }

    @Test func anEmptyFieldIsNilOrMissing() throws {
        let rows = "name,points,more\nempty,[],\nlist,\"[{\"\"x\"\":4}]\",[]\n"
        #expect(try importing(rows, "rows.csv").output == "revision 1: 2 inserted\n")
        let count = try Tool.run("query", file.path, "Path", "more == nil", "--count")
        #expect(count.output == "1\n", "\(count)")
        let exported = try Tool.run("export", file.path, "Path", "--format", "csv").output
        #expect(exported.contains(",empty,[],\n"), "\(exported)")
        let missing = try importing("name,points,more\nthird,,\n", "third.csv")
        #expect(missing.output.hasPrefix("line 2: points is missing\n"), "\(missing)")
    }

    @Test(arguments: [
        ("points", "[{\"x\":1},{\"x\":\"a\"}]", "points[1].x is not int8, an integer"),
        ("points", "[{\"x\":1},{\"x\":300}]", "points[1].x is not int8, an integer"),
        ("points", "[{\"label\":\"b\"}]", "points[0].x is missing"),
        ("points", "[{\"x\":1,\"label\":5}]", "points[0].label is not nil or text"),
        ("more", "[{\"x\":1},{\"x\":2,\"y\":3}]", "more[1] has no member y"),
        ("points", "[{\"x\":1},7]", "points[1] is not an object with members"),
        ("points", "null", "points is not a list"),
        ("more", "{\"x\":1}", "more is not nil or a list"),
    ])
    func aMistakeInAnElementIsToldWithItsPlace(
        property: String, value: String, message: String
    ) throws {
        let other = property == "points" ? "" : "\"points\":[],"
        let refused = try importing("{\"name\":\"n\",\(other)\"\(property)\":\(value)}\n")
        #expect(refused.status == 1)
        #expect(refused.output.hasPrefix("line 1: \(message)\n"), "\(refused)")
        let text = value.replacingOccurrences(of: "\"", with: "\"\"")
        let points = property == "points" ? "\"\(text)\"" : "[]"
        let more = property == "more" ? "\"\(text)\"" : ""
        let row = try importing("name,points,more\nn,\(points),\(more)\n", "rows.csv")
        #expect(row.output.hasPrefix("line 2: \(message)\n"), "\(row)")
        #expect(try file.head().revision == .zero)
    }
}
