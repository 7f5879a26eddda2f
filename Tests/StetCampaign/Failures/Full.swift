import ArgumentParser
import Foundation
import StetStore
import StetTestSupport

/// Fills the disk, the file or the map of stores; then space becomes available, and work continues.
struct Full: Campaign {
    static let configuration = CommandConfiguration(
        abstract: "Fills SIZE stores up: the disk, a limit of file size, the map, the map with "
            + "an open read.")

    @OptionGroup var options: CampaignOptions

    private static let limit = Duration.seconds(60)

    func run(_ report: Report) throws {
        try forEachCase(of: options.size, report) { index in
            var random = SeededGenerator(seed: options.seed, stream: index)
            let obstacle = Obstacle.allCases[index % Obstacle.allCases.count]
            let seed = UInt64.random(in: 0...(.max), using: &random)
            let arguments = [
                "--seed", "\(seed)", "--obstacle", obstacle.rawValue,
                // Small commits, because an open read keeps their pages in use.
                "--changes",
                obstacle == .reader ? "2" : "\([2, 20, 80].randomElement(using: &random) ?? 2)",
            ]
            let problem: String?
            if obstacle == .disk {
                let disk = try SmallDisk(byteCount: 8 << 20)
                // In a third of the cases nothing fits, in another third perhaps an empty store.
                let room = Int.random(in: 0...4_000_000, using: &random)
                let rooms = [0, room / 100, room]
                try disk.fill(leaving: rooms[index / 4 % 3] & ~4_095)
                problem = try self.problem(
                    obstacle, disk.path, arguments + ["--filler", disk.filler], report)
            } else {
                let directory = TemporaryDirectory()
                let room = Int.random(in: 300_000...4_000_000, using: &random)
                let byteCount = obstacle == .limit ? room : room & ~4_095
                problem = try self.problem(
                    obstacle, directory.file(), arguments + ["--bytes", "\(byteCount)"], report)
            }
            if let problem { report.finding(index, "\(obstacle): \(problem)") }
            report.count("\(obstacle) cases")
        }
    }

    /// Runs a session, and returns a description of a problem in it or in the store that it left.
    private func problem(
        _ obstacle: Obstacle, _ path: String, _ arguments: [String], _ report: Report
    ) throws -> String? {
        let child = try Child(["full-session", path] + arguments)
        guard let ending = child.end(within: Self.limit) else { return "it hung" }
        let testimony = Testimony(child.lines)
        let last = "; its last words: " + child.lines.suffix(3).joined(separator: ", ")
        guard ending == .exited(0) else { return "it ended with \(ending)\(last)" }
        if let problem = try judge(path, testimony) { return problem + last }
        guard testimony.isComplete else { return "it did not come to its end\(last)" }
        var refusedCount = 0
        for statement in testimony.statements {
            switch statement {
            case .notCommitted(_, let code), .failed("open", let code):
                refusedCount += 1
                guard code == obstacle.code.rawValue else { return "refused as \(code)" }
            case .failed, .unknown: return "\(statement)"
            case .acknowledged: report.count("acknowledged")
            case .trying, .resolved, .full, .wrong, .gaveUp, .done: break
            }
        }
        report.count("refused", refusedCount)
        return refusedCount == 0 ? "nothing was refused" : nil
    }
}
