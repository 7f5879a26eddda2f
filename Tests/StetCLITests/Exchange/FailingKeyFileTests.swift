import Foundation
import StetStore
import StetTestSupport
import Testing

/// Key files on a disk that fails at each call that changes them, and processes that are killed
/// there.
struct FailingKeyFileTests {
    private let directory = TemporaryDirectory()
    private let owner = ObjectID()

    init() throws {
        for (name, byte) in [("key", UInt8(7)), ("other", 8)] {
            try Data(repeating: byte, count: 32).write(to: URL(filePath: directory.file(name)))
        }
    }

    /// A change of a key file.
    enum Change: CaseIterable { case rotate, destroy, move }

    static let failures = [
        ("pwrite", "EIO"), ("pwrite", "ENOSPC"), ("pwrite", "short"), ("pwrite", "persisted"),
        ("pwrite", "killed"), ("fdatasync", "EIO"), ("fdatasync", "persisted"),
        ("fdatasync", "killed"),
    ]

    /// Runs a change by the tool, in which a call fails; returns its exit code.
    private func run(
        _ change: Change, _ path: String, failing failure: (call: String, error: String)? = nil,
        at number: Int = 0
    ) throws -> (status: Int32, hasFailed: Bool) {
        let (key, other) = (directory.file("key"), directory.file("other"))
        let arguments =
            switch change {
            case .rotate: ["--rotate", owner.description, "--key-file", key]
            case .destroy: ["--destroy", owner.description, "--yes"]
            case .move: ["--key-file", key, "--new-key-file", other]
            }
        let log = directory.file("calls")
        try? FileManager.default.removeItem(atPath: log)
        var environment: [String: String] = [:]
        if let failure {
            environment = [
                "LD_PRELOAD": "\(ChildProcess.buildFolder)/libStetRecorder.so",
                "STET_FAIL_FILE": path, "STET_FAIL_LOG": log, "STET_FAIL_CALL": failure.call,
                "STET_FAIL_AT": "\(number)", "STET_FAIL_ERROR": failure.error,
            ]
        }
        let outcome = try ChildProcess.run(
            ["keys", path] + arguments, program: "stet", environment: environment)
        let calls = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return (
            outcome.status,
            calls.split(separator: "\n").contains { !$0.hasSuffix(" passed") }
        )
    }

    private func open(_ path: String) async throws -> KeyFile {
        do {
            return try await KeyFile.open(at: path, provider: .file(directory.file("key")))
        } catch let error as SealingError where error.code == .wrongKey {
            return try await KeyFile.open(at: path, provider: .file(directory.file("other")))
        }
    }

    @Test(arguments: Change.allCases, failures)
    func aFailureLeavesAllKeysOrNone(
        change: Change, failure: (call: String, error: String)
    ) async throws {
        var failureCount = 0
        for number in 1... {
            let path = directory.file("keys-\(number)")
            let place = SealedBytes.Place(owner: owner, object: owner, label: 1)
            var values: [SealedBytes] = []
            do {
                let keys = try await open(path)
                try keys.makeKeys(for: [owner])
                values.append(try SealedBytes([1, 2], at: place, by: keys))
                try keys.rotateKey(of: owner)
                values.append(try SealedBytes([1, 2], at: place, by: keys))
            }
            let (status, hasFailed) = try run(change, path, failing: failure, at: number)
            // Who is interrupted after half of the bytes writes the rest.
            #expect(!hasFailed || status != 0 || failure.error == "short")
            if hasFailed { failureCount += 1 }
            let keys = try await open(path)
            let readable = values.map { (try? $0.opened()) == [1, 2] }
            switch change {
            case .destroy:
                #expect(Set(readable).count == 1)
                #expect(status != 0 || readable == [false, false])
            case .rotate, .move: #expect(readable == [true, true])
            }
            if change == .rotate {
                let next = try SealedBytes([3], at: place, by: keys)
                #expect(next.keyRank == 2 || status != 0 && next.keyRank == 1)
            }
            // What has failed can be tried again.
            if status != 0, change != .move { #expect(try run(change, path).status == 0) }
            if change == .destroy { #expect(values.allSatisfy { (try? $0.opened()) == nil }) }
            if change != .destroy {
                let later = try SealedBytes([3], at: place, by: keys)
                #expect(try later.opened() == [3])
            }
            if !hasFailed { break }
        }
        #expect(failureCount > 0)
    }
}
