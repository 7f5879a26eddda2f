import Stet

/// The cost of queries per object in stores of different sizes, W4 and W5, and of work on single
/// objects: reads by id, looks at a place of an index, and changes.
struct QueryGrowthWorkloads {
    private struct GrownStore {
        let count: Int
        let store: Store
        let notebooks: [ObjectID]
        /// The ids of articles from all parts of the store.
        let articles: [ObjectID]
    }

    /// The number of articles that are read, and changed, one by one.
    private static let pointCount = 1_000

    private let stores: [GrownStore]
    private var random = SplitMix64(state: 3)

    init(_ options: Options, _ samples: Samples, directory: String) throws {
        stores = try options.storeSizes.map { count in
            let store = try Store.open("\(directory)/queries-\(count).stet")
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
                count: count, store: store, notebooks: notebooks.map(\.id), articles: articles)
        }
    }

    /// One round over all sizes, by turns.
    mutating func run(round: Int, _ measurements: inout Measurements) throws {
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
            var count = 0
            let searched = try ContinuousClock().measure {
                count = try grown.store.fetch(Article.self) { $0.body.contains("qz") }.count()
            }
            guard count > 0 else { throw Failure("no article has the text") }
            add(searched, grown.count, "W5", grown.count, &measurements)
            try runPoints(grown, round, &measurements)
        }
    }

    private mutating func runPoints(
        _ grown: GrownStore, _ round: Int, _ measurements: inout Measurements
    ) throws {
        let context = grown.store.context()
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
    }

    private func add(
        _ time: Duration, _ objects: Int, _ work: String, _ count: Int,
        _ measurements: inout Measurements
    ) {
        measurements.add(
            time / .nanoseconds(1) / Double(objects), .nanoseconds, Self.name(work, count), .stet)
    }

    func close() { for grown in stores { grown.store.close() } }

    private static func name(_ work: String, _ count: Int) -> String {
        "\(work): \(count) objects"
    }

    /// Returns the plot of the queries.
    static func plot(_ options: Options, _ figures: [Figure]) -> Plot {
        plot(
            "W4 and W5: objects of 5 notebooks sorted by title, and search in all texts",
            ["W4", "W5"], options, figures)
    }

    /// Returns the plot of the work on single objects.
    static func plotOfObjects(_ options: Options, _ figures: [Figure]) -> Plot {
        plot(
            "Objects read by id, found ten at a time in an index, and changed 1,000 at a time",
            ["read", "found", "changed"], options, figures)
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
