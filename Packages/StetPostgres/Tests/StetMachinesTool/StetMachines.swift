import Foundation
import Glibc
import StetMachines

/// Histories of four nodes of one journal in a PostgreSQL database, under faults.
///
///     stet-machines --size 100 [--seed 1] [--only 7] [--keep DIRECTORY] [--plant BUG]
///         [--standby synchronous|late]      a standby takes over in each history
///     stet-machines planted [--size 20]     each planted bug must be found
///     stet-machines check DIRECTORY         checks the files of a finding again
@main enum StetMachinesTool {
    static func main() async {
        setenv("SWIFT_BACKTRACE", "enable=no", 0)
        signal(SIGPIPE, SIG_IGN)
        do {
            exit(try await run(Array(CommandLine.arguments.dropFirst())))
        } catch {
            say("the campaign itself failed: \(error)")
            exit(2)
        }
    }

    /// Returns the exit code.
    private static func run(_ arguments: [String]) async throws -> Int32 {
        switch arguments.first {
        case "node" where arguments.count == 2: try await NodeProcess.run(arguments[1])
        case "end": try await NodeProcess.end(Array(arguments.dropFirst()))
        case "check" where arguments.count == 2: return try check(arguments[1])
        case "planted":
            return try await planted(MachineOptions(Array(arguments.dropFirst()))) ? 0 : 1
        default:
            let campaign = try MachineCampaign(MachineOptions(arguments))
            defer { campaign.end() }
            return try await campaign.run() == 0 ? 0 : 1
        }
        return 0
    }

    private static func check(_ directory: String) throws -> Int32 {
        var events: [Event] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: directory)
        where name.hasPrefix("history") {
            events += try Recorder.events("\(directory)/\(name)")
        }
        let finals = events.count { if case .final = $0 { true } else { false } }
        let problems = HistoryChecker(events, nodeCount: finals).problems
        for problem in problems { say(problem) }
        return problems.isEmpty ? 0 : 1
    }

    /// Plants each bug until it is found; returns whether all of them were.
    private static func planted(_ options: MachineOptions) async throws -> Bool {
        var missing: [Plant] = []
        for plant in Plant.allCases {
            var options = options
            options.plant = plant
            options.stopsAtFinding = true
            let campaign = try MachineCampaign(options)
            defer { campaign.end() }
            if try await campaign.run() == 0 { missing.append(plant) }
        }
        let names = missing.map(\.rawValue).joined(separator: ", ")
        say(missing.isEmpty ? "each planted bug was found" : "not found: \(names)")
        return missing.isEmpty
    }
}

/// Writes a line at once, so that it is there even if the campaign is ended from outside.
func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

/// The options of the command line.
struct MachineOptions {
    var size = 20
    var seed: UInt64 = 1
    var only: Int?
    var keep: String?
    var plant: Plant?
    var standby: StandbyKind?
    var stopsAtFinding = false

    /// The kinds of a standby.
    enum StandbyKind: String { case synchronous, late }

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else {
                throw MachineFailure("\(name) needs a value")
            }
            switch name {
            case "--size": size = Int(value) ?? size
            case "--seed": seed = UInt64(value) ?? seed
            case "--only": only = Int(value)
            case "--keep": keep = value
            case "--standby": standby = StandbyKind(rawValue: value)
            case "--plant": plant = Plant(rawValue: value)
            default: throw MachineFailure("there is no option \(name)")
            }
        }
    }
}

/// Many histories with one server.
final class MachineCampaign {
    private let options: MachineOptions
    private let server: PostgresServer
    private var counts: [String: Int] = [:]

    init(_ options: MachineOptions) throws {
        self.options = options
        server = try PostgresServer()
    }

    func end() { server.remove() }

    /// Returns the number of histories with findings.
    func run() async throws -> Int {
        var findings = 0
        defer { tell(findings) }
        let cases = options.only.map { $0..<$0 + 1 } ?? 0..<options.size
        for index in cases {
            if try await !history(index) { findings += 1 }
            if findings > 0, options.stopsAtFinding { break }
        }
        return findings
    }

    /// Prints the counts, also of a campaign that has failed.
    private func tell(_ findings: Int) {
        let name = options.plant.map { "machines, \($0.rawValue)" } ?? "machines"
        let text = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            .joined(separator: ", ")
        say("\(name): \(text); \(findings) findings")
    }

    /// Makes a history, and returns whether it keeps all promises.
    private func history(_ index: Int) async throws -> Bool {
        let directory =
            "/tmp/stet-machines-\(ProcessInfo.processInfo.processIdentifier)-\(index)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var servers = (server, nil as Standby?)
        if let kind = options.standby { servers = try Self.pair(kind) }
        defer {
            if let standby = servers.1 {
                servers.0.remove()
                standby.server.remove()
            }
        }
        let history = try HistoryRun(
            servers.0, servers.1, in: directory, seed: options.seed &* 1_000_003 &+ UInt64(index),
            plant: options.plant)
        let problems = try await history.run()
        counts["histories", default: 0] += 1
        counts.merge(history.faultCounts, uniquingKeysWith: +)
        count(history.events)
        if problems.isEmpty { return true }
        say("finding in --seed \(options.seed) --only \(index):")
        for problem in problems.prefix(options.plant == nil ? 5 : 1) {
            say("    \(problem.prefix(300))")
        }
        if let keep = options.keep {
            try Self.keep(directory, at: "\(keep)/\(options.seed)-\(index)")
        }
        return false
    }

    /// Copies the files of a history, but not its sockets.
    private static func keep(_ directory: String, at place: String) throws {
        let files = FileManager.default
        try? files.removeItem(atPath: place)
        try files.createDirectory(atPath: place, withIntermediateDirectories: true)
        for name in try files.contentsOfDirectory(atPath: directory) {
            var isDirectory: ObjCBool = false
            let path = "\(directory)/\(name)"
            guard files.fileExists(atPath: path, isDirectory: &isDirectory), !isDirectory.boolValue
            else { continue }
            try files.copyItem(atPath: path, toPath: "\(place)/\(name)")
        }
    }

    /// Makes a primary and its standby.
    private static func pair(
        _ kind: MachineOptions.StandbyKind
    ) throws -> (PostgresServer, Standby?) {
        let primary = try PostgresServer()
        let server = try PostgresServer(of: primary)
        if kind == .synchronous { try primary.waitForStandbys() }
        return (primary, Standby(server: server, isLate: kind == .late))
    }

    private func count(_ events: [Event]) {
        for event in events {
            switch event {
            case .attempt: counts["attempts", default: 0] += 1
            case .read: counts["reads", default: 0] += 1
            case .answer(let answer):
                let name =
                    switch answer.outcome {
                    case .committed: "committed"
                    case .refused: "refused"
                    case .unavailable: "unavailable"
                    case .unknown: "unknown"
                    case .notCommitted: "not committed"
                    }
                counts[name, default: 0] += 1
            case .final(let final):
                if final.isDiverged { counts["nodes diverged", default: 0] += 1 }
                if final.node == 0 { counts["redactions", default: 0] += final.redactions.count }
            case .failure: break
            }
        }
    }
}
