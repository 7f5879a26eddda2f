import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import StetCLI

/// What `export` writes and `import` makes of it.
struct ExchangeTests {
    private let library: Library

    init() throws { library = try Library() }

    private func importing(_ words: String...) throws -> Tool.Outcome {
        try Tool.Running(["import", library.path] + words + ["--without-validators"]).outcome()
    }

    @Test func aStoreThatGoesThroughJSONLinesIsTheSame() throws {
        try library.fill()
        for (index, entry) in ExactTextTests.values.enumerated()
        where library.file.schema.entity(named: "Everything")?.properties
            .first(where: { $0.type == entry.0 })?.elements == entry.1
        {
            var value = entry.2
            if case .reference = value { value = .reference(.fixed(100)) }
            try library.insert([("Everything", 100 + index, ["\(entry.0)": value])])
        }
        let path = library.directory.file("all.jsonl")
        #expect(
            try Tool.run("export", library.path, "--output", path) == Tool.Outcome(status: 0))
        let copy = try Library()
        let outcome = try Tool.run("import", copy.path, path, "--without-validators")
        let count = try library.bodies().count
        #expect(outcome == Tool.Outcome(status: 0, output: "revision 1: \(count) inserted\n"))
        #expect(try copy.bodies() == library.bodies())
        #expect(try copy.file.verify().problems == [])
        #expect(count > 40)
        #expect(
            try Tool.run("export", copy.path).output
                == String(contentsOfFile: path, encoding: .utf8))
        let again = try Tool.run("import", copy.path, path, "--without-validators")
        #expect(again == Tool.Outcome(status: 0, output: "\(count) unchanged\n"))
        #expect(try copy.file.read { try $0.head().revision } == 1)
    }

    @Test func anEntityThatGoesThroughCSVIsTheSame() throws {
        try library.fill()
        let copy = try Library()
        for entity in ["Shelf", "Book", "Shelf_books"] {
            let path = library.directory.file("\(entity).csv")
            #expect(
                try Tool.run(
                    "export", library.path, entity, "--format", "csv", "--output", path
                ).status == 0)
            #expect(
                try Tool.run("import", copy.path, entity, path, "--without-validators").status == 0)
        }
        let expected = try library.bodies().filter { !$0.key.contains("ag") }
        #expect(try copy.bodies() == expected)
        #expect(try copy.file.verify().problems == [])
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
    }

    @Test func rowsThatAreNotValidAreToldWithTheirLinesAndNothingIsCommitted() throws {
        try library.insert([("Tag", 1, ["name": .string("known")])])
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
        let words = [
            "import", library.path, "Book", path, "--map", "Name=title", "--map", "note=",
            "--without-validators",
        ]
        let errors = """
            line 2: made is not a date, "2026-01-31" or "2026-01-31T12:00:00Z"
            line 4: pages must be at most 2000
            """
        let outcome = try Tool.Running(words).outcome()
        #expect(outcome.status == 1)
        #expect(outcome.output.hasPrefix(String(errors.prefix(60))), "\(outcome.output)")
        #expect(outcome.output == "", "\(outcome.output)")
    }
}
