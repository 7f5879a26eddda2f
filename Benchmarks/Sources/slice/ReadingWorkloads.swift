import BareLMDB
import Stet

/// Reads of one store, which Stet has written, by both programs: both read the same bytes.
struct ReadingWorkloads {
    private static let fetch = "materialise: fetch all, read 2 properties"
    private static let byID = "materialise: object by id, read 2 properties"
    private static let release = "release what was fetched"

    private let path: String
    private let ids: [ObjectID]
    private let bareIDs: [BareID]

    init(_ options: Options, _ samples: Samples, directory: String) throws {
        path = directory + "/reading.stet"
        let store = try Store.open(path)
        try store.commitNotebooks()
        let (context, notebooks) = try store.contextWithNotebooks()
        context.insert(samples.values[..<options.storedCount], into: notebooks)
        try context.save()
        var random = SplitMix64(state: 2)
        ids = try store.context().fetch(Article.self).map(\.id).shuffled(using: &random)
        bareIDs = ids.map { BareID($0) }
        let stet = try store.totals(hashes: true)
        store.close()
        try expectEqual(stet, try BareStore(path: path, creates: false).scan(hashes: true), "texts")
    }

    /// One round; who begins changes from round to round.
    func run(round: Int, _ measurements: inout Measurements) throws {
        let stet: [Totals]
        let bare: [Totals]
        if round.isMultiple(of: 2) {
            stet = try runStet(&measurements)
            bare = try runBare(&measurements)
        } else {
            bare = try runBare(&measurements)
            stet = try runStet(&measurements)
        }
        try expectEqual(stet, bare, "reading")
    }

    private func runStet(_ measurements: inout Measurements) throws -> [Totals] {
        let store = try Store.open(path)
        defer { store.close() }
        _ = try store.totals()  // The pages are in the map, and memory is there, from here on.
        var context = store.context()
        var articles: [Article] = []
        let fetched = try measurements.time(Self.fetch, .stet, .nanoseconds, objects: ids.count) {
            articles = try context.fetch(Article.self)
            return articles.reduce(into: Totals()) { $0.add($1) }
        }
        measurements.time(Self.release, .stet, .nanoseconds, objects: ids.count) { articles = [] }
        context = store.context()
        let found = try measurements.time(Self.byID, .stet, .nanoseconds, objects: ids.count) {
            var totals = Totals()
            for id in ids {
                guard let article = try context.object(Article.self, id: id) else { continue }
                totals.add(article)
            }
            return totals
        }
        return [fetched, found]
    }

    private func runBare(_ measurements: inout Measurements) throws -> [Totals] {
        let store = try BareStore(path: path, creates: false)
        bare_free(try store.fetch().objects)
        let scanned = try measurements.time(Self.fetch, .lmdb, .nanoseconds, objects: ids.count) {
            try store.scan()
        }
        let (fetched, objects) = try measurements.time(
            Self.fetch, .lmdbStructs, .nanoseconds, objects: ids.count
        ) { try store.fetch() }
        try expectEqual(fetched, scanned, "structs")
        measurements.time(Self.release, .lmdbStructs, .nanoseconds, objects: ids.count) {
            bare_free(objects)
        }
        let found = try measurements.time(Self.byID, .lmdb, .nanoseconds, objects: ids.count) {
            try store.get(bareIDs)
        }
        return [scanned, found]
    }
}
