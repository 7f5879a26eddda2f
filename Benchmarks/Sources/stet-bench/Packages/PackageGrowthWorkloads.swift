import Stet

/// The cost of the questions over relationships, W20 to W29, in archives of different sizes.
struct PackageGrowthWorkloads {
    private struct GrownArchive {
        let count: Int
        let packages: StetPackages
    }

    private let archives: [GrownArchive]

    init(_ options: Options, directory: String) throws {
        archives = try options.archiveSizes.map { count in
            let list = PackageList(count: count)
            let packages = try StetPackages(
                list, PackageTerms(list), path: "\(directory)/archive-\(count).stet")
            return GrownArchive(count: count, packages: packages)
        }
    }

    /// One round over all sizes, by turns.
    func run(_ measurements: inout Measurements) throws {
        for question in PackageQuestion.allCases {
            let times = try archives.map { archive in
                var found = 0
                let time = try ContinuousClock().measure {
                    for _ in 0..<question.repetitions {
                        found += try archive.packages.answer(question).count
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
            PackageQuestion.allCases.filter { !$0.readsAll }, options, figures)
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
