import ArgumentParser
import Foundation
import Glibc
import StetTestSupport

/// Lets processes of two PID namespaces, such as those of containers, try to share a store; each
/// case is one store, and an order in which they start, are suspended and die.
struct Namespaces: Campaign {
    static let configuration = CommandConfiguration(
        abstract: "Opens SIZE stores from two PID namespaces; needs unshare.")

    @OptionGroup var options: CampaignOptions

    func run(_ report: Report) throws {
        let probe = try Child(["--pid", "--fork", "true"], program: "unshare")
        guard probe.end(within: .seconds(20)) == .exited(0) else {
            throw NotPossibleHere(reason: "this process may not make PID namespaces (unshare)")
        }
        try forEachCase(of: options.size, report) { index in
            let meeting = Meeting(seed: options.seed, index: index)
            if let problem = try meeting.run(report) {
                report.finding(index, problem, files: [meeting.path, meeting.log.path])
            }
            report.count("stores")
            report.count("acknowledged commits", meeting.log.count)
        }
    }
}

/// A store, one process that has it open, and others from another namespace.
private final class Meeting {
    let path: String
    private(set) var log: AcknowledgementLog
    private let directory = TemporaryDirectory()
    private let seed: UInt64
    private var random: SeededGenerator
    private var stream = 0

    init(seed: UInt64, index: Int) {
        self.seed = seed &+ UInt64(index)
        random = SeededGenerator(seed: seed, stream: index)
        path = directory.file()
        log = AcknowledgementLog(path: directory.file("acknowledgements"))
    }

    /// Runs the case, and returns a description of a problem; nil if there is none.
    func run(_ report: Report) throws -> String? {
        // Only one of the two is in another namespace, because two namespaces may each have a
        // process 1.
        let isFirstContained = Bool.random(using: &random)
        let first = try writer(isContained: isFirstContained)
        guard first.nextLine(within: .seconds(20)) != nil else { return "the first cannot write" }
        // Sometimes the first is stopped in the middle of its work.
        let isStopped = Bool.random(using: &random)
        if isStopped {
            Child.read(
                [first], until: .now + .microseconds(Int.random(in: 0...20_000, using: &random)))
            first.send(SIGSTOP)
        }
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let other = try writer(isContained: isFirstContained ? .random(using: &random) : true)
            if let problem = refused(other) { return problem }
            report.count("refusals")
        }
        if isStopped { first.send(SIGCONT) }
        guard first.nextLine(within: .seconds(20)) != nil else { return "the first cannot go on" }
        first.kill()
        _ = first.end(within: .seconds(20))
        try log.append(first.lines)
        // Now the other one is first, and a later writer is refused.
        let second = try writer(isContained: !isFirstContained)
        guard second.nextLine(within: .seconds(20)) != nil else {
            return "the second cannot write after the first has died: \(second.lines)"
        }
        if let problem = refused(try writer(isContained: isFirstContained)) { return problem }
        second.kill()
        _ = second.end(within: .seconds(20))
        try log.append(second.lines)
        let request = CheckRequest(path: path, acknowledgements: (log.path, log.count))
        return try answers(to: [request])[0].problem
    }

    /// Checks that a process of another namespace was refused, and returns a description of a
    /// problem.
    private func refused(_ child: Child) -> String? {
        let ending = child.end(within: .seconds(20))
        let word = child.lines.joined(separator: "; ")
        guard let ending else { return "a process of another namespace was not refused: \(word)" }
        return ending != .exited(0) && word.contains("another PID namespace")
            && !word.contains("ack ")
            ? nil : "a process of another namespace ended with \(ending): \(word)"
    }

    private func writer(isContained: Bool) throws -> Child {
        stream += 1
        let arguments = [
            "write", path, "--seed", "\(seed)", "--stream", "\(stream)",
            "--savers", "\(Bool.random(using: &random) ? 1 : 4)",
        ]
        guard isContained else { return try Child(arguments) }
        let program = "\(ChildProcess.buildFolder)/stet-campaign"
        return try Child(
            ["--pid", "--fork", "--kill-child=KILL", program] + arguments, program: "unshare")
    }
}
