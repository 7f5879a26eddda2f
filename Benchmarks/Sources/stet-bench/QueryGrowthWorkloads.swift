import Stet

/// The cost of queries per object in stores of different sizes: W4 and W5.
struct QueryGrowthWorkloads {
    private struct GrownStore {
        let count: Int
        let store: Store
        let notebooks: [ObjectID]
    }

    private let stores: [GrownStore]

    init(_ options: Options, _ samples: Samples, directory: String) throws {
        stores = try options.storeSizes.map { count in
            let store = try Store.open("\(directory)/queries-\(count).stet")
            try store.commitNotebooks()
            let (context, notebooks) = try store.contextWithNotebooks()
            for start in stride(from: 0, to: count, by: options.storedCount) {
                let part = start..<min(start + options.storedCount, count)
                // Inserts the same articles repeatedly, because only their number matters.
                context.insert(samples.values[0..<part.count], into: notebooks)
                try context.save()
            }
            return GrownStore(count: count, store: store, notebooks: notebooks.map(\.id))
        }
    }

    /// One round over all sizes, by turns.
    func run(_ measurements: inout Measurements) throws {
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
        }
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

    /// Returns the plot of the measured values.
    static func plot(_ options: Options, _ figures: [Figure]) -> Plot {
        Plot(
            title: "W4 and W5: objects of 5 notebooks sorted by title, and search in all texts",
            sizes: "objects in the store", unit: Unit.nanoseconds.rawValue,
            series: ["W4", "W5"].map { work in
                Plot.Series(
                    name: work,
                    points: options.storeSizes.compactMap { size in
                        figures.first { $0.workload == name(work, size) }
                            .map { Plot.Point(size, $0) }
                    })
            })
    }
}
