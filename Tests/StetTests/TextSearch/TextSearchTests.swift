import Foundation
import Stet
import StetTestSupport
import Testing

@Model final class SearchedAuthor {
    @Attribute(.searchable) var name: String = ""
    @Relationship(inverse: \SearchedPage.author) var pages: ToMany<SearchedPage>
    init(name: String) { self.name = name }
}

@Embedded struct SearchedPlace: EmbeddedValue {
    @Attribute(.searchable) var city: String = ""
}

@Model final class SearchedPage {
    @Attribute(.searchable(weight: 3)) var title: String = ""
    @Attribute(.searchable) var text: String?
    @Attribute(.searchable, .hidden) var secret: String?
    @Attribute(.indexed) var number: Int = 0
    var place: SearchedPlace
    var author: SearchedAuthor?

    init(_ title: String, _ text: String? = nil, number: Int = 0) {
        place = SearchedPlace(city: "")
        self.title = title
        self.text = text
        self.number = number
    }
}

/// Searches for words as a user makes them.
@Suite struct TextSearchTests {
    private let directory = TemporaryDirectory()
    private let store: Store
    private let context: ManagedContext

    init() throws {
        store = try Store.open(
            at: directory.file(), for: SearchedPage.self, SearchedAuthor.self)
        context = store.context(author: "lala")
        let texts: [(String, String?)] = [
            ("Undo", "How the journal is undone in an edit session"),
            ("Journal", "The journal of a store; undo reads the journal"),
            ("SQLite", "Undo with SQLite and its journal"),
            ("Empty", nil),
            ("Session", "An edit, then a session of an edit"),
        ]
        for (number, (title, text)) in texts.enumerated() {
            context.insert(SearchedPage(title, text, number: number))
        }
        try context.save()
    }

    private func numbers(_ text: String) throws -> [Int] {
        let query = context.fetch(SearchedPage.self).matching(text)
        let sorted = try query.sorted(by: \.number).all().map(\.number)
        #expect(try query.all().map(\.number).sorted() == sorted)
        #expect(try query.count() == sorted.count)
        #expect(try query.exists() == !sorted.isEmpty)
        #expect(try store.fetch(SearchedPage.self).matching(text).all().count == sorted.count)
        return sorted
    }

    @Test func allWordsMustOccurInAnyAttribute() throws {
        #expect(try numbers("undo") == [0, 1, 2])
        #expect(try numbers("UNDO journal") == [0, 1, 2])
        #expect(try numbers("undo session") == [0])
        #expect(try numbers("undo nothing") == [])
    }

    @Test func prefixesPhrasesAndExclusions() throws {
        #expect(try numbers("jour*") == [0, 1, 2])
        #expect(try numbers("und*") == [0, 1, 2])
        #expect(try numbers("\"edit session\"") == [0])
        #expect(try numbers("\"edit sess\"*") == [0])
        #expect(try numbers("undo jour* -sqlite \"edit session\"") == [0])
        #expect(try numbers("undo -sqlite") == [0, 1])
        #expect(try numbers("session -\"edit session\"") == [4])
        // The words of a phrase are in one attribute.
        #expect(try numbers("\"undo how\"") == [])
    }

    @Test func wordsAreNearEachOther() throws {
        #expect(try numbers("\"undone session\"~2") == [])
        #expect(try numbers("\"session undone\"~3") == [0])
        #expect(try numbers("\"sess edit\"~1") == [])
        #expect(try numbers("\"edit sess\"*~2") == [0, 4])
    }

    @Test func aSearchMayBeOfSomeAttributes() throws {
        let query = context.fetch(SearchedPage.self)
        #expect(try query.matching("undo", in: \.title).all().map(\.number) == [0])
        #expect(try query.matching("undo", in: \.text, \.place.city).count() == 2)
        #expect(try query.matching("undo -sqlite", in: \.text).count() == 1)
        #expect(try query.matching("undo journal", in: \.title).count() == 0)
    }

    @Test func aSearchThatRequiresNoWordFindsNothing() throws {
        for text in ["", "-", "-sqlite", "\"", "*", "!?"] { #expect(try numbers(text) == []) }
    }

    @Test func theBestHitsComeFirst() throws {
        let titles = try context.fetch(SearchedPage.self).matching("journal").all().map(\.title)
        #expect(titles == ["Journal", "SQLite", "Undo"])
        let explained = try context.fetch(SearchedPage.self).matching("journal").explain()
        #expect(
            explained == """
                words: "journal": 3 of SearchedPage
                test: matching "journal"
                sort by rank of "journal"
                """)
        let first = try context.fetch(SearchedPage.self).matching("undo").limit(1).all()
        #expect(first.map(\.title) == ["Undo"])
    }

    @Test func furtherConditionsAndOrdersApply() throws {
        let query = context.fetch(SearchedPage.self) { $0.number > 0 }.matching("undo")
        #expect(try query.sorted(by: \.number, .descending).all().map(\.number) == [2, 1])
        #expect(try query.all().map(\.number).sorted() == [1, 2])
        #expect(
            try context.fetch(SearchedPage.self).matching("undo").matching("sqlite").all()
                .map(\.number) == [2])
    }

    @Test func pagesContinueAfterACursor() throws {
        let query = store.fetch(SearchedPage.self).matching("journal")
        var titles: [String] = []
        var cursor: QueryCursor?
        repeat {
            let page = try query.page(1, after: cursor)
            titles += page.items.map(\.title)
            cursor = try page.next.map { try #require(QueryCursor($0.description)) }
        } while cursor != nil
        #expect(titles == ["Journal", "SQLite", "Undo"])
        let all = try query.all()
        #expect(try query.after(all[0]).all().map(\.title) == ["SQLite", "Undo"])
        let other = try #require(try query.page(1).next)
        let error = #expect(throws: QueryError.self) {
            try store.fetch(SearchedPage.self).page(1, after: other)
        }
        #expect(error?.code == .invalidCursor)
    }

    @Test func unsavedEditsAreFound() throws {
        let page = try #require(try context.fetch(SearchedPage.self) { $0.number == 3 }.first())
        page.text = "A quokka"
        #expect(try context.fetch(SearchedPage.self).matching("quokka").all() == [page])
        #expect(try store.fetch(SearchedPage.self).matching("quokka").all().isEmpty)
        context.insert(SearchedPage("Quokka", "quokka", number: 9))
        #expect(
            try context.fetch(SearchedPage.self).matching("quokka").all().map(\.number) == [9, 3])
        page.text = nil
        #expect(try context.fetch(SearchedPage.self).matching("quokka").all().map(\.number) == [9])
        try context.save()
        #expect(try numbers("quokka") == [9])
        let undo = try #require(try context.fetch(SearchedPage.self) { $0.number == 0 }.first())
        context.delete(undo)
        #expect(try context.fetch(SearchedPage.self).matching("undo").count() == 2)
    }

    @Test func searchesFollowUndoAndRedoAndSeeThePast() throws {
        let before = context.revision
        let page = try #require(try context.fetch(SearchedPage.self) { $0.number == 3 }.first())
        page.text = "A wombat"
        try context.save("wombat")
        #expect(try numbers("wombat") == [3])
        #expect(
            try store.view(asOf: before).fetch(SearchedPage.self).matching("wombat").count() == 0)
        try store.undo(author: "lala")
        try context.refresh()
        #expect(try numbers("wombat") == [])
        let changed = try store.view(asOf: before.next).fetch(SearchedPage.self)
        #expect(try changed.matching("wombat").all().map(\.number) == [3])
        try store.redo(author: "lala")
        try context.refresh()
        #expect(try numbers("wombat") == [3])
        #expect(try store.verify().problems == [])
    }

    @Test func embeddedAndHiddenAttributesAreSearched() throws {
        let page = try #require(try context.fetch(SearchedPage.self) { $0.number == 3 }.first())
        page.place = SearchedPlace(city: "Bern")
        page.secret = "kookaburra"
        try context.save()
        #expect(try numbers("bern") == [3])
        #expect(try numbers("kookaburra") == [3])
        let cursor = try store.fetch(SearchedPage.self).matching("undo").page(1).next
        #expect(cursor?.description.isEmpty == false)
    }

    @Test func aConditionOnAnotherObjectMaySearch() throws {
        let author = SearchedAuthor(name: "Ada Lovelace")
        let page = try #require(try context.fetch(SearchedPage.self) { $0.number == 1 }.first())
        page.author = author
        try context.save()
        #expect(try context.fetch(SearchedAuthor.self).matching("love*").all() == [author])
    }

    @Test func aRedactedTextIsNotFoundInThePast() throws {
        let page = try #require(try context.fetch(SearchedPage.self) { $0.number == 1 }.first())
        let before = context.revision
        context.delete(page)
        try context.save()
        let view = try store.view(asOf: before)
        #expect(try view.fetch(SearchedPage.self).matching("store").count() == 1)
        try store.requestRedaction(of: SearchedPage.self, id: page.id, \.text).confirm()
        #expect(try view.fetch(SearchedPage.self).matching("store").count() == 0)
        #expect(try view.fetch(SearchedPage.self).matching("journal", in: \.title).count() == 1)
        #expect(try store.verify().problems == [])
    }

    @Test func mergedTextsAreFound() throws {
        let page = try #require(try context.fetch(SearchedPage.self) { $0.number == 3 }.first())
        context.mergePolicy = .mergeContextWins
        let other = store.context(author: "other")
        let same = try #require(try other.object(SearchedPage.self, id: page.id))
        same.title = "A wombat"
        page.text = "A quokka"
        try other.save()
        try context.save()
        #expect(try numbers("wombat quokka") == [3])
        #expect(try store.verify().problems == [])
    }

    @Test func compactionKeepsTheIndex() throws {
        let copy = directory.file("copy.stet")
        try store.compact(to: copy)
        let compact = try Store.open(at: copy, for: SearchedPage.self, SearchedAuthor.self)
        #expect(try compact.verify().problems == [])
        #expect(try compact.fetch(SearchedPage.self).matching("undo").count() == 3)
    }

    @Test func aLiveSearchFollowsCommits() throws {
        var live = store.observe(store.fetch(SearchedPage.self).matching("journal"))
            .makeAsyncIterator()
        #expect(try live.poll()?.result.map(\.title) == ["Journal", "SQLite", "Undo"])
        context.insert(SearchedPage("Journal journal", "Journal", number: 5))
        try context.save()
        let fresh = try store.fetch(SearchedPage.self).matching("journal").all().map(\.title)
        #expect(try live.poll()?.result.map(\.title) == fresh)
        #expect(fresh.first == "Journal journal")
    }
}
