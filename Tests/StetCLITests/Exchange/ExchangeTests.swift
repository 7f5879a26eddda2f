import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import StetCLI

/// The output of `export`, and the objects that `import` creates from it.
struct ExchangeTests {
    private let library: Library

    init() throws { library = try Library() }

    private func importing(_ words: String...) throws -> Tool.Outcome {
        try Tool.Running(["import", library.path] + words + ["--without-validators"]).outcome()
    }

    @Test("C2 a store that goes through JSON Lines is the same")
    func aStoreThatGoesThroughJSONLinesIsTheSame() throws {
        try library.fill()
        try library.insertEverything()
        let path = library.directory.file("all.jsonl")
        #expect(
            try Tool.run("export", library.path, "--output", path) == Tool.Outcome(status: 0))
        let copy = try Library()
        let outcome = try Tool.run("import", copy.path, path, "--without-validators")
        let count = try library.bodies().count
        #expect(outcome == Tool.Outcome(status: 0, output: "revision 1: \(count) inserted\n"))
        #expect(try copy.bodies() == library.bodies())
        #expect(try copy.links() == library.links())
        #expect(try copy.links().count == 8)
        #expect(try copy.file.verify().problems == [])
        #expect(count > 40)
        #expect(
            try Tool.run("export", copy.path).output
                == String(contentsOfFile: path, encoding: .utf8))
        let again = try Tool.run("import", copy.path, path, "--without-validators")
        #expect(again == Tool.Outcome(status: 0, output: "\(count) unchanged\n"))
        #expect(try copy.file.read { try $0.head().revision } == 1)
    }

    @Test("C2 an entity that goes through CSV is the same")
    func anEntityThatGoesThroughCSVIsTheSame() throws {
        try library.fill()
        let copy = try Library()
        for entity in ["Shelf", "Tag", "Book"] {
            let path = library.directory.file("\(entity).csv")
            #expect(
                try Tool.run(
                    "export", library.path, entity, "--format", "csv", "--output", path
                ).status == 0)
            #expect(
                try Tool.run("import", copy.path, entity, path, "--without-validators").status == 0)
        }
        #expect(try copy.bodies() == library.bodies())
        #expect(try copy.links() == library.links())
        #expect(try copy.books(ofShelf: 1) == [12, 11])
        #expect(try copy.file.verify().problems == [])
    }

    @Test func theNameOfTheFileSaysTheFormat() throws {
        try library.fill()
        func export(_ name: String, _ options: String...) throws -> String {
            let path = library.directory.file(name)
            let words = ["export", library.path, "Tag", "--output", path] + options
            #expect(try Tool.Running(words).outcome().status == 0)
            return try String(contentsOfFile: path, encoding: .utf8)
        }
        let csv = try Tool.run("export", library.path, "Tag", "--format", "csv").output
        let lines = try Tool.run("export", library.path, "Tag").output
        #expect(csv.hasPrefix("id,"))
        #expect(try export("tags.csv") == csv)
        #expect(try export("TAGS.CSV") == csv)
        #expect(try export("tags.txt") == lines)
        #expect(try export("other.csv", "--format", "jsonl") == lines)
        let refused = try Tool.run(
            "export", library.path, "--output", library.directory.file("all.csv"))
        #expect(refused.status == 64)
        #expect(refused.errors.contains("name one, or use --format jsonl."))
    }

    @Test func anEarlierStateIsExported() throws {
        try library.insert([("Tag", 1, ["name": .string("a")])], time: 1)
        try library.insert([("Tag", 2, ["name": .string("b")])], time: 2)
        let first = """
            {"entity":"Tag","id":"01900000-0000-7000-8000-000000000001","values":{"name":"a"}}

            """
        #expect(
            try Tool.run("export", library.path, "--as-of", "1")
                == Tool.Outcome(status: 0, output: first))
        #expect(
            try Tool.run("export", library.path, "Tag", "--as-of", "2001-01-01T00:00:01Z").output
                == first)
        #expect(try Tool.run("export", library.path, "--as-of", "3").status == 66)
        #expect(try Tool.run("export", library.path, "--format", "csv").status == 64)
        let path = try library.write("", to: "there")
        #expect(try Tool.run("export", library.path, "--output", path).status == 73)
        let nowhere = library.directory.file("no/export")
        #expect(try Tool.run("export", library.path, "--output", nowhere).status == 73)
    }

    @Test func anExportedFileIsForItsOwnerAloneAndNothingIsBesideIt() throws {
        try library.fill()
        let path = library.directory.file("export")
        let left = library.directory.file("export.new-0123456789abcdef")
        try Data([1]).write(to: URL(fileURLWithPath: left))
        #expect(
            try Tool.run("export", library.path, "--output", path) == Tool.Outcome(status: 0))
        let manager = FileManager.default
        let mode = try manager.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        let names = try manager.contentsOfDirectory(atPath: library.directory.path).sorted()
        #expect(names == ["export", "library.stet", "library.stet-lock"])
        #expect(
            try String(contentsOfFile: path, encoding: .utf8)
                == Tool.run("export", library.path).output)
    }

    @Test("C2 rows that are not valid are told with their lines, and nothing is committed")
    func rowsThatAreNotValidAreToldWithTheirLinesAndNothingIsCommitted() throws {
        let path = try library.write(
            """
            Name,pages,isLent,made,shelf,note
            "two
            lines",7,true,,,x
            ,9999,yes,,,
            ok,2001,false,2001-01-01,01900000-0000-7000-8000-000000000009,
            a,b

            "last",,false,2001-01-01,"",
            """, to: "books.csv")
        func run(_ words: String...) throws -> Tool.Outcome {
            try Tool.Running(
                ["import", library.path, "Book", path, "--map", "Name=title", "--map", "note="]
                    + words
            ).outcome()
        }
        let problems = """
            line 4: isLent is not true or false
            line 4: title must be at least 1 character
            line 4: pages can't be greater than 2000
            line 5: pages can't be greater than 2000
            line 5: shelf refers to 01900000-0000-7000-8000-000000000009, which is no Shelf
            line 6: there are 2 fields for 6 columns
            line 8: shelf is not nil or the id of an object

            """
        #expect(
            try run("--without-validators")
                == Tool.Outcome(
                    status: 1, output: problems + "4 rejected. Nothing was imported.\n"))
        #expect(
            try run("--dry-run", "--skip-invalid")
                == Tool.Outcome(
                    status: 1, output: problems + "1 inserted, 4 rejected, if it were done\n"))
        #expect(try run("--skip-invalid").errors.contains("--without-validators"))
        #expect(try library.file.read { try $0.head().revision } == 0)
        #expect(
            try run("--skip-invalid", "--without-validators", "--author", "me", "--label", "books")
                == Tool.Outcome(
                    status: 0, output: problems + "revision 1: 1 inserted, 4 rejected\n"))
        let commit = try library.file.read { try $0.commit(1) }
        #expect(commit.cause == .import)
        #expect(commit.author == "me")
        #expect(commit.label == "books")
        #expect(!commit.isUndoable)
        #expect(commit.metadata == ["stet.withoutValidators": "true"])
        // The stamp contains the time of the import.
        #expect(commit.changeSet.changes.map { $0["made"]?.new } == [.date(commit.time)])
        #expect(commit.changeSet.changes.map { $0["title"]?.new } == [.string("two\nlines")])
        let revert = try Tool.run("revert", library.path, "1", "--without-validators")
        #expect(revert.status == 0)
        #expect(try library.file.verify().problems == [])
    }

    @Test func valuesThatMustBeUniqueAreNormalisedAndCompared() throws {
        try library.insert([("Tag", 1, ["name": .string("known")])])
        let path = try library.write("name\n Known\nNew \nnew\nNEW\n", to: "tags.csv")
        let problems = """
            line 2: name is already taken by another Tag
            line 4: name is already taken by another Tag
            line 5: name is already taken by another Tag

            """
        let outcome = try importing("Tag", path, "--skip-invalid")
        #expect(
            outcome
                == Tool.Outcome(
                    status: 0, output: problems + "revision 2: 1 inserted, 3 rejected\n"))
        #expect(try library.bodies().count == 2)
    }

    @Test func anObjectThatIsThereIsUpdated() throws {
        try library.fill()
        let id = "01900000-0000-7000-8000-00000000000b"
        let path = try library.write(
            """
            {"id":"\(id)","title":"new","pages":1.0}
            {"entity":"Book","id":"01900000-0000-7000-8000-00000000000c","values":{}}
            {"id":"\(id)","title":"twice"}
            {"entity":"Tag","id":"\(id)","values":{}}
            {"id":"x","title":"none"}
            {"title":"no id","isLent":true,"made":"2001-01-01"}
            {"title":7,"isLent":true,"colour":1}
            []
            """, to: "books.jsonl")
        let outcome = try importing("Book", path, "--skip-invalid")
        let expected = """
            line 3: it has the id of line 1
            line 4: it is an object of Tag, not of Book
            line 5: the id is no UUID
            line 7: Book has no property colour
            line 7: title is not text
            line 8: it is no JSON object in one line
            revision 2: 1 inserted, 1 updated, 1 unchanged, 5 rejected

            """
        #expect(outcome == Tool.Outcome(status: 0, output: expected))
        let changes = try library.file.read { try $0.commit(2) }.changeSet.changes
        #expect(changes.map(\.kind) == [.update, .insert])
        #expect(changes[0].properties.map(\.name) == ["title", "pages"])
        #expect(try library.file.verify().problems == [])
    }

    @Test func aDeletedObjectComesBackAndBoundsOfMembersAreKept() throws {
        try library.fill()
        let path = library.directory.file("all.jsonl")
        #expect(try Tool.run("export", library.path, "--output", path).status == 0)
        let (before, links) = (try library.bodies(), try library.links())
        #expect(try Tool.run("revert", library.path, "1", "--without-validators").status == 0)
        #expect(try library.bodies().isEmpty)
        #expect(try library.links().isEmpty)
        #expect(try importing(path).output == "revision 3: 8 inserted\n")
        #expect(try library.bodies() == before)
        #expect(try library.links() == links)
        let shelf = "01900000-0000-7000-8000-000000000001"
        let more = try library.write(
            "title,isLent,shelf\na,true,\(shelf)\nb,true,\(shelf)\n", to: "more.csv")
        let refused = try importing("Book", more)
        #expect(refused.status == 1)
        #expect(refused.output.hasPrefix("line 2: books"))
        #expect(refused.output.contains("line 3"))
        #expect(try library.file.verify().problems == [])
    }

    @Test func batchesAreCommitsOfTheirOwn() throws {
        let names = (1...5).map { "{\"name\":\"tag \($0)\"}" } + ["{\"name\":\"\"}"]
        let path = try library.write(names.joined(separator: "\n"), to: "tags.jsonl")
        let outcome = try importing("Tag", path, "--batch", "2")
        #expect(
            outcome
                == Tool.Outcome(
                    status: 1,
                    output: """
                        line 6: name can't be empty
                        4 inserted, 1 rejected. Commits up to revision 2 have the rows before.

                        """))
        #expect(try library.bodies().count == 4)
        let json = try importing("Tag", path, "--skip-invalid", "--batch", "4", "--json")
        #expect(json.status == 0)
        #expect(json.output.contains(#""revisions":[3]"#), "\(json.output)")
    }

    @Test func longFilesAreReadInParts() throws {
        let rows = (0..<2_500).map { "tag \($0)" }
        let path = try library.write((["name"] + rows).joined(separator: "\n"), to: "tags.csv")
        #expect(try importing("Tag", path).output == "revision 1: 2500 inserted\n")
        #expect(try library.bodies().count == 2_500)
        // An import that cannot succeed skips the rest of the file after 1,000 rejections.
        let again = try importing("Tag", path)
        #expect(again.status == 1)
        #expect(again.output.hasSuffix("2500 rejected. Nothing was imported.\n"))
        let empty = "name\n" + String(repeating: "\"\",\n", count: 2_500)
        let bad = try importing("Tag", try library.write(empty, to: "bad.csv"))
        #expect(bad.output.hasSuffix("1000 rejected. Nothing was imported.\n"))
    }

    @Test func whatOthersHaveChangedMeanwhileIsNotWrittenOver() throws {
        var batch = try ImportBatch(library.file, entity: "Tag", time: 0)
        let id = ObjectID.fixed(1).description
        let record = ImportRecord(line: 1, id: id, fields: ["name": .json(.string("file"))])
        try batch.add([record])
        try batch.check()
        #expect(batch.rejected.isEmpty)
        #expect(batch.rows.count == 1)
        try library.insert([("Tag", 1, ["name": .string("other")])])
        let before = try library.bodies()
        #expect(throws: ImportWork.Overtaken.self) {
            try ImportWork(batch: batch, attributes: CommitAttributes(), time: 0).commit()
        }
        #expect(try library.bodies() == before)
    }

    @Test(arguments: [
        ("a.csv", "name\n\"x", "line 2: a quoted field that begins here has no end"),
        ("a.csv", "name\nx\"y", "line 2: a quote in a field that does not begin with one"),
        ("a.csv", "name\n\"x\"y", "line 2: behind a quoted field a comma"),
        ("a.csv", "name\rx", "line 1: a carriage return without a line feed"),
        ("a.csv", "", "line 1: there is no row with the names"),
        ("a.csv", "colour\nx", "line 1: Tag has no property colour"),
        ("a.csv", "name,name\nx,y", "line 1: two columns are called name"),
    ])
    func aFileThatIsNotWrittenAsItShouldBeIsRefused(
        name: String, text: String, message: String
    ) throws {
        let path = try library.write(text, to: name)
        let outcome = try importing("Tag", path)
        #expect(outcome.status == 65, "\(outcome.errors)")
        #expect(outcome.errors.contains(message), "\(outcome.errors)")
        #expect(outcome.errors.contains("Nothing was imported."))
        #expect(try library.file.read { try $0.head().revision } == 0)
    }

    @Test func whatTheCommandLineLacksIsUsage() throws {
        let path = try library.write("name\n", to: "a.csv")
        #expect(try Tool.run("import", library.path, path).status == 64)
        #expect(try Tool.run("import", library.path).status == 64)
        #expect(try importing("Tag", path, "--batch", "0").status == 64)
        #expect(try importing("Tag", path, "--map", "x").status == 64)
        #expect(try importing("Tag", path, "--map", "x=name").status == 65)
        #expect(try importing("Nothing", path).status == 66)
        #expect(try importing("Tag", "\(path).not").status == 66)
        #expect(try importing("Tag", path) == Tool.Outcome(status: 0, output: "no rows\n"))
    }
}
