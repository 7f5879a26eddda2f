import BareLMDB
import FoundationEssentials
import Glibc
import Stet

// Stet beside bare LMDB in C and GRDB on the same work, in turn, in one run. Nothing here asserts a
// time: machines are noisy. What is checked is that every program has read and written the same.

@main
enum Bench {
    static func main() async {
        do {
            if try OtherProcess.run(Array(CommandLine.arguments.dropFirst())) { return }
            let options = try Options(Array(CommandLine.arguments.dropFirst()))
            let goals = try Goal.read(from: "\(packageDirectory)/goals.json")
            let measurements = try await withTemporaryDirectory(in: options.directory) {
                try await run(options, $0)
            }
            let figures = measurements.figures
            print(
                "", table(of: figures), notes(options), table(of: goals, figures), separator: "\n")
            for (program, reason) in measurements.failures {
                print("FAILED: \(program.rawValue): \(reason)")
            }
            let path = "\(packageDirectory)/.results/\(options.resultsName).json"
            try write(figures, to: path)
            print("Figures: \(path)")
            let pictures = plots(options, figures)
            if !pictures.isEmpty {
                let parent = options.renewsPlots ? packageDirectory : "\(packageDirectory)/.results"
                let directory = "\(parent)/plots"
                for (name, plot) in pictures { try plot.write(to: directory, as: name) }
                print("Plots: \(directory)")
            }
            if !measurements.failures.isEmpty { exit(1) }
        } catch {
            say("\(error)")
            exit(1)
        }
    }

    private static func plots(_ options: Options, _ figures: [Figure]) -> [String: Plot] {
        var plots: [String: Plot] = [:]
        if options.groups.contains(.growth) {
            plots = [
                "undo": GrowthWorkloads.plot(options, figures),
                "past": GrowthWorkloads.plotOfPast(options, figures),
                "queries": QueryGrowthWorkloads.plot(options, figures),
                "fetches": QueryGrowthWorkloads.plotOfFetches(options, figures),
                "opening": QueryGrowthWorkloads.plotOfOpening(options, figures),
                "objects": QueryGrowthWorkloads.plotOfObjects(options, figures),
                "saves": QueryGrowthWorkloads.plotOfSaves(options, figures),
            ]
        }
        if options.groups.contains(.archives) {
            plots["questions"] = PackageGrowthWorkloads.plotOfFound(options, figures)
            plots["totals"] = PackageGrowthWorkloads.plotOfAll(options, figures)
        }
        return plots
    }

    private static func notes(_ options: Options) -> String {
        let workloads = options.groups.contains(.peers) ? options.workloads : []
        let asks = options.groups.contains(.packages) || options.groups.contains(.archives)
        let questions = asks ? PackageQuestion.allCases : []
        let searches = options.groups.contains(.words) ? WordSearch.allCases : []
        let parts = options.groups.contains(.substrings) ? SubstringSearch.allCases : []
        let named =
            workloads.map { ($0.rawValue, $0.description(options)) }
            + questions.map { ($0.rawValue, $0.description) }
            + searches.map { ($0.rawValue, $0.description) }
            + parts.map { ($0.rawValue, $0.description) }
        let works = named.map { name, description in
            "\(name)\(String(repeating: " ", count: 5 - name.count))\(description)"
        }
        return """

            \(works.joined(separator: "\n"))

            Stet's speed is the ratio of the medians: 1 is as fast as the program of the line, more
            is faster. Every program has three indexes: of an article's notebook, title and rating.
            Every program's counts, sums and hashes were those of the data.
            stet          inserts include making the objects; W2b, W2c: a task and a context per
                          writer, asynchronous saves
            lmdb          C that writes the records, references and entries of indexes that Stet
                          writes, with their checksums; W2b, W2c: each thread has its own transactions
            lmdb-journal  the same with the journal, without SHA-256 (zeros stand where the digests
                          would, a cheap counter where the random salts would); W2b, W2c: one writer
                          takes what waits into one transaction. Neither validates anything
            members       one more in a relationship that has so many; referring: members that refer
                          to the owner, linked: a link for each; with and without the durable save
            W8: growth    of the time per object, from the shortest journal to the longest
            W4: W5: W10:  growth of queries with objects, likewise W11:, W11s:, W11v:, W12:, read:,
                          found:, inserted:, changed:, undone:, deleted:, rolled back:; 1,000 at a time
            W20: to W29:  growth of questions with packages, per package that is found or, where a
                          question concerns all, per package of the archive
            W16:          growth of reads of the past with commits
            W13           what a refused save does last: 10,000 edits put back, per object; written by
                          it, also by a refused undo; and as a share of the good save
            W14           snapshot and restore of 10,000 edits, per object
            W18           the heap of live unchanged objects, less that of an array of their values
            W19           reads by id in a context 10,000 commits behind, beside a fresh one
            W9'           100 and 1,000 observers of a query of 167 articles among all, which each
                          commit changes by one; the next commit waits until all have the result
            large         bytes that arrive in parts of 64 KiB, written durably, and read again, beside
                          a file; the memory beyond that before, without pages of files
            memory        the most that an import of 200,000 articles in batches, a save of as many, an
                          update of their titles and ratings and its undo take beyond what there was
                          before and beyond the values themselves, per article
            W9            what 100 feeds or live queries that are not concerned add to a commit in
                          memory, what one feed adds that is; other process: from a commit there to
                          the update
            grdb-region   ValueObservation of the whole table, grdb-tuned: of what the query reads
            lmdb-structs  C that makes a struct and two texts of malloc of each record
            grdb          DatabasePool, WAL, synchronous = FULL, records by hand, fetchOne(key:), updates of
                          the changed columns only, deleteOne(key:)
            grdb-tuned    the same with a cache of 64 MiB, and the file mapped
            grdb-cached   grdb-tuned that reads with a cached prepared statement
            grdb-undo     grdb with triggers that fill an undo log; -tuned: grdb-tuned with them
            LMDB: \(String(cString: bare_lmdb_version()))

            """
    }

    private static func run(_ options: Options, _ directory: String) async throws -> Measurements {
        say("Making the data ...")
        let samples = Samples(count: PeerWorkloads.sampleCount(options))
        var measurements = Measurements()
        if options.groups.contains(.peers) {
            let workloads = PeerWorkloads(options, samples, directory: directory)
            for round in rounds(options, "Peers") {
                try await workloads.run(round: round, &measurements)
            }
        }
        if options.groups.contains(.reading) {
            let workloads = try ReadingWorkloads(options, samples, directory: directory)
            for round in rounds(options, "Reading") {
                try workloads.run(round: round, &measurements)
            }
        }
        if options.groups.contains(.editing) {
            let workloads = try EditingWorkloads(options, samples, directory: directory)
            for round in rounds(options, "Editing") {
                try workloads.run(round: round, &measurements)
            }
            workloads.close()
        }
        if options.groups.contains(.members) {
            let workloads = try MemberWorkloads(options, directory: directory)
            for round in rounds(options, "Members") {
                try workloads.run(round: round, &measurements)
            }
            workloads.close()
        }
        if options.groups.contains(.contexts) {
            let workloads = try ContextWorkloads(options, samples, directory: directory)
            for round in rounds(options, "Contexts") {
                try await workloads.run(round: round, &measurements)
            }
            workloads.close()
        }
        if options.groups.contains(.packages) {
            let workloads = try PackageWorkloads(options, directory: directory)
            for _ in rounds(options, "Packages") { try workloads.run(&measurements) }
            workloads.close()
        }
        if options.groups.contains(.words) {
            let workloads = try WordWorkloads(options, directory: directory)
            for _ in rounds(options, "Words") { try workloads.run(&measurements) }
        }
        if options.groups.contains(.substrings) {
            let workloads = try SubstringWorkloads(options, directory: directory)
            for _ in rounds(options, "Substrings") { try workloads.run(&measurements) }
            workloads.close()
        }
        if options.groups.contains(.large) {
            let workloads = LargeDataWorkloads(options, directory: directory)
            for _ in rounds(options, "Large data") { try await workloads.run(&measurements) }
        }
        if options.groups.contains(.memory) {
            let workloads = MemoryWorkloads(options, samples, directory: directory)
            for _ in rounds(options, "Memory") { try await workloads.run(&measurements) }
        }
        if options.groups.contains(.observation) {
            let workloads = try ObservationWorkloads(options, samples, directory: directory)
            for round in rounds(options, "Observation") {
                try await workloads.run(round: round, &measurements)
            }
            try workloads.close()
        }
        if options.groups.contains(.feeds) {
            let workloads = try FeedWorkloads(options, samples)
            for _ in rounds(options, "Feeds") { try await workloads.run(&measurements) }
            workloads.close()
        }
        if options.groups.contains(.growth) {
            let workloads = try await GrowthWorkloads(options, samples, directory: directory)
            for round in rounds(options, "Growth") {
                try workloads.run(round: round, &measurements)
            }
            workloads.close()
            var queries = try QueryGrowthWorkloads(options, samples, directory: directory)
            for round in rounds(options, "Growth of queries") {
                try queries.run(round: round, &measurements)
            }
            try queries.reopen(options, &measurements)
            queries.close()
        }
        if options.groups.contains(.archives) {
            var workloads = try PackageGrowthWorkloads(options, directory: directory)
            for _ in rounds(options, "Archives") { try workloads.run(&measurements) }
            workloads.close()
        }
        return measurements
    }

    /// Says when each begins.
    private static func rounds(_ options: Options, _ name: String) -> some Sequence<Int> {
        (0..<options.roundCount).lazy.map { round in
            say("\(name), round \(round + 1) of \(options.roundCount)")
            return round
        }
    }

    /// The directory of Package.swift.
    private static var packageDirectory: String {
        #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
    }
}

/// Runs `body` with a new directory on a real disk, and removes it.
private func withTemporaryDirectory<Result>(
    in parent: String, _ body: (String) async throws -> Result
) async throws -> Result {
    let directory = "\(parent)/stet-bench-\(getpid())"
    try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    // A sync costs nothing there, and a durable commit says nothing.
    guard !bare_is_in_memory(directory) else {
        throw Failure("\(parent) is in memory; name a directory on a disk with --directory")
    }
    return try await body(directory)
}

/// Prints progress during the run, separately from the tables.
private func say(_ text: String) {
    var line = text + "\n"
    _ = line.withUTF8 { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Removes a store and what LMDB or SQLite keeps beside it.
func removeStore(_ path: String) throws {
    for file in [path, path + "-lock", path + "-wal", path + "-shm"] {
        guard unlink(file) == 0 || errno == ENOENT else {
            throw Failure("\(file) cannot be removed: errno \(errno)")
        }
    }
}
