import Foundation
import Glibc
import StetLMDB
import StetTestSupport
import Testing

extension LoggedEnvironmentTests {
    /// The disk's answers to the steps of a commit with a log, and the fate of the commit.
    static let failures: [(LMDBError.Operation, Int32, isMade: Bool, leaves: Bool)] = [
        (.writeLog, ENOSPC, false, false), (.writeLog, EIO, false, false),
        // Nothing is known of the log any more: the file is made durable without it.
        (.syncLog, EIO, false, true),
        (.commit, ENOSPC, false, false),
        // Nothing is known of LMDB's pages any more: the log has them.
        (.commit, EIO, true, true), (.reportOfCommit, EIO, true, true),
    ]

    @Test(arguments: failures.indices)
    func aFailureOfTheDiskLosesNoCommitAndMakesNone(place: Int) throws {
        let (operation, code, isMade, leaves) = Self.failures[place]
        let environment = try open()
        defer { environment.close() }
        let table = try environment.makeTable()
        try environment.write { try $0.set([1], [1], in: table) }
        environment.faults.failNext(operation, code: code)
        let error = try #require(
            lmdbError { try environment.write { try $0.set([2], [2], in: table) } })
        #expect(error.code == code)
        #expect(error.isOutcomeOpen == isMade)
        #expect((LogMark.read(path: path) == nil) == leaves)
        let expected: [[UInt8]] = isMade ? [[1], [2]] : [[1]]
        #expect(try environment.entries(in: table).map(\.key) == expected)
        #expect(try entries(try killed()).map(\.key) == expected)
        try environment.write { try $0.set([3], [3], in: table) }
        #expect(try entries(try killed()).map(\.key) == expected + [[3]])
    }

    @Test func afterACheckpointThatFailsTheLogRestoresThePages() throws {
        var configuration = Self.configuration()
        configuration.checkpointDistance.commitCount = 3
        let environment = try Environment.open(at: path, configuration)
        defer { environment.close() }
        let table = try environment.makeTable()
        environment.faults.failNext(.checkpoint, code: EIO)
        var number: UInt8 = 0
        while environment.faults.isArmed {
            try environment.write { try $0.set([number], [number], in: table) }
            number += 1
        }
        let before = try entries(try killed())
        #expect(before.map(\.key) == (0..<number).map { [$0] })
        // The next write finds the failure as soon as the thread has noted it.
        repeat {
            try environment.write { try $0.set([number], [number], in: table) }
            number += 1
        } while environment.log.statistics.map { $0.commitCount > 1 } ?? true
        #expect(try environment.entries(in: table).map(\.key) == (0..<number).map { [$0] })
        #expect(try entries(try killed()).map(\.key) == (0..<number).map { [$0] })
    }

    @Test func aFailureToLeaveTheLogIsFollowedByARecoveryAndNotByASecondAttempt() throws {
        let environment = try open()
        defer { environment.close() }
        let table = try environment.makeTable()
        try environment.write { try $0.set([1], [1], in: table) }
        environment.faults.failNext(.leaveLog, code: EIO)
        let error = try #require(lmdbError { try environment.log.leave(erasing: false) })
        #expect(error.code == EIO)
        #expect(LogMark.read(path: path)?.kind == .logged)
        try environment.write { try $0.set([2], [2], in: table) }
        #expect(try environment.entries(in: table).map(\.key) == [[1], [2]])
        #expect(environment.log.statistics?.commitCount == 1)
    }

    @Test func aMarkThatSeemsToBeGoneIsRemovedAgainBesideALog() throws {
        let environment = try open()
        let table = try environment.makeTable()
        try environment.write { try $0.set([1], [1], in: table) }
        environment.close()
        try Data([1]).write(to: URL(filePath: directory.file("test.mdb-log-0")))
        let again = try open(.synced)
        defer { again.close() }
        #expect(directory.names == ["test.mdb", "test.mdb-lock"])
        #expect(try again.entries(in: try again.makeTable()) == [KeyValue([1], [1])])
    }
}
