import Foundation
import StetStore
import Testing

/// Links as the commands that show things have them: cells of the objects that own them.
struct ShowingMembersTests {
    private let library: Library

    /// Two commits: the books, and other members for two of them.
    init() throws {
        library = try Library()
        try library.fill()
        let lines = """
            {"id":"\(id(12))","tags":["\(id(31))"],"shelf":null}
            {"id":"\(id(13))","sequels":["\(id(14))","\(id(12))","\(id(11))"]}
            {"id":"\(id(11))","shelf":"\(id(1))@\(Library.positions[3])"}
            """
        let path = try library.write(lines, to: "more.jsonl")
        let outcome = try Tool.run(
            "import", library.path, "Book", path, "--author", "lala", "--label", "more",
            "--without-validators")
        #expect(outcome.output == "revision 2: 3 updated\n")
    }

    private func id(_ number: Int) -> String { "\(ObjectID.fixed(number))" }

    // Tags have a unique name.
    private var maths: String { "\(id(31)) (maths)" }
    private var poems: String { "\(id(32)) (poems)" }

    private func lines(_ arguments: String...) throws -> [Substring] {
        try Tool.Running(arguments).outcome().output.split(separator: "\n")
    }

    @Test func aCommitHasTheMembersThatItAddsRemovesAndMoves() throws {
        let expected = """
            update Book \(id(11))
              shelf: \(id(1)), moved
            update Book \(id(12))
              shelf: \(id(1)) → nil
              tags: + \(maths), − \(poems)
            update Book \(id(13))
              sequels: ~ \(id(12))
            """.split(separator: "\n")
        let shown = try lines("show", library.path, "2")
        #expect(shown.dropFirst(2) == expected[...])
        #expect(try lines("diff", library.path, "1", "2")[...] == shown.dropFirst(2))
        let back = try lines("diff", library.path, "2", "1")
        #expect(back.contains("  tags: + \(poems), − \(maths)"))
        let json = try Tool.run("show", library.path, "2", "--json").output
        #expect(
            json.contains(
                #""relationships":{"tags":{"added":["\#(id(31))"],"removed":["\#(id(32))"]}}"#))
        #expect(json.contains(#""properties":{"shelf":{"isMoved":true,"#))
        let first = try lines("show", library.path, "1")
        #expect(first.contains("  tags: + \(maths), + \(poems)"))
        #expect(first.contains("  sequels: + \(id(14)), + \(id(11)), + \(id(12))"))
    }

    @Test func anObjectHasItsMembersAndTheirHistory() throws {
        let shown = try lines("show", library.path, id(12))
        #expect(shown[0] == "Book \(id(12)), last changed in revision 2")
        let history = try #require(shown.firstIndex(of: "history"))
        #expect(shown[..<history].contains("  tags: \(maths)"))
        #expect(shown[..<history].contains("  sequels: "))
        let tags = shown[history...].filter { $0.hasPrefix("  tags: ") }
        #expect(tags == ["  tags: + \(maths), − \(poems)", "  tags: + \(poems)"])
        let json = try Tool.run("show", library.path, id(12), "--json").output
        #expect(json.contains(#""tags":["\#(id(31))"]"#))
        // Only links change; the record stays the same.
        let linked = try lines("show", library.path, id(13))
        #expect(linked[0] == "Book \(id(13)), last changed in revision 2")
        #expect(linked.contains("  sequels: \(id(14)), \(id(12)), \(id(11))"))
    }

    @Test func aDumpHasTheMembersAsOfARevision() throws {
        let now = try lines("dump", library.path, "--entity", "Book")
        let then = try lines("dump", library.path, "--entity", "Book", "--as-of", "1")
        #expect(now[1].contains(#""tags":["\#(id(31))"]"#))
        #expect(then[1].contains(#""tags":["\#(id(32))"]"#))
        #expect(then[2].contains(#""sequels":["\#(id(14))","\#(id(11))","\#(id(12))"]"#))
        #expect(then[0].contains(#""shelf":"\#(id(1))""#))
    }

    @Test func blameNamesTheLastChangeOfTheMembers() throws {
        let tags = try lines("blame", library.path, id(12), "tags")
        let text = " update \"more\" by lala  tags: + \(id(31)), − \(id(32))"
        try #require(tags.count == 1)
        #expect(tags[0].hasPrefix("2 "))
        #expect(tags[0].hasSuffix(text))
        let all = try lines("blame", library.path, id(11))
        #expect(all.last?.hasSuffix("  tags: + \(id(31)), + \(id(32))") == true)
        #expect(all.last?.hasPrefix("1 ") == true)
        #expect(!all.contains { $0.contains("sequels") })
        let json = try Tool.run("blame", library.path, id(12), "tags", "--json").output
        #expect(json.contains(#""members":{"added":["\#(id(31))"],"removed":["\#(id(32))"]}"#))
        try library.file.trim(through: 1)
        let trimmed = try lines("blame", library.path, id(11))
        #expect(trimmed.contains("up to 1, trimmed  tags"))
    }

    @Test func infoHasTheRelationships() throws {
        let info = try lines("info", library.path)
        let book = try #require(info.firstIndex(of: "  Book: 4 records"))
        #expect(info[book...].contains("    tags: [Tag]"))
        #expect(info[book...].contains("    sequels: [Book] ordered"))
        #expect(info.contains("    books: [Book] ordered"))
        let json = try Tool.run("info", library.path, "--json").output
        #expect(
            json.contains(
                #""relationships":[{"isOrdered":false,"name":"tags","target":"Tag"},"#))
    }

    @Test func aQueryHasTheMembersAsOfARevision() throws {
        func books(_ condition: String, _ words: String...) throws -> [Substring] {
            try Tool.Running(["query", library.path, "Book", condition, "--format", "csv"] + words)
                .outcome().output.split(separator: "\n").dropFirst()
                .compactMap { $0.split(separator: ",").first?.suffix(2) }
        }
        let poems = "any tags { name == \"poems\" }"
        #expect(try books(poems) == ["0b"])
        #expect(try books(poems, "--as-of", "1") == ["0b", "0c"])
        let json = try Tool.run(
            "query", library.path, "Book", poems + " && pages == 250", "--json", "--as-of", "1"
        ).output
        #expect(json.contains(#""tags":["\#(id(32))"]"#))
    }

    @Test func membersAreUndoneAndRedone() throws {
        func run(_ command: String) throws -> Tool.Outcome {
            try Tool.run(
                command, library.path, "--author", "po", "--without-validators")
        }
        let revert = try Tool.run(
            "revert", library.path, "2", "--author", "po", "--without-validators")
        #expect(revert.status == 0)
        #expect(try library.members("Book.tags", of: 12) == [32])
        #expect(try library.members("Book.tags", of: 31, isSource: false) == [11])
        #expect(try library.members("Book.sequels", of: 13) == [14, 11, 12])
        #expect(try library.books(ofShelf: 1) == [12, 11])
        let preview = try Tool.run("undo", library.path, "--author", "po", "--dry-run")
        #expect(preview.output.contains("  tags: + \(id(31)), − \(id(32))\n"))
        #expect(try run("undo").status == 0)
        #expect(try library.members("Book.tags", of: 12) == [31])
        #expect(try library.members("Book.sequels", of: 13) == [14, 12, 11])
        #expect(try run("redo").status == 0)
        #expect(try library.members("Book.tags", of: 12) == [32])
        #expect(try library.file.verify().problems == [])
    }
}
