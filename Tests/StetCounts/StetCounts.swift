import ArgumentParser
import Foundation
import Synchronization

/// Compares counts that hardly vary between runs with those under version control: instructions,
/// by callgrind, and sizes.
@main
struct StetCounts: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stet-counts",
        abstract: "Compares instructions and sizes with the figures of a file.",
        discussion: """
            A figure is the difference of two runs, the second of twice the size, divided by the
            size: what both have in common, such as the start of the process, does not count. It
            fails when one is more than a tenth above the file's. Needs valgrind.
            """, subcommands: [Compare.self, Run.self], defaultSubcommand: Compare.self)
}

extension StetCounts {
    /// Carries out one workload; what valgrind runs.
    struct Run: ParsableCommand {
        @Argument var work: CountedWork
        @Argument var count: Int
        @Argument var directory: String

        func run() throws { try work.run(count, in: directory) }
    }

    struct Compare: ParsableCommand {
        /// The greatest ratio of a count to that of the file.
        private static let limit = 1.1

        @Argument(help: "The file of the figures, in JSON.")
        var file: String
        @Flag(help: "Writes the figures instead of comparing them.")
        var renew = false
        @Option(help: "The part of the names of what is counted.")
        var only = ""

        func run() throws {
            let url = URL(fileURLWithPath: file)
            let known =
                renew
                ? [:] : try JSONDecoder().decode([String: Int].self, from: Data(contentsOf: url))
            let counts = try count(known)
            if renew {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
                try (encoder.encode(counts) + Data("\n".utf8)).write(to: url)
                return
            }
            let missing = only.isEmpty ? Set(known.keys).subtracting(counts.keys) : []
            var failures =
                missing
                .map { "\($0) is not counted any more" }
            for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
                guard let before = known[name] else {
                    failures.append("\(name): \(count), and the file has no figure")
                    continue
                }
                let ratio = Double(count) / Double(before)
                print("\(name): \(count), \(String(format: "%.2f", ratio)) of \(before)")
                if ratio > Self.limit {
                    failures.append("\(name) has grown from \(before) to \(count)")
                }
            }
            for failure in failures.sorted() { print("counts: \(failure)") }
            if !failures.isEmpty {
                print("counts: find out why; `make counts RENEW=1` accepts the new figures")
                throw ExitCode.failure
            }
        }

        /// Returns the instructions of a unit, the least of three counts if one is too many: which
        /// thread is first makes a difference of some hundredths.
        private func count(_ work: CountedWork, _ known: Int?) throws -> Int {
            let limit = known.map { Double($0) * Self.limit } ?? .infinity
            var least = try Callgrind.count(work)
            for _ in 0..<2 where Double(least) > limit {
                least = min(least, try Callgrind.count(work))
            }
            return least
        }

        private func count(_ known: [String: Int]) throws -> [String: Int] {
            let works = CountedWork.allCases.map { work in
                (name: "\(work.rawValue): instructions of \(work.unit)", work: work)
            }.filter { only.isEmpty || $0.name.contains(only) }
            let results = Mutex<[String: Result<Int, any Error>]>([:])
            // They count the same on a busy machine.
            DispatchQueue.concurrentPerform(iterations: works.count) { index in
                let (name, work) = works[index]
                let result = Result { try count(work, known[name]) }
                results.withLock { $0[name] = result }
            }
            var counts = try results.withLock { try $0.mapValues { try $0.get() } }
            if only.isEmpty {
                let directory = try Callgrind.Directory()
                for (name, size) in try CountedSizes.measure(in: directory.path) {
                    // A tenth of a page matters.
                    counts["\(name), × 100"] = Int((size * 100).rounded())
                }
            }
            return counts
        }
    }
}

extension CountedWork: ExpressibleByArgument {}
