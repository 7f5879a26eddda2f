import Foundation
import Stet
import StetTestSupport
import Testing

@Model private final class Board {
    var name: String

    init(name: String) { self.name = name }
}

@Model private final class Post {
    var title: String
    var rating: Int = 0
    var note: String?
    var real: Double = 0
    var state: Int = 0
    var board: Board?
    #Index<Post>(\.state, \.rating)

    init(title: String) { self.title = title }
}

/// Pages of a query, each behind the cursor of the one before.
@Suite struct PageTests {
    private let store: Store

    init() throws {
        var configuration = Store.Configuration()
        configuration.mapByteCount = 1 << 30
        store = try Store.inMemory(for: Board.self, Post.self, configuration: configuration)
        try store.edit { context in
            let boards = ["b", "a"].map { Board(name: $0) }
            for number in 0..<50 {
                let post = Post(title: "Post \(number * 7 % 50)")
                post.rating = number % 5
                post.note = number % 3 == 0 ? nil : "note \(number % 4)"
                post.real = number % 6 == 0 ? .infinity : Double(number)
                post.state = number % 2
                post.board = number % 7 == 0 ? nil : boards[number % 2]
                context.insert(post)
            }
        }
    }

    /// All pages of a query, each asked for with the text of a cursor.
    private func pages(
        of query: some ObjectQuery<Post>, _ count: Int
    ) throws -> [[Post.Snapshot]] {
        var pages: [[Post.Snapshot]] = []
        var cursor: QueryCursor?
        repeat {
            let page = try query.page(count, after: cursor)
            pages.append(page.items)
            cursor = try page.next.map { try #require(QueryCursor($0.description)) }
        } while cursor != nil
        return pages
    }

    @Test(arguments: [1, 7, 25, 50, 51]) func pagesAreTheWholeResultInParts(count: Int) throws {
        let all = store.fetch(Post.self)
        let some = store.fetch(Post.self) { $0.state == 1 }
        let queries = [
            all, all.sorted(by: \.rating), all.sorted(by: \.rating, .descending),
            all.sorted(by: \.note).then(by: \.real, .descending),
            all.sorted(by: \.board?.name).then(by: \.title),
            all.sorted(by: { $0.rating * 2 + $0.state }),
            some, some.sorted(by: \.rating), some.sorted(by: \.rating, .descending),
            all.sorted(by: \.title, comparing: .caseInsensitive),
        ]
        for query in queries {
            let pages = try pages(of: query, count)
            #expect(try pages.flatMap(\.self) == query.all())
            #expect(pages.dropLast().allSatisfy { $0.count == count })
        }
    }

    @Test func aCursorHasTheValuesOfTheOrderAndTheIdOnly() throws {
        let page = try store.fetch(Post.self) { $0.real < 100 }.sorted(by: \.rating).page(10)
        let text = try #require(page.next).description
        let last = try #require(page.items.last)
        let padding = String(repeating: "=", count: (4 - text.count % 4) % 4)
        let data = try #require(
            Data(
                base64Encoded: text.replacing("-", with: "+").replacing("_", with: "/") + padding))
        #expect(
            String(decoding: data, as: UTF8.self)
                == "{\"i\":\"\(last.id)\",\"v\":{\"rating\":\(last.rating)}}")
        #expect(text.utf8.count < 200)
        let json = try JSONEncoder().encode(page)
        #expect(try JSONDecoder().decode(QueryResultPage<Post>.self, from: json) == page)
    }

    @Test func aPageGoesOnWhereItsLastObjectWas() throws {
        let query = store.fetch(Post.self) { $0.state == 1 }.sorted(by: \.rating)
        let expected = try query.all().map(\.id)
        let first = try query.page(10)
        try store.edit { context in
            for post in first.items {
                try context.object(Post.self, id: post.id).map { context.delete($0) }
            }
            let early = Post(title: "before the cursor")
            early.state = 1
            early.rating = -1
            context.insert(early)
        }
        let second = try query.page(100, after: first.next)
        #expect(second.items.map(\.id) == Array(expected.dropFirst(10)))
        #expect(second.next == nil)
    }

    @Test func aPageOfAnIndexIsReadFromItsPlace() throws {
        let query = store.fetch(Post.self) { $0.state == 1 }.sorted(by: \.rating)
        #expect(try query.limit(5).explain().contains("state"))
        let next = try #require(try query.page(5).next)
        // The walk through the index starts at the value in the condition.
        let names =
            try JSONSerialization.jsonObject(
                with: try #require(
                    Data(
                        base64Encoded: next.description
                            .padding(
                                toLength: (next.description.count + 3) / 4 * 4, withPad: "=",
                                startingAt: 0)))) as? [String: Any]
        #expect((names?["v"] as? [String: Any])?.keys.sorted() == ["rating", "state"])
    }

    @Test func aContextPagesWithItsPendingChanges() throws {
        let context = store.context()
        let post = try #require(try context.fetch(Post.self).first())
        post.rating = 100
        let query = context.fetch(Post.self).sorted(by: \.rating, .descending)
        #expect(try query.page(1).items == [post.snapshot])
        #expect(try pages(of: query, 9).flatMap(\.self) == query.snapshots())
    }

    @Test func aCursorOfAnotherQueryIsRefused() throws {
        let byRating = store.fetch(Post.self).sorted(by: \.rating)
        let cursor = try #require(try byRating.page(1).next)
        let byTitle = store.fetch(Post.self).sorted(by: \.title)
        let forged = [
            "{\"i\":\"\(ObjectID())\",\"v\":{\"rating\":\"x\"}}",
            "{\"i\":\"\(ObjectID())\",\"v\":{\"rating\":null}}",
            "{\"i\":\"\(ObjectID())\",\"v\":{\"nothing\":null}}",
        ].map { QueryCursor(Data($0.utf8).base64EncodedString().replacing("=", with: "")) }
        var refused: [QueryError.Code] = []
        #expect(!forged.contains(nil))
        for (query, cursor) in [(byTitle, cursor)] + forged.map({ (byRating, $0) }) {
            do {
                _ = try query.page(1, after: cursor)
            } catch let error as QueryError {
                refused.append(error.code)
            }
        }
        #expect(refused == [.invalidCursor, .invalidCursor, .invalidCursor, .invalidCursor])
        let board = try store.fetch(Board.self).page(1)
        #expect(throws: QueryError.self) { try byRating.page(1, after: board.next) }
    }

    @Test(arguments: ["", "x", "e30", "====", "ü", String(repeating: "A", count: 2_000_000)])
    func whatIsNoCursorIsNone(text: String) {
        #expect(QueryCursor(text) == nil)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([QueryCursor].self, from: JSONEncoder().encode([text]))
        }
    }
}
