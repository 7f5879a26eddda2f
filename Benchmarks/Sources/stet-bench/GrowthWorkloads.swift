import Stet

/// The cost of an undo with a short journal and with a very long one.
struct GrowthWorkloads {
    private static let author = "bench"
    private static let writerCount = 256

    /// A store with articles and so many commits.
    private struct GrownStore {
        let commitCount: Int
        let store: Store
    }

    private let stores: [GrownStore]
    private let articleCount: Int

    init(_ options: Options, _ samples: Samples, directory: String) async throws {
        articleCount = options.undoneCount
        var stores: [GrownStore] = []
        for count in options.journalLengths {
            let store = try Store.open("\(directory)/growth-\(count).stet")
            try store.commitNotebooks()
            let (context, notebooks) = try store.contextWithNotebooks()
            context.insert(samples.values[..<articleCount], into: notebooks)
            try await context.save()
            let revision = Int(try store.revision().number)
            try await Self.grow(store, notebooks.map(\.id), commits: count - revision)
            stores.append(GrownStore(commitCount: count, store: store))
        }
        self.stores = stores
    }

    /// Commits that rename notebooks: the journal grows, and nothing else.
    private static func grow(_ store: Store, _ notebooks: [ObjectID], commits: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (writer, share) in (0..<commits).shares(writerCount).enumerated() {
                group.addTask {
                    let context = store.context()
                    guard let notebook = try context.object(Notebook.self, id: notebooks[writer])
                    else { throw Failure("a notebook is missing") }
                    for number in share {
                        notebook.name = "Notebook \(number)"
                        try await context.save()
                    }
                }
            }
            try await group.waitForAll()
        }
        try expectEqual(try store.revision().number, UInt64(commits + 2), "the commits")
    }

    /// One round over all lengths, by turns.
    func run(round: Int, _ measurements: inout Measurements) throws {
        var times: [Double] = []
        for grown in stores {
            let time = try undo(in: grown.store, round)
            measurements.add(time, .nanoseconds, Self.name(grown.commitCount), .stet)
            times.append(time)
            let past = try readPast(of: grown.store, round)
            measurements.add(past, .nanoseconds, Self.pastName(grown.commitCount), .stet)
        }
        measurements.add(
            times[times.count - 1] / times[0], .timesSmallest, "W8: growth", .stet)
    }

    /// The nanoseconds that it takes to read an article as it was ten changes ago, which is W16.
    private func readPast(of store: Store, _ round: Int) throws -> Double {
        let context = store.context()
        let before = try store.revision()
        guard let article = try context.fetch(Article.self).first() else {
            throw Failure("an article is missing")
        }
        let expected = article.snapshot
        for change in 0..<10 {
            article.title = "change \(round) \(change)"
            try context.save()
        }
        let view = try store.view(asOf: before)
        let id = article.id
        let count = 1_000
        let start = ContinuousClock.now
        for _ in 0..<count {
            guard try view.object(Article.self, id: id)?.title == expected.title else {
                throw Failure("an article of the past is another")
            }
        }
        return start.duration(to: .now) / .nanoseconds(1) / Double(count)
    }

    private static func pastName(_ commitCount: Int) -> String { "W16: \(commitCount) commits" }

    /// The nanoseconds per article that it takes to undo an update.
    private func undo(in store: Store, _ round: Int) throws -> Double {
        let context = store.context(author: Self.author)
        for article in try context.fetch(Article.self).all() {
            article.title = "round \(round)"
            article.rating = (article.rating + 1) % 6
        }
        let update = try context.save()
        let start = ContinuousClock.now
        let undo = try store.undo(author: Self.author)
        let time = start.duration(to: .now)
        try expectEqual(undo?.changeCount, articleCount, "the changes of the undo")
        try expectEqual(undo?.cause, update.map { .undo(of: $0.revision) }, "its cause")
        return time / .nanoseconds(1) / Double(articleCount)
    }

    func close() { for grown in stores { grown.store.close() } }

    private static func name(_ commitCount: Int) -> String { "W8: \(commitCount) commits" }

    /// Returns the plot of the measured values.
    static func plot(_ options: Options, _ figures: [Figure]) -> Plot {
        let points = options.journalLengths.compactMap { length in
            figures.first { $0.workload == name(length) }.map { Plot.Point(length, $0) }
        }
        return Plot(
            title: "W8: undo an update of \(options.undoneCount), durably",
            sizes: "commits in the journal", unit: Unit.nanoseconds.rawValue,
            series: [Plot.Series(name: "stet", points: points)])
    }

    /// Returns the plot of reads of the past.
    static func plotOfPast(_ options: Options, _ figures: [Figure]) -> Plot {
        let points = options.journalLengths.compactMap { length in
            figures.first { $0.workload == pastName(length) }.map { Plot.Point(length, $0) }
        }
        return Plot(
            title: "W16: read an object as it was ten changes ago",
            sizes: "commits in the journal", unit: "ns/read",
            series: [Plot.Series(name: "stet", points: points)])
    }
}
