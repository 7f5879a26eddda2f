import Foundation
import Glibc

/// A program of this package that runs beside the test.
///
/// State: the output so far; it belongs to the test.
package final class RunningChild {
    private let process = Process()
    private let output = Pipe()
    private var buffer = Data()

    /// Starts `stet-test-child`.
    package init(_ arguments: [String], environment: [String: String] = [:]) throws {
        process.executableURL = URL(fileURLWithPath: "\(ChildProcess.buildFolder)/stet-test-child")
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = output
        try process.run()
    }

    /// Returns the next line of its standard output; nil if it has ended.
    ///
    /// Blocks the thread until then.
    package func line() -> String? {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffer.removeSubrange(buffer.startIndex...end) }
                return String(decoding: buffer[buffer.startIndex..<end], as: UTF8.self)
            }
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { return nil }
            buffer.append(more)
        }
    }

    /// Returns all further lines, until it ends.
    package func lines() -> [String] {
        var lines: [String] = []
        while let line = line() { lines.append(line) }
        return lines
    }

    /// Ends it with SIGKILL, and returns when it has ended.
    package func kill() {
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Returns its exit code if it has ended by itself, otherwise -1.
    package func status() -> Int32 {
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : -1
    }

    package var processID: Int32 { process.processIdentifier }
}
