import Foundation
import Glibc
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// Files that are damaged, foreign or missing, and commands that are not understood.
struct RefusalTests {
    private static let pageByteCount = 4_096

    /// The bytes of a store with a few levels and long values.
    private func makeBytes() throws -> Data {
        let fixture = try Fixture()
        for round in 0..<20 { try fixture.commitArticles(20, first: 1_000 + round * 15) }
        fixture.file.close()
        return try Data(contentsOf: URL(fileURLWithPath: fixture.path))
    }

    @Test func aDamagedPageIsNamedByVerifyAndEndsNoCommandWithASignal() throws {
        let whole = try makeBytes()
        let directory = TemporaryDirectory()
        var random = SeededGenerator(seed: 4)
        var found: [String: Int] = [:]
        for page in stride(from: 2, to: whole.count / Self.pageByteCount, by: 5) {
            var bytes = whole
            let start = page * Self.pageByteCount
            for offset in start..<start + Self.pageByteCount {
                bytes[offset] = UInt8.random(in: 0...255, using: &random)
            }
            let path = directory.file("page-\(page)")
            try bytes.write(to: URL(fileURLWithPath: path))
            let verdict = try Tool.run("verify", path)
            let dump = try Tool.run("dump", path)
            let copy = try Tool.run("restore", path, "\(path)-restored")
            let isWhole = verdict.status == 0
            found[isWhole ? "whole" : "damaged", default: 0] += 1
            if dump.errors.contains("ended the process with signal") {
                found["ended by a signal", default: 0] += 1
            }
            #expect(verdict.output.hasPrefix(isWhole ? "verified" : "NOT VERIFIED"))
            #expect([0, 1].contains(verdict.status), "page \(page)")
            #expect([0, 65].contains(dump.status), "page \(page)")
            #expect(copy.status == (isWhole ? 0 : 65))
            #expect(FileManager.default.fileExists(atPath: "\(path)-restored") == isWhole)
        }
        #expect(found["damaged", default: 0] > 5, "\(found)")
        #expect(found["whole", default: 0] > 0, "\(found)")
        #expect(found["ended by a signal", default: 0] > 0, "\(found)")
    }

    /// The threads that tests run on block other signals, and a program that they start inherits
    /// that.
    @Test(arguments: [SIGSEGV, SIGBUS, SIGKILL])
    func aSignalThatEndsTheReadingProcessDoesNotEndTheTool(signal: Int32) throws {
        let fixture = try Fixture()
        let path = fixture.path
        try fixture.commitArticles(1)
        // `verify` walks the pages as a writer, so it waits here until it is killed.
        let running = try fixture.file.environment.write { _ in
            let running = try Tool.Running(["verify", path])
            kill(try running.worker(), signal)
            return running
        }
        let message = "The store is damaged: reading it ended the process with signal \(signal) ("
        let outcome = try running.outcome()
        #expect(outcome.errors == "")
        if signal == SIGKILL {
            #expect(outcome == Tool.Outcome(status: 128 + SIGKILL))
        } else {
            #expect(outcome.status == 1)
            #expect(outcome.output.hasPrefix("NOT VERIFIED:\n  \(message)"))
        }
    }

    @Test func aDamagedStoreIsTellingInJSONToo() throws {
        var bytes = try makeBytes()
        bytes.removeLast(bytes.count / 2)
        let directory = TemporaryDirectory()
        let path = directory.file()
        try bytes.write(to: URL(fileURLWithPath: path))
        let verdict = try Tool.run("verify", path, "--json")
        #expect(verdict.status == 1)
        #expect(verdict.errors == "")
        #expect(
            verdict.output.hasPrefix(
                "{\"isClean\":false,\"problems\":[\"The store is damaged: page "))
        let info = try Tool.run("info", path, "--json")
        #expect(info.status == 65)
        #expect(info.output == "")
        let error = try JSONDecoder().decode([String: String].self, from: Data(info.errors.utf8))
        #expect(error["code"] == "damaged")
        #expect(error["path"] == path)
        #expect(error["advice"] == "Run verify on a copy, and restore from a backup.")
    }

    @Test(
        arguments: ["info", "log", "dump", "verify"])
    func whatIsNoStoreIsRefusedAndNothingIsMade(command: String) throws {
        let directory = TemporaryDirectory()
        let missing = directory.file("missing")
        let text = "stet: There is no store \(missing). Correct the path; nothing was made.\n"
        #expect(try Tool.run(command, missing) == Tool.Outcome(status: 66, errors: text))
        let json = """
            {"advice":"Correct the path; nothing was made.","code":"notFound",\
            "message":"There is no store \(missing).","path":"\(missing)"}

            """
        #expect(
            try Tool.run(command, missing, "--json") == Tool.Outcome(status: 66, errors: json))
        let foreign = directory.file("foreign")
        try Data(repeating: 65, count: 9_000).write(to: URL(fileURLWithPath: foreign))
        #expect(try Tool.run(command, foreign).status == 65)
        let empty = directory.file("empty")
        try Data().write(to: URL(fileURLWithPath: empty))
        #expect(try Tool.run(command, empty).status == 65)
        #expect(try Tool.run(command, directory.path).status == 66)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        #expect(names == ["empty", "foreign"])
    }

    @Test func whatTheStoreDoesNotHaveIsNamed() throws {
        let fixture = try Fixture()
        try fixture.commitArticles(1)
        let id = ObjectID.fixed(1)
        let expected = [
            ["show", "2"]: "There is no revision 2 in the store. The last revision is 1.",
            ["show", "0"]: "There is no revision 0 in the store. The last revision is 1.",
            ["show", "\(id)"]: "There is no object \(id) in the store. See dump for those it has.",
            ["dump", "--as-of", "2"]:
                "There is no revision 2 in the store. The last revision is 1.",
            ["dump", "--entity", "Tag"]:
                "There is no entity Tag in the store. It has: Article, Notebook.",
        ]
        for (words, message) in expected {
            let outcome = try Tool.Running([words[0], fixture.path] + words.dropFirst()).outcome()
            #expect(outcome == Tool.Outcome(status: 66, errors: "stet: \(message)\n"))
        }
    }

    @Test(
        arguments: [
            ["bogus"], ["show", "x"], ["show", "x", "neither"], ["log", "x", "--limit", "-1"],
            ["log", "x", "--from", "3", "--to", "2"], ["in-child"],
        ])
    func aCommandLineThatIsNotUnderstoodIsUsage(words: [String]) throws {
        let outcome = try Tool.Running(words).outcome()
        #expect(outcome.status == 64)
        #expect(outcome.output == "")
    }

    @Test(
        arguments: [
            ["show", "x", "--json", "neither"], ["log", "--json", "x", "--limit", "-1"],
            ["bogus", "--json"], ["blame", "x", "y", "--json"],
        ])
    func aMistakeInACommandLineForJSONIsJSON(words: [String]) throws {
        let fixture = try Fixture()
        let words = words.map { $0 == "x" ? fixture.path : $0 }
        let outcome = try Tool.Running(words).outcome()
        #expect(outcome.status == 64)
        #expect(outcome.output == "")
        let lines = outcome.errors.split(separator: "\n")
        #expect(lines.count == 1)
        let error = try JSONDecoder().decode([String: String?].self, from: Data(lines[0].utf8))
        #expect(error["code"] == "usage")
        #expect(error["message"]??.isEmpty == false)
    }

    @Test func helpTellsTheExitCodesAndTheShellsGetTheirCompletions() throws {
        let help = try Tool.run("--help")
        #expect(help.status == 0)
        #expect(help.output.contains("EXIT CODES:"))
        for code in [0, 1, 64, 65, 66, 70, 73, 74, 77] {
            #expect(help.output.contains("\n  \(code) "), "\(code)")
        }
        #expect(!help.output.contains("in-child"))
        for shell in ["bash", "zsh", "fish"] {
            let script = try Tool.run("--generate-completion-script", shell)
            #expect(script.status == 0, "\(shell)")
            #expect(script.output.contains("backup"), "\(shell)")
        }
    }
}
