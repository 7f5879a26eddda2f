import Stet

/// The cost of the questions over relationships, W20 to W29, in archives of different sizes.
struct PackageGrowthWorkloads {
    private struct GrownArchive {
        let count: Int
        var packages: StetPackages
        let turns: [PackageTerms]
    }

    private var archives: [GrownArchive]

    init(_ options: Options, directory: String) throws {
        archives = try options.archiveSizes.map { count in
            let list = PackageList(count: count)
            let turns = PackageTerms.turns(100, list)
            let packages = try StetPackages(
                list, turns[0], path: "\(directory)/archive-\(count).stet", commitSize: 100_000)
            return GrownArchive(count: count, packages: packages, turns: turns)
        }
    }

    /// One round over all sizes, by turns.
    ///
    /// A question that is asked repeatedly is about another package each time.
    mutating func run(_ measurements: inout Measurements) throws {
        for question in PackageQuestion.allCases {
            let times = try archives.indices.map { index in
                let archive = archives[index]
                var found = 0
                let time = try ContinuousClock().measure {
                    for turn in 0..<question.repetitions {
                        archives[index].packages.terms = archive.turns[turn % archive.turns.count]
                        found += try archives[index].packages.answer(question).count
                    }
                }
                guard found > 0 else { throw Failure("\(question.rawValue) finds nothing") }
                let packages =
                    question.readsAll ? archive.count * question.repetitions : found
                let each = time / .nanoseconds(1) / Double(packages)
                measurements.add(each, .nanoseconds, Self.name(question, archive.count), .stet)
                return each
            }
            // From 100,000 packages on: those of a smaller archive are in the caches of the
            // processor.
            let first = archives.firstIndex { $0.count >= 100_000 } ?? 0
            measurements.add(
                times[times.count - 1] / times[first], .timesSmallest,
                "\(question.rawValue): growth", .stet)
        }
    }

    func close() { for archive in archives { archive.packages.store.close() } }

    private static func name(_ question: PackageQuestion, _ count: Int) -> String {
        "\(question.rawValue): \(count) packages"
    }

    /// Returns the plot of the questions that read what they find.
    static func plotOfFound(_ options: Options, _ figures: [Figure]) -> Plot {
        plot(
            "Questions over relationships, per package that is found",
            // One package by its name takes so long that the others would lie on one line.
            PackageQuestion.allCases.filter { !$0.readsAll && $0 != .name }, options, figures)
    }

    /// Returns the plot of the questions that read or count all packages.
    static func plotOfAll(_ options: Options, _ figures: [Figure]) -> Plot {
        plot(
            "Questions over relationships that concern all packages, per package of the archive",
            PackageQuestion.allCases.filter(\.readsAll), options, figures)
    }

    private static func plot(
        _ title: String, _ questions: [PackageQuestion], _ options: Options, _ figures: [Figure]
    ) -> Plot {
        Plot(
            title: title, sizes: "packages in the archive", unit: "ns/package",
            series: questions.map { question in
                Plot.Series(
                    name: question.rawValue,
                    points: options.archiveSizes.compactMap { size in
                        figures.first { $0.workload == name(question, size) }
                            .map { Plot.Point(size, $0) }
                    })
            })
    }
}
