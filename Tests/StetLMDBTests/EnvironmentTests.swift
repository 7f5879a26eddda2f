import Foundation
import StetLMDB
import Testing

struct EnvironmentTests {
    let directory = Result { try EnvironmentDirectory() }

    private func open(_ name: String = "test.mdb") throws -> Environment {
        try directory.get().open(name)
    }

    // MARK: One environment per file

    @Test(arguments: ["/./", "//", "/../"])
    func anotherSpellingOfThePathGivesTheSameEnvironment(separator: String) throws {
        let directory = try directory.get()
        let first = try open()
        let middle =
            separator == "/../"
            ? "/../" + (directory.path as NSString).lastPathComponent + "/" : separator
        let second = try Environment.open(at: directory.path + middle + "test.mdb", .small())
        #expect(first === second)
    }

    /// While one file is looked up, the last users of others release them on another thread.
    @Test(.timeLimit(.minutes(10)))
    func othersAreReleasedWhileAFileIsOpened() throws {
        for round in 0..<40 {
            let others = Monitor(try (0..<40).map { try open("\(round)-\($0).mdb") })
            let releasing = Thread {
                while others.withLock({ $0.popLast() }) != nil {}
            }
            releasing.start()
            while !others.withLock({ $0.isEmpty }) {
                #expect(try open("one.mdb").path.hasSuffix("one.mdb"))
            }
        }
    }

    @Test func aHardLinkGivesTheSameEnvironment() throws {
        let directory = try directory.get()
        let first = try open()
        try FileManager.default.linkItem(
            atPath: directory.file(), toPath: directory.file("other.mdb"))
        #expect(try open("other.mdb") === first)
        #expect(directory.names == ["other.mdb", "test.mdb", "test.mdb-lock"])
    }

    @Test func aSymbolicLinkToTheDirectoryGivesTheSameEnvironment() throws {
        let directory = try directory.get()
        let first = try open()
        let link = directory.path + "-link"
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: directory.path)
        defer { try? FileManager.default.removeItem(atPath: link) }
        #expect(try Environment.open(at: link + "/test.mdb", .small()) === first)
    }

    @Test func twoFilesHaveTwoEnvironments() throws {
        let (first, second) = (try open("a.mdb"), try open("b.mdb"))
        #expect(first !== second)
        try first.write { try $0.set([1], [2], in: .unnamed) }
        #expect(try first.entries(in: .unnamed) == [KeyValue([1], [2])])
        #expect(try second.entries(in: .unnamed) == [])
    }

    // MARK: Closing

    @Test func aClosedEnvironmentRefusesEverything() throws {
        let directory = try directory.get()
        let environment = try open()
        #expect(!environment.isClosed)
        environment.close()
        environment.close()
        #expect(environment.isClosed)
        func closed(_ operation: LMDBError.Operation) -> LMDBError {
            LMDBError(operation, code: LMDBError.closed, path: directory.file())
        }
        #expect(lmdbError { try environment.read { _ in 1 } } == closed(.begin))
        #expect(lmdbError { try environment.write { _ in 1 } } == closed(.begin))
        #expect(lmdbError { try environment.tables(["t"]) } == closed(.begin))
        #expect(lmdbError { try environment.statistics() } == closed(.environmentStatistics))
        #expect(lmdbError { try environment.removeStaleReaders() } == closed(.checkReaders))
    }

    @Test func afterClosingTheFileOpensAgainWithItsContents() throws {
        let first = try open()
        try first.write { try $0.set([1], [2], in: .unnamed) }
        first.close()
        let second = try open()
        #expect(first !== second)
        #expect(try second.entries(in: .unnamed) == [KeyValue([1], [2])])
    }

    @Test func anEnvironmentThatNobodyHoldsIsClosed() throws {
        weak var dropped: Environment?
        do {
            let environment = try open()
            try environment.write { try $0.set([1], [2], in: .unnamed) }
            _ = try environment.entries(in: .unnamed)
            dropped = environment
        }
        #expect(dropped == nil)
        #expect(try open().entries(in: .unnamed) == [KeyValue([1], [2])])
    }

    @Test func closingDuringAReadLetsTheReadGoOnAndKeepsTheFileBusyUntilItEnds() throws {
        let directory = try directory.get()
        let environment = try open()
        try environment.write { try $0.set([1], [2], in: .unnamed) }
        try environment.read { transaction in
            environment.close()
            let value = try transaction.value(of: [1], in: .unnamed)
            #expect(value == [2])
            let busy = LMDBError(.openEnvironment, code: EBUSY, path: directory.file())
            #expect(lmdbError { try open() } == busy)
            #expect(try transaction.value(of: [1], in: .unnamed) == [2])
        }
        #expect(try open().entries(in: .unnamed) == [KeyValue([1], [2])])
    }

    @Test func closingDuringAWriteLetsItCommit() throws {
        let environment = try open()
        try environment.write { transaction in
            environment.close()
            try transaction.set([1], [2], in: .unnamed)
        }
        #expect(lmdbError { try environment.read { _ in } }?.code == LMDBError.closed)
        #expect(try open().entries(in: .unnamed) == [KeyValue([1], [2])])
    }

    @Test func closingWithIdleReadsInThePoolReleasesThem() throws {
        let environment = try open()
        environment.keepIdleReads(true)
        for _ in 0..<3 { try environment.read { _ in try environment.read { _ in } } }
        environment.close()
        #expect(try open().statistics().readerCount <= 1)
    }

    /// Whoever opens a file while the last holder lets go of it has done nothing wrong.
    @Test func openingWhileAnotherThreadLetsGoOfTheFileIsNeverRefused() throws {
        let path = try directory.get().file()
        try Environment.open(at: path, .small()).close()
        let failures = Monitor<[String]>([])
        onThreads(4) { _ in
            for _ in 0..<500 {
                do {
                    try Environment.open(at: path, .small()).read { _ in }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        let all = failures.withLock { $0 }
        #expect(all.isEmpty, "\(all.count) refusals, the first: \(all.first ?? "")")
    }

    /// The map must not go away under a thread that asks how large it is.
    @Test func closingWhileAnotherThreadAsksForStatisticsIsSafe() async {
        await #expect(processExitsWith: .success) {
            let directory = try EnvironmentDirectory()
            for _ in 0..<1_000 {
                let environment = try directory.open()
                onThreads(2) { thread in
                    if thread == 0 { return environment.close() }
                    while (try? environment.statistics()) != nil {
                        _ = try? environment.removeStaleReaders()
                    }
                }
            }
        }
    }

    // MARK: Opening

    @Test func aMissingDirectoryIsReportedWithPathAndAdvice() throws {
        let path = try directory.get().file("missing/test.mdb")
        let error = try #require(lmdbError { try Environment.open(at: path, .small()) })
        #expect(error == LMDBError(.openEnvironment, code: LMDBError.noEntry, path: path))
        #expect(
            error.description
                == "openEnvironment failed on \(path): No such file or directory (code 2). "
                + "Create the directory first, or correct the path.")
    }

    @Test func withoutCreatingAMissingFileIsRefusedAndNotMade() throws {
        let directory = try directory.get()
        let error = lmdbError { try directory.open(createsFile: false) }
        #expect(
            error
                == LMDBError(.openEnvironment, code: LMDBError.noEntry, path: directory.file()))
        #expect(directory.names == [])
    }

    @Test func aFileOfOtherBytesIsNotAnEnvironment() throws {
        let directory = try directory.get()
        let bytes = Data(repeating: 0x41, count: 20_000)
        try bytes.write(to: URL(fileURLWithPath: directory.file()))
        let error = lmdbError { try open() }
        #expect(
            error
                == LMDBError(.openEnvironment, code: LMDBError.invalidFile, path: directory.file()))
        #expect(try Data(contentsOf: URL(fileURLWithPath: directory.file())) == bytes)
    }

    @Test func everyErrorCodeThatIsToldApartHasItsOwnAdvice() {
        let codes = [
            LMDBError.mapFull, LMDBError.readersFull, LMDBError.corrupted, LMDBError.invalidFile,
            LMDBError.versionMismatch, LMDBError.panic, LMDBError.noEntry, LMDBError.noAccess,
            LMDBError.noSpace, LMDBError.inputOutput, LMDBError.closed, ENOMEM, EINVAL,
        ]
        let advices = codes.map { LMDBError(.get, code: $0, path: "p").advice }
        #expect(Set(advices).count == codes.count)
        #expect(advices.allSatisfy { $0.hasSuffix(".") })
    }

    @Test func statisticsCountCommits() throws {
        let environment = try open()
        let before = try environment.statistics()
        try environment.write { try $0.set([1], [2], in: .unnamed) }
        let after = try environment.statistics()
        #expect(after.lastTransaction == before.lastTransaction + 1)
        #expect(after.mapByteCount == 16 << 20)
        #expect(after.pageByteCount == 4_096)
        #expect(after.usedPageCount > before.usedPageCount)
        #expect(try environment.removeStaleReaders() == 0)
    }

    // MARK: Attachment

    private final class Shared: Sendable {}
    private struct Refusal: Error {}

    @Test func theAttachmentIsSharedAndNotKeptAlive() throws {
        let environment = try open()
        weak var dropped: Shared?
        do {
            let first = environment.attachment { Shared() }
            #expect(environment.attachment { Shared() } === first)
            dropped = first
        }
        #expect(dropped == nil)
        #expect(throws: Refusal.self) {
            _ = try environment.attachment { () throws -> Shared in throw Refusal() }
        }
        let second = environment.attachment { Shared() }
        #expect(environment.attachment { Shared() } === second)
    }
}
