import Foundation
import Glibc
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// Saves that wait for another process, and a store whose file is no longer there.
struct WaitingTests {
    private let directory: StoreDirectory

    init() throws { directory = try StoreDirectory() }

    /// A process that is stopped while it writes.
    private func stoppedWriter() throws -> ForeignLock {
        try #require(ForeignLock(writing: directory.file(), process: 4_711))
    }

    @Test func savesThatWaitForAnotherProcessAreCountedAndCanBeWithdrawn() async throws {
        let file = try directory.open()
        let other = try stoppedWriter()
        let submissions = try file.submitInserts(1...3)
        #expect(try file.statistics().waitingSaveCount == 3)
        let task = Task {
            await submissions[0].decision()
            return try submissions[0].wait().revision
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try file.statistics().waitingSaveCount == 2)
        #expect(submissions[1...].allSatisfy { !$0.isDecided })
        // Reads still work.
        #expect(try file.read { try $0.head().revision } == .zero)
        other.release()
        #expect(try submissions[1...].map { try $0.wait().revision } == [1, 2])
        #expect(try file.verify().problems == [])
    }

    @Test func closingDoesNotWaitForAnotherProcessWithoutEnd() throws {
        let clock = Monitor(Duration.zero)
        var configuration = StoreFile.Configuration.small()
        configuration.uptime = {
            clock.withLock { time in
                time += .seconds(1)
                return time
            }
        }
        let file = try StoreFile.open(at: directory.file(), schema: .library, configuration)
        let other = try stoppedWriter()
        let submission = try file.submitInserts([1])[0]
        file.close()
        let error = thrown(StoreError.self) { try submission.wait() }
        #expect(error?.code == .storeBusy)
        #expect(error?.message.contains("process 4711 has been writing") == true)
        other.release()
        #expect(try directory.open().read { try $0.head().revision } == .zero)
    }

    @Test func nothingIsAcknowledgedOnceTheFileIsGone() throws {
        let file = try directory.open()
        _ = try file.submitInserts([1])[0].wait()
        try FileManager.default.removeItem(atPath: directory.file())
        let error = thrown(StoreError.self) { try file.submitInserts([2])[0].wait() }
        #expect(error?.code == .storeMoved)
        #expect(
            error?.description
                == "The store \(directory.file()) can't be used: its file was removed or renamed "
                + "while it was open. Nothing was written. End or close every use of the store "
                + "that began before, then open it again; to put another file in its place, close "
                + "it everywhere first.")
        #expect(try file.read { try $0.head().revision } == 1)
        // No other store is created beside the lock file of this one.
        #expect(thrown(StoreError.self) { try directory.open() }?.code == .storeMoved)
        #expect(directory.names == ["test.stet-lock"])
        file.close()
        #expect(try directory.open().read { try $0.head().revision } == .zero)
    }

    @Test func aCompactedCopyTakesThePlaceOfAStoreThatIsOpen() throws {
        let file = try directory.open()
        _ = try file.submitInserts(1...50).map { try $0.wait() }
        let identity = file.storeID
        let copy = try file.compactInPlace()
        #expect(copy.report.problems == [])
        #expect(try file.submitInserts([51])[0].wait().revision == 51)
        #expect(directory.names == ["test.stet", "test.stet-lock"])
        file.close()
        let again = try directory.open()
        #expect(again.storeID == identity)
        #expect(try again.submitInserts([52])[0].wait().revision == 52)
        #expect(try again.verify().problems == [])
    }

    @Test func whoHasTheOldFileOpenReadsItAndCannotSave() throws {
        let other = directory.file("other.stet")
        let file = try directory.open()
        _ = try file.submitInserts([1])[0].wait()
        #expect(try file.copy(to: other).report.problems == [])
        #expect(rename(other, directory.file()) == 0)
        #expect(
            thrown(StoreError.self) { try file.submitInserts([2])[0].wait() }?.code == .storeMoved)
        #expect(try file.read { try $0.head().revision } == 1)
    }

    @Test func withoutAThreadNothingIsSavedAndLaterItIs() async {
        await #expect(processExitsWith: .success) {
            let directory = try StoreDirectory()
            let file = try directory.open()
            chmod(directory.path, 0o777)
            // Limits do not apply to root.
            guard geteuid() != 0 || setuid(65_534) == 0 else { exit(1) }
            var limit = rlimit()
            let resource = __rlimit_resource_t(6)  // RLIMIT_NPROC
            getrlimit(resource, &limit)
            limit.rlim_cur = 0
            setrlimit(resource, &limit)
            let error = thrown(StoreError.self) { try file.submitInserts([1]) }
            guard error?.code == .noThread, error?.systemCode == EAGAIN else { exit(2) }
            limit.rlim_cur = limit.rlim_max
            setrlimit(resource, &limit)
            guard try file.submitInserts([1])[0].wait().revision == 1 else { exit(3) }
            exit(0)
        }
    }

    @Test func whatAKilledCreationHasLeftIsRemovedByTheNext() throws {
        for name in ["", "-lock"] {
            try directory.write(Data([1]), to: "test.stet.new-0123456789abcdef\(name)")
        }
        try directory.open().close()
        #expect(directory.names == ["test.stet", "test.stet-lock"])
    }

    @Test func theRingOfCommitsIsBoundedInMemory() throws {
        let library = try Library()
        let observer = Commits(file: library.file, after: 0).makeAsyncIterator()
        for number in 1...100 { try library.commit([.insertTag(number)]) }
        // A commit takes about 900 bytes in addition to the journal's.
        #expect(library.file.feed.byteCount > 100 * 1_000)
        withExtendedLifetime(observer) {}
    }
}
