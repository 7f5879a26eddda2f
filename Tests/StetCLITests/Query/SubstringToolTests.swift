import Foundation
import StetStore
import StetTestSupport
import Testing

/// Searches for parts of texts with the tool, which imports name.
struct SubstringToolTests {
    private let directory = TemporaryDirectory()
    private let file: StoreFile
    private static let first = "01900000-0000-7000-8000-000000000001"

    init() throws {
        let page = Entity(
            name: "Page",
            properties: [
                Property(name: "title", type: .string),
                Property(name: "place.city", type: .string),
            ],
            indexes: [EntityIndex(substringsOf: 0), EntityIndex(substringsOf: 1)])
        file = try StoreFile.open(
            at: directory.file("pages.stet"), schema: try Schema(entities: [page]))
        let lines =
            ["\"id\":\"\(Self.first)\",\"title\":\"undo journal\",\"place.city\":\"Bern\""]
            + ["\"title\":\"the journals\",\"place.city\":\"Genf\""]
            + ["\"title\":\"nothing\",\"place.city\":\"Ilmenau\""]
        let outcome = try importing(lines.map { "{\($0)}\n" }.joined())
        #expect(outcome == Tool.Outcome(status: 0, output: "revision 1: 3 inserted\n"))
    }

    private func importing(_ text: String, named name: String = "l.jsonl") throws -> Tool.Outcome {
        let path = directory.file(name)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return try Tool.run("import", file.path, "Page", path, "--without-validators")
    }

    private func query(_ words: String...) throws -> String {
        let outcome = try Tool.Running(["query", file.path, "Page"] + words).outcome()
        #expect(outcome.status == 0, "\(outcome)")
        return outcome.output
    }

    @Test func thePlanNamesTheIndexOfSubstrings() throws {
        let plan = try query("title contains \"journal\"", "--explain")
        #expect(
            plan.hasPrefix("substrings (title): 5 trigrams of \"journal\": 2 of Page"), "\(plan)")
        let city = try query("place.city contains \"lmena\"", "--explain")
        #expect(
            city.hasPrefix("substrings (place.city): 3 trigrams of \"lmena\": 1 of Page"),
            "\(city)")
        let short = try query("title contains \"jo\"", "--explain")
        #expect(short.hasPrefix("look at all 3 records of Page"), "\(short)")
        let info = try Tool.run("info", file.path).output
        #expect(info.contains("substrings (title)"), "\(info)")
    }

    @Test func importedTextsAreFound() throws {
        #expect(try query("title contains \"journal\"", "--count") == "2\n")
        #expect(try query("title contains \"journals\"", "--count") == "1\n")
        #expect(try query("place.city contains \"men\"", "--count") == "1\n")
        let update = try importing("{\"id\":\"\(Self.first)\",\"title\":\"the journals too\"}\n")
        #expect(update.output == "revision 2: 1 updated\n")
        #expect(try query("title contains \"journals\"", "--count") == "2\n")
        #expect(try query("title contains \"undo\"", "--count") == "0\n")
        #expect(try query("title contains \"undo\"", "--count", "--as-of", "1") == "1\n")
        let csv = try importing("title,place.city\n\"journals, again\",Uri\n", named: "more.csv")
        #expect(csv.output == "revision 3: 1 inserted\n", "\(csv)")
        #expect(try query("title contains \"journals\"", "--count") == "3\n")
        #expect(try Tool.run("revert", file.path, "2", "--without-validators").status == 0)
        #expect(try query("title contains \"undo\"", "--count") == "1\n")
        #expect(try Tool.run("verify", file.path).status == 0)
    }
}
