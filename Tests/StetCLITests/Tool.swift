import Foundation
import Glibc
import StetTestSupport

/// Runs the tool as a program.
enum Tool {
    /// The exit code of a command, and its output.
    struct Outcome: Hashable {
        /// The exit code; minus the number of the signal that ended it.
        var status: Int32
        var output = ""
        var errors = ""
    }

    /// Runs it to its end.
    static func run(_ arguments: String...) throws -> Outcome {
        let running = try Running(arguments)
        return try running.outcome()
    }

    /// The tool while it works.
    ///
    /// Its output goes to files, so that it never waits for the test.
    struct Running {
        private let process = Process()
        private let directory = TemporaryDirectory()

        init(_ arguments: [String], environment: [String: String] = [:]) throws {
            process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
            process.executableURL = URL(fileURLWithPath: "\(ChildProcess.buildFolder)/stet")
            process.arguments = arguments
            process.standardOutput = try Self.handle(directory.file("output"))
            process.standardError = try Self.handle(directory.file("errors"))
            try process.run()
        }

        var isRunning: Bool { process.isRunning }

        /// The process in which the tool does its work, as soon as it has become one of its own.
        func worker() throws -> Int32 {
            let id = process.processIdentifier
            while isRunning {
                let children = try String(
                    contentsOfFile: "/proc/\(id)/task/\(id)/children", encoding: .utf8)
                if let child = children.split(separator: " ").first.flatMap({ Int32($0) }),
                    let words = try? String(
                        contentsOfFile: "/proc/\(child)/cmdline", encoding: .utf8),
                    words.contains("in-child")
                {
                    return child
                }
                sched_yield()
            }
            throw CocoaError(.fileNoSuchFile)
        }

        func outcome() throws -> Outcome {
            process.waitUntilExit()
            let status = process.terminationStatus
            return Outcome(
                status: process.terminationReason == .exit ? status : -status,
                output: try text("output"), errors: try text("errors"))
        }

        private func text(_ name: String) throws -> String {
            try String(contentsOfFile: directory.file(name), encoding: .utf8)
        }

        private static func handle(_ path: String) throws -> FileHandle {
            _ = FileManager.default.createFile(atPath: path, contents: nil)
            return try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        }
    }
}
