import Foundation
import Stet
import StetLMDB
import StetTestModels
import StetTestSupport
import Synchronization
import Testing

/// Copies, verifications and shipping of a store that is in use, in asynchronous code.
struct BackupTests {
    private let scratch: Scratch
    private let directory = TemporaryDirectory()
    private var store: Store { scratch.store }

    init() throws {
        scratch = try Scratch()
        for number in 1...20 {
            try scratch.store.edit { context in
                context.insert(Notebook(name: "Notebook \(number)"))
            }
        }
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    }

    @Test func aBackupHasTheStoresCommitsAndReportsItsProgress() async throws {
        let path = directory.file("backup.stet")
        let progress = Mutex<[Store.Progress]>([])
        let report = try await store.backup(to: path) { done in
            progress.withLock { $0.append(done) }
        }
        #expect(report == (try store.verify()))
        #expect(try names() == ["backup.stet"])
        let counts = progress.withLock { $0.map(\.doneCount) }
        #expect(counts == counts.sorted())
        #expect(counts.first == 0)
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        #expect(counts.last == size)
        let copy = try Store.open(at: path, for: Notebook.self, Article.self)
        #expect(try copy.journal() == store.journal())
    }

    @Test func aCancelledBackupLeavesNothingBehind() async throws {
        let path = directory.file("backup.stet")
        let store = store
        // The task cancels itself at its first progress, during the copy and during the
        // verification.
        for isOver in [{ @Sendable (done: Int) in true }, { @Sendable (done: Int) in done > 0 }] {
            let task = Task {
                try await store.backup(to: path) { progress in
                    guard isOver(progress.doneCount) else { return }
                    withUnsafeCurrentTask { $0?.cancel() }
                }
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try names() == [])
        }
        #expect(try store.verify().isClean)
    }

    @Test func aFileThatIsThereIsNotReplaced() async throws {
        let path = directory.file("backup.stet")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
        let error = await #expect(throws: StoreError.self) { try await store.backup(to: path) }
        #expect(error?.code == .alreadyExists)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("mine".utf8))
    }

    @Test func aVerificationReportsEachCommitAndCanBeCancelled() async throws {
        let counts = Mutex<[Int]>([])
        let report = try await store.verify { progress in
            counts.withLock { $0.append(progress.doneCount) }
            if progress.count != 20 { Issue.record("\(progress)") }
        }
        #expect(report == (try store.verify()))
        #expect(counts.withLock { $0 } == Array(1...20))
        let store = store
        let task = Task {
            try await store.verify { progress in
                if progress.doneCount == 5 { withUnsafeCurrentTask { $0?.cancel() } }
                if progress.doneCount > 5 { Issue.record("It goes on.") }
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func aCancelledCompactionLeavesTheStoreOpen() async throws {
        let store = store
        let task = Task {
            try await store.compactInPlace { _ in withUnsafeCurrentTask { $0?.cancel() } }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try store.revision() == 20)
        try await store.compactInPlace { _ in }
        #expect(try store.revision() == 20)
    }

    @Test func longOperationsTakeNoThreadOfThePool() async throws {
        // More verifications than the pool has threads wait for each other; on the pool they would
        // wait forever.
        let count = ProcessInfo.processInfo.activeProcessorCount + 2
        let store = store
        let arrived = Monitor(0)
        try await withThrowingTaskGroup(of: VerificationReport.self) { group in
            for _ in 0..<count {
                group.addTask {
                    try await store.verify { progress in
                        guard progress.doneCount == 1 else { return }
                        arrived.withLock { $0 += 1 }
                        arrived.notify()
                        arrived.wait { $0 == count ? () : nil }
                    }
                }
            }
            for try await report in group { #expect(report.isClean) }
        }
        #expect(arrived.withLock { $0 } == count)
    }

    @Test func aShippedStoreIsRestoredAtATime() async throws {
        let shipped = directory.path
        let first = try await store.ship(to: shipped)
        #expect(first.base == 20)
        #expect(first.commitCount == 0)
        #expect(first.revision == 20)
        scratch.now = Date(timeIntervalSinceReferenceDate: 2_000)
        try await store.edit { $0.insert(Notebook(name: "later")) }
        scratch.now = Date(timeIntervalSinceReferenceDate: 3_000)
        try await store.edit { $0.insert(Notebook(name: "last")) }
        let second = try await store.ship(to: shipped)
        #expect(second.base == nil)
        #expect(second.commitCount == 2)
        #expect(second.revision == 22)
        let elsewhere = TemporaryDirectory()
        let report = try await Store.restore(
            from: shipped, to: elsewhere.file("restored.stet"),
            at: Date(timeIntervalSinceReferenceDate: 2_500))
        #expect(report.revision == 21)
        let restored = try Store.open(
            at: elsewhere.file("restored.stet"), for: Notebook.self, Article.self)
        #expect(try restored.journal() == store.journal(to: 21))
        let all = try await Store.restore(from: shipped, to: elsewhere.file("all.stet"))
        #expect(all == (try store.verify()))
    }
}
