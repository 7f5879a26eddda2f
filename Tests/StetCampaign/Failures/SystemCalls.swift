import ArgumentParser
import Foundation
import StetTestSupport

/// Kills a writer at its N-th system call, for each N; each case is one call of the session.
struct SystemCalls: Campaign {
    static let configuration = CommandConfiguration(
        abstract: "Kills a session at SIZE of its system calls, spread evenly; at each for SIZE 0.")

    @OptionGroup var options: CampaignOptions

    /// The store with which a session begins.
    private enum Start: String, CaseIterable {
        /// None: the session creates it.
        case new
        /// A store whose writer was killed.
        case killed
        /// The same, while another process has it open.
        case held
        /// None: the session creates it with a key file, and writes sealed values.
        case secrets

        var command: String { self == .secrets ? "write-secrets" : "write" }
        var schema: CheckedSchema { self == .secrets ? .secrets : .campaign }
    }

    /// A call by its name, and its number among the calls of that name in its thread, which is how
    /// strace counts.
    private struct Call: Hashable {
        let start: Start
        let name: String
        let number: Int
    }

    private static let limit = Duration.seconds(60)

    func run(_ report: Report) throws {
        let calls = try Start.allCases.flatMap(sessionCalls)
        report.count("calls in the session", calls.count)
        let count = options.size == 0 ? calls.count : min(options.size, calls.count)
        // With `only`, the index selects a call, whatever the size.
        let stride = options.only == nil ? Double(calls.count) / Double(count) : 1
        try forEachCase(of: options.only == nil ? count : calls.count, report) { index in
            let position = Int(Double(index) * stride)
            let call = calls[position]
            if let problem = try kill(at: call, report) {
                report.finding(
                    position, "\(call.start): killed at \(call.name) \(call.number): \(problem)")
            }
            report.count("calls tried")
        }
    }

    /// Returns the arguments of the session: it opens or creates a store and commits, in one
    /// thread.
    private func session(_ start: Start, _ path: String) -> [String] {
        let program = "\(ChildProcess.buildFolder)/stet-campaign"
        return [program, start.command] + writer(path, stream: 2, commits: 12)
    }

    private func writer(_ path: String, stream: Int, commits: Int) -> [String] {
        [path, "--seed", "\(options.seed)", "--stream", "\(stream)"]
            + ["--commits", "\(commits)"]
    }

    /// Makes what the session begins with; returns what was promised, and the process that has the
    /// store open.
    private func prepare(_ start: Start, _ path: String) throws -> (lines: [String], Child?) {
        if start == .new || start == .secrets { return ([], nil) }
        let holder = start == .held ? try Child.holding(path) : nil
        let writer = try Child([start.command] + writer(path, stream: 1, commits: .max))
        for _ in 0..<9 where writer.nextLine(within: Self.limit) == nil {
            throw CampaignFailure("the first writer failed")
        }
        writer.kill()
        _ = writer.end(within: Self.limit)
        return (writer.lines, holder)
    }

    /// Returns the calls of the session from the first that names the store.
    private func sessionCalls(_ start: Start) throws -> [Call] {
        let directory = TemporaryDirectory()
        let trace = directory.file("trace")
        let path = directory.file()
        let (_, holder) = try prepare(start, path)
        let child = try Self.strace(["-f", "-o", trace] + session(start, path))
        guard child.end(within: Self.limit) == .exited(0) else {
            throw CampaignFailure("the session failed: \(child.lines.last ?? "without a word")")
        }
        withExtendedLifetime(holder) {}
        var counts: [Substring: [Substring: Int]] = [:]
        var calls: [Call] = []
        var hasBegun = false
        for line in try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n") {
            // The process, padded with spaces, and the call.
            let words = line.split(separator: " ", maxSplits: 1)
            let call = words.last?.drop { $0 == " " } ?? ""
            // Skips signals, exits and the second halves of interrupted calls.
            guard words.count == 2, let name = call.firstIndex(of: "(").map({ call[..<$0] }),
                !name.isEmpty, name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" })
            else { continue }
            counts[words[0], default: [:]][name, default: 0] += 1
            let isExec = name == "execve"
            hasBegun = hasBegun || (line.contains(path) && !isExec)
            if hasBegun, name != "exit_group", name != "exit" {
                calls.append(
                    Call(
                        start: start, name: String(name), number: counts[words[0]]?[name] ?? 1))
            }
        }
        guard !calls.isEmpty else { throw CampaignFailure("the trace shows no system calls") }
        return calls
    }

    private static func strace(_ arguments: [String]) throws -> Child {
        do {
            return try Child(arguments, program: "strace")
        } catch {
            throw NotPossibleHere(reason: "strace can't be run (make setup-campaigns)")
        }
    }

    /// Runs the session up to a call, and returns a description of a problem in the store that it
    /// left.
    private func kill(at call: Call, _ report: Report) throws -> String? {
        let directory = TemporaryDirectory()
        let path = directory.file()
        let (promised, holder) = try prepare(call.start, path)
        let injection = "inject=\(call.name):signal=KILL:when=\(call.number)"
        let child = try Self.strace(
            ["-f", "-qq", "-o", "/dev/null", "-e", "trace=\(call.name)", "-e", injection]
                + session(call.start, path))
        let ending = child.end(within: Self.limit)
        // strace ends as the session did. Threads vary the order of calls a little, so that
        // sometimes the call does not occur.
        guard ending == .killed(SIGKILL) || ending == .exited(0) else {
            return "the session ended otherwise: \(child.lines.last ?? "without a word")"
        }
        report.count("kills", ending == .killed(SIGKILL) ? 1 : 0)
        report.count("acknowledged commits", promised.count + child.lines.count)
        var log = AcknowledgementLog(path: directory.file("acknowledgements"))
        try log.append(promised + child.lines)
        if FileManager.default.fileExists(atPath: path) {
            let request = CheckRequest(
                path: path, acknowledgements: (log.path, log.count), schema: call.start.schema)
            if let problem = try answers(to: [request])[0].problem { return problem }
        } else if log.count > 0 {
            return "acknowledged, but there is no file"
        }
        return try withExtendedLifetime(holder) {
            try Child.commitAtOnce(to: path, stream: 3, command: call.start.command).problem
        }
    }
}
