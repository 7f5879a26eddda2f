import BareLMDB
import FoundationEssentials
import Glibc
import Stet

// The first benchmarks: the slice through Stet that exists, and bare LMDB in C on the same work, in
// turn, in one run. Nothing here asserts a time: machines are noisy. What is checked is that both
// programs have read and written the same.

@main
enum Slice {
    static func main() {
        do {
            let options = try Options(Array(CommandLine.arguments.dropFirst()))
            let figures = try withTemporaryDirectory(in: options.directory) { directory in
                try run(options, directory)
            }
            print(table(of: figures))
            print(notes)
            let path = "\(packageDirectory)/.results/\(options.resultsName).json"
            try write(figures, to: path)
            print("Figures: \(path)")
        } catch {
            var message = "\(error)\n"
            _ = message.withUTF8 { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
            exit(1)
        }
    }

    private static let notes = """

        LMDB: \(String(cString: bare_lmdb_version()))
        Stet/bare is the ratio of the medians; speed is Stet's as a part of bare's, 1 is as fast.
        stet          inserts include making the objects
        lmdb-journal  C that writes the bytes that Stet writes, the journal included; it hashes no
                      SHA-256 (zeros stand where the digests would, a cheap counter where the random
                      salts would), validates nothing, and checks no store before it writes
        lmdb          C that checks each record and copies both texts into one buffer
        lmdb-structs  the same, into a struct and two texts of malloc that stay, as a fetch does

        """

    private static func run(_ options: Options, _ directory: String) throws -> [Figure] {
        print("Making the stores ...")
        let samples = Samples(
            count: max(options.storedCount, SavingWorkloads.sampleCount(options)))
        var measurements = Measurements()
        if options.groups.contains(.reading) {
            let workloads = try ReadingWorkloads(options, samples, directory: directory)
            try takeTurns(options, "Reading") { try workloads.run(round: $0, &measurements) }
        }
        if options.groups.contains(.editing) {
            let workloads = try EditingWorkloads(options, samples, directory: directory)
            try takeTurns(options, "Editing") { try workloads.run(round: $0, &measurements) }
            workloads.close()
        }
        if options.groups.contains(.saving) {
            let workloads = SavingWorkloads(options, samples, directory: directory)
            try takeTurns(options, "Saving") { try workloads.run(round: $0, &measurements) }
        }
        return measurements.figures
    }

    private static func takeTurns(
        _ options: Options, _ name: String, _ body: (Int) throws -> Void
    ) rethrows {
        for round in 0..<options.roundCount {
            print("\(name), round \(round + 1) of \(options.roundCount)")
            try body(round)
        }
    }

    /// The directory of Package.swift.
    private static var packageDirectory: String {
        #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
    }
}

/// Runs `body` with a new directory on a real disk, and removes it.
private func withTemporaryDirectory<Result>(
    in parent: String, _ body: (String) throws -> Result
) throws -> Result {
    let directory = "\(parent)/slice-\(getpid())"
    try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    // A sync costs nothing there, and a durable commit says nothing.
    guard !bare_is_in_memory(directory) else {
        throw Failure("\(parent) is in memory; name a directory on a disk with --directory")
    }
    return try body(directory)
}

/// Removes a store and what LMDB keeps beside it.
func removeStore(_ path: String) throws {
    for file in [path, path + "-lock"] {
        guard unlink(file) == 0 || errno == ENOENT else {
            throw Failure("\(file) cannot be removed: errno \(errno)")
        }
    }
}
