import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import StetCLI

/// The export and the import of links and of positions in an order.
struct ExchangedMembersTests {
    private let library: Library

    init() throws {
        library = try Library()
        try library.fill()
    }

    private func id(_ number: Int) -> String { "\(ObjectID.fixed(number))" }

    private func importing(_ lines: String, _ words: String...) throws -> Tool.Outcome {
        let path = try library.write(lines, to: "books.jsonl")
        return try Tool.Running(
            ["import", library.path, "Book", path] + words + ["--without-validators"]
        ).outcome()
    }

    /// Returns the change of an object's members by the last commit.
    private func change(_ name: String, of number: Int) throws -> RelationshipChange? {
        try library.file.read { try $0.commit(try $0.head().revision) }.changeSet.changes
            .first { $0.id == .fixed(number) }?.relationships.first { $0.name == name }
    }

    @Test func theMembersAreAListOfTheObjectThatOwnsTheLinks() throws {
        let lines = try Tool.run("export", library.path, "Book").output.split(separator: "\n")
        #expect(lines[0].contains(#""tags":["\#(id(31))","\#(id(32))"]"#))
        #expect(lines[2].contains(#""sequels":["\#(id(14))","\#(id(11))","\#(id(12))"]"#))
        let place = Library.positions[1]
        #expect(lines[0].contains(#""shelf":"\#(id(1))@\#(place)""#))
        let row = try Tool.run("export", library.path, "Book", "--format", "csv").output
            .split(separator: "\n")[4]
        #expect(row.hasSuffix(#",[],"[""\#(id(14))"",""\#(id(11))"",""\#(id(12))""]""#), "\(row)")
        #expect(try !Tool.run("export", library.path, "Tag").output.contains("books"))
    }

    @Test func aListReplacesTheMembersAndWhatIsNotGivenStays() throws {
        let outcome = try importing(
            """
            {"id":"\(id(11))","tags":["\(id(31))"]}
            {"id":"\(id(12))","tags":["\(id(32))"],"pages":251}
            {"id":"\(id(13))","tags":["\(id(31))","\(id(32))"],"sequels":null}
            {"id":"\(id(14))","title":"loose"}
            """)
        #expect(
            outcome == Tool.Outcome(status: 0, output: "revision 2: 3 updated, 1 unchanged\n"))
        #expect(try library.members("Book.tags", of: 11) == [31])
        #expect(try library.members("Book.tags", of: 31, isSource: false) == [11, 13])
        #expect(try library.members("Book.tags", of: 32, isSource: false) == [12, 13])
        #expect(try library.members("Book.sequels", of: 13) == [])
        #expect(try change("tags", of: 11)?.removed == [.fixed(32)])
        #expect(try change("tags", of: 11)?.added == [])
        #expect(try change("tags", of: 12) == nil)
        #expect(try library.members("Book.tags", of: 11, asOf: 1) == [31, 32])
        #expect(try library.file.verify().problems == [])
        let revert = try Tool.run("revert", library.path, "2", "--without-validators")
        #expect(revert.status == 0)
        #expect(try library.members("Book.tags", of: 11) == [31, 32])
        #expect(try library.members("Book.sequels", of: 13) == [14, 11, 12])
    }

    @Test func anotherOrderMovesAsFewMembersAsPossible() throws {
        let list = #"["\#(id(14))","\#(id(12))","\#(id(13))","\#(id(11))"]"#
        let outcome = try importing(#"{"id":"\#(id(13))","sequels":\#(list)}"#)
        #expect(outcome.output == "revision 2: 1 updated\n")
        #expect(try library.members("Book.sequels", of: 13) == [14, 12, 13, 11])
        let change = try #require(try change("sequels", of: 13))
        #expect(change.added == [.fixed(13)])
        #expect(change.removed == [])
        #expect(change.moved == [.fixed(12)])
        #expect(try library.members("Book.sequels", of: 13, asOf: 1) == [14, 11, 12])
        #expect(
            try importing(#"{"id":"\#(id(13))","sequels":\#(list)}"#).output == "1 unchanged\n")
        #expect(try library.file.verify().problems == [])
    }

    @Test func anObjectWithoutAPositionStandsLastAmongTheMembersOfItsOwner() throws {
        let between = try #require(
            ListPosition.between(Library.positions[0], Library.positions[1]))
        let outcome = try importing(
            """
            {"id":"\(id(14))","shelf":"\(id(2))"}
            {"id":"\(id(12))","shelf":"\(id(1))"}
            {"id":"\(id(15))","title":"new","isLent":true,"shelf":"\(id(2))"}
            {"id":"\(id(16))","title":"mid","isLent":true,"shelf":"\(id(1))@\(between)"}
            """)
        #expect(outcome.output == "revision 2: 2 inserted, 1 updated, 1 unchanged\n")
        #expect(try library.books(ofShelf: 1) == [12, 16, 11])
        #expect(try library.books(ofShelf: 2) == [13, 14, 15])
        #expect(try library.file.verify().problems == [])
    }

    @Test func whatIsWrongWithMembersIsToldWithTheLine() throws {
        let full = id(2) + "@" + String(repeating: "f", count: 128)
        let outcome = try importing(
            """
            {"id":"\(id(11))","tags":"\(id(31))"}
            {"id":"\(id(12))","tags":["\(id(31))","\(id(31))"]}
            {"id":"\(id(13))","tags":["\(id(11))"],"sequels":[7]}
            {"title":"a","isLent":true,"sequels":["\(id(31))"],"tags":[]}
            {"title":"b","isLent":true,"shelf":"\(id(2))@00"}
            {"title":"c","isLent":true,"shelf":"\(full)"}
            {"title":"d","isLent":true,"shelf":"\(id(2))"}
            {"title":"e","isLent":true,"books":[]}
            """, "--skip-invalid")
        let problems = """
            line 1: tags is not a list of ids of objects
            line 2: tags has an object twice
            line 3: sequels is not a list of ids of objects
            line 4: sequels refers to \(id(31)), which is no Book
            line 5: shelf is not nil or the id of an object
            line 7: shelf has no place left behind the last member
            line 8: Book has no property books
            revision 2: 1 inserted, 7 rejected

            """
        #expect(outcome == Tool.Outcome(status: 0, output: problems))
        #expect(try library.file.verify().problems == [])
    }

    @Test func boundsOfTheMembersAreAskedAtBothEnds() throws {
        let tag = #"["\#(id(32))"]"#
        let outcome = try importing(
            """
            {"id":"\(id(13))","tags":\(tag)}
            {"id":"\(id(14))","tags":\(tag)}
            """)
        #expect(outcome.status == 1)
        #expect(outcome.output.hasPrefix("line 1: books"), "\(outcome.output)")
        #expect(outcome.output.contains("line 2: books"))
        #expect(try library.file.read { try $0.head().revision } == 1)
    }

    @Test func anImportDeletesNoOrphans() throws {
        let parts = Relationship(
            name: "parts", target: "Part", members: .references(property: "whole"),
            removesOrphans: true)
        let schema = try Schema(entities: [
            Entity(
                name: "Part",
                properties: [
                    Property(name: "name", type: .string),
                    Property(name: "whole", type: .reference, isOptional: true, target: "Whole"),
                ]),
            Entity(
                name: "Whole", properties: [Property(name: "name", type: .string)],
                relationships: [parts]),
        ])
        let file = try StoreFile.open(at: library.directory.file("parts.stet"), schema: schema)
        defer { file.close() }
        func importing(_ lines: String) throws -> Tool.Outcome {
            let path = try library.write(lines, to: "parts.jsonl")
            return try Tool.run("import", file.path, path, "--without-validators")
        }
        func line(_ entity: String, _ number: Int, _ whole: String) -> String {
            #"{"entity":"\#(entity)","id":"\#(id(number))","values":{"name":"x"\#(whole)}}"# + "\n"
        }
        let whole = #","whole":"\#(id(1))""#
        let lines = line("Whole", 1, "") + line("Part", 2, whole) + line("Part", 3, "")
        #expect(try importing(lines).output == "revision 1: 3 inserted\n")
        let refused = try importing(line("Part", 2, #","whole":null"#))
        let problem = "line 1: whole can't be nil: Whole.parts deletes what it loses\n"
        #expect(refused.status == 1, "\(refused.output)")
        #expect(refused.output.hasPrefix(problem), "\(refused.output)")
        #expect(try importing(line("Part", 3, whole)).output == "revision 2: 1 updated\n")
    }
}
