import Foundation
import Stet
import StetLMDB
import StetStore
import StetTestModels
import StetTestSupport
import Testing

/// Stores whose commits are durable by a log, or later.
@Suite struct LoggedStoreTests {
    let directory = TemporaryDirectory()
    var path: String { directory.file() }

    func open(
        _ durability: Durability, recoversWithoutLog: Bool = false, at path: String? = nil
    ) throws -> Store {
        var configuration = Store.Configuration()
        configuration.durability = durability
        configuration.recoversWithoutLog = recoversWithoutLog
        return try Store.open(
            at: path ?? self.path, for: Notebook.self, Article.self,
            configuration: configuration)
    }

    func save(_ names: String..., in store: Store) throws {
        for name in names {
            let context = store.context(author: "Mara")
            context.insert(Notebook(name: name))
            try context.save()
        }
    }

    func names(_ store: Store) throws -> [String] {
        try store.context().fetch(Notebook.self).all().map(\.name).sorted()
    }

    /// The store's files as a kill would leave them now, at another path.
    func killed() throws -> String {
        let copy = directory.file("killed-\(UUID().uuidString)")
        for suffix in ["", "-log-0", "-log-1"]
        where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
        }
        return copy
    }

    func code(_ body: () throws -> Void) -> StoreError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? StoreError)?.code
        }
    }

    @Test(arguments: [Durability.logged, .relaxed(within: .seconds(60))])
    func aKilledProcessLosesNoCommit(durability: Durability) throws {
        let store = try open(durability)
        defer { store.close() }
        try save("A", "B", in: store)
        #expect(try store.undo(author: "Mara") != nil)
        try save("C", in: store)
        let copy = try killed()
        let again = try open(.synced, at: copy)
        defer { again.close() }
        #expect(try names(again) == ["A", "C"])
        #expect(try again.verify().isClean)
        #expect(!FileManager.default.fileExists(atPath: "\(copy)-log-0"))
    }

    @Test func aStoreThatWasClosedIsOneFileForEveryDurability() throws {
        for (number, durability) in [Durability.logged, .none, .relaxed(within: .zero), .synced]
            .enumerated()
        {
            let store = try open(durability)
            try save("\(number)", in: store)
            try store.sync()
            store.close()
            #expect(!FileManager.default.fileExists(atPath: "\(path)-log-0"))
        }
        let store = try open(.synced)
        defer { store.close() }
        #expect(try names(store) == ["0", "1", "2", "3"])
        #expect(try store.verify().isClean)
    }

    @Test func anotherProcessThatWritesThroughItsLogIsNamed() throws {
        try open(.synced).close()
        let owner = try #require(ForeignLock(path, from: 10 << 48, count: 4_711))
        let store = try open(.logged)
        defer { store.close() }
        #expect(try names(store) == [])
        var text = ""
        do { try save("A", in: store) } catch let error as StoreError {
            #expect(error.code == .writtenElsewhere)
            text = error.message
        }
        #expect(text.contains("process 4710"))
        owner.release()
        try save("A", in: store)
        #expect(try names(store) == ["A"])
    }

    @Test func aStoreWithoutItsLogIsOpenedOnlyIfThatIsAskedFor() throws {
        let store = try open(.logged)
        defer { store.close() }
        try save("A", in: store)
        let copy = try killed()
        for suffix in ["-log-0", "-log-1"] {
            try FileManager.default.removeItem(atPath: copy + suffix)
        }
        #expect(code { try open(.synced, at: copy).close() } == .logMissing)
        #expect(code { try open(.logged, at: copy).close() } == .logMissing)
        let accepted = try open(.synced, recoversWithoutLog: true, at: copy)
        #expect(try names(accepted) == ["A"])
        accepted.close()
        try open(.synced, at: copy).close()
    }

    @Test func aStoreWithoutDurabilityThatWasNotClosedIsRefused() throws {
        let store = try open(.none)
        defer { store.close() }
        try save("A", in: store)
        let copy = try killed()
        #expect(code { try open(.synced, at: copy).close() } == .notSynced)
        let accepted = try open(.synced, recoversWithoutLog: true, at: copy)
        defer { accepted.close() }
        #expect(try names(accepted) == ["A"])
    }

    @Test func anInspectionSaysThatAStoreNeedsRecovery() throws {
        let store = try open(.logged)
        defer { store.close() }
        try save("A", in: store)
        let copy = try killed()
        #expect(try Store.inspect(copy).needsRecovery)
        try open(.synced, at: copy).close()
        let inspection = try Store.inspect(copy)
        #expect(!inspection.needsRecovery)
        #expect(!inspection.isDamaged)
    }

    @Test func aRedactedValueIsNotInTheLog() throws {
        let store = try open(.logged)
        defer { store.close() }
        let context = store.context()
        let notebook = Notebook(name: "SecretSecret")
        context.insert(notebook)
        try context.save()
        notebook.name = "Public"
        try context.save()
        func logsContain(_ text: String) throws -> Bool {
            try ["-log-0", "-log-1"].contains { suffix in
                let file = URL(fileURLWithPath: path + suffix)
                guard FileManager.default.fileExists(atPath: file.path) else { return false }
                return try Data(contentsOf: file).range(of: Data(text.utf8)) != nil
            }
        }
        #expect(try logsContain("SecretSecret"))
        let kept = try FileHandle(forReadingFrom: URL(fileURLWithPath: "\(path)-log-1"))
        let action = try store.requestRedaction(of: Notebook.self, id: notebook.id, \.name)
        try action.confirm()
        #expect(try !logsContain("SecretSecret"))
        // Also not in the blocks of the file that was removed.
        let rest = try #require(try kept.readToEnd())
        #expect(!rest.isEmpty)
        #expect(rest.allSatisfy { $0 == 0 })
        try save("After", in: store)
        #expect(try logsContain("After"))
    }

    @Test func compactionReplacesAStoreWithALog() throws {
        let store = try open(.logged)
        try save("A", "B", in: store)
        try store.compactInPlace()
        try save("C", in: store)
        #expect(access("\(path)-log-0", F_OK) == 0)
        #expect(try names(store) == ["A", "B", "C"])
        store.close()
        let again = try open(.logged)
        defer { again.close() }
        #expect(try names(again) == ["A", "B", "C"])
        #expect(try again.verify().isClean)
    }

    #if STET_FAULTS
        @Test func theOwnerOfTheLogSavesWhileAnotherWaits() async throws {
            try open(.synced).close()
            var configuration = Store.Configuration()
            configuration.durability = .logged
            configuration.waitsForOtherWriter = true
            let child = try RunningChild(
                ["write", path], environment: ["STET_DURABILITY": "logged"])
            defer { child.kill() }
            #expect(child.line() == "ack 1")
            let store = try Store.open(
                at: path, for: Notebook.self, Article.self, configuration: configuration)
            defer { store.close() }
            let saving = Task {
                let context = store.context()
                context.insert(Notebook(name: "waited"))
                return try await context.save()?.revision
            }
            while try store.statistics().waitingSaveCount == 0 { await Task.yield() }
            for _ in 0..<200 { #expect(child.line()?.hasPrefix("ack ") == true) }
            child.kill()
            #expect(try await saving.value ?? 0 > 200)
        }

        /// Writes of the process that has died may be lost, so that its log is needed.
        @Test func aTakeOverThatFailsIsFollowedByARecovery() throws {
            let store = try open(.synced)
            defer { store.close() }
            // It writes without end: one that has ended by itself has closed its log.
            let child = try RunningChild(
                ["write", path], environment: ["STET_DURABILITY": "logged"])
            for _ in 0..<20 { #expect(child.line()?.hasPrefix("ack ") == true) }
            child.kill()
            store.file.environment.faults.failNext(.leaveLog, code: EIO)
            _ = try? save("A", in: store)
            #expect(!store.file.environment.faults.isArmed)
            #expect(LogMark.read(path: path) == nil)
            try save("B", in: store)
            #expect(try store.revision() >= 21)
            #expect(try names(store).contains("B"))
            #expect(try store.verify().isClean)
        }
    #endif

    // MARK: Statistics

    @Test func statisticsShowTheLogOfThisProcess() throws {
        let now = Monitor(Duration.seconds(1_000))
        var configuration = Store.Configuration()
        configuration.durability = .logged
        configuration.uptime = { now.withLock { $0 } }
        let store = try Store.open(
            at: path, for: Notebook.self, Article.self, configuration: configuration)
        defer { store.close() }
        #expect(try store.statistics().log == nil)
        try save("A", "B", in: store)
        now.withLock { $0 += .seconds(7) }
        let log = try #require(try store.statistics().log)
        #expect(log.ownerProcessID == ProcessInfo.processInfo.processIdentifier)
        #expect(log.commitCount == 2)
        #expect(log.checkpointAge == .seconds(7))
        #expect(try log.byteCount == files())
    }

    private func files() throws -> Int {
        try ["-log-0", "-log-1"].reduce(0) {
            try $0 + Data(contentsOf: URL(fileURLWithPath: path + $1)).count
        }
    }

    #if STET_FAULTS
        /// A commit whose frame is in the log, and which LMDB does not have, is settled before it
        /// is reported as not made.
        @Test func anOutcomeStaysAsItWasReported() throws {
            let store = try open(.synced)
            let child = try RunningChild(
                ["write", path], environment: ["STET_DURABILITY": "logged"])
            #expect(child.line() == "ack 1")
            child.kill()
            #expect(try store.statistics().log != nil)
            let id = try store.file.makeCommitID(at: .zero)
            #expect(store.outcome(of: id) == .notCommitted)
            #expect(try store.statistics().log == nil)
            let count = try store.revision()
            store.close()
            let again = try open(.synced)
            defer { again.close() }
            #expect(try again.revision() == count)
        }

        @Test func statisticsShowTheLogOfAnotherProcess() throws {
            let store = try open(.synced)
            defer { store.close() }
            let child = try RunningChild(
                ["write", path], environment: ["STET_DURABILITY": "logged"])
            #expect(child.line() == "ack 1")
            let log = try #require(try store.statistics().log)
            #expect(log.ownerProcessID == child.processID)
            #expect(log.commitCount == nil)
            #expect(log.checkpointAge == nil)
            child.kill()
            let left = try #require(try store.statistics().log)
            #expect(left.ownerProcessID == nil)
            #expect(try left.byteCount == files())
            try save("A", in: store)
            #expect(try store.statistics().log == nil)
            #expect(try store.verify().isClean)
        }
    #endif
}
