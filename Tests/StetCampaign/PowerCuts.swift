import ArgumentParser
import Foundation
import StetTestSupport

/// What a power cut may leave of a recorded session; each case is one image of the store's file.
struct PowerCuts: Campaign {
    static let configuration = CommandConfiguration(
        abstract: "Records sessions, and checks SIZE images of what power cuts would have left.")

    @OptionGroup var options: CampaignOptions

    private static let batchCount = 50

    func run(_ report: Report) throws {
        // Image n is of session n modulo the number of sessions, so that every prefix has all
        // kinds.
        let sessionCount = max(8, options.size / 1_000)
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
            let promised = (recording.log.path, recording.initialCount + image.acknowledged.count)
            if image.hasName {
                present.append((index, image, CheckRequest(path: path, acknowledgements: promised)))
            } else if !image.acknowledged.isEmpty {
                finding(index, "\(image.description): acknowledged, but there is no file", [])
            }
        }
        for (item, outcome) in zip(present, try answers(to: present.map(\.request))) {
            guard let problem = outcome.problem else { continue }
            finding(item.index, "\(item.image.description): \(problem)", [item.request.path])
        }
    }
}

/// What a session of a writer wrote, synced and acknowledged.
private struct Recording {
    let trace: WriteTrace
    /// The store's file before the session.
    let initial: [UInt8]
    /// All acknowledgements, and how many of them are from before the session.
    let log: AcknowledgementLog
    let initialCount: Int
    private let directory = TemporaryDirectory()

    /// Sessions take turns: a new store with one commit, a new store with many, a store that has
    /// been in use with many commits, with commits in groups, with large ones.
    init(seed: UInt64, _ session: Int) throws {
        let path = directory.file()
        let trace = directory.file("trace")
        let own = ["write", path, "--seed", "\(seed &+ UInt64(session))"]
        var earlier: [String] = []
        if session % 5 >= 2 {
            earlier = try Self.lines(own + ["--stream", "1", "--commits", "30"])
            initial = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        } else {
            initial = []
        }
        let kinds = [
            ["--commits", "1"], ["--commits", "30"], ["--commits", "40"],
            ["--commits", "12", "--savers", "4"], ["--commits", "4", "--changes", "400"],
        ]
        let lines = try Self.lines(
            own + ["--stream", "2"] + kinds[session % kinds.count],
            environment: [
                "LD_PRELOAD": "\(ChildProcess.buildFolder)/libStetRecorder.so",
                "STET_RECORD_FILE": path, "STET_RECORD_LOG": trace,
            ])
        initialCount = earlier.count
        var log = AcknowledgementLog(path: directory.file("acknowledgements"))
        try log.append(earlier + lines)
        self.log = log
        self.trace = try WriteTrace(contentsOf: trace)
    }

    private static func lines(
        _ arguments: [String], environment: [String: String] = [:]
    ) throws -> [String] {
        let child = try Child(arguments, environment: environment)
        guard child.end(within: .seconds(60)) == .exited(0) else {
            throw CampaignFailure("a writer failed: \(child.lines.last ?? "without a word")")
        }
        return child.lines
    }
}
