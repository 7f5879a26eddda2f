import Stet
import StetLMDB
import StetStore
import StetTestSupport
import Testing

@Model private final class PrefetchRack {
    var name: String
    @Relationship(inverse: \PrefetchTome.shelf) var books: ToMany<PrefetchTome>

    init(name: String) { self.name = name }
}

@Model private final class PrefetchTome {
    var title: String
    var shelf: PrefetchRack?
    var topics: ToMany<PrefetchTheme>

    init(title: String) { self.title = title }
}

@Model private final class PrefetchTheme {
    var name: String
    init(name: String) { self.name = name }
}

#if STET_FAULTS
    /// The number of reads of relationships that are read ahead.
    @Suite struct PrefetchTests {
        private let store: Store

        init() throws {
            store = try Store.inMemory(
                for: PrefetchRack.self, PrefetchTome.self, PrefetchTheme.self)
            try store.edit { context in
                let topics = (0..<10).map { PrefetchTheme(name: "Theme \($0)") }
                let shelves = (0..<20).map { PrefetchRack(name: "Rack \($0)") }
                for number in 0..<200 {
                    let book = PrefetchTome(title: "Tome \(number)")
                    book.shelf = shelves[number % 20]
                    book.topics = ToMany([topics[number % 10], topics[number % 7]])
                    context.insert(book)
                }
            }
        }

        /// Returns the number of reads of a new context: the least of three, because the store's
        /// own thread reads now and then, too.
        private func reads(_ body: (ManagedContext) throws -> Void) rethrows -> Int? {
            let faults = store.file.environment.faults
            return try (0..<3).map { _ in
                let context = store.context()
                let before = faults.readCount
                try body(context)
                return faults.readCount - before
            }.min()
        }

        @Test("Service 4 prefetching is one read for each relationship, not one for each object")
        func prefetch() throws {
            var books: [PrefetchTome] = []
            let count = try reads { context in
                books = try context.fetch(PrefetchTome.self).prefetch(\.shelf).prefetch(\.topics)
                    .all()
            }
            #expect(count == 3)
            #expect(reads { _ in _ = Set(books.compactMap(\.shelf)) } == 0)
            #expect(books.count == 200)
            #expect(Set(books.compactMap(\.shelf)).count == 20)
        }

        @Test("Service 4 loading the members of many objects is one read")
        func load() throws {
            var counts: [Int] = []
            let count = try reads { context in
                let shelves = try context.fetch(PrefetchRack.self).all()
                let books = try context.load(\PrefetchRack.books, of: shelves)
                let topics = try context.load(\PrefetchTome.topics, of: books)
                counts = [shelves.count, books.count, topics.count]
            }
            #expect(count == 3)
            #expect(counts == [20, 200, 10])
        }
    }
#endif
