import BareLMDB
import FoundationEssentials
import Stet

/// The cost of a context that lives on: the memory of its objects, and reads behind the store.
struct ContextWorkloads {
    private static let overhead = "W18"
    private static let readsBehind = "W19"

    private let store: Store
    private let ids: [ObjectID]
    private let readIDs: [ObjectID]
    private let commitsBehind: Int

    init(_ options: Options, _ samples: Samples, directory: String) throws {
        store = try Store.open(directory + "/contexts.stet")
        commitsBehind = options.commitsBehind
        try store.commitNotebooks()
        let (context, notebooks) = try store.contextWithNotebooks()
        context.insert(samples.values[..<options.storedCount], into: notebooks)
        try context.save()
        var random = SplitMix64(state: 3)
        let positions = Array(0..<options.storedCount).shuffled(using: &random)
        ids = try store.context().fetch(Article.self).all().map(\.id)
        readIDs = positions.prefix(options.readCount).map { [ids] in ids[$0] }
    }

    func run(round: Int, _ measurements: inout Measurements) async throws {
        try measureMemory(&measurements)
        try await measureReads(&measurements)
    }

    func close() { store.close() }

    /// The values of an article as a program would keep them without Stet.
    private struct Values {
        let title: String
        let body: String
        let rating: Int
        let created: Date
        let notebook: ObjectID
    }

    /// Measures how much more heap live objects need than an array of their values.
    private func measureMemory(_ measurements: inout Measurements) throws {
        let context = store.context()
        _ = try context.fetch(Notebook.self).all()
        let empty = Self.heapByteCount
        let articles = try context.fetch(Article.self).all()
        let live = Self.heapByteCount
        var values: [Values] = []
        values.reserveCapacity(articles.count)
        for article in articles {
            // Copies the texts, which the values would otherwise share with the article.
            values.append(
                Values(
                    title: String(decoding: Array(article.title.utf8), as: UTF8.self),
                    body: String(decoding: Array(article.body.utf8), as: UTF8.self),
                    rating: article.rating, created: article.created, notebook: article.id))
        }
        let both = Self.heapByteCount
        let overhead = Double((live - empty) - (both - live)) / Double(articles.count)
        measurements.add(overhead, .bytesPerObject, Self.overhead, .stet)
        guard values.count == articles.count, context.hasChanges == false else {
            throw Failure("the objects are not those that were stored")
        }
        withExtendedLifetime(values) {}
    }

    private static var heapByteCount: Int { bare_heap_byte_count() }

    /// Reads by id in a context that is behind by so many commits, each of another object, and in
    /// one that is not.
    private func measureReads(_ measurements: inout Measurements) async throws {
        let context = store.context()
        let before = try read(store.context())
        let other = store.context()
        for id in ids.prefix(commitsBehind) {
            guard let article = try other.object(Article.self, id: id) else {
                throw Failure("an article is missing")
            }
            article.rating = (article.rating + 1) % 6
            try await other.save()
        }
        let clock = ContinuousClock()
        var shown = Totals()
        _ = try read(store.context())
        let fresh = try clock.measure { shown = try read(store.context()) }
        var behind = Totals()
        let late = try clock.measure { behind = try read(context) }
        try expectEqual(behind, before, "the objects behind")
        guard shown != before else { throw Failure("the commits have changed nothing") }
        measurements.add(late / fresh, .timesFresh, Self.readsBehind, .stet)
    }

    private func read(_ context: ManagedContext) throws -> Totals {
        var totals = Totals()
        for id in readIDs { totals.addAll(try context.object(Article.self, id: id)) }
        return totals
    }
}
