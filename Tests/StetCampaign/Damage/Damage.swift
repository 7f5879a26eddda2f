import ArgumentParser
import Foundation
import StetTestSupport

/// Damages copies of a store; each case is one damage.
///
/// Every reader must report the damage, or show the contents of the undamaged store: the damage may
/// have hit unused bytes. It must never die, hang, or show other contents.
struct Damage: Campaign {
    static let configuration = CommandConfiguration(
        abstract: "Damages SIZE copies of stores, and lets children look at them.")

    @OptionGroup var options: CampaignOptions

    private static let batchCount = 20
    private static let casesPerStore = 250

    func run(_ report: Report) throws {
        let storeCount = (options.size + Self.casesPerStore - 1) / Self.casesPerStore
        if let only = options.only {
            let store = only / Self.casesPerStore
            return try damage([only], try SoundStore(seed: options.seed &+ UInt64(store)), report)
        }
        try forEachCase(of: storeCount, report) { index in
            let store = try SoundStore(seed: options.seed &+ UInt64(index))
            report.count("stores")
            report.count("pages of them", store.bytes.count / DamagedBytes.pageByteCount)
            let first = index * Self.casesPerStore
            let end = min(first + Self.casesPerStore, options.size)
            for start in stride(from: first, to: end, by: Self.batchCount) {
                guard report.wantsMore else { return }
                let batch = start..<min(start + Self.batchCount, end)
                try damage(Array(batch), store, report)
            }
        }
    }

    private func damage(_ indices: [Int], _ store: SoundStore, _ report: Report) throws {
        let directory = TemporaryDirectory()
        var damages: [(index: Int, description: String, request: CheckRequest)] = []
        for index in indices {
            let damaged = DamagedBytes(store, seed: options.seed, index: index)
            let path = directory.file("damaged-\(index).stet")
            try Data(damaged.bytes).write(to: URL(fileURLWithPath: path))
            damages.append((index, damaged.description, CheckRequest(path: path)))
        }
        for (damage, outcome) in zip(damages, try answers(to: damages.map(\.request))) {
            report.count("damages")
            switch store.verdict(on: outcome) {
            case .harmless(let what): report.count(what)
            case .finding(let what):
                report.finding(
                    damage.index, "\(damage.description): \(what)", files: [damage.request.path])
            }
        }
    }
}

/// A store of some hundred commits, and the answers of a checker for it.
struct SoundStore {
    /// The present bytes of the file.
    private(set) var bytes: [UInt8] = []
    /// The first two pages after each of the last commits.
    private(set) var metaPages: [[UInt8]] = []
    /// The answers of the checker after each of the last commits; the last one is for `bytes`.
    private var history: [Answer] = []

    enum Verdict {
        /// Nothing wrong was shown, for the given reason.
        case harmless(String)
        case finding(String)
    }

    init(seed: UInt64) throws {
        let directory = TemporaryDirectory()
        let path = directory.file()
        for (stream, commits) in [300, 1, 1, 1, 1].enumerated() {
            let child = try Child(
                ["write", path, "--seed", "\(seed)", "--stream", "\(stream)"]
                    + ["--commits", "\(commits)"])
            guard child.end(within: .seconds(60)) == .exited(0) else {
                throw CampaignFailure("a writer failed: \(child.lines.last ?? "without a word")")
            }
            let outcome = try answers(to: [CheckRequest(path: path)])[0]
            guard case .answered(let answer) = outcome, answer.problem == nil else {
                throw CampaignFailure("the sound store is not: \(outcome.problem ?? "")")
            }
            bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            metaPages.append(Array(bytes[..<(2 * DamagedBytes.pageByteCount)]))
            history.append(answer)
        }
    }

    /// Judges the outcome of a checker for a damaged copy.
    func verdict(on outcome: CheckOutcome) -> Verdict {
        guard case .answered(let answer) = outcome, let sound = history.last else {
            return .finding(outcome.problem ?? "no answer")
        }
        if let problem = answer.problem {
            guard let state = answer.state, state != sound.state else {
                return .harmless("damaged: \(answer.stage)")
            }
            return .finding("objects were read with other values before \(problem)")
        }
        if answer == sound { return .harmless("clean: unused bytes") }
        // A lost meta page loses its commit, as a power cut before its write would. Only a reader
        // that knows the commit can report the loss.
        if history.contains(answer) { return .harmless("clean: an earlier commit") }
        return .finding("silent damage: \(answer.contents) instead of \(sound.contents)")
    }
}
