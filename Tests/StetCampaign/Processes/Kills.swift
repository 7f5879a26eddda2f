import ArgumentParser
import Foundation
import StetStore
import StetTestSupport

/// Kills writers that share a store at random times; each case is one store and up to 25 kills.
struct Kills: Campaign {
    static let configuration = CommandConfiguration(
        abstract: "Kills 1 to 4 writers of one store at random times, SIZE kills in all.",
        discussion: """
            One store in four has sealed values, whose keys are rotated and destroyed; in another \
            one large data that nothing refers to is removed.
            """)

    @OptionGroup var options: CampaignOptions

    private static let killsPerStore = 25

    func run(_ report: Report) throws {
        let storeCount = (options.size + Self.killsPerStore - 1) / Self.killsPerStore
        try forEachCase(of: storeCount, report) { index in
            let store = KilledStore(seed: options.seed, index: index)
            let quota = min(Self.killsPerStore, options.size - index * Self.killsPerStore)
            while store.killCount < quota, report.wantsMore {
                if let problem = try store.round(limit: quota - store.killCount) {
                    report.finding(index, problem, files: store.files)
                    break
                }
            }
            report.count(store.work.names.stores)
            report.count("kills", store.killCount)
            report.count(store.work.names.promises, store.log.count)
        }
    }
}

/// The work of the writers of a store.
private enum KilledWork {
    case edits, secrets, sweeps

    /// Selects the work on a store by its number.
    init(ofStore index: Int) { self = [.edits, .secrets, .sweeps, .edits][index % 4] }

    var command: String { self == .secrets ? "write-secrets" : "write" }
    var options: [String] { self == .sweeps ? ["--sweeps"] : [] }
    var schema: CheckedSchema {
        switch self {
        case .edits: .campaign
        case .secrets: .secrets
        case .sweeps: .sweeps
        }
    }
    /// The names of the counts of stores, and of the lines of their writers.
    var names: (stores: String, promises: String) {
        switch self {
        case .edits: ("stores", "acknowledged commits")
        case .secrets: ("stores of sealed values", "promises about sealed values")
        case .sweeps: ("stores that are swept", "commits and trims of swept stores")
        }
    }
}

/// A store whose writers are killed in each round.
private final class KilledStore {
    let work: KilledWork
    let path: String
    /// The promises of all rounds.
    private(set) var log: AcknowledgementLog
    private(set) var killCount = 0

    private let directory = TemporaryDirectory()
    private let seed: UInt64
    private var random: SeededGenerator
    private var stream = 0
    /// A process that has every second store open all the time, so that nobody resets the lock
    /// file.
    private var holder: Child?
    private let isHeld: Bool

    init(seed: UInt64, index: Int) {
        self.seed = seed &+ UInt64(index)
        random = SeededGenerator(seed: seed, stream: index)
        path = directory.file()
        log = AcknowledgementLog(path: directory.file("acknowledgements"))
        work = KilledWork(ofStore: index)
        isHeld = index.isMultiple(of: 2) == (index / 4).isMultiple(of: 2)
    }

    /// The files that a finding keeps.
    var files: [String] { [path, log.path] + (work == .secrets ? [Diary.keyPath(path)] : []) }

    /// Starts writers, kills them, and returns a description of a problem in the store that they
    /// left.
    func round(limit: Int) throws -> String? {
        let limit = Durability.usual == .synced ? min(4, limit) : 1
        let writers = try (0..<Int.random(in: 1...limit, using: &random)).map { _ in
            let savers = [1, 1, 1, 4].randomElement(using: &random) ?? 1
            return try writer(work == .secrets ? [] : ["--savers", "\(savers)"])
        }
        // Half of the rounds kill while the processes start, the others while the writers work.
        var latest = 150_000
        if Bool.random(using: &random) {
            for writer in writers where writer.nextLine(within: .seconds(20)) == nil {
                return "a writer did not commit within 20 s"
            }
            latest = 50_000
        }
        let start = ContinuousClock.now
        let times = writers.map { _ in Int.random(in: 0...latest, using: &random) }
        for (time, writer) in zip(times, writers).sorted(by: { $0.0 < $1.0 }) {
            Child.read(writers, until: start + .microseconds(time))
            writer.kill()
            killCount += 1
        }
        for writer in writers {
            let ending = writer.end(within: .seconds(20))
            guard ending == .killed(SIGKILL) else {
                return "a writer ended by itself: \(writer.lines.last ?? "without a word")"
            }
            try log.append(writer.lines)
        }
        guard FileManager.default.fileExists(atPath: path) else {
            return log.count == 0 ? nil : "the store is gone"
        }
        let request = CheckRequest(
            path: path, acknowledgements: (log.path, log.count), schema: work.schema)
        if let problem = try answers(to: [request])[0].problem { return problem }
        return try commitAtOnce()
    }

    /// Checks that dead writers do not make the next one wait.
    private func commitAtOnce() throws -> String? {
        stream += 1
        let next = try Child.commitAtOnce(to: path, stream: stream, command: work.command)
        if let problem = next.problem { return problem }
        if isHeld, holder == nil { holder = try Child.holding(path, work.schema) }
        try log.append(next.lines)
        return nil
    }

    private func writer(_ arguments: [String]) throws -> Child {
        stream += 1
        return try Child(
            [work.command, path, "--seed", "\(seed)", "--stream", "\(stream)"] + work.options
                + arguments)
    }
}
