import ArgumentParser
import Foundation
import StetStore
import StetTestSupport

/// Examines the states in which a power cut may leave a recorded session; each case is one image of
/// the store's file.
struct PowerCuts: Campaign {
    static let configuration = CommandConfiguration(
        abstract: "Records sessions, and checks SIZE images of what power cuts would have left.")

    @OptionGroup var options: CampaignOptions

    private static let batchCount = 50

    func run(_ report: Report) throws {
        // Image n belongs to session n modulo the number of sessions, so that every prefix contains
        // all kinds.
        let sessionCount = max(2 * SessionKind.all.count, options.size / 1_000)
        if let only = options.only {
            let images = [only / sessionCount]
            return try check(images, of: only % sessionCount, sessionCount, report)
        }
        try forEachCase(of: sessionCount, report) { session in
            let images = stride(from: session, to: options.size, by: sessionCount).map {
                $0 / sessionCount
            }
            try check(images, of: session, sessionCount, report)
        }
    }

    private func check(
        _ indices: [Int], of session: Int, _ sessionCount: Int, _ report: Report
    ) throws {
        guard let last = indices.last else { return }
        let recording = try Recording(seed: options.seed, session)
        report.count("sessions")
        let images = PowerCutImages(
            recording.trace, seed: options.seed &+ UInt64(session), count: last + 1,
            initial: recording.initial)
        for start in stride(from: 0, to: indices.count, by: Self.batchCount) {
            guard report.wantsMore else { return }
            let batch = indices[start..<min(start + Self.batchCount, indices.count)]
            try check(Array(batch), images, recording) { index, problem, files in
                report.finding(index * sessionCount + session, problem, files: files)
            }
            report.count("images", batch.count)
        }
    }

    private func check(
        _ indices: [Int], _ images: PowerCutImages, _ recording: Recording,
        _ finding: (Int, String, [String]) -> Void
    ) throws {
        let directory = TemporaryDirectory()
        var present: [(index: Int, image: PowerCutImages.Image, request: CheckRequest)] = []
        for index in indices {
            let path = directory.file("image-\(index).stet")
            let image = try images.write(index, to: path)
            if let lost = recording.lostFile(of: image) {
                finding(index, "\(image.description): promised, but there is no file \(lost)", [])
            }
            for name in image.names where recording.isChecked(name) {
                let request = recording.request(path, name, of: image)
                present.append((index, image, request))
            }
        }
        for (item, outcome) in zip(present, try answers(to: present.map(\.request))) {
            guard let problem = outcome.problem else { continue }
            finding(
                item.index, "\(recording.kind): \(item.image.description): \(problem)",
                [item.request.path])
        }
    }
}

/// The work of the processes of a session.
private enum SessionKind: Hashable {
    /// Writers with these arguments: to a new store, or to one that has been used.
    case commits(isNew: Bool, [String])
    /// Two writers at the same time, which also create the store if it is new.
    case twoWriters(isNew: Bool)
    /// All operations on a store, by this number of processes at the same time.
    case toil(processes: Int)
    /// All operations by one process, while calls of LMDB fail, or one system call.
    case failingToil(inSystem: Bool)
    case migration(Migrate.Way, fails: Bool)
    /// A writer that is killed, then another one, which may be killed, too, then a third; the store
    /// may be open in a further process for as long.
    case kills(count: Int, isHeld: Bool)
    /// Writers of sealed values to a new store, all but the last of which are killed.
    case secrets(kills: Int)
    /// Writers that remove unused large data, all but the last of which are killed.
    case sweeps(kills: Int)

    /// The processes of a step of a session, which run at the same time.
    struct Step {
        var processes: [[String]]
        /// A system call that fails; nil for none.
        var failure: FailureCase?

        /// Whether its processes may be killed.
        var endsByKill: Bool { failure?.error == "killed" }
    }

    /// The kinds of sessions: those of one process if a second writer is refused, and without
    /// failures if a store that was not closed cannot be opened.
    static let all = every.filter { kind in
        (Durability.usual == .synced || Durability.waitsByDefault || !kind.hasSeveralWriters)
            && (Durability.usual != .none || !kind.canFail)
    }

    private static let every: [SessionKind] = [
        .commits(isNew: true, ["--commits", "1"]),
        .commits(isNew: true, ["--commits", "30"]),
        .commits(isNew: false, ["--commits", "40"]),
        .commits(isNew: false, ["--commits", "12", "--savers", "4"]),
        .commits(isNew: false, ["--commits", "4", "--changes", "400"]),
        .twoWriters(isNew: false), .twoWriters(isNew: true),
        .toil(processes: 1), .toil(processes: 2),
        .failingToil(inSystem: false), .failingToil(inSystem: true), .failingToil(inSystem: true),
        .migration(.index, fails: false), .migration(.index, fails: true),
        .migration(.largeIndex, fails: false), .migration(.code, fails: false),
        .migration(.code, fails: true),
        .kills(count: 1, isHeld: false), .kills(count: 2, isHeld: false),
        .kills(count: 2, isHeld: false), .kills(count: 1, isHeld: true),
        .kills(count: 2, isHeld: true),
        .secrets(kills: 0), .secrets(kills: 2), .sweeps(kills: 0), .sweeps(kills: 2),
    ]

    private var hasSeveralWriters: Bool {
        switch self {
        case .twoWriters: true
        case .toil(let processes): processes > 1
        case .commits, .failingToil, .migration, .kills, .secrets, .sweeps: false
        }
    }

    /// Whether a process may be killed, or give up, while it has the store open.
    private var canFail: Bool {
        switch self {
        case .failingToil, .kills, .migration(_, fails: true): true
        case .secrets(let kills), .sweeps(let kills): kills > 0
        case .commits, .twoWriters, .toil, .migration(_, fails: false): false
        }
    }

    /// Whether a process that is not recorded has the store open.
    var isHeld: Bool { if case .kills(_, let isHeld) = self { isHeld } else { false } }

    var schema: CheckedSchema {
        switch self {
        case .commits, .twoWriters, .toil, .failingToil, .kills: .campaign
        case .migration(.code, _): .people
        case .secrets: .secrets
        case .sweeps: .sweeps
        case .migration: .withIndex
        }
    }

    /// Returns the arguments that create the store before the recording; nil for a new one.
    func preparation(_ seed: UInt64) -> [String]? {
        switch self {
        // The trace of a session has the key file from its beginning.
        case .commits(isNew: true, _), .twoWriters(isNew: true), .secrets: nil
        case .migration(let way, _):
            ["migrate", "--way", way.rawValue, "--prepares", "--seed", "\(seed)"]
        default: ["write", "--seed", "\(seed)", "--stream", "1", "--commits", "30"]
        }
    }

    /// Returns the steps that are recorded.
    func steps(_ seed: UInt64) -> [Step] {
        let option = ["--seed", "\(seed)"]
        func one(_ arguments: [String]) -> [Step] {
            [Step(processes: [arguments + option], failure: failure(seed))]
        }
        switch self {
        case .commits(_, let arguments): return one(["write", "--stream", "2"] + arguments)
        case .twoWriters:
            return [
                Step(
                    processes: (2...3).map {
                        ["write", "--stream", "\($0)", "--commits", "20"] + option
                    })
            ]
        case .toil(let count):
            return [
                Step(processes: (2..<2 + count).map { ["toil", "--stream", "\($0)"] + option })
            ]
        case .failingToil(let inSystem):
            return one(["toil", "--stream", "2"] + (inSystem ? [] : ["--fails"]))
        case .migration(let way, _): return one(["migrate", "--way", way.rawValue])
        case .kills(let count, _): return killed(["write"], count, seed)
        case .secrets(let count): return killed(["write-secrets"], count, seed)
        case .sweeps(let count): return killed(["write", "--sweeps"], count, seed)
        }
    }

    /// Returns steps with a writer of 20 commits each, which is killed in all but the last.
    private func killed(_ command: [String], _ count: Int, _ seed: UInt64) -> [Step] {
        var random = SeededGenerator(seed: seed, stream: 3)
        return (0...count).map { number in
            var step = Step(processes: [
                command + ["--stream", "\(2 + number)", "--commits", "20", "--seed", "\(seed)"]
            ])
            if number < count { step.failure = kill(number == 0 ? 120 : 25, &random) }
            return step
        }
    }

    /// Returns one of the first calls at which a process is killed.
    private func kill(_ limit: Int, _ random: inout SeededGenerator) -> FailureCase {
        let isSync = Int.random(in: 0..<3, using: &random) == 0
        return FailureCase(
            call: isSync ? "fdatasync" : "pwrite",
            number: Int.random(in: 1...(isSync ? limit / 5 : limit), using: &random),
            error: "killed", isSticky: false, isHeld: isHeld)
    }

    /// Returns a system call that fails in a session of one step; nil for none.
    private func failure(_ seed: UInt64) -> FailureCase? {
        switch self {
        case .failingToil(inSystem: true), .migration(_, fails: true): break
        default: return nil
        }
        var random = SeededGenerator(seed: seed, stream: 2)
        let calls = [
            ("pwrite", ["EIO", "ENOSPC", "short", "persisted", "persisted", "persisted"]),
            ("fdatasync", ["EIO", "persisted"]),
        ]
        let (call, errors) = calls[Int.random(in: 0..<4, using: &random) / 3]
        return FailureCase(
            call: call, number: Int.random(in: 4...40, using: &random),
            error: errors[Int.random(in: 0..<errors.count, using: &random)],
            isSticky: self == .failingToil(inSystem: true) && Bool.random(using: &random),
            isHeld: false)
    }
}

/// The writes, syncs and statements of the processes of a session.
private struct Recording {
    let kind: SessionKind
    let trace: WriteTrace
    /// The store's file before the session.
    let initial: [UInt8]
    /// All promises, and how many of them precede the session.
    private let log: AcknowledgementLog
    private let initialCount: Int
    private let directory = TemporaryDirectory()
    /// The number of promises of the session before each copy was begun.
    private var counts: [String: Int] = ["": Int.max]

    init(seed: UInt64, _ session: Int) throws {
        kind = SessionKind.all[session % SessionKind.all.count]
        let seed = seed &+ UInt64(session)
        let path = directory.file()
        let trace = directory.file("trace")
        var earlier: [String] = []
        if let arguments = kind.preparation(seed) {
            earlier = try Self.end([try Child(Self.with(path, arguments))])
            initial = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        } else {
            initial = []
        }
        let holder = kind.isHeld ? try Child.holding(path) : nil
        for step in kind.steps(seed) {
            var environment = [
                "LD_PRELOAD": "\(ChildProcess.buildFolder)/libStetRecorder.so",
                "STET_RECORD_FILE": path, "STET_RECORD_LOG": trace,
            ]
            if let failure = step.failure {
                environment.merge(failure.environment) { $1 }
                environment["STET_FAIL_FILE"] = path
            }
            let children = try step.processes.map {
                try Child(Self.with(path, $0), environment: environment)
            }
            _ = try Self.end(children, allowsKill: step.endsByKill)
        }
        withExtendedLifetime(holder) {}
        self.trace = try WriteTrace(contentsOf: trace)
        let lines = self.trace.events.compactMap(\.acknowledgement).map {
            $0.trimmingCharacters(in: .newlines)
        }
        initialCount = earlier.count
        var log = AcknowledgementLog(path: directory.file("acknowledgements"))
        try log.append(earlier + lines)
        self.log = log
        for (index, line) in lines.enumerated() {
            if case .copying(let name)? = Promise(line) { counts[name] = index }
        }
    }

    /// Inserts the path of a store after the name of a command.
    private static func with(_ path: String, _ arguments: [String]) -> [String] {
        [arguments[0], path] + arguments.dropFirst()
    }

    /// Returns the output of children after they have ended successfully, or by a kill.
    private static func end(_ children: [Child], allowsKill: Bool = false) throws -> [String] {
        try children.flatMap { child in
            let ending = child.end(within: .seconds(60))
            guard ending == .exited(0) || allowsKill && ending == .killed(SIGKILL) else {
                throw CampaignFailure("a writer failed: \(child.lines.last ?? "without a word")")
            }
            return child.lines
        }
    }

    // MARK: Images

    /// Returns whether a file of an image is a complete store, rather than a copy that a migration
    /// works on.
    func isChecked(_ name: String) -> Bool { counts[name] != nil }

    /// Returns the name of a file that was promised but is missing in an image.
    func lostFile(of image: PowerCutImages.Image) -> String? {
        if !image.hasName, !image.acknowledged.isEmpty { return "of the store" }
        for line in image.acknowledged {
            if case .copied(let name)? = Promise(line), !image.names.contains(name) { return name }
        }
        return nil
    }

    /// Returns the request for a checker of a file of an image.
    func request(_ path: String, _ name: String, of image: PowerCutImages.Image) -> CheckRequest {
        let count = min(image.acknowledged.count, counts[name] ?? 0)
        var request = CheckRequest(
            path: path + name, acknowledgements: (log.path, initialCount + count),
            schema: kind.schema)
        switch Durability.usual {
        case .synced, .logged: break
        case .relaxed: request.unsyncedCount = max(count - image.loggedCount, 0)
        case .none: request.unsyncedCount = count
        }
        return request
    }
}
