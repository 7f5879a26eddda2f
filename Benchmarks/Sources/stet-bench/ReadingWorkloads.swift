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
    private let expected: Totals

    init(_ options: Options, _ samples: Samples, directory: String) throws {
        path = directory + "/reading.stet"
        let store = try Store.open(path)
        try store.commitNotebooks()
        let (context, notebooks) = try store.contextWithNotebooks()
        context.insert(samples.values[..<options.storedCount], into: notebooks)
        try context.save()
        var random = SplitMix64(state: 2)
        ids = try store.context().fetch(Article.self).all().map(\.id).shuffled(using: &random)
        bareIDs = ids.map { BareID($0) }
        store.close()
        expected = Totals(samples.values[..<options.storedCount])
    }

    /// One round; who begins changes from round to round.
    func run(round: Int, _ measurements: inout Measurements) throws {
        if round.isMultiple(of: 2) {
            try runStet(&measurements)
            try runBare(&measurements)
        } else {
            try runBare(&measurements)
            try runStet(&measurements)
        }
    }

    private func runStet(_ measurements: inout Measurements) throws {
        let store = try Store.open(path)
        defer { store.close() }
        _ = try store.totals()  // The pages are in the map, and memory is there, from here on.
        var context = store.context()
        var articles: [Article] = []
        let fetched = try measurements.time(Self.fetch, .stet, objects: ids.count) {
            articles = try context.fetch(Article.self).all()
            return articles.reduce(into: Totals()) { $0.add($1) }
        }
        measurements.time(Self.release, .stet, objects: ids.count) { articles = [] }
        context = store.context()
        let found = try measurements.time(Self.byID, .stet, objects: ids.count) {
            var totals = Totals()
            for id in ids {
                guard let article = try context.object(Article.self, id: id) else { continue }
                totals.add(article)
            }
            return totals
        }
        try expectEqual(fetched, expected.ofTwoProperties, "the fetch")
        try expectEqual(found, expected.ofTwoProperties, "the objects by id")
    }

    private func runBare(_ measurements: inout Measurements) throws {
        let store = try BareStore(path: path, creates: false)
        bare_free(try store.fetch().objects)
        let scanned = try measurements.time(Self.fetch, .lmdb, objects: ids.count) {
            try store.scan()
        }
        let (fetched, objects) = try measurements.time(
            Self.fetch, .lmdbStructs, objects: ids.count
        ) { try store.fetch() }
        try expectEqual(fetched, expected, "the structs")
        measurements.time(Self.release, .lmdbStructs, objects: ids.count) {
            bare_free(objects)
        }
        let found = try measurements.time(Self.byID, .lmdb, objects: ids.count) {
            try store.get(bareIDs, inOneScope: false)
        }
        try expectEqual(scanned, expected, "the scan")
        try expectEqual(found, expected, "the records by id")
    }
}
