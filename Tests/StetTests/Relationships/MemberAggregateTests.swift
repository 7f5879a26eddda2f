import Stet
import StetTestSupport
import Testing

@Model private final class Rack {
    var name: String
    var boxes: [Crate] = []
    @Relationship(inverse: \Volume.rack) var books: ToMany<Volume>

    init(_ name: String) { self.name = name }
}

@Embedded private struct Crate {
    var weight: Int
    var label: String?
}

@Model private final class Volume {
    var title: String
    var pages: Int
    var rating: Int?
    var small: Int8 = 0
    var rack: Rack?

    init(_ title: String, pages: Int, _ rack: Rack?) {
        self.title = title
        self.pages = pages
        self.rack = rack
    }
}

/// Sums, averages and extremes of members and elements, in conditions, orders and results.
struct MemberAggregateTests {
    private let directory = TemporaryDirectory()
    private let store: Store
    private let context: ManagedContext
    private let racks: [Rack]

    init() throws {
        store = try Store.open(at: directory.file(), for: Rack.self, Volume.self)
        context = store.context(author: "lala")
        racks = ["full", "half", "empty"].map(Rack.init)
        for rack in racks { context.insert(rack) }
        for (title, pages, rating) in [("a", 100, 3), ("b", 250, nil), ("c", 50, 5)] {
            let book = Volume(title, pages: pages, racks[0])
            book.rating = rating
            context.insert(book)
        }
        context.insert(Volume("d", pages: 10, racks[1]))
        racks[0].boxes = [Crate(weight: 7, label: "x"), Crate(weight: -2)]
        racks[1].boxes = [Crate(weight: 4)]
        try context.save()
    }

    private var byName: Fetch<Rack> { context.fetch(Rack.self).sorted(by: \.name) }

    @Test func aggregatesAreValues() throws {
        #expect(try byName.values(of: { $0.books.sum(\.pages) }) == [0, 400, 10])
        #expect(try byName.values(of: { $0.books.sum(\.rating) }) == [0, 8, 0])
        #expect(try byName.values(of: { $0.books.max(\.title) }) == [nil, "c", "d"])
        #expect(try byName.values(of: { $0.books.min(\.rating) }) == [nil, 3, nil])
        #expect(try byName.values(of: { $0.books.average(\.rating) }) == [nil, 4, nil])
        #expect(
            try byName.values(of: { $0.books.average(\.pages) { $0.rating != nil } })
                == [nil, 75, nil])
        #expect(try byName.values(of: { $0.boxes.sum(\.weight) }) == [0, 5, 4])
        #expect(try byName.values(of: { $0.boxes.max(\.label) }) == [nil, "x", nil])
        #expect(
            try byName.values(of: { $0.boxes.min(\.weight) { $0.label == nil } }) == [nil, -2, 4])
    }

    @Test func aggregatesAreConditionsAndOrders() throws {
        let heavy = context.fetch(Rack.self) {
            $0.books.sum(\.pages) >= 10 && $0.boxes.sum(\.weight) < 5
        }
        #expect(try heavy.all().map(\.name) == ["half"])
        let order = context.fetch(Rack.self).sorted(by: { $0.books.max(\.pages) }, .descending)
        #expect(try order.all().map(\.name) == ["full", "half", "empty"])
        #expect(try order.explain().contains("sort by books.max(pages) descending"))
        let nested = context.fetch(Volume.self) { $0.rack?.books.sum(\.pages) == 400 }
        #expect(try nested.count() == 3)
        let filtered = context.fetch(Rack.self) { $0.books.min(\.pages) { $0.title > "a" } == 50 }
        #expect(try filtered.all().map(\.name) == ["full"])
        #expect(
            try filtered.explain().contains("test: books.min(pages) { title > \"a\" } == 50"))
    }

    @Test func aggregatesSeeThePendingChangesAndThePast() throws {
        let before = try store.revision()
        racks[2].books.append(Volume("e", pages: 1_000, nil))
        #expect(try byName.values(of: { $0.books.sum(\.pages) }) == [1_000, 400, 10])
        try context.save()
        let past = try store.view(asOf: before).fetch(Rack.self).sorted(by: \.name)
            .values(of: { $0.books.sum(\.pages) })
        #expect(past == [0, 400, 10])
    }

    @Test func aSumThatDoesNotFitHasNoValue() throws {
        for _ in 0..<2 {
            let book = Volume("max", pages: .max, racks[1])
            book.small = 100
            context.insert(book)
        }
        try context.save()
        for comparison in [
            context.fetch(Rack.self) { $0.books.sum(\.pages) > 1_000 },
            context.fetch(Rack.self) { $0.books.sum(\.small) > 0 },
        ] {
            #expect(try comparison.count() == 0)
        }
        #expect(try context.fetch(Rack.self) { $0.books.sum(\.small) + 1 > 0 }.count() == 2)
    }

    @Test(.timeLimit(.minutes(10))) func aLiveQueryFollowsTheMembers() async throws {
        let query = store.fetch(Rack.self) { $0.books.sum(\.pages) > 300 }
        var iterator = store.observe(query).makeAsyncIterator()
        #expect(try await iterator.next()?.result.map(\.name) == ["full"])
        try await store.update(Volume.self) {
            $0.title == "d"
        } set: {
            $0.pages = 301
        }
        #expect(try await iterator.next()?.result.map(\.name).sorted() == ["full", "half"])
    }
}
