import Stet

/// The cost per object in stores of different sizes: of queries, W4, W5 and W10, of fetches of all
/// objects, W11, of reads by id and looks at a place of an index, of saves, and of opening, W12.
struct QueryGrowthWorkloads {
    private struct GrownStore {
        let count: Int
        let path: String
        var store: Store
        let notebooks: [ObjectID]
        /// The ids of articles from all parts of the store.
        let articles: [ObjectID]
    }

    /// The number of articles that are read, and changed, one by one.
    private static let pointCount = 1_000
    private static let author = "bench"

    private var stores: [GrownStore]
    private let samples: ArraySlice<Sample>
    /// The times of the present round, in the order of the stores.
    private var times: [String: [Double]] = [:]
    private var random = SplitMix64(state: 3)

    init(_ options: Options, _ samples: Samples, directory: String) throws {
        self.samples = samples.values[..<Self.pointCount]
        stores = try options.storeSizes.map { count in
            let path = "\(directory)/queries-\(count).stet"
            let store = try Store.open(path)
            try store.commitNotebooks()
            let (context, notebooks) = try store.contextWithNotebooks()
            var articles: [ObjectID] = []
            for start in stride(from: 0, to: count, by: options.storedCount) {
                let part = start..<min(start + options.storedCount, count)
                // Inserts the same articles repeatedly, because only their number matters.
                context.insert(samples.values[0..<part.count], into: notebooks)
                try context.save()
                // The last ones, because ids ascend.
                articles += try store.fetch(Article.self).sorted(by: \.id, .descending)
                    .limit(Self.pointCount * part.count / count).all().map(\.id)
            }
            return GrownStore(
                count: count, path: path, store: store, notebooks: notebooks.map(\.id),
                articles: articles)
        }
    }

    /// One round over all sizes, by turns.
    mutating func run(round: Int, _ measurements: inout Measurements) throws {
        times = [:]
        for grown in stores {
            let range = grown.count / 1_000
            var found = 0
            let sorted = try ContinuousClock().measure {
                for turn in 0..<10 {
                    let ids = grown.notebooks[turn * 5..<turn * 5 + 5]
                    let fetch = grown.store.context().fetch(Article.self) {
                        ids.contains($0.notebook?.id)
                    }
                    found += try fetch.sorted(by: \.title).all().count
                }
            }
            guard found > range else { throw Failure("only \(found) articles were found") }
            add(sorted, found, "W4", grown.count, &measurements)
            var titles = 0
            let walked = try ContinuousClock().measure {
                let context = grown.store.context()
                for id in grown.notebooks[..<50] {
                    guard let notebook = try context.object(Notebook.self, id: id) else {
                        throw Failure("a notebook is missing")
                    }
                    for article in notebook.articles where !article.title.isEmpty { titles += 1 }
                }
            }
            try expectEqual(titles, found, "the members")
            add(walked, titles, "W10", grown.count, &measurements)
            var count = 0
            let searched = try ContinuousClock().measure {
                count = try grown.store.fetch(Article.self) { $0.body.contains("qz") }.count()
            }
            guard count > 0 else { throw Failure("no article has the text") }
            add(searched, grown.count, "W5", grown.count, &measurements)
            try runPoints(grown, round, &measurements)
            try runSaves(grown, &measurements)
        }
        // After the rest, whose memory and caches they would change.
        for grown in stores { try runFetches(grown, &measurements) }
        addGrowth(&measurements)
    }

    private func addGrowth(_ measurements: inout Measurements) {
        // From 100,000 objects on: those of a smaller store are in the caches of the processor.
        let first = stores.firstIndex { $0.count >= 100_000 } ?? 0
        for (work, times) in times {
            measurements.add(
                times[times.count - 1] / times[first], .timesSmallest, "\(work): growth", .stet)
        }
    }

    /// Fetches all articles in three ways, and reads two of their properties.
    private mutating func runFetches(
        _ grown: GrownStore, _ measurements: inout Measurements
    ) throws {
        // Retained until all objects are read; see `StetPeer`.
        let context = grown.store.context()
        var ratings = [0, 0, 0]
        let objects = try withExtendedLifetime(context) {
            try ContinuousClock().measure {
                for article in try context.fetch(Article.self).all()
                where !article.title.isEmpty { ratings[0] += article.rating }
            }
        }
        add(objects, grown.count, "W11", grown.count, &measurements)
        let snapshots = try ContinuousClock().measure {
            for article in try grown.store.fetch(Article.self).all()
            where !article.title.isEmpty { ratings[1] += article.rating }
        }
        add(snapshots, grown.count, "W11s", grown.count, &measurements)
        let values = try ContinuousClock().measure {
            let articles = grown.store.fetch(Article.self)
            for (title, rating) in try articles.values(of: \.title, \.rating)
            where !title.isEmpty { ratings[2] += rating }
        }
        add(values, grown.count, "W11v", grown.count, &measurements)
        guard ratings[0] > 0, ratings.allSatisfy({ $0 == ratings[0] }) else {
            throw Failure("the ratings differ: \(ratings)")
        }
    }

    /// Closes each store, opens it again and reads an object, several times; after the last round.
    mutating func reopen(_ options: Options, _ measurements: inout Measurements) throws {
        for _ in 0..<options.roundCount {
            times = [:]
            for index in stores.indices {
                let id = stores[index].articles[0]
                var opened = Duration.zero
                for _ in 0..<options.openCount {
                    stores[index].store.close()
                    let start = ContinuousClock.now
                    stores[index].store = try Store.open(stores[index].path)
                    let article = try stores[index].store.context().object(Article.self, id: id)
                    opened += start.duration(to: .now)
                    try expectEqual(article?.id, id, "the article after opening")
                }
                add(opened, options.openCount, "W12", stores[index].count, &measurements)
            }
            addGrowth(&measurements)
        }
    }

    private mutating func runPoints(
        _ grown: GrownStore, _ round: Int, _ measurements: inout Measurements
    ) throws {
        let context = grown.store.context(author: Self.author)
        var articles: [Article] = []
        let ids = grown.articles.shuffled(using: &random)
        let read = try ContinuousClock().measure {
            for id in ids {
                guard let article = try context.object(Article.self, id: id) else {
                    throw Failure("an article is missing")
                }
                articles.append(article)
            }
        }
        add(read, ids.count, "read", grown.count, &measurements)
        var found = 0
        let seeks = 100
        let sought = try ContinuousClock().measure {
            for article in articles.prefix(seeks) {
                let title = article.title
                found += try grown.store.fetch(Article.self) { $0.title >= title }
                    .sorted(by: \.title).limit(10).all().count
            }
        }
        guard found > seeks else { throw Failure("only \(found) articles were found") }
        add(sought, found, "found", grown.count, &measurements)
        for (number, article) in articles.enumerated() {
            article.title = "change \(round) \(number)"
        }
        var commit: Commit?
        let changed = try ContinuousClock().measure { commit = try context.save() }
        try expectEqual(commit?.changeCount, ids.count, "the changed articles")
        add(changed, ids.count, "changed", grown.count, &measurements)
        let undone = try ContinuousClock().measure {
            commit = try grown.store.undo(author: Self.author)
        }
        try expectEqual(commit?.changeCount, ids.count, "the changes that are undone")
        add(undone, ids.count, "undone", grown.count, &measurements)
    }

    /// Saves new articles, edits and rolls them back, and deletes them again.
    private mutating func runSaves(
        _ grown: GrownStore, _ measurements: inout Measurements
    ) throws {
        let context = grown.store.context()
        let notebooks = try grown.notebooks.map { id in
            guard let notebook = try context.object(Notebook.self, id: id) else {
                throw Failure("a notebook is missing")
            }
            return notebook
        }
        var articles: [Article] = []
        let inserted = try ContinuousClock().measure {
            articles = samples.map { Article($0, in: notebooks[$0.notebook]) }
            for article in articles { context.insert(article) }
            try context.save()
        }
        add(inserted, articles.count, "inserted", grown.count, &measurements)
        for article in articles { article.title += " edited" }
        let rolledBack = ContinuousClock().measure { context.rollback() }
        guard !context.hasChanges, articles.allSatisfy({ !$0.title.hasSuffix(" edited") }) else {
            throw Failure("a rollback has not restored the titles")
        }
        add(rolledBack, articles.count, "rolled back", grown.count, &measurements)
        var commit: Commit?
        let deleted = try ContinuousClock().measure {
            for article in articles { context.delete(article) }
            commit = try context.save()
        }
        try expectEqual(commit?.changeCount, articles.count, "the deleted articles")
        add(deleted, articles.count, "deleted", grown.count, &measurements)
    }

    private mutating func add(
        _ time: Duration, _ objects: Int, _ work: String, _ count: Int,
        _ measurements: inout Measurements
    ) {
        let perObject = time / .nanoseconds(1) / Double(objects)
        measurements.add(perObject, .nanoseconds, Self.name(work, count), .stet)
        times[work, default: []].append(perObject)
    }

    func close() { for grown in stores { grown.store.close() } }

    private static func name(_ work: String, _ count: Int) -> String {
        "\(work): \(count) objects"
    }

    /// Returns the plot of the queries.
    static func plot(_ options: Options, _ figures: [Figure]) -> Plot {
        plot(
            "W4, W5 and W10: members of notebooks sorted by title, search in all texts, members",
            ["W4", "W5", "W10"], options, figures)
    }

    /// Returns the plot of fetches of all objects.
    static func plotOfFetches(_ options: Options, _ figures: [Figure]) -> Plot {
        plot(
            "W11, W11s and W11v: all objects, snapshots, and values of two properties",
            ["W11", "W11s", "W11v"], options, figures)
    }

    /// Returns the plot of opening.
    static func plotOfOpening(_ options: Options, _ figures: [Figure]) -> Plot {
        plot("W12: open a store and read one object", ["W12"], options, figures)
    }

    /// Returns the plot of the work on single objects.
    static func plotOfObjects(_ options: Options, _ figures: [Figure]) -> Plot {
        plot(
            "Objects read by id, and found ten at a time in an index", ["read", "found"], options,
            figures)
    }

    /// Returns the plot of saves, their undo and their rollback.
    static func plotOfSaves(_ options: Options, _ figures: [Figure]) -> Plot {
        plot(
            "1,000 objects at a time, durably inserted, changed, undone, deleted; and rolled back",
            ["inserted", "changed", "undone", "deleted", "rolled back"], options, figures)
    }

    private static func plot(
        _ title: String, _ works: [String], _ options: Options, _ figures: [Figure]
    ) -> Plot {
        Plot(
            title: title, sizes: "objects in the store", unit: Unit.nanoseconds.rawValue,
            series: works.map { work in
                Plot.Series(
                    name: work,
                    points: options.storeSizes.compactMap { size in
                        figures.first { $0.workload == name(work, size) }
                            .map { Plot.Point(size, $0) }
                    })
            })
    }
}
