import Foundation

/// Runs of this program that count instructions.
enum Callgrind {
    /// A directory that is removed.
    final class Directory {
        let path: String

        init() throws {
            let url = FileManager.default.temporaryDirectory
                .appending(path: "stet-counts-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            path = url.path(percentEncoded: false)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    /// Returns the instructions of one unit of the work.
    static func count(_ work: CountedWork) throws -> Int {
        let once = try instructions(of: work, work.size)
        let twice = try instructions(of: work, work.size * 2)
        return (twice - once) / work.size
    }

    private static func instructions(of work: CountedWork, _ count: Int) throws -> Int {
        let directory = try Directory()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
            CommandLine.arguments[0], "run", work.rawValue, "\(count)", directory.path,
        ]
        // The order of a dictionary would otherwise be another one in each process.
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["SWIFT_DETERMINISTIC_HASHING": "1"]) { $1 }
        let pipe = Pipe()
        process.standardError = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let line = text.split(separator: "\n").last { $0.contains("Collected :") }
        guard process.terminationStatus == 0,
            let count = line?.split(separator: " ").last.flatMap({ Int($0) })
        else { throw CountFailure("\(work.rawValue) failed under valgrind:\n\(text)") }
        return count
    }
}
