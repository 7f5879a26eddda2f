import Foundation
import Stet
import StetTestSupport
import Testing

// Document 002: the search screen over articles, and favourites.

@Model private final class SearchShelf {
    @Attribute(.unique) var name: String

    init(name: String) { self.name = name }
}

@Model private final class Entry {
    @Attribute(.indexed) var title: String
    var body: String
    @Attribute(.indexed, .range(0...5)) var rating: Int
    var isFavourite: Bool
    var shelf: SearchShelf?

    init(
        _ title: String, _ body: String, rating: Int, isFavourite: Bool = false,
        _ shelf: SearchShelf?
    ) {
        self.title = title
        self.body = body
        self.rating = rating
        self.isFavourite = isFavourite
        self.shelf = shelf
    }
}

@Suite struct SearchTests {
    private let directory = TemporaryDirectory()

    private func context() throws -> ManagedContext {
        let store = try Store.open(at: directory.file(), for: Entry.self, SearchShelf.self)
        let context = store.context()
        let (swift, music) = (SearchShelf(name: "Swift"), SearchShelf(name: "Music"))
        let entries = [
            Entry("Macros", "Code that writes code", rating: 4, isFavourite: true, swift),
            Entry("Actors", "Isolation of state", rating: 5, swift),
            Entry("Scales", "Major and minor", rating: 2, isFavourite: true, music),
            Entry("Sendable", "What may cross isolation", rating: 3, swift),
            Entry("Silence", "4 minutes 33", rating: 5, isFavourite: true, nil),
        ]
        for entry in entries { context.insert(entry) }
        try context.save()
        return context
    }

    @Test("C12 a search finds by text, comparison, and, or, not")
    func c12SearchFindsByPredicate() throws {
        let context = try context()
        func titles(@QueryBuilder _ condition: (Entry.Fields) -> QueryExpression<Bool>) throws
            -> [String]
        {
            try context.fetch(Entry.self, where: condition).sorted(by: \.title).all().map(\.title)
        }
        #expect(
            try titles { $0.rating >= 3 && $0.title.hasPrefix("S") } == ["Sendable", "Silence"])
        #expect(
            try titles { $0.body.folded(.caseInsensitive).contains("ISOLATION") }
                == ["Actors", "Sendable"])
        #expect(
            try titles { $0.title.hasSuffix("s") || $0.body.contains("33") }
                == ["Actors", "Macros", "Scales", "Silence"])
        #expect(try titles { !($0.rating > 2) && $0.isFavourite } == ["Scales"])
        #expect(
            try titles { $0.shelf?.name == "Swift" && !$0.isFavourite } == ["Actors", "Sendable"])
        #expect(try titles { $0.shelf == nil } == ["Silence"])
        #expect(
            try titles {
                $0.isFavourite
                $0.rating > 2
            } == ["Macros", "Silence"])
    }

    @Test("C12 results are sorted, limited and paged")
    func c12ResultsAreSortedAndPaged() throws {
        let context = try context()
        let favourites = context.fetch(Entry.self) { $0.isFavourite }
            .sorted(by: \.rating, .descending).then(by: \.title)
        #expect(try favourites.all().map(\.title) == ["Silence", "Macros", "Scales"])
        #expect(try favourites.limit(2).all().map(\.title) == ["Silence", "Macros"])
        #expect(try favourites.offset(1).limit(1).all().map(\.title) == ["Macros"])
        let first = try #require(try favourites.first())
        #expect(try favourites.after(first).all().map(\.title) == ["Macros", "Scales"])
        #expect(try favourites.count() == 3)
        #expect(try favourites.exists())
        #expect(
            try favourites.snapshots().map(\.title) == favourites.all().map(\.title))
        #expect(try favourites.ids() == favourites.all().map(\.id))
    }

    @Test("C12 an index answers where there is one")
    func c12IndexesAnswer() throws {
        let context = try context()
        let high = context.fetch(Entry.self) { $0.rating >= 5 }
        #expect(
            try high.explain()
                == "index (rating): rating from 5: 2 of Entry\ntest: rating >= 5")
        #expect(try high.all().map(\.title) == ["Actors", "Silence"])
        let body = context.fetch(Entry.self) { $0.body.contains("code") }.sorted(by: \.body)
        #expect(
            try body.explain()
                == "look at all 5 records of Entry\ntest: body contains \"code\"\nsort by body")
        #expect(
            try context.fetch(Entry.self) { $0.shelf?.name == "Music" }.explain()
                == "references: shelf is a SearchShelf with name == \"Music\": 1 of Entry\n"
                + "test: shelf?.name == \"Music\"")
        #expect(
            try context.fetch(Entry.self).sorted(by: \.title).limit(2).explain()
                == "walk index (title) of Entry in order, until the limit is reached\nat most 2")
    }

    @Test("C12 an index with the wanted order, and for the whole condition, is not sorted again")
    func c12IndexesSort() throws {
        let context = try context()
        let entries = context.fetch(Entry.self) { $0.title.hasPrefix("Si") }
            .sorted(by: \.title, .descending)
        #expect(
            try entries.explain()
                == "walk index (title) of Entry in order\ntest: title begins with \"Si\"")
        let titles = try entries.values(of: \.title)
        #expect(titles == ["Silence"])
        // Pending changes, which no index contains, find their places.
        for title in ["Siberia", "Sirens", "Tar"] {
            context.insert(Entry(title, "", rating: 1, nil))
        }
        #expect(try entries.values(of: \.title) == ["Sirens", "Silence", "Siberia"])
        #expect(try entries.limit(2).values(of: \.title) == ["Sirens", "Silence"])
        try context.save()
        #expect(try entries.values(of: \.title) == ["Sirens", "Silence", "Siberia"])
    }
}
