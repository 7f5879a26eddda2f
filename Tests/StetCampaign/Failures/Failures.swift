import ArgumentParser
import Foundation
import StetStore
import StetTestSupport

/// Makes the system calls of a session fail: each call once, and from then on, with each error.
struct Failures: Campaign {
    static let configuration = CommandConfiguration(
        abstract: "Lets the k-th system call of a session fail: SIZE cases, spread evenly; 0: all.")

    @OptionGroup var options: CampaignOptions

    func run(_ report: Report) throws {
        // A run without failures counts the calls.
        let all = try FailureCase.all { isHeld in
            let clean = try FailureRun(nil, isHeld: isHeld, seed: options.seed)
            if let problem = try clean.problem() {
                throw CampaignFailure("a session without a failure: \(problem)")
            }
            return clean.calls.mapValues(\.count)
        }
        report.count("possible cases", all.count)
        let count = options.size == 0 ? all.count : min(options.size, all.count)
        // With `only`, the index selects a case, whatever the size.
        let size = options.only == nil ? count : all.count
        // The seed determines the first case, so that different seeds try different cases.
        let start = Int(options.seed % UInt64(all.count / size))
        try forEachCase(of: size, report) { index in
            let position = index * all.count / size + start
            let failure = all[position]
            let run = try FailureRun(failure, isHeld: failure.isHeld, seed: options.seed)
            let problem = try run.problem()
            if let problem {
                report.finding(position, "\(failure): \(problem)", files: run.files)
            }
            run.count(in: report)
        }
    }
}

/// One session with one failure, or with none.
private struct FailureRun {
    private let failure: FailureCase?
    private let directory = TemporaryDirectory()
    private let ending: Child.Ending?
    private let testimony: Testimony
    /// The results of the calls with each name.
    let calls: [String: [String]]

    private var path: String { directory.file() }
    private var log: String { directory.file("calls") }
    var files: [String] { [path, "\(path)-lock", log, directory.file("said")] }

    private static let limit = Duration.seconds(20)

    init(_ failure: FailureCase?, isHeld: Bool, seed: UInt64) throws {
        self.failure = failure
        let path = directory.file()
        let log = directory.file("calls")
        let holder = isHeld ? try Child.holding(path) : nil
        let shim = [
            "LD_PRELOAD": "\(ChildProcess.buildFolder)/libStetRecorder.so",
            "STET_FAIL_FILE": path, "STET_FAIL_LOG": log,
        ]
        let child = try Child(
            ["failing-session", path, "--seed", "\(seed)"],
            environment: shim.merging(failure?.environment ?? [:]) { $1 })
        ending = child.end(within: Self.limit)
        testimony = Testimony(child.lines)
        withExtendedLifetime(holder) {}
        try Data(child.lines.joined(separator: "\n").utf8)
            .write(to: URL(fileURLWithPath: directory.file("said")))
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
            .map { $0.split(separator: " ").map(String.init) }
        calls = Dictionary(grouping: lines, by: { $0[0] }).mapValues { $0.map { $0[2] } }
    }

    private var isReached: Bool {
        calls.values.contains { $0.contains { $0 != "passed" } }
    }

    /// Returns a description of a problem in the session's output or in the store that it left.
    func problem() throws -> String? {
        guard let ending else { return "it hung" }
        guard ending == .exited(0) else { return "it ended with \(ending)" }
        let isOnce = failure.map { !$0.isSticky } ?? true
        if isOnce, !testimony.isComplete {
            let last = testimony.statements.last?.description ?? "nothing"
            return "it did not get over a failure that happened once; its last word: \(last)"
        }
        if let problem = try judge(path, testimony) { return problem }
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        let foreign = names.filter {
            !files.map { ($0 as NSString).lastPathComponent }.contains($0)
        }
        return foreign.isEmpty ? nil : "it left files: \(foreign.joined(separator: ", "))"
    }

    func count(in report: Report) {
        report.count(isReached ? "failures" : "failures that no call met")
        for statement in testimony.statements {
            switch statement {
            case .acknowledged: report.count("acknowledged")
            case .notCommitted: report.count("not committed")
            case .unknown: report.count("unknown")
            case .resolved: report.count("resolved by the session")
            case .gaveUp: report.count("sessions that gave up")
            case .failed(let what, _): report.count("\(what) failed")
            case .trying, .full, .wrong, .done: break
            }
        }
    }
}
