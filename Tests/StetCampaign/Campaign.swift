import ArgumentParser
import Dispatch
import Foundation
import Synchronization

/// The options that every campaign has on the command line.
struct CampaignOptions: ParsableArguments {
    @Option(help: "How many faults; the table in CONTRIBUTING.md has the doses.")
    var size: Int
    @Option(help: "The same seed gives the same cases.")
    var seed: UInt64 = 1
    @Option(help: "Runs this case alone, as a finding names it.")
    var only: Int?
    @Flag(help: "Begins no further case after the first finding.")
    var stopsAtFinding = false
    @Option(help: "A directory that is given a copy of the files of each finding.")
    var keep: String?
}

/// A campaign: many cases with a fault each, each judged by what a child finds afterwards.
protocol Campaign: ParsableCommand {
    var options: CampaignOptions { get }

    /// Runs the cases, and records in the report what was done and what was found.
    ///
    /// - Throws: `NotPossibleHere` if the machine lacks a prerequisite; any other error means that
    ///   the campaign itself failed.
    func run(_ report: Report) throws
}

extension Campaign {
    /// Runs the campaign; exit codes: 0 nothing found, 1 something found, 69 not possible on this
    /// machine.
    func run() throws {
        // A child killed by a damaged file is a result, and needs no backtrace.
        setenv("SWIFT_BACKTRACE", "enable=no", 0)
        let report = Report(Self._commandName, options)
        do {
            try run(report)
        } catch let error as NotPossibleHere {
            say("\(Self._commandName): not possible here: \(error.reason)")
            throw ExitCode(69)
        }
        throw ExitCode(report.end() ? 0 : 1)
    }

    /// Runs `body` on all cores for the cases 0..<`count`, or for the case in the options.
    func forEachCase(
        of count: Int, _ report: Report, _ body: @Sendable (Int) throws -> Void
    ) throws {
        let cases = options.only.map { $0..<$0 + 1 } ?? 0..<count
        let next = Mutex(cases.lowerBound)
        let failure = Mutex<(any Error)?>(nil)
        let width = min(ProcessInfo.processInfo.activeProcessorCount, cases.count)
        DispatchQueue.concurrentPerform(iterations: width) { _ in
            while report.wantsMore, failure.withLock({ $0 == nil }) {
                let index = next.withLock { next in
                    defer { next += 1 }
                    return next
                }
                guard index < cases.upperBound else { return }
                do { try body(index) } catch { failure.withLock { $0 = error } }
            }
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
    }
}

/// The reason why the machine cannot run a campaign.
struct NotPossibleHere: Error {
    let reason: String
}

/// A failure of the campaign itself, which therefore proves nothing.
struct CampaignFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The cases that a campaign has run, and its findings so far.
///
/// State: the counts and the number of findings, guarded by the mutex.
final class Report: Sendable {
    private struct State {
        var counts: [String: Int] = [:]
        var findingCount = 0
    }

    /// The number of findings that are printed; further ones are only counted.
    private static let shownCount = 20

    private let name: String
    private let options: CampaignOptions
    private let start = ContinuousClock.now
    private let state = Mutex(State())

    init(_ name: String, _ options: CampaignOptions) {
        self.name = name
        self.options = options
    }

    /// False if no further case is to be started.
    var wantsMore: Bool {
        !options.stopsAtFinding || state.withLock { $0.findingCount == 0 }
    }

    /// Adds to a count of the summary.
    func count(_ what: String, _ count: Int = 1) {
        state.withLock { $0.counts[what, default: 0] += count }
    }

    /// Reports that case `index` broke a promise, prints how to run it again, and keeps `files`.
    func finding(_ index: Int, _ text: String, files: [String] = []) {
        let number = state.withLock { state in
            state.findingCount += 1
            return state.findingCount
        }
        guard number <= (options.stopsAtFinding ? 1 : Self.shownCount) else { return }
        var line = "FINDING \(name) \(index): \(text)\n  again: stet-campaign \(name)"
        line += " --size \(options.size) --seed \(options.seed) --only \(index)"
        if let keep = options.keep {
            let directory = "\(keep)/\(name)-\(options.seed)-\(index)-\(number)"
            let manager = FileManager.default
            try? manager.createDirectory(atPath: directory, withIntermediateDirectories: true)
            for file in files {
                let copy = "\(directory)/\((file as NSString).lastPathComponent)"
                try? manager.copyItem(atPath: file, toPath: copy)
            }
            line += "\n  kept: \(directory)"
        }
        say(line)
    }

    /// Prints the summary in one line, and returns whether nothing was found.
    fileprivate func end() -> Bool {
        let state = state.withLock { $0 }
        let counts = state.counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let time = String(format: "%.1f", seconds)
        say(
            "\(name): \(state.findingCount) findings; size \(options.size), seed \(options.seed)"
                + ", \(time) s; " + counts.joined(separator: ", "))
        return state.findingCount == 0
    }
}

/// Runs the work of a child, which writes an error down as a line and fails.
func reportingErrors(_ work: () throws -> Void) throws {
    do {
        try work()
    } catch {
        say("error: \(error)")
        throw ExitCode.failure
    }
}

/// The store of a child that writes, and the numbers that its work depends on.
struct WriterOptions: ParsableArguments {
    @Argument(help: "The store; it is created when it is not there.")
    var path: String
    @Option var seed: UInt64
    @Option(help: "A number that no other writer of the store has had.")
    var stream: Int
}

/// Writes a line to standard output without a buffer, so that it survives a kill.
func say(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    var start = 0
    while start < bytes.count {
        let written = bytes[start...].withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
        guard written > 0 || errno == EINTR else { exit(74) }
        start += max(written, 0)
    }
}
