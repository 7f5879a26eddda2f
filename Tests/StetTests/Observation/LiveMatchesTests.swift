import Stet
import StetStore
import StetTestSupport
import Testing

/// The result of a live query after a step that has failed.
@Suite struct LiveMatchesTests {
    private typealias Article = Ledger.Article

    private struct Unreadable: Error {}

    @Test func theQueryRunsAfterAStepThatHasFailed() throws {
        let desk = try LedgerDesk()
        let store = desk.store
        let articles = (0..<4).map { Article(title: "\($0)") }
        try desk.edit("a") { context in
            for article in articles { context.insert(article) }
        }
        let schema = store.file.schema
        var query = StoreQuery(entity: try #require(schema.number(ofEntity: "Article")))
        let slot = try #require(schema.entity(named: "Article")?.slot(of: "rating"))
        query.order = [QueryOrder(.property(.root, slot: slot))]
        var unreadable: Set<ObjectID> = []
        let matches = LiveMatches<Revision>(query, in: schema) { row, _ in
            if unreadable.contains(row.id) { throw Unreadable() }
            return row.revision
        }
        var reader = FeedReader(
            file: store.file, after: .now,
            LiveQueryInterests.ofObjects(of: query, in: schema))
        func follow() throws -> (ids: [ObjectID], reason: String?)? {
            try store.file.read { read in
                let head = try read.head().revision
                let backlog = try reader.take(through: head, limit: 100, read)
                let view = QueryState.View(WorkingState(schema, at: head))
                let (update, way) = try matches.follow(backlog, QueryState(read, view))
                guard let update else { return nil }
                var reason: String?
                if case .run(let words) = way { reason = words }
                return (update.entries.entries(in: update.page).map(\.id), reason)
            }
        }
        let ids = articles.map(\.id)
        #expect(try follow()?.ids == ids)
        for (place, id) in ids.enumerated() {
            try desk.edit("a", Article.self, id) { $0.rating = 4 - place }
        }
        unreadable = [ids[2]]
        #expect(throws: Unreadable.self) { try follow() }
        #expect(throws: Unreadable.self) { try follow() }
        unreadable = []
        let update = try #require(try follow())
        #expect(update.ids == ids.reversed())
        #expect(update.reason == "the step before failed")
        #expect(try follow() == nil)
        #expect(!matches.isDue)
    }
}
