import Foundation
import StetStemming
import StetStore
import StetTestSupport
import Testing

private struct OwnStemmer: TextStemmer {
    let version: UInt32 = 1
    func stem(_ word: String) -> String { word }
}

/// Searches for words with the tool.
struct SearchTests {
    private let directory = TemporaryDirectory()
    private let file: StoreFile

    init() throws {
        let page = Entity(
            name: "Page",
            properties: [
                Property(name: "title", type: .string), Property(name: "text", type: .string),
                Property(name: "next", type: .reference, isOptional: true, target: "Page"),
            ],
            indexes: [EntityIndex(words: [0, 1])])
        let tag = Entity(name: "Tag", properties: [Property(name: "name", type: .string)])
        file = try StoreFile.open(
            at: directory.file("pages.stet"), schema: try Schema(entities: [page, tag]))
        let lines = """
            {"title":"One","text":"the journal of a store"}
            {"id":"\(Self.two)","title":"Two","text":"undo the journal, journal"}
            {"title":"Three","text":"nothing","next":"\(Self.two)"}

            """
        let path = directory.file("lines.jsonl")
        try lines.write(toFile: path, atomically: true, encoding: .utf8)
        let outcome = try Tool.run("import", file.path, "Page", path, "--without-validators")
        #expect(outcome.status == 0, "\(outcome)")
    }

    private static let two = "01900000-0000-7000-8000-000000000002"

    private func titles(_ words: String...) throws -> [String] {
        let outcome = try Tool.Running(
            ["query", file.path, "Page", "--format", "csv"] + words
        ).outcome()
        #expect(outcome.status == 0, "\(outcome)")
        return outcome.output.split(separator: "\n").dropFirst().compactMap {
            $0.split(separator: ",").dropFirst().first.map(String.init)
        }
    }

    @Test func wordsAreFoundAndRanked() throws {
        #expect(try titles("matching \"journal\"") == ["Two", "One"])
        #expect(try titles("matching \"journal\"", "--sort", "title") == ["One", "Two"])
        #expect(try titles("matching \"jour* -undo\" && title != \"x\"") == ["One"])
        #expect(
            try titles("next.title == \"Two\" || matching \"store\"").sorted() == ["One", "Three"])
        #expect(try titles("!matching \"journal\"") == ["Three"])
        #expect(try titles("matching \"\\\"the journal\\\"\"").sorted() == ["One", "Two"])
        let plan = try Tool.run("query", file.path, "Page", "matching \"undo\"", "--explain")
        #expect(plan.output.hasPrefix("words: \"undo\": 1 of Page"), "\(plan)")
        let info = try Tool.run("info", file.path)
        #expect(info.output.contains("words (title, text)"), "\(info)")
    }

    @Test func anEntityWithoutWordsIsNotSearched() throws {
        let outcome = try Tool.run("query", file.path, "Tag", "matching \"undo\"")
        #expect(outcome.status == 64)
        #expect(outcome.errors.contains("Tag has no searchable attribute"), "\(outcome)")
    }

    /// Makes a store of a page whose text is in a language.
    private func makeStore(_ language: TextLanguage) throws -> String {
        let page = Entity(
            name: "Page",
            properties: [
                Property(name: "text", type: .string), Property(name: "size", type: .int),
            ],
            indexes: [EntityIndex(words: [EntityIndex.Part(slot: 0, language: language)])])
        let path = directory.file("\(language.name).stet")
        try StoreFile.open(at: path, schema: try Schema(entities: [page])).close()
        return path
    }

    private func importing(_ path: String) throws -> Tool.Outcome {
        let lines = directory.file("page.jsonl")
        try "{\"text\":\"running connections\",\"size\":1}\n"
            .write(toFile: lines, atomically: true, encoding: .utf8)
        return try Tool.run("import", path, "Page", lines, "--without-validators")
    }

    @Test func theToolHasTheStemmersOfSnowball() throws {
        let path = try makeStore(.english)
        #expect(try importing(path).status == 0)
        let found = try Tool.run("query", path, "Page", "matching \"connect run\"", "--count")
        #expect(found.output == "1\n", "\(found)")
        let verified = try Tool.run("verify", path)
        #expect(verified.status == 0)
        #expect(!verified.output.contains("not checked"), "\(verified)")
        let info = try Tool.run("info", path)
        #expect(info.output.contains("words (text in english)"), "\(info)")
    }

    @Test func aStoreInAnUnknownLanguageIsReadButItsIndexIsLeftAlone() throws {
        let path = try makeStore(TextLanguage("own", stemmer: OwnStemmer()))
        let imported = try importing(path)
        #expect(imported.status == 65, "\(imported)")
        #expect(imported.errors.contains("no stemmer for own"), "\(imported)")
        let searched = try Tool.run("query", path, "Page", "matching \"connect\"")
        #expect(searched.status == 65, "\(searched)")
        let verified = try Tool.run("verify", path)
        #expect(verified.status == 0)
        #expect(
            verified.output.contains(
                "not checked: this program has no stemmer for own, by which the words (text in "
                    + "own) of Page was made"), "\(verified)")
        for command in [["info"], ["dump"], ["log"]] {
            let outcome = try Tool.Running([command[0], path]).outcome()
            #expect(outcome.status == 0, "\(outcome)")
        }
        let all = try Tool.run("query", path, "Page", "size == 1", "--count")
        #expect(all.output == "0\n", "\(all)")
    }
}
