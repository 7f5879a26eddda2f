import Foundation
import StetTestSupport
import Testing

/// The failures that the library in Tests/CStetRecorder injects into calls, shown with a program
/// that opens files and sets their sizes.
struct FailingCallsTests {
    private let directory = TemporaryDirectory()

    /// Gives a file 100 bytes `count` times; the exit code, and what each call was answered.
    private func truncate(
        _ count: Int, _ name: String = "data", failing settings: [String: String]
    ) throws -> (status: Int32, calls: [String]) {
        let log = directory.file("calls")
        var environment = settings
        environment["LD_PRELOAD"] = "\(ChildProcess.buildFolder)/libStetRecorder.so"
        environment["STET_FAIL_FILE"] = directory.file("data")
        environment["STET_FAIL_LOG"] = log
        let files = Array(repeating: directory.file(name), count: count)
        let outcome = try ChildProcess.run(
            ["--size", "100"] + files, program: "/usr/bin/truncate", environment: environment)
        let calls = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return (outcome.status, calls.split(separator: "\n").map(String.init))
    }

    private func settings(_ error: String, at number: Int, isSticky: Bool) -> [String: String] {
        [
            "STET_FAIL_CALL": "ftruncate", "STET_FAIL_AT": "\(number)", "STET_FAIL_ERROR": error,
            "STET_FAIL_STICKY": isSticky ? "1" : "0",
        ]
    }

    private func byteCount(_ name: String) -> Int? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: directory.file(name))
        return attributes?[.size] as? Int
    }

    @Test func withoutAFailureCallsAreCountedOnly() throws {
        let (status, calls) = try truncate(2, failing: [:])
        #expect(status == 0)
        #expect(
            calls == ["open 1 passed", "ftruncate 1 passed", "open 2 passed", "ftruncate 2 passed"])
        #expect(byteCount("data") == 100)
    }

    @Test(arguments: [
        (error: "EIO", isSticky: false, answers: ["passed", "EIO", "passed", "passed"]),
        (error: "EIO", isSticky: true, answers: ["passed", "EIO", "EIO", "EIO"]),
        (error: "EINTR", isSticky: true, answers: ["passed", "EINTR", "passed", "EINTR"]),
    ])
    func theCallThatIsNamedFails(error: String, isSticky: Bool, answers: [String]) throws {
        let (status, calls) = try truncate(
            4, failing: settings(error, at: 2, isSticky: isSticky))
        #expect(status == 1)
        let expected = answers.enumerated().map { "ftruncate \($0.offset + 1) \($0.element)" }
        #expect(calls.filter { $0.hasPrefix("ftruncate") } == expected)
        #expect(calls.count { $0.hasPrefix("open") && $0.hasSuffix("passed") } == 4)
    }

    @Test(arguments: [("ENOSPC", 0), ("persisted", 100)])
    func aFailureDoesNothingUnlessItIsPersisted(error: String, byteCount expected: Int) throws {
        let (status, calls) = try truncate(1, failing: settings(error, at: 1, isSticky: false))
        #expect(status == 1)
        #expect(calls == ["open 1 passed", "ftruncate 1 \(error)"])
        #expect(byteCount("data") == expected)
    }

    @Test func filesBesideTheDataFileAreMeantAndOthersAreNot() throws {
        let settings = settings("EIO", at: 1, isSticky: true)
        let other = try truncate(1, "other", failing: settings)
        #expect(other.status == 0)
        #expect(other.calls == [])
        let lock = try truncate(1, "data-lock", failing: settings)
        #expect(lock.status == 1)
        #expect(lock.calls == ["open 1 passed", "ftruncate 1 EIO"])
    }
}
