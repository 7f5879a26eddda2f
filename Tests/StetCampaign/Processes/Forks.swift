import ArgumentParser
import Foundation
import Glibc
import StetTestSupport

/// The line in which a writer names a child that it has forked.
enum ForkedChild {
    static let word = "forked"

    /// Returns the processes that the lines of a writer name.
    static func processes(_ lines: [String]) -> [pid_t] {
        lines.filter { $0.hasPrefix("\(word) ") }.compactMap { pid_t($0.dropFirst(word.count + 1)) }
    }
}

/// Lets writers fork children that outlive them, which must not keep the locks of a killed writer.
struct Forks: Campaign {
    static let configuration = CommandConfiguration(
        abstract: "Kills SIZE writers that have forked children, which live on.")

    @OptionGroup var options: CampaignOptions

    func run(_ report: Report) throws {
        try forEachCase(of: options.size, report) { index in
            var random = SeededGenerator(seed: options.seed, stream: index)
            let directory = TemporaryDirectory()
            var log = AcknowledgementLog(path: directory.file("acknowledgements"))
            let writer = try Child([
                "write", directory.file(), "--seed", "\(options.seed &+ UInt64(index))",
                "--stream", "1", "--savers", "\(Int.random(in: 1...4, using: &random))",
                "--forks", "\(Int.random(in: 1...10, using: &random))",
            ])
            // Waits until it has forked at least once.
            var children: [pid_t] = []
            while children.isEmpty, let line = writer.nextLine(within: .seconds(20)) {
                children = ForkedChild.processes([line])
            }
            Child.read(
                [writer], until: .now + .microseconds(Int.random(in: 0...50_000, using: &random)))
            // Stops it from forking again.
            writer.send(SIGSTOP)
            writer.kill()
            _ = writer.end(within: .seconds(20))
            children = ForkedChild.processes(writer.lines)
            defer { for child in children { kill(child, SIGKILL) } }
            try log.append(writer.lines.filter { !$0.hasPrefix(ForkedChild.word) })
            let next = try Child.commitAtOnce(to: directory.file(), stream: 2)
            try log.append(next.problem == nil ? next.lines : [])
            let request = CheckRequest(
                path: directory.file(), acknowledgements: (log.path, log.count))
            if let problem = try next.problem ?? answers(to: [request])[0].problem {
                report.finding(index, problem, files: [directory.file(), log.path])
            }
            report.count("killed writers")
            report.count("children that live on", children.count)
            report.count("acknowledged commits", log.count)
        }
    }
}
