import Foundation
import Testing

@testable import StetCLI
@testable import StetStore

/// The output of the commands for a store that another process, this one, has open.
struct ShowingTests {
    private let notebook = "01900000-0000-7000-8000-000000000001"
    private let article = "01900000-0000-7000-8000-000000000002"

    /// Three commits: insert, update, delete; with every type of value.
    private func makeStore() throws -> (Fixture, hashes: [String]) {
        let fixture = try Fixture()
        let values: [Value] = [
            .string("Mac\"ros\n\u{1b}[2J"), .int(.max), .double(.nan), .bool(true),
            .date(Date(timeIntervalSinceReferenceDate: 0.25)), .data(Data([0, 255, 16])),
            .uuid(try #require(UUID(uuidString: "0123ABCD-0000-4000-8000-000000000009"))),
            .reference(.fixed(1)),
        ]
        var later = values
        later[1] = .int(-1)
        later[2] = .null
        let commits = [
            try fixture.commit(
                [(1, .fixed(2), values), (2, .fixed(1), [.string("Swift")])],
                author: "lala", label: "first", time: 1),
            try fixture.commit([(1, .fixed(2), later)], author: "po", label: "rate", time: 2.5),
            try fixture.commit([(1, .fixed(2), nil)], author: "lala", time: 86_400),
        ]
        return (fixture, commits.map(\.hash))
    }

    @Test func logListsTheCommitsNewestFirst() throws {
        let (fixture, hashes) = try makeStore()
        let all = """
            3 2001-01-02T00:00:00.000Z by lala: 1 change
            2 2001-01-01T00:00:02.500Z "rate" by po: 1 change
            1 2001-01-01T00:00:01.000Z "first" by lala: 2 changes

            """
        #expect(try Tool.run("log", fixture.path) == Tool.Outcome(status: 0, output: all))
        let one = """
            {"author":"po","cause":"edit","changeCount":1,"hash":"\(hashes[1])","label":"rate",\
            "metadata":{},"revision":2,"scope":null,"subject":null,\
            "time":"2001-01-01T00:00:02.500Z"}

            """
        #expect(
            try Tool.run("log", fixture.path, "--json", "--from", "2", "--to", "2")
                == Tool.Outcome(status: 0, output: one))
        #expect(
            try Tool.run("log", fixture.path, "--author", "lala", "--limit", "1").output
                == "3 2001-01-02T00:00:00.000Z by lala: 1 change\n")
        #expect(try Tool.run("log", fixture.path, "--limit", "0").output == "")
    }

    @Test func showOfARevisionHasEachChangeWithOldAndNewValues() throws {
        let (fixture, hashes) = try makeStore()
        let first = """
            1 2001-01-01T00:00:01.000Z "first" by lala: 2 changes
            hash \(hashes[0])
            insert Article \(article)
              title: "Mac"ros\\n\\u{1b}[2J"
              rating: 9223372036854775807
              score: nan
              isDraft: true
              created: 2001-01-01T00:00:00.250Z
              cover: 3 bytes
              code: 0123abcd-0000-4000-8000-000000000009
              notebook: \(notebook)
            insert Notebook \(notebook)
              name: "Swift"

            """
        #expect(try Tool.run("show", fixture.path, "1") == Tool.Outcome(status: 0, output: first))
        let second = """
            {"author":"po","cause":"edit","changeCount":1,"changes":[{"entity":"Article",\
            "id":"\(article)","kind":"update",\
            "properties":{"rating":{"new":-1,"old":9223372036854775807},\
            "score":{"new":null,"old":"NaN"}}}],"hash":"\(hashes[1])","label":"rate",\
            "metadata":{},"revision":2,"scope":null,"subject":null,\
            "time":"2001-01-01T00:00:02.500Z"}

            """
        #expect(
            try Tool.run("show", "--json", fixture.path, "2")
                == Tool.Outcome(status: 0, output: second))
    }

    @Test func showOfAnObjectHasItsValuesAndItsHistory() throws {
        let (fixture, _) = try makeStore()
        let present = """
            Notebook \(notebook), last changed in revision 1
              name: "Swift"
            history
            1 2001-01-01T00:00:01.000Z insert "first" by lala
              name: "Swift"

            """
        #expect(
            try Tool.run("show", fixture.path, notebook)
                == Tool.Outcome(status: 0, output: present))
        let json = """
            {"entity":"Notebook","history":[{"author":"lala","cause":"edit","kind":"insert",\
            "label":"first","properties":{"name":{"new":"Swift"}},"revision":1,"scope":null,\
            "time":"2001-01-01T00:00:01.000Z"}],"id":"\(notebook)","revision":1,\
            "values":{"name":"Swift"}}

            """
        #expect(
            try Tool.run("show", fixture.path, notebook, "--json")
                == Tool.Outcome(status: 0, output: json))
        let deleted = try Tool.run("show", fixture.path, article)
        let lines = deleted.output.split(separator: "\n")
        #expect(lines.first == "Article \(article), deleted in revision 3")
        #expect(
            lines.filter { !$0.hasPrefix(" ") }.dropFirst() == [
                "history", "3 2001-01-02T00:00:00.000Z delete by lala",
                "2 2001-01-01T00:00:02.500Z update \"rate\" by po",
                "1 2001-01-01T00:00:01.000Z insert \"first\" by lala",
            ])
        #expect(lines.contains("  rating: 9223372036854775807 → -1"))
    }

    @Test func dumpWritesAnObjectPerLineAsOfARevision() throws {
        let (fixture, _) = try makeStore()
        let notebookLine = """
            {"entity":"Notebook","id":"\(notebook)","revision":1,"values":{"name":"Swift"}}

            """
        let articleLine = """
            {"entity":"Article","id":"\(article)","revision":1,"values":{"code":\
            "0123abcd-0000-4000-8000-000000000009","cover":"AP8Q","created":\
            "2001-01-01T00:00:00.250Z","isDraft":true,"notebook":"\(notebook)",\
            "rating":9223372036854775807,"score":"NaN","title":"Mac\\"ros\\n\\u001b[2J"}}

            """
        #expect(
            try Tool.run("dump", fixture.path) == Tool.Outcome(status: 0, output: notebookLine))
        #expect(
            try Tool.run("dump", fixture.path, "--as-of", "1")
                == Tool.Outcome(status: 0, output: articleLine + notebookLine))
        #expect(
            try Tool.run("dump", fixture.path, "--as-of", "1", "--entity", "Article", "--json")
                == Tool.Outcome(status: 0, output: articleLine))
        #expect(try Tool.run("dump", fixture.path, "--as-of", "0").output == "")
    }

    @Test func dumpWritesEachObjectOnceInOrderHoweverManyReadsItTakes() throws {
        let fixture = try Fixture()
        for count in [0, 256, 257, 700] {
            let present = try Tool.run("dump", fixture.path).output.split(separator: "\n").count
            if count > present {
                try fixture.commitArticles(count - present, first: 1_000 + present)
            }
            let ids = try Tool.run("dump", fixture.path).output.split(separator: "\n").map { line in
                try #require(line.split(separator: "\"").first { $0.hasPrefix("0190") })
            }
            #expect(ids.map(String.init) == (0..<count).map { "\(ObjectID.fixed(1_000 + $0))" })
        }
    }

    @Test(arguments: [(1e300, "1e+300"), (-.infinity, "-inf"), (.nan, "nan")])
    func aDateOutsideOfTheCalendarIsToldInSeconds(seconds: Double, text: String) throws {
        let fixture = try Fixture()
        let values: [Value] = [
            .string("x"), .int(0), .null, .null,
            .date(Date(timeIntervalSinceReferenceDate: seconds)), .null, .null, .null,
        ]
        try fixture.commit([(1, .fixed(1), values)])
        let shown = try Tool.run("show", fixture.path, "1")
        #expect(shown.status == 0)
        #expect(shown.output.contains("\n  created: \(text) s since 2001\n"))
        let dump = try Tool.run("dump", fixture.path).output
        #expect(dump.contains("\"created\":\"\(text) s since 2001\""))
    }

    @Test func laterTypesAreShownAsTextAndAsJSON() throws {
        let properties = [
            Property(name: "uint", type: .uint), Property(name: "float", type: .float),
            Property(name: "price", type: .decimal), Property(name: "home", type: .url),
            Property(name: "names", type: .list, elements: [.string]),
            Property(name: "counts", type: .dictionary, elements: [.int8, .float]),
            Property(name: "place", type: .codable, isOptional: true),
        ]
        let fixture = try Fixture(
            schema: try Schema(entities: [Entity(name: "Thing", properties: properties)]))
        let home = try #require(URL(string: "b", relativeTo: URL(string: "http://a/")))
        let values: [Value] = [
            .uint(.max), .float(0.1), .decimal(Decimal(sign: .minus, exponent: -1, significand: 5)),
            .url(home), .list([.string("a\u{1b}b")]),
            .dictionary([.int(-1): .float(.nan), .int(2): .float(1)]), .codable("{\"x\":1}"),
        ]
        try fixture.commit([(1, .fixed(1), values)])
        #expect(
            try Tool.run("show", fixture.path, "1").output.hasSuffix(
                """
                  uint: 18446744073709551615
                  float: 0.1
                  price: -0.5
                  home: http://a/b
                  names: ["a\\u{1b}b"]
                  counts: [-1: nan, 2: 1.0]
                  place: {"x":1}

                """))
        let json = """
            "values":{"counts":{"-1":"NaN","2":1},"float":0.1,"home":"http://a/b",\
            "names":["a\\u001bb"],"place":"{\\"x\\":1}","price":"-0.5","uint":18446744073709551615}
            """
        let dump = try Tool.run("dump", fixture.path).output
        #expect(dump.contains(json), "\(dump)")
        let info = try Tool.run("info", fixture.path).output
        #expect(info.contains("names: [string]\n"))
        #expect(info.contains("counts: [int8: float]\n"))
    }

    @Test func infoSaysWhatIsACounter() throws {
        let properties = [
            Property(
                name: "views", type: .int, rules: [.range(minimum: .int(0), maximum: nil)],
                isCounter: true),
            Property(name: "rating", type: .int),
        ]
        let fixture = try Fixture(
            schema: try Schema(entities: [Entity(name: "Page", properties: properties)]))
        let text = try Tool.run("info", fixture.path).output
        #expect(text.contains("    views: int counter .range(0...)\n    rating: int\n"), "\(text)")
        let json = try Tool.run("info", fixture.path, "--json").output
        #expect(
            json.contains(
                "{\"derivation\":null,\"isCounter\":true,\"isLargeData\":false,"
                    + "\"isOptional\":false,"
                    + "\"name\":\"views\","), "\(json)")
    }

    @Test func infoSaysThatTheJournalIsShared() throws {
        let fixture = try Fixture(schema: try Schema(entities: []))
        #expect(try !Tool.run("info", fixture.path).output.contains("node "))
        try AttachedMark.set(true, fixture.file.environment)
        let text = try Tool.run("info", fixture.path).output
        #expect(text.contains("\nnode        of a shared journal"), "\(text)")
        let json = try Tool.run("info", fixture.path, "--json").output
        #expect(json.contains("\"isNode\":true"), "\(json)")
    }

    @Test func infoShowsSizesSchemaAndWhoReads() throws {
        let (fixture, hashes) = try makeStore()
        let overview = try fixture.file.overview()
        let size = byteCountText(overview.usedByteCount)
        let share = overview.journalByteCount * 100 / overview.usedByteCount
        let process = ProcessInfo.processInfo.processIdentifier
        #expect(overview.journalByteCount > 0)
        #expect(overview.recordsByteCount > 0)
        let expected = """
            store       \(fixture.file.storeID)
            file        \(fixture.path)
            revision    3, 2001-01-02T00:00:00.000Z
            hash        \(hashes[2])
            size        \(size), \(byteCountText(overview.freeByteCount)) of it free
            journal     \(byteCountText(overview.journalByteCount)), \(share) % of the size
            commits     3 (complete journal)
            records     \(byteCountText(overview.recordsByteCount))
            members     \(byteCountText(overview.membersByteCount))
            indexes     \(byteCountText(overview.indexesByteCount))
            readers     1 of at most 510
              process \(process), 0 transactions behind
            schema      revision 1
              Article: 1 record
                title: string .length(1...25)
                rating: int
                score: double?
                isDraft: bool?
                created: date?
                cover: data?
                code: uuid?
                notebook: Notebook?
              Notebook: 1 record
                name: string

            """
        let (text, json) = try fixture.file.read { _ in
            (try Tool.run("info", fixture.path), try Tool.run("info", fixture.path, "--json"))
        }
        #expect(text == Tool.Outcome(status: 0, output: expected))
        let object = try #require(
            JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
        #expect(object["store"] as? String == "\(fixture.file.storeID)")
        #expect(object["revision"] as? Int == 3)
        #expect(object["hash"] as? String == hashes[2])
        #expect(object["journalByteCount"] as? Int == overview.journalByteCount)
        #expect((object["readers"] as? [[String: Int]])?.first?["processID"] == Int(process))
        #expect(
            (object["entities"] as? [[String: Any]])?.map { $0["recordCount"] as? Int } == [1, 1])
    }

    @Test func infoShowsTheLogOfTheProcessThatWritesIt() throws {
        let fixture = try Fixture(durability: .logged)
        let process = ProcessInfo.processInfo.processIdentifier
        #expect(try !Tool.run("info", fixture.path).output.contains("\nlog  "))
        try fixture.commit([(2, .fixed(1), [.string("Swift")])])
        let bytes = try #require(try fixture.file.overview().log?.byteCount)
        #expect(bytes > 0)
        let line = "log         \(byteCountText(bytes)), written by process \(process)\n"
        #expect(try Tool.run("info", fixture.path).output.contains(line))
        let json = "\"log\":{\"byteCount\":\(bytes),\"ownerProcessID\":\(process)}"
        #expect(try Tool.run("info", fixture.path, "--json").output.contains(json))
    }

    @Test func verifyGivesTheVerdictAndTheHash() throws {
        let (fixture, hashes) = try makeStore()
        let text = """
            verified: state equals journal (3 commits, 4 changes, 1 object, 0 references)
            hash \(hashes[2])

            """
        #expect(try Tool.run("verify", fixture.path) == Tool.Outcome(status: 0, output: text))
        let json = """
            {"changeCount":4,"commitCount":3,"hash":"\(hashes[2])","indexEntryCount":0,\
            "isClean":true,"objectCount":1,"problems":[],"referenceCount":0,"revision":3,\
            "uncheckedIndexes":[]}

            """
        #expect(
            try Tool.run("verify", fixture.path, "--json")
                == Tool.Outcome(status: 0, output: json))
    }
}
