import Foundation
import Glibc
import StetLMDB
import StetTestSupport
import Testing

/// The replacement of the file of an open environment.
struct ReplacementTests {
    private let directory: EnvironmentDirectory
    private let environment: Environment
    private let table: Table

    init() throws {
        directory = try EnvironmentDirectory()
        environment = try directory.open()
        table = try environment.write { try $0.table("numbers") }
        try environment.write { [table] in
            try $0.set([1], [1], in: table)
            try $0.set([2], [2], in: .unnamed)
        }
    }

    private func status(_ suffix: String = "") -> stat? {
        var status = stat()
        return stat(directory.file() + suffix, &status) == 0 ? status : nil
    }

    /// Makes a copy of the environment in a draft.
    private func fill(_ draft: Draft) throws {
        let descriptor = Glibc.open(draft.path, O_WRONLY)
        defer { Glibc.close(descriptor) }
        try environment.copy { bytes in
            #expect(Glibc.write(descriptor, bytes.baseAddress, bytes.count) == bytes.count)
        }
    }

    private func replace(_ during: () -> Void = {}) throws {
        try FileReplacement(of: environment).run { draft in
            try fill(draft)
            during()
        }
    }

    private func value(_ key: UInt8, _ environment: Environment? = nil) throws -> [UInt8]? {
        try (environment ?? self.environment).read { try $0.value(of: [key], in: table) }
    }

    @Test func theEnvironmentContinuesInTheNewFile() throws {
        defer { environment.close() }
        for number in 2..<20 as Range<UInt8> {
            let before = status()
            try replace()
            let after = status()
            #expect(after?.st_ino != before?.st_ino)
            #expect(status("-lock") != nil)
            #expect(try value(number - 1) == [number - 1])
            #expect(try environment.read { try $0.value(of: [2], in: .unnamed) } == [2])
            try environment.write { try $0.set([number], [number], in: table) }
            #expect(try value(number) == [number])
        }
        #expect(directory.names == ["test.mdb", "test.mdb-lock"])
        #expect(try environment.readers() == [])
    }

    @Test func whatIsWrittenAfterwardsIsThereWhenItIsOpenedAgain() throws {
        try replace()
        try environment.write { try $0.set([3], [3], in: table) }
        environment.close()
        let again = try directory.open()
        defer { again.close() }
        let numbers = try #require(try again.tables(["numbers"])[0])
        #expect(try again.read { try $0.value(of: [1], in: numbers) } == [1])
        #expect(try again.read { try $0.value(of: [3], in: numbers) } == [3])
    }

    @Test func theNewFileHasTheRightsOfTheOldOne() throws {
        defer { environment.close() }
        #expect(chmod(directory.file(), 0o640) == 0)
        try replace()
        #expect(status().map { $0.st_mode & 0o777 } == 0o640)
        #expect(status("-lock").map { $0.st_mode & 0o777 } == 0o640)
    }

    @Test func openingItAgainGivesTheSameEnvironment() throws {
        defer { environment.close() }
        try replace()
        #expect(try directory.open() === environment)
    }

    @Test func writesThatWaitAreMadeInTheNewFile() throws {
        defer { environment.close() }
        let done = Monitor<[LMDBError?]>([])
        let begun = Monitor(0)
        try replace {
            for number in 10..<14 as Range<UInt8> {
                Thread.detachNewThread {
                    begun.withLock { $0 += 1 }
                    begun.notify()
                    let error = lmdbError {
                        try environment.write { try $0.set([number], [number], in: table) }
                    }
                    done.withLock { $0.append(error) }
                    done.notify()
                }
            }
            begun.wait { $0 == 4 ? () : nil }
            // Lets them reach the writer lock.
            for _ in 0..<1_000 { sched_yield() }
            #expect(done.withLock { $0.isEmpty })
        }
        let errors = done.wait { $0.count == 4 ? $0 : nil }
        #expect(errors.allSatisfy { $0 == nil })
        environment.close()
        let again = try directory.open()
        defer { again.close() }
        let numbers = try #require(try again.tables(["numbers"])[0])
        for number in 10..<14 as Range<UInt8> {
            #expect(try again.read { try $0.value(of: [number], in: numbers) } == [number])
        }
    }

    @Test func aReadThatStaysOpenRefusesIt() throws {
        defer { environment.close() }
        let reading = OpenRead(environment)
        let before = status()
        let error = lmdbError {
            let replacement = FileReplacement(of: environment)
            try replacement.run(waitingForReads: .milliseconds(20)) { try fill($0) }
        }
        #expect(error?.code == LMDBError.busy)
        #expect(status()?.st_ino == before?.st_ino)
        #expect(directory.names == ["test.mdb", "test.mdb-lock"])
        // Others are not kept waiting.
        #expect(try value(1) == [1])
        try environment.write { try $0.set([4], [4], in: table) }
        reading.end()
        try replace()
        #expect(try value(4) == [4])
    }

    @Test func aReadOfTheSameThreadRefusesItAtOnce() throws {
        defer { environment.close() }
        let error = try environment.read { _ in
            lmdbError {
                try FileReplacement(of: environment).run { _ in Issue.record("A file was made.") }
            }
        }
        #expect(error?.code == LMDBError.busy)
        #expect(try value(1) == [1])
    }

    @Test func aFailureLeavesTheFileAndNothingBeside() throws {
        defer { environment.close() }
        let before = status()
        struct Failure: Error {}
        #expect(throws: Failure.self) {
            try FileReplacement(of: environment).run { draft in
                try fill(draft)
                throw Failure()
            }
        }
        // A file without the tables of this one.
        #expect(throws: LMDBError.self) { try FileReplacement(of: environment).run { _ in } }
        #expect(status()?.st_ino == before?.st_ino)
        #expect(directory.names == ["test.mdb", "test.mdb-lock"])
        try environment.write { try $0.set([5], [5], in: table) }
        #expect(try value(5) == [5])
    }

    @Test func leasesAreKeptAndEndLater() throws {
        defer { environment.close() }
        let kept = try #require(try FileLease.acquire(7, of: environment))
        let ended = try #require(try FileLease.acquire(8, of: environment))
        ended.end()
        try replace()
        #expect(try FileLease.isHeld(7, of: environment))
        #expect(try FileLease.acquire(7, of: environment) == nil)
        #expect(try !FileLease.isHeld(8, of: environment))
        kept.end()
        #expect(try !FileLease.isHeld(7, of: environment))
    }

    @Test func aWatchSeesWritesToTheNewFile() throws {
        defer { environment.close() }
        let watch = try FileWatch(path: directory.file())
        watch.startWatching(environment)
        try replace()
        watch.startWatching(environment)
        // What the replacement itself has written to the old file.
        while watch.wait(milliseconds: 0) {}
        try environment.write { try $0.set([6], [6], in: table) }
        #expect(watch.wait(milliseconds: 5_000))
    }

    @Test func closingEndsTheWaitForReads() throws {
        let reading = OpenRead(environment)
        let before = status()
        let error = lmdbError {
            try FileReplacement(of: environment).run(waitingForReads: .seconds(60)) { draft in
                try fill(draft)
                environment.close()
            }
        }
        #expect(error?.code == LMDBError.closed)
        #expect(status()?.st_ino == before?.st_ino)
        reading.end()
        let again = try directory.open()
        defer { again.close() }
        #expect(try again.read { try $0.value(of: [2], in: .unnamed) } == [2])
    }
}

/// A read that another thread has open.
private final class OpenRead: Sendable {
    private enum Stage { case beginning, open, ending, ended }

    private let stage = Monitor(Stage.beginning)

    init(_ environment: Environment) {
        Thread.detachNewThread { [self] in
            try? environment.read { _ in
                reach(.open)
                wait(for: .ending)
            }
            reach(.ended)
        }
        wait(for: .open)
    }

    func end() {
        reach(.ending)
        wait(for: .ended)
    }

    private func reach(_ next: Stage) {
        stage.withLock { $0 = next }
        stage.notify()
    }

    private func wait(for awaited: Stage) { stage.wait { $0 == awaited ? () : nil } }
}
