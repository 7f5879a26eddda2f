import ArgumentParser
import Foundation
import Glibc
import StetTestSupport

/// Removes, renames, replaces, reads or compacts the files of a store while processes save to it;
/// each case is one store.
struct MovedFiles: Campaign {
    static let configuration = CommandConfiguration(
        abstract: "Moves the files of SIZE stores away under their writers.")

    @OptionGroup var options: CampaignOptions

    func run(_ report: Report) throws {
        try forEachCase(of: options.size, report) { index in
            let disturbance = Disturbance.allCases[index % Disturbance.allCases.count]
            let store = MovedStore(seed: options.seed, index: index)
            if let problem = try store.run(disturbance, report) {
                report.finding(
                    index, "\(disturbance.rawValue): \(problem)", files: [store.kept, store.path])
            }
            report.count(disturbance.rawValue)
        }
    }
}

/// The operation on the files.
private enum Disturbance: String, CaseIterable {
    case fileRemoved, fileReplaced, directoryRenamed, lockRemoved, lockReplaced, lockRead
    case compactedInPlace

    /// True if the acknowledged commits are still at the path.
    var leavesStore: Bool { self == .lockRead || self == .compactedInPlace }
}

private final class MovedStore {
    let path: String
    /// Another name of the file that the writers have open.
    let kept: String
    private var log: AcknowledgementLog
    private let directory = TemporaryDirectory()
    private let seed: UInt64
    private var random: SeededGenerator
    private var stream = 0

    init(seed: UInt64, index: Int) {
        self.seed = seed &+ UInt64(index)
        random = SeededGenerator(seed: seed, stream: index)
        path = directory.file("here/test.stet")
        kept = directory.file("kept.stet")
        log = AcknowledgementLog(path: directory.file("acknowledgements"))
    }

    /// Runs the case, and returns a description of a problem; nil if there is none.
    func run(_ disturbance: Disturbance, _ report: Report) throws -> String? {
        try FileManager.default.createDirectory(
            atPath: directory.file("here"), withIntermediateDirectories: false)
        let reads = disturbance == .lockRead ? ["--reads-lock-file"] : []
        let writers = try [writer(reads), writer([])]
        for writer in writers where writer.nextLine(within: .seconds(20)) == nil {
            return "a writer cannot write: \(writer.lines)"
        }
        if !disturbance.leavesStore, link(path, kept) != 0 {
            throw CampaignFailure("no link: \(errno)")
        }
        let pause = Duration.microseconds(Int.random(in: 0...100_000, using: &random))
        Child.read(writers, until: .now + pause)
        try disturb(disturbance)
        if disturbance == .lockRead {
            Child.read(writers, until: .now + .milliseconds(300))
            for writer in writers { writer.kill() }
        }
        var lines: [String] = []
        for writer in writers {
            guard let ending = writer.end(within: .seconds(20)) else {
                return "a writer went on, up to \(writer.lines.last ?? "nothing")"
            }
            let isTold = writer.lines.last?.contains("while it was open") == true
            guard disturbance == .lockRead ? ending == .killed(SIGKILL) : isTold else {
                return "a writer ended with \(ending): \(writer.lines.last ?? "without a word")"
            }
            lines += writer.lines.filter { Acknowledgement($0) != nil }
        }
        try log.append(lines)
        report.count("acknowledged commits", log.count)
        return try look(disturbance)
    }

    private func disturb(_ disturbance: Disturbance) throws {
        let manager = FileManager.default
        switch disturbance {
        case .fileRemoved: try manager.removeItem(atPath: path)
        case .fileReplaced, .lockReplaced:
            let name = disturbance == .fileReplaced ? path : "\(path)-lock"
            try manager.copyItem(atPath: name, toPath: "\(name)2")
            guard rename("\(name)2", name) == 0 else { throw CampaignFailure("\(errno)") }
        case .directoryRenamed:
            try manager.moveItem(atPath: directory.file("here"), toPath: directory.file("there"))
        case .lockRemoved: try manager.removeItem(atPath: "\(path)-lock")
        case .lockRead: break
        case .compactedInPlace:
            let child = try Child(["compact-in-place", path])
            guard child.end(within: .seconds(60)) == .exited(0) else {
                throw CampaignFailure("cannot compact: \(child.lines)")
            }
        }
    }

    /// Checks that all acknowledged commits are in the file that was open, or in its compacted
    /// copy.
    private func look(_ disturbance: Disturbance) throws -> String? {
        var place = kept
        if disturbance.leavesStore {
            place = path
            let next = try Child.commitAtOnce(to: path, stream: 9)
            if let problem = next.problem { return problem }
            try log.append(next.lines)
        } else {
            // A store must have one hard link only.
            try? FileManager.default.removeItem(atPath: path)
            try? FileManager.default.removeItem(atPath: directory.file("there"))
        }
        let request = CheckRequest(path: place, acknowledgements: (log.path, log.count))
        return try answers(to: [request])[0].problem
    }

    private func writer(_ arguments: [String]) throws -> Child {
        stream += 1
        return try Child(
            ["write", path, "--seed", "\(seed)", "--stream", "\(stream)"] + arguments)
    }
}
