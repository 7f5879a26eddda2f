import Foundation
import StetLMDB
import StetTestSupport
import Testing

/// Copies of an environment that is in use.
struct EnvironmentCopyTests {
    /// An environment of many more bytes than a pipe holds.
    private func makeEnvironment(_ directory: TemporaryDirectory) throws -> Environment {
        let environment = try Environment.open(at: directory.file("data"))
        try environment.write { transaction in
            for number in 0..<400 {
                try withUnsafeBytes(of: number.bigEndian) { key in
                    _ = try transaction.reserve(3_000, for: key, in: .unnamed)
                        .initializeMemory(as: UInt8.self, repeating: UInt8(number % 256))
                }
            }
        }
        return environment
    }

    private struct Refusal: Error, Hashable {}

    @Test func aReceiverThatThrowsEndsTheCopyAndItsRead() throws {
        let directory = TemporaryDirectory()
        let environment = try makeEnvironment(directory)
        defer { environment.close() }
        #expect(throws: Refusal()) {
            try environment.copy { _ in throw Refusal() }
        }
        #expect(try environment.readers() == [])
        var byteCount = 0
        try environment.copy { byteCount += $0.count }
        let statistics = try environment.statistics()
        #expect(byteCount > 1_200_000)
        #expect(byteCount <= statistics.usedPageCount * statistics.pageByteCount)
    }

    @Test func theCopyIsTheStateOfItsBeginning() throws {
        let directory = TemporaryDirectory()
        let environment = try makeEnvironment(directory)
        defer { environment.close() }
        let expected = try contents(environment)
        var bytes = Data()
        var commitCount = 0
        try environment.copy { piece in
            bytes.append(contentsOf: piece)
            // LMDB begins its read transaction before the first piece.
            commitCount += 1
            try environment.write { transaction in
                _ = try withUnsafeBytes(of: commitCount.bigEndian) { key in
                    try transaction.delete(key, in: .unnamed)
                }
            }
        }
        #expect(commitCount > 1)
        try bytes.write(to: URL(fileURLWithPath: directory.file("copy")))
        let copy = try Environment.open(at: directory.file("copy"))
        defer { copy.close() }
        #expect(try contents(copy) == expected)
        #expect(try copy.inspectPages().damages == [])
    }

    @Test func aClosedEnvironmentIsNotCopied() throws {
        let directory = TemporaryDirectory()
        let environment = try makeEnvironment(directory)
        environment.close()
        #expect(
            throws: LMDBError(.copy, code: LMDBError.closed, path: directory.file("data"))
        ) {
            try environment.copy { _ in }
        }
    }

    private func contents(_ environment: Environment) throws -> [[UInt8]: [UInt8]] {
        try environment.read { transaction in
            var contents: [[UInt8]: [UInt8]] = [:]
            try transaction.scan(.unnamed) { key, value in
                contents[Array(key)] = Array(value)
                return true
            }
            return contents
        }
    }
}
