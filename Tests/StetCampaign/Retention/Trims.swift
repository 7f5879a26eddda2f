import ArgumentParser
import Foundation
import Glibc
import StetLMDB
import StetStore
import StetTestSupport

/// Opens and reads a journal of SIZE commits, trims it in processes that are killed, verifies and
/// compacts it, and reports the time and memory of each step.
struct Trims: Campaign {
    static let configuration = CommandConfiguration(
        abstract: "Trims a journal of SIZE commits, in processes that are killed meanwhile.")

    @OptionGroup var options: CampaignOptions

    /// The private memory that a step may use, in bytes; pages of the file are not included.
    private static let memoryLimit = 64 << 20
    private static let killCount = 5

    func run(_ report: Report) throws {
        let directory = TemporaryDirectory()
        let path = directory.file()
        var random = SeededGenerator(seed: options.seed, stream: 0)
        _ = try step("fill", path, options.size)
        let dump = try step("state", path)
        for what in ["open", "read"] {
            try judge(what, try step(what, path), report)
        }
        for _ in 0..<Self.killCount {
            let child = try Child(
                ["trim-step", "trim", path, "--number", "\(options.size / 2)"])
            for _ in 0..<Int.random(in: 0...options.size / 20_000, using: &random) {
                _ = child.nextLine(within: .seconds(20))
            }
            child.kill()
            _ = child.end(within: .seconds(20))
            report.count("kills")
            let told = try step("floor", path)
            say("killed: the journal begins after \(told.value)")
        }
        try judge("trim", try step("trim", path, options.size / 2), report)
        if try step("state", path).value != dump.value {
            report.finding(0, "the state is another after the trim", files: [path])
        }
        for what in ["verify", "compact"] {
            let told = try step(what, path)
            say("\(what): \(told.line)")
            if told.value != "0" { report.finding(0, "\(what): \(told.line)", files: [path]) }
        }
        report.count("commits", options.size)
    }

    /// The last output of a step.
    private struct Told {
        let line: String
        let value: String
        let ownByteCount: Int
    }

    private func step(_ what: String, _ path: String, _ number: Int = 0) throws -> Told {
        let child = try Child(["trim-step", what, path, "--number", "\(number)"])
        guard child.end(within: .seconds(3_600)) == .exited(0), let line = child.lines.last else {
            throw CampaignFailure("the step \(what) failed: \(child.lines.last ?? "")")
        }
        let words = line.split(separator: " ").map(String.init)
        return Told(line: line, value: words[0], ownByteCount: words.last.flatMap { Int($0) } ?? 0)
    }

    private func judge(_ what: String, _ told: Told, _ report: Report) throws {
        say("\(what): \(told.line)")
        if told.ownByteCount > Self.memoryLimit {
            report.finding(0, "\(what) took \(told.ownByteCount) bytes of memory")
        }
    }
}

/// One step in a separate process: it ends with a value, and reports seconds and memory.
struct TrimStep: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "trim-step")

    @Argument var what: String
    @Argument var path: String
    @Option var number = 0

    private static let objectCount = 10_000

    func run() throws {
        let begun = ContinuousClock.now
        let file = try StoreFile.open(at: path, schema: .campaign)
        var memory = OwnMemory()
        let value = try perform(file, &memory)
        memory.look()
        let seconds = (ContinuousClock.now - begun) / .seconds(1)
        say(
            "\(value) \(String(format: "%.2f", seconds)) s, with pages of the file "
                + "\(OwnMemory.largest) bytes, own memory \(memory.ownByteCount)")
        file.close()
    }

    private func perform(_ file: StoreFile, _ memory: inout OwnMemory) throws -> String {
        switch what {
        case "fill":
            try fill(file)
            return "0"
        case "open", "floor": return "\(try file.read { try $0.floor() })"
        case "read": return try read(file, &memory)
        case "state": return try state(file)
        case "trim":
            try file.trim(through: Revision(UInt64(number))) { floor in
                say("\(floor)")
                memory.look()
                return true
            }
            return "\(try file.read { try $0.floor() })"
        case "verify": return "\(try file.verify().problems.count)"
        case "compact":
            return "\(try file.copy(to: "\(path).compact").report.problems.count)"
        default: throw CampaignFailure("there is no step \(what)")
        }
    }

    /// Makes commits of one object each, of the same objects again and again.
    private func fill(_ file: StoreFile) throws {
        var waiting: [Submission] = []
        for index in 0..<number {
            let round = index / Self.objectCount
            let id = ObjectID(
                high: 0x0190 << 48 | 0x7000, low: 1 << 63 | UInt64(index % Self.objectCount))
            var net = ChangeSetBuilder(schema: file.schema)
            let before = round == 0 ? 0..<0 : net.encode(entity: 2) { $0.write(values(round - 1)) }
            let after = net.encode(entity: 2) { $0.write(values(round)) }
            net.append(
                ChangeSetBuilder.Item(
                    kind: round == 0 ? .insert : .update, entity: 2, id: id,
                    base: round == 0 ? 0 : Revision(UInt64(index - Self.objectCount + 1)),
                    before: before, after: after))
            waiting.append(
                try file.submit(
                    try net.encoded(
                        attributes: CommitAttributes(author: "author \(index % 100)"),
                        base: Revision(UInt64(index)), token: UInt64(index), time: Double(index))))
            if waiting.count == 2_000 || index + 1 == number {
                for submission in waiting { _ = try submission.wait() }
                waiting = []
            }
        }
    }

    private func values(_ round: Int) -> [Value] {
        [.string("a name of a notebook, changed for the \(round)th time"), .null]
    }

    private func read(_ file: StoreFile, _ memory: inout OwnMemory) throws -> String {
        let (head, floor) = try file.read { (try $0.head().revision, try $0.floor()) }
        var count = 0
        var revision = floor
        while revision < head {
            revision = Revision(revision.number + 1)
            let number = revision
            count += try file.read { try $0.commit(number) }.changeCount
            if count.isMultiple(of: 10_000) { memory.look() }
        }
        return "\(count)"
    }

    /// Returns a sum over all objects.
    private func state(_ file: StoreFile) throws -> String {
        var sum: UInt64 = 0
        try file.read { reader in
            try reader.forEachRecord(ofEntity: 2, asOf: .max) { id, record in
                sum &+= Checksum.hash(record.body, seed: id.low ^ record.revision.number)
                return true
            }
        }
        return "\(sum)"
    }
}

/// The private memory of this process, without pages of files, as far as it was measured.
private struct OwnMemory {
    private(set) var ownByteCount = 0

    mutating func look() {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") }),
            let number = line.split(whereSeparator: { !$0.isNumber }).first.flatMap({ Int($0) })
        else { return }
        ownByteCount = max(ownByteCount, number * 1_024)
    }

    /// The maximum memory of this process so far, including pages of files.
    static var largest: Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss * 1_024
    }
}
