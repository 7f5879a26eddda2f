import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import StetCLI

/// The text of predicates: what it finds, what is wrong with it, and that nothing traps.
struct PredicateTests {
    private let library: Library

    init() throws {
        library = try Library()
        try library.fill()
    }

    private var book: EntityNumber { library.file.schema.number(ofEntity: "Book") ?? 0 }

    private func node(_ text: String) throws -> QueryNode {
        try PredicateParser.condition(text, library.file.schema, entity: book)
    }

    /// The last two digits of the ids of the books.
    private func ids(_ condition: QueryNode) throws -> [String] {
        try library.file.read { reader in
            let view = QueryState.View(
                WorkingState(library.file.schema, at: try reader.head().revision))
            var query = StoreQuery(entity: book)
            query.condition = condition
            return try QueryRun(QueryState(reader, view), query).rows()
                .map { String($0.id.low & 0xff) }
        }
    }

    @Test(arguments: [
        ("title == \"loose\"", "14"), ("title != \"loose\"", "11 12 13"),
        ("pages < 250", "11 14"), ("250 <= pages", "12"), ("pages > -4 && pages<=-3", "14"),
        ("pages == nil || isLent", "12 13"), ("!(pages == nil) && !isLent", "11 14"),
        ("true", "11 12 13 14"), ("false", ""), ("!false && pages == 250", "12"),
        ("false || isLent", "12"), ("isLent == true", "12"), ("price == 0", "14"),
        ("price >= 9.5e0", "11"),
        ("price != price", "12"), ("title == title", "11 12 13 14"),
        ("pages in [100, -3]", "11 14"), ("pages in []", ""), ("pages in [nil]", "13"),
        ("title in[cd] [\"ELAN\"]", "12"), ("title ==[c] \"ELAN\"", "12"),
        ("title beginsWith[cd] \"elan\"", "11 12"), ("title hasPrefix[d] \"Elan\"", "11"),
        ("title hasSuffix \"vital\"", "11"), ("title endsWith \"se\"", "14"),
        (#"title contains "\"and\" \n""#, "13"), (#"title contains "\u{c9}l""#, "11"),
        ("read == \"2001-01-01\"", "11"), ("read > \"2001-01-01T01:00:00+01:00\"", "13"),
        ("read == \"2001-01-02T00:00:00.5Z\"", "13"),
        ("shelf == \"01900000-0000-7000-8000-000000000002\"", "13"), ("shelf == nil", "14"),
        ("id == \"01900000-0000-7000-8000-00000000000e\"", "14"),
        ("shelf.name == \"north\"", "11 12"), ("shelf?.name != \"north\"", "13 14"),
        ("shelf.id == \"01900000-0000-7000-8000-000000000002\"", "13"),
        ("shelf.books.count == 2", "11 12"), ("tags.count > 1", "11"),
        ("any tags { name == \"poems\" }", "11 12"),
        ("all tags { name == \"poems\" }", "12 13 14"),
        ("sequels.count > 2 && tags.count == 0", "13"),
        ("shelf.books.sum(pages) == 350", "11 12"), ("shelf.books.max(pages) < 251", "11 12"),
        ("tags.min(name) == \"maths\"", "11"), ("shelf.books.average(pages) == 175", "11 12"),
        ("tags.max(books.sum(pages)) >= 350", "11 12"), ("tags.min(name) == nil", "13 14"),
        ("any sequels { any tags { name == \"maths\" } }", "13"),
        ("any tags { books.count == 2 } && any tags { any books { pages == 250 } }", "11 12"),
        ("any shelf.books { title hasPrefix \"e\" && any tags { name == \"poems\" } }", "11 12"),
        ("`title` == \"loose\"", "14"),
    ])
    func aPredicateFindsWhatItSays(text: String, expected: String) throws {
        #expect(try ids(node(text)).joined(separator: " ") == expected)
    }

    @Test(arguments: [
        ("", "expected a property or a value, but found the end", 0),
        ("colour == 1", "Book has no property colour; it has title, pages, price, ", 0),
        ("pages == \"x\"", "expected an integer, but found \"x\"", 9),
        ("pages == 1.5", "expected an integer, but found 1.5", 9),
        ("read > \"yesterday\"", "expected a date, \"2026-01-31\"", 7),
        ("title", "expected a comparison, but found the end", 5),
        ("title == ", "expected a property or a value, but found the end", 9),
        ("title == \"a", "the text that begins here has no \" at its end", 9),
        (#"title == "\q""#, #"expected \" \\ \n"#, 10),
        ("title == pages", "expected string, not int", 9),
        ("isLent ==[c] true", "only text can be folded, not bool", 7),
        ("pages contains 1", "expected text on both sides, not int", 6),
        ("price < nil", "nil has no order: expected == or !=", 6),
        ("1 == 1", "expected a property on one side", 0),
        ("(pages == 1", "expected ), but found the end", 11),
        ("pages == 1 pages", "expected &&, || or the end, but found pages", 11),
        ("title.name == \"x\"", "title is no reference", 0),
        ("tags == 1", "tags has many members: expected tags.count", 0),
        (
            "any title { pages == 1 }",
            "title is no relationship to many of Book, and no array of embedded values", 4
        ),
        ("tags.sum(name) == 1", "sum needs a number, not string", 9),
        ("tags.max(pages) == 1", "Tag has no property pages; it has name", 9),
        ("tags.sum == 1", "expected (, but found ==", 9),
        ("tags.first == 1", "tags has many members: expected tags.count, tags.sum(…), or", 0),
        ("any tags { pages == 1 }", "Tag has no property pages; it has name", 11),
        ("pages in [1, pages]", "expected a value", 13),
        ("pages in 1", "expected [, but found 1", 9),
        ("pages = 1", "= has no meaning here", 6), ("élan == 1", "Book has no property élan", 0),
    ])
    func aMistakeIsToldWithItsPlace(text: String, message: String, offset: Int) throws {
        let error = #expect(throws: PredicateMistake.self) { try node(text) }
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
        #expect(error?.offset == offset)
    }

    @Test func depthIsBounded() {
        let texts = [
            String(repeating: "(", count: 100_000), String(repeating: "!", count: 100_000),
            String(repeating: "any tags {", count: 10_000),
            String(repeating: "tags.max(books.max(", count: 10_000),
            "a" + String(repeating: ".shelf", count: 100_000),
        ]
        for text in texts { #expect(throws: PredicateMistake.self) { try node(text) } }
    }

    @Test func theCaretStandsUnderThePlaceOfWhatIsShown() {
        let error = PredicateMistake("x", at: "é\n == ".utf8.count)
        #expect(error.marked("é\n == 7") == "  é\\n == 7\n         ^")
    }

    @Test func hostileTextIsAConditionOrAnErrorInside() throws {
        var generator = SeededGenerator(seed: 8)
        var understood = 0
        for round in 0..<20_000 {
            let bytes =
                round % 2 == 0
                ? (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                    UInt8.random(in: 0...255, using: &generator)
                } : Self.mutated(&generator)
            let text = String(decoding: bytes, as: UTF8.self)
            do {
                _ = try ids(PredicateParser.condition(text, library.file.schema, entity: book))
                understood += 1
            } catch let error as PredicateMistake {
                #expect((0...text.utf8.count).contains(error.offset), "\(text)")
                _ = error.marked(text)
            }
        }
        #expect((2_000...9_000).contains(understood))
    }

    /// Conditions joined at random, with none to two pieces exchanged for others.
    private static func mutated(_ generator: inout SeededGenerator) -> [UInt8] {
        let conditions = [
            #"title == "lo\u{e9}se""#, "pages < 250", "(!isLent)", "price >= -2.5e1",
            #"any tags { name hasPrefix[cd] "p" }"#, "shelf?.books.count in [1, -2, nil]",
            #"all shelf.books { read > "2001-01-01T00:00:00.25+01:00" }"#, "`id` != shelf.id",
        ]
        let pieces = [
            "(", ")", "!", "[c]", "\"", "\\", "any ", "{", "}", ".", "nil", "é", "\0", "9",
        ]
        var bytes: [UInt8] = []
        for index in 0..<Int.random(in: 1...4, using: &generator) {
            if index > 0 { bytes += (Bool.random(using: &generator) ? " && " : "||").utf8 }
            bytes += (conditions.randomElement(using: &generator) ?? "").utf8
        }
        for _ in 0..<Int.random(in: 0...2, using: &generator) {
            let place = Int.random(in: 0..<bytes.count, using: &generator)
            let end = min(bytes.count, place + Int.random(in: 0...3, using: &generator))
            bytes.replaceSubrange(
                place..<end, with: (pieces.randomElement(using: &generator) ?? "").utf8)
        }
        return bytes
    }
}
