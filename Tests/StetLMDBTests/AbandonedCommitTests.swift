import Glibc
import StetLMDB
import Testing

/// A meta page that was written, and then reported as failed.
struct AbandonedCommitTests {
    private let directory: EnvironmentDirectory

    init() throws { directory = try EnvironmentDirectory() }

    /// Leaves the meta page of a commit after the last one, with the contents of the one before it.
    private func abandon(_ environment: Environment) throws {
        let statistics = try environment.statistics()
        let abandoned = statistics.lastTransaction + 1
        let descriptor = open(directory.file(), O_WRONLY | O_CLOEXEC)
        defer { close(descriptor) }
        var number = UInt64(abandoned)
        let offset = abandoned % 2 * statistics.pageByteCount + 144
        #expect(pwrite(descriptor, &number, 8, offset) == 8)
    }

    /// An environment with the value 2 under the key 1, which was 1 before.
    private func make() throws -> Environment {
        let environment = try directory.open()
        for value: UInt8 in [1, 2] {
            try environment.write { try $0.set([1], [value], in: .unnamed) }
        }
        return environment
    }

    private func valueOnceOpenedAgain() throws -> [UInt8]? {
        let environment = try directory.open()
        defer { environment.close() }
        return try environment.read { try $0.value(of: [1], in: .unnamed) }
    }

    @Test func whoOpensTheFileAfterAllHaveLeftGoesByTheMetaPages() throws {
        let environment = try make()
        try abandon(environment)
        environment.close()
        #expect(try valueOnceOpenedAgain() == [1])
    }

    @Test func settlingTakesItBack() throws {
        let environment = try make()
        try abandon(environment)
        try environment.settle()
        #expect(try environment.read { try $0.value(of: [1], in: .unnamed) } == [2])
        environment.close()
        #expect(try valueOnceOpenedAgain() == [2])
    }

    @Test func aWriterTakesItBackBeforeItWritesAndWhateverBecomesOfIt() throws {
        struct Refused: Error {}
        let environment = try make()
        try abandon(environment)
        #expect(throws: Refused.self) {
            try environment.write { transaction in
                try transaction.set([1], [3], in: .unnamed)
                throw Refused()
            }
        }
        environment.close()
        #expect(try valueOnceOpenedAgain() == [2])
    }
}
