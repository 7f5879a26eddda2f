import Foundation
import Glibc
import StetLMDB
import StetTestSupport
import Synchronization
import Testing

/// The processes that may share the files of an environment, and changes of the files while they
/// are open.
struct FileLocksTests {
    private let directory: EnvironmentDirectory
    private let path: String
    private let lockPath: String

    init() throws {
        directory = try EnvironmentDirectory()
        path = directory.file()
        lockPath = "\(path)-lock"
        try directory.open().close()
    }

    /// Another process that has the file open, from this namespace and with these files.
    private func claim(
        process: Int32? = nil, namespace: Int? = nil, lockFile: Int? = nil, dataFile: Int? = nil
    ) throws -> [ForeignLock] {
        var locks: [ForeignLock] = []
        func add(_ path: String, _ kind: Int, _ value: Int?, isShared: Bool = true) throws {
            guard let value else { return }
            locks.append(
                try #require(ForeignLock(path, from: kind << 48 + value, isShared: isShared)))
        }
        try add(path, 4, process.map { Int($0) }, isShared: false)
        try add(path, 5, namespace)
        try add(path, 6, lockFile)
        try add(lockPath, 6, dataFile)
        return locks
    }

    // MARK: Namespaces

    @Test(arguments: [1, 4_026_531_835, 4_294_967_295])
    func processesOfAnotherNamespaceAreNotShared(with namespace: Int) throws {
        let others = try claim(namespace: namespace)
        let error = try #require(lmdbError { try directory.open() })
        #expect(
            error == LMDBError(.openEnvironment, code: LMDBError.otherNamespace, path: path))
        #expect(error.reason.contains("another PID namespace"))
        others.forEach { $0.release() }
        try directory.open().close()
    }

    @Test func theSameProcessIDElsewhereGivesTheSameSentence() throws {
        let others = try claim(process: getpid())
        #expect(
            lmdbError { try directory.open() }
                == LMDBError(.openEnvironment, code: LMDBError.otherNamespace, path: path))
        others.forEach { $0.release() }
        try directory.open().close()
    }

    @Test func whoHasTheFileOpenSaysSoToOtherNamespaces() throws {
        let environment = try directory.open()
        defer { environment.close() }
        // The claim of this process makes the locks of another namespace fail.
        #expect(ForeignLock(path, from: 5 << 48, count: 1 << 48) == nil)
        #expect(ForeignLock(path, from: 4 << 48 + Int(getpid())) == nil)
        environment.close()
        #expect(ForeignLock(path, from: 4 << 48, count: 3 << 48) != nil)
    }

    // MARK: Place

    /// The changes that may happen to the files while they are open.
    enum Move: String, CaseIterable {
        case fileRemoved, fileReplaced, fileRenamed, lockRemoved, lockReplaced, directoryRenamed

        var detail: String {
            switch self {
            case .fileRemoved, .fileRenamed, .directoryRenamed:
                "its file was removed or renamed while it was open"
            case .fileReplaced: "its file was replaced by another while it was open"
            case .lockRemoved: "its lock file was removed or renamed while it was open"
            case .lockReplaced: "its lock file was replaced by another while it was open"
            }
        }

        func carryOut(_ directory: EnvironmentDirectory) throws {
            let (path, manager) = (directory.file(), FileManager.default)
            let target = self == .lockRemoved || self == .lockReplaced ? "\(path)-lock" : path
            switch self {
            case .fileRemoved, .lockRemoved: try manager.removeItem(atPath: target)
            case .fileRenamed: try manager.moveItem(atPath: path, toPath: "\(path)2")
            case .fileReplaced, .lockReplaced:
                try manager.copyItem(atPath: target, toPath: "\(target)2")
                #expect(rename("\(target)2", target) == 0)
            case .directoryRenamed:
                try manager.moveItem(
                    atPath: directory.path, toPath: "\(directory.path)-moved")
            }
        }
    }

    @Test(arguments: Move.allCases)
    func whatIsNoLongerInItsPlaceIsNotWrittenTo(move: Move) throws {
        let environment = try directory.open()
        defer {
            environment.close()
            try? FileManager.default.removeItem(atPath: "\(directory.path)-moved")
        }
        try environment.write { try $0.set([1], [2], in: .unnamed) }
        try move.carryOut(directory)
        for _ in 0..<2 {
            let error = try #require(
                lmdbError { try environment.write { try $0.set([1], [3], in: .unnamed) } })
            #expect(
                error
                    == LMDBError(
                        .begin, code: LMDBError.moved, path: path, detail: move.detail))
        }
        #expect(try environment.entries(in: .unnamed) == [KeyValue([1], [2])])
        // It is not opened a second time, which would reset LMDB's locks.
        #expect(lmdbError { try directory.open() } != nil)
    }

    @Test func aFileInThePlaceOfOneThatIsOpenIsNotOpenedBesideItsLockFile() throws {
        let environment = try directory.open()
        defer { environment.close() }
        try environment.write { try $0.set([1], [2], in: .unnamed) }
        let other = directory.file("other")
        try directory.open("other").close()
        #expect(rename(other, path) == 0)
        let error = lmdbError { try directory.open() }
        #expect(error?.code == LMDBError.moved)
        #expect(error?.reason == "other processes still have the file open that was here before")
        try FileManager.default.removeItem(atPath: path)
        #expect(lmdbError { try Environment.refuseInUse(path) } == error)
        environment.close()
        #expect(try directory.open().entries(in: .unnamed) == [])
    }

    @Test func aLockFileOfProcessesWithAnotherFileIsNotShared() throws {
        let others = try claim(dataFile: 12_345)
        let expected = lmdbError { try directory.open() }
        #expect(expected?.code == LMDBError.moved)
        // The file may be new, so only opening decides.
        try Environment.refuseInUse(path)
        try FileManager.default.removeItem(atPath: path)
        #expect(lmdbError { try Environment.refuseInUse(path) } == expected)
        others.forEach { $0.release() }
        try Environment.refuseInUse(path)
        try directory.open().close()
    }

    @Test func aFileOfProcessesWithAnotherLockFileIsNotShared() throws {
        let others = try claim(lockFile: 12_345)
        let error = lmdbError { try directory.open() }
        #expect(error?.code == LMDBError.moved)
        #expect(
            error?.reason
                == "its lock file was removed or replaced while others have the store open")
        others.forEach { $0.release() }
        try directory.open().close()
    }

    @Test func aLinkInThePlaceOfTheLockFileIsNotFollowed() throws {
        let target = directory.file("target")
        try FileManager.default.removeItem(atPath: lockPath)
        try FileManager.default.createSymbolicLink(
            atPath: lockPath, withDestinationPath: target)
        #expect(
            lmdbError { try directory.open() }
                == LMDBError(.openEnvironment, code: LMDBError.isALink, path: path))
        #expect(!directory.names.contains("target"))
    }

    @Test func aFileThatMayBeReplacedIsWaitedForButNotWithoutEnd() throws {
        let replacing = try #require(ForeignLock(path, from: 1 << 48, count: 4_712))
        let error = lmdbError { try directory.open() }
        #expect(error?.code == LMDBError.busy)
        #expect(error?.reason == "process 4711 is opening or replacing it")
        replacing.release()
        try directory.open().close()
    }

    // MARK: The lock file in other hands

    @Test func readingTheLockFileInThisProcessLeavesItInUse() throws {
        let environment = try directory.open()
        defer { environment.close() }
        try environment.read { _ in
            // Reading the lock file, as a copy of the directory does, releases LMDB's own locks.
            _ = try Data(contentsOf: URL(fileURLWithPath: lockPath))
            // The next opener checks this lock before it resets the file.
            #expect(ForeignLock(lockPath, from: 0) == nil)
            #expect(ForeignLock(path, from: 4 << 48 + Int(getpid())) == nil)
        }
        environment.close()
        #expect(ForeignLock(lockPath, from: 0) != nil)
    }

    // MARK: Readers

    /// Puts a slot into the lock file, as a process leaves it that is killed while it reads.
    private func leaveReader(_ index: Int, process: Int32) throws {
        let descriptor = open(lockPath, O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        var slot: [UInt64] = [1, UInt64(process), 7]
        #expect(pwrite(descriptor, &slot, 24, 128 + 64 * index) == 24)
        var count = UInt32(index + 1)
        #expect(pwrite(descriptor, &count, 4, 56) == 4)
    }

    @Test func slotsOfTheDeadAndOfAnEarlierProcessWithThisIDAreFreedAtOpen() throws {
        // Another process has the file open throughout.
        let open = try #require(ForeignLock(lockPath, from: 0, isShared: true))
        let living: Int32 = 4_000_001
        let others = try claim(process: living)
        for (index, process) in [getpid(), 4_000_000, living].enumerated() {
            try leaveReader(index, process: process)
        }
        let environment = try directory.open()
        defer { environment.close() }
        #expect(try environment.readers().map(\.processID) == [living])
        #expect(try environment.removeStaleReaders() == 0)
        others.forEach { $0.release() }
        #expect(try environment.removeStaleReaders() == 1)
        #expect(try environment.readers() == [])
        open.release()
    }

    @Test func aReaderThatUsesLMDBAloneIsAlive() throws {
        let open = try #require(ForeignLock(lockPath, from: 0, isShared: true))
        // The lock by which LMDB marks a live reader.
        let other = try #require(ForeignLock(lockPath, from: 4_000_000))
        try leaveReader(0, process: 4_000_000)
        let environment = try directory.open()
        defer { environment.close() }
        #expect(try environment.readers().map(\.processID) == [4_000_000])
        other.release()
        #expect(try environment.removeStaleReaders() == 1)
        open.release()
    }

    @Test func idleReadsAreKeptInHalfOfTheTableAndGivenBack() throws {
        let directory = try EnvironmentDirectory()
        let environment = try directory.open(readerCount: 8)
        defer { environment.close() }
        func nest(_ depth: Int) throws {
            if depth > 0 { try environment.read { _ in try nest(depth - 1) } }
        }
        try nest(4)
        #expect(try environment.takenSlotCount() == 0)
        environment.keepIdleReads(true)
        try nest(4)
        #expect(try environment.takenSlotCount() == 4)
        environment.keepIdleReads(true)
        #expect(try environment.takenSlotCount() == 0)
        // After reads that filled the table, all slots are free.
        try nest(8)
        try nest(8)
        environment.keepIdleReads(false)
        #expect(try environment.takenSlotCount() == 0)
    }

    // MARK: Writing

    @Test func aWriterWaitsForAnotherProcess() throws {
        let environment = try directory.open()
        defer { environment.close() }
        let other = try #require(ForeignLock(writing: path, process: 4_711))
        let isTold = Atomic(0)
        try environment.beginWriting { _ in
            if isTold.add(1, ordering: .relaxed).newValue == 3 { other.release() }
            return true
        }
        #expect(isTold.load(ordering: .relaxed) >= 3)
        try environment.write { try $0.set([1], [2], in: .unnamed) }
        // The right is held until the first holder releases it.
        #expect(ForeignLock(writing: path, process: 4_711) == nil)
        environment.endWriting()
        #expect(ForeignLock(writing: path, process: 4_711) != nil)
    }

    @Test func whoGivesUpIsToldWhoWrites() throws {
        let environment = try directory.open()
        defer { environment.close() }
        let other = try #require(ForeignLock(writing: path, process: 4_711))
        let error = lmdbError { try environment.beginWriting { _ in false } }
        #expect(error?.code == LMDBError.busy)
        #expect(error?.reason == "process 4711 has been writing to it for 0 seconds")
        // It does not keep its turn either.
        #expect(ForeignLock(path, from: 3 << 48) != nil)
        other.release()
        try environment.write { try $0.set([1], [2], in: .unnamed) }
    }

    @Test func aCancelledTaskStopsWaiting() async throws {
        let environment = try directory.open()
        defer { environment.close() }
        let other = try #require(ForeignLock(writing: path, process: 4_711))
        let task = Task.detached {
            lmdbError { try environment.write { try $0.set([1], [2], in: .unnamed) } }?.code
        }
        task.cancel()
        #expect(await task.value == LMDBError.cancelled)
        other.release()
        #expect(try environment.entries(in: .unnamed) == [])
    }

    @Test func aLongWaitIsToldWithTheHolder() throws {
        let clock = Monitor(Duration.zero)
        let told = Monitor<[String]>([])
        var configuration = Environment.Configuration.small()
        configuration.uptime = { clock.withLock { $0 } }
        configuration.longWait = { holder, waited in
            told.withLock { $0.append("\(holder ?? 0) \(waited.components.seconds)") }
        }
        let environment = try Environment.open(at: path, configuration)
        defer { environment.close() }
        let other = try #require(ForeignLock(writing: path, process: 4_711))
        var roundCount = 0
        try environment.beginWriting { _ in
            roundCount += 1
            if roundCount == 6 { other.release() }
            clock.withLock { $0 += .seconds(2) }
            return true
        }
        environment.endWriting()
        #expect(told.withLock { $0.first } == "4711 6")
    }

    // MARK: Versions

    @Test func anotherVersionOfLMDBIsRefused() throws {
        try LMDBError.checkVersion(0, 9, path)
        for (major, minor): (Int32, Int32) in [(1, 0), (0, 10), (1, 9)] {
            let error = lmdbError { try LMDBError.checkVersion(major, minor, path) }
            #expect(error?.code == LMDBError.versionMismatch)
            #expect(error?.reason.contains("\(major).\(minor)") == true)
        }
    }
}
