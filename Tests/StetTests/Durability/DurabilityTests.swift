import Foundation
import Stet
import StetTestSupport
import Testing

/// Shows, rather than assumes, that what was acknowledged is on the disk.
@Suite(.serialized) struct DurabilityTests {
    /// Records a child that makes commits on a store that is there already.
    private func record(
        commits: Int, _ environment: [String: String] = [:]
    ) throws -> (trace: WriteTrace, initial: [UInt8]) {
        let directory = TemporaryDirectory()
        let path = directory.file()
        let log = directory.file("trace")
        #expect(try ChildProcess.run(["create", path]).status == 0)
        let initial = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        let recorder = [
            "LD_PRELOAD": "\(ChildProcess.buildFolder)/libStetRecorder.so",
            "STET_RECORD_FILE": path, "STET_RECORD_LOG": log,
        ].merging(environment) { $1 }
        let outcome = try ChildProcess.run(
            ["write", path, "\(commits)"], environment: recorder)
        #expect(outcome.status == 0, "\(outcome.lines.suffix(3))")
        return (try WriteTrace(contentsOf: log), initial)
    }

    @Test func everyAcknowledgedCommitWasSyncedBefore() throws {
        let (trace, _) = try record(commits: 100)
        #expect(trace.events.filter { $0.acknowledgement != nil }.count == 100)
        #expect(trace.unsyncedAcknowledgements() == [])
        // Each commit makes one sync of the data and one synchronous write of the meta page.
        let syncs = trace.events.filter { if case .sync = $0 { true } else { false } }.count
        let metas = trace.events.filter {
            if case .synchronousWrite = $0 { true } else { false }
        }.count
        #expect(syncs == 100)
        #expect(metas == 100)
    }

    @Test(arguments: ["synced", "logged"])
    func afterAPowerCutAnywhereTheStoreVerifiesAndHasWhatWasAcknowledged(
        durability: String
    ) throws {
        let environment = ["STET_DURABILITY": durability, "STET_CHECKPOINT": "8"]
        let (trace, initial) = try record(commits: 60, environment)
        let count = repetitions(500)
        let images = PowerCutImages(trace, seed: 20_261_121, count: count, initial: initial)
        let directory = TemporaryDirectory()
        var results: [String] = []
        for batch in stride(from: 0, to: count, by: 50) {
            var arguments = ["check"]
            for index in batch..<min(batch + 50, count) {
                let path = directory.file("image-\(index)")
                let acknowledged = try images.write(index, to: path).acknowledged
                let last = acknowledged.last?.dropFirst(4).trimmingCharacters(in: .newlines)
                arguments += [path, last ?? "0"]
            }
            let outcome = try ChildProcess.run(arguments)
            #expect(!outcome.wasKilled, "images \(batch)…: \(outcome.status)")
            results += outcome.lines
            for index in batch..<min(batch + 50, count) {
                for suffix in ["", "-lock", "-log-0", "-log-1"] {
                    try? FileManager.default.removeItem(
                        atPath: directory.file("image-\(index)") + suffix)
                }
            }
        }
        #expect(results.count == count)
        #expect(results.filter { !$0.hasPrefix("ok ") } == [])
    }

    @Test func aNewStoreIsThereWithItsNameOrNotAtAll() throws {
        let directory = TemporaryDirectory()
        let path = directory.file()
        let log = directory.file("trace")
        let outcome = try ChildProcess.run(
            ["write", path, "1"],
            environment: [
                "LD_PRELOAD": "\(ChildProcess.buildFolder)/libStetRecorder.so",
                "STET_RECORD_FILE": path, "STET_RECORD_LOG": log,
            ])
        #expect(outcome.status == 0)
        let trace = try WriteTrace(contentsOf: log)
        // The file gets its name after all of its bytes are synced, and the name is synced before
        // anything else is written.
        let order = trace.events.filter { event in
            switch event {
            case .name, .nameSync, .output: true
            default: false
            }
        }
        #expect(order.prefix(2) == [.name(""), .nameSync])
        #expect(order.count == 3)
        let images = PowerCutImages(trace, seed: 1, count: 100)
        let written = try (0..<100).map { try images.write($0, to: directory.file("image-\($0)")) }
        #expect(Set(written.map(\.hasName)) == [true, false])
        for (index, image) in written.enumerated() {
            let file = directory.file("image-\(index)")
            #expect(FileManager.default.fileExists(atPath: file) == image.hasName)
            guard image.hasName else { continue }
            let revision = image.acknowledged.isEmpty ? "0" : "1"
            #expect(try ChildProcess.run(["check", file, revision]).lines == ["ok \(file)"])
        }
    }

    @Test func killsLoseNoAcknowledgedCommit() throws {
        var generator = SeededGenerator(seed: 100)
        var directory = TemporaryDirectory()
        var acknowledgedCount = 0
        let roundCount = repetitions(100)
        for round in 0..<roundCount {
            if round % 10 == 0 { directory = TemporaryDirectory() }
            let path = directory.file()
            let outcome = try ChildProcess.run(
                ["write", path], killAfter: Int.random(in: 1...12, using: &generator))
            #expect(outcome.wasKilled)
            #expect(outcome.status == SIGKILL)
            #expect(outcome.lines.allSatisfy { $0.hasPrefix("ack ") }, "\(outcome.lines.suffix(1))")
            acknowledgedCount += outcome.lines.count
            let last = outcome.lines.last?.dropFirst(4) ?? "0"
            #expect(try ChildProcess.run(["check", path, String(last)]).lines == ["ok \(path)"])
        }
        #expect(acknowledgedCount >= roundCount)
    }
}
