import Foundation

/// Runs programs of this package in a separate process.
package enum ChildProcess {
    /// The folder with the programs and libraries that were built with the tests.
    package static var buildFolder: String {
        let program =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (program as NSString).deletingLastPathComponent
    }

    /// The end of a process, and its standard output.
    package struct Outcome: Sendable {
        /// The exit code, or the number of the signal that ended the process.
        package let status: Int32
        /// True if a signal ended the process.
        package let wasKilled: Bool
        /// The lines of standard output.
        package let lines: [String]
    }

    /// Runs `stet-test-child`, another program of this package, or a program with an absolute path,
    /// until it ends.
    ///
    /// With `killAfter` the process is killed with SIGKILL once it has written that many lines.
    package static func run(
        _ arguments: [String], program: String = "stet-test-child", in folder: String? = nil,
        environment: [String: String] = [:], killAfter: Int? = nil
    ) throws -> Outcome {
        let process = Process()
        process.executableURL = URL(
            fileURLWithPath: program.hasPrefix("/") ? program : "\(buildFolder)/\(program)")
        if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        var bytes = Data()
        var isKilled = false
        while case let more = output.fileHandleForReading.availableData, !more.isEmpty {
            bytes.append(more)
            let lineCount = bytes.count { $0 == UInt8(ascii: "\n") }
            if let killAfter, lineCount >= killAfter, !isKilled {
                kill(process.processIdentifier, SIGKILL)
                isKilled = true
            }
        }
        process.waitUntilExit()
        // Drops a last line that the kill cut off.
        let end = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.startIndex
        let text = String(decoding: bytes[..<end], as: UTF8.self)
        return Outcome(
            status: process.terminationStatus,
            wasKilled: process.terminationReason == .uncaughtSignal,
            lines: text.split(separator: "\n").map(String.init))
    }
}
