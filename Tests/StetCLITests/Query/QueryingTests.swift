import StetStore
import Testing

/// The output of `query` for a store that is in use.
struct QueryingTests {
    private let library: Library

    init() throws {
        library = try Library()
        try library.fill()
    }

    private func query(_ words: String...) throws -> Tool.Outcome {
        try Tool.Running(["query", library.path] + words).outcome()
    }

    @Test func aTableHasAColumnForEachProperty() throws {
        let table = """
            id                                    title  pages  price  isLent  read  \
            made                      shelf
            01900000-0000-7000-8000-00000000000e  loose  -3     -0.0   false   -     \
            2001-01-01T00:00:01.000Z  -
            01900000-0000-7000-8000-00000000000c  elan   250    nan    true    -     \
            2001-01-01T00:00:01.000Z  01900000-0000-7000-8000-000000000001

            """
        #expect(
            try query("Book", "read == nil", "--sort", "isLent,-title", "--limit", "5")
                == Tool.Outcome(status: 0, output: table))
    }

    @Test func sortedPagesCountsAndPlans() throws {
        func ids(_ words: String...) throws -> [Substring] {
            let outcome = try Tool.Running(
                ["query", library.path, "Book", "--format", "csv"] + words
            ).outcome()
            return outcome.output.split(separator: "\n").dropFirst().compactMap {
                $0.split(separator: ",").first.map { $0.suffix(2) }
            }
        }
        #expect(try ids("pages != nil", "--sort", "-pages") == ["0c", "0b", "0e"])
        #expect(try ids("pages != nil", "--sort", "pages", "--limit", "1") == ["0e"])
        #expect(
            try ids("pages != nil", "--sort", "shelf.name,-pages", "--offset", "1", "--limit", "2")
                == ["0c", "0b"])
        #expect(try query("Book", "--count") == Tool.Outcome(status: 0, output: "4\n"))
        #expect(try query("Book", "isLent", "--count", "--json").output == "{\"count\":1}\n")
        let most = "\(Int.max)"
        #expect(
            try ids("--limit", most, "--offset", "1", "--sort", "title") == ["0c", "0e", "0b"])
        let analysis = try query("Book", "pages > 99 && isLent", "--explain", "--analyze")
        #expect(analysis.output.contains("\nfound "), "\(analysis)")
        #expect(try query("Book", "--analyze").status == 64)
        let plan = try query("Book", "pages > 99 && isLent", "--explain")
        #expect(plan.status == 0)
        #expect(plan.output.contains("pages"))
    }

    @Test func jsonAndCSVAreThoseOfExport() throws {
        let json = """
            {"entity":"Book","id":"01900000-0000-7000-8000-00000000000d","values":{"isLent":false,\
            "made":"2001-01-01T00:00:01Z","pages":null,"price":null,\
            "read":"2001-01-02T00:00:00.5Z",\
            "sequels":["01900000-0000-7000-8000-00000000000e",\
            "01900000-0000-7000-8000-00000000000b","01900000-0000-7000-8000-00000000000c"],\
            "shelf":"01900000-0000-7000-8000-000000000002@8000000000000000","tags":[],\
            "title":"Zen \\"and\\" \\n so on"}}

            """
        let condition = "title hasPrefix \"Zen\""
        for form in [["--json"], ["--format", "json"]] {
            #expect(
                try Tool.Running(["query", library.path, "Book", condition] + form).outcome()
                    == Tool.Outcome(status: 0, output: json))
        }
        let csv = """
            id,title,pages,price,isLent,read,made,shelf,tags,sequels
            01900000-0000-7000-8000-00000000000d,"Zen ""and""\u{20}
             so on",,,false,2001-01-02T00:00:00.5Z,2001-01-01T00:00:01Z,\
            01900000-0000-7000-8000-000000000002@8000000000000000,[],\
            "[""01900000-0000-7000-8000-00000000000e"",""01900000-0000-7000-8000-00000000000b"",\
            ""01900000-0000-7000-8000-00000000000c""]"

            """
        #expect(
            try query("Book", condition, "--format", "csv") == Tool.Outcome(status: 0, output: csv))
    }

    @Test func earlierStatesAreNamedByRevisionOrTime() throws {
        try library.insert([("Tag", 33, ["name": .string("late")])], time: 100)
        func count(_ moment: String...) throws -> String {
            try Tool.Running(["query", library.path, "Tag", "--count"] + moment).outcome().output
        }
        #expect(try count() == "3\n")
        #expect(try count("--as-of", "2") == "3\n")
        #expect(try count("--as-of", "1") == "2\n")
        #expect(try count("--as-of", "0") == "0\n")
        #expect(try count("--as-of", "2001-01-01T00:01:39Z") == "2\n")
        #expect(try count("--as-of", "2001-01-01T00:01:40Z") == "3\n")
        #expect(try query("Tag", "--as-of", "3").status == 66)
        try library.file.trim(through: 1)
        #expect(try count("--as-of", "1") == "2\n")
        #expect(try query("Tag", "--as-of", "0").errors.contains("was trimmed"))
        #expect(try query("Tag", "--as-of", "2000-12-31").status == 66)
        #expect(try query("Tag", "--as-of", "yesterday").status == 64)
    }

    @Test func aMistakeIsShownWithACaret() throws {
        let text = """
            stet: expected an integer, but found "many"
              pages > "many"
                      ^

            """
        #expect(
            try query("Book", "pages > \"many\"") == Tool.Outcome(status: 64, errors: text))
        let json = try query("Book", "pages >", "--json")
        #expect(json.status == 64)
        #expect(json.errors.contains("\"offset\":7,"))
        #expect(try query("Book", "--sort", "-colour").errors.contains("no property colour"))
        #expect(try query("Nothing").status == 66)
        #expect(try query("Book", "--limit", "-1").status == 64)
    }
}
