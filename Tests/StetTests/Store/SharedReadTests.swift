import Glibc
import Stet
import StetLMDB
import StetStore
import StetTestModels
import StetTestSupport
import Testing

/// The read that the closure of `Store.read` or `Store.edit` has open.
@Suite struct SharedReadTests {
    private let scratch: Scratch
    private let store: Store
    private let ids: [ObjectID]

    init() throws {
        scratch = try Scratch()
        store = scratch.store
        ids = try store.edit { context in
            let notebooks = (0..<20).map { Notebook(name: "Notebook \($0)") }
            for notebook in notebooks { context.insert(notebook) }
            return notebooks.map(\.id)
        }
    }

    private func names(_ context: ManagedContext) throws -> [String] {
        try ids.compactMap { try context.object(Notebook.self, id: $0)?.name }
    }

    private var original: [String] { (0..<20).map { "Notebook \($0)" } }

    private func rename(_ index: Int, _ name: String) throws {
        try store.edit { try $0.object(Notebook.self, id: ids[index])?.name = name }
    }

    /// Returns the number of reads that find the original names: the least of three, because the
    /// store's own thread reads now and then, too.
    private func reads(_ body: () throws -> [String]) throws -> Int? {
        let faults = store.file.environment.faults
        return try (0..<3).map { _ in
            let before = faults.readCount
            let names = try body()
            let count = faults.readCount - before
            #expect(names == original)
            return count
        }.min()
    }

    @Test func theReadsOfAClosureAreOne() throws {
        #expect(try reads { try store.read { try names($0) } } == 1)
        #expect(try reads { try names(store.context()) } == 20)
    }

    @Test func theReadEndsWithTheClosure() throws {
        // The store's own thread reads once after the first save, and then not for 30 seconds.
        while store.file.idleRoundCount == 0 { sched_yield() }
        try store.read { context in
            _ = try context.object(Notebook.self, id: ids[0])
            #expect(try store.file.environment.readers().count == 1)
        }
        #expect(try store.file.environment.readers() == [])
        struct Refused: Error {}
        #expect(throws: Refused.self) {
            try store.read { context in
                _ = try context.object(Notebook.self, id: ids[0])
                throw Refused()
            }
        }
        #expect(try store.file.environment.readers() == [])
    }

    @Test func savesInsideAReadChangeNothingThatItShows() throws {
        let seen = try store.read { context in
            var seen = [try context.object(Notebook.self, id: ids[0])?.name ?? ""]
            for index in 1..<20 {
                try rename(index, "another")
                seen.append(try context.object(Notebook.self, id: ids[index])?.name ?? "")
            }
            return seen
        }
        #expect(seen == original)
        #expect(try store.read { try names($0) }.dropFirst().allSatisfy { $0 == "another" })
    }

    @Test(.timeLimit(.minutes(10)))
    func aSaveInsideAReadMayFailAndLetTheFileBeOpenedAgain() throws {
        try store.read { context in
            #expect(try context.object(Notebook.self, id: ids[0])?.name == "Notebook 0")
            store.file.environment.faults.failNext(.commit, code: LMDBError.inputOutput)
            #expect(throws: (any Error).self) { try rename(1, "lost or not") }
            #expect(try context.object(Notebook.self, id: ids[2])?.name == "Notebook 2")
            try rename(3, "after the failure")
            #expect(try context.object(Notebook.self, id: ids[3])?.name == "Notebook 3")
        }
        #expect(try store.read { try names($0)[3] } == "after the failure")
    }

    @Test(.timeLimit(.minutes(10)))
    func aReadMayWaitForSomebodyWhoSavesAndLetsTheFileBeOpenedAgain() throws {
        try store.read { context in
            #expect(try context.object(Notebook.self, id: ids[0])?.name == "Notebook 0")
            store.file.environment.faults.failNext(.commit, code: LMDBError.inputOutput)
            let failure = try onThread { [store, ids] in
                func rename(_ index: Int, _ name: String) throws {
                    try store.edit { try $0.object(Notebook.self, id: ids[index])?.name = name }
                }
                defer { try? rename(2, "after the failure") }
                do { try rename(1, "lost or not") } catch { return true }
                return false
            }
            #expect(failure)
            #expect(try context.object(Notebook.self, id: ids[2])?.name == "Notebook 2")
        }
        #expect(try store.read { try names($0)[2] } == "after the failure")
    }

    @Test func anEditThatRefreshesSeesWhatOthersHaveSaved() throws {
        try store.edit { context in
            #expect(try context.object(Notebook.self, id: ids[0])?.name == "Notebook 0")
            try rename(1, "another")
            let other = store.context()
            let notebook = Notebook(name: "added")
            other.insert(notebook)
            try other.save()
            let added = notebook.id
            try context.refresh()
            #expect(try context.object(Notebook.self, id: ids[1])?.name == "another")
            #expect(try context.object(Notebook.self, id: added)?.name == "added")
            try context.object(Notebook.self, id: ids[0])?.name = "edited"
        }
        #expect(try store.read { try names($0) }.prefix(2) == ["edited", "another"])
    }

    @Test func theFileCanBeCompactedInsideAReadAndTheStoreClosed() throws {
        try store.read { context in
            #expect(try context.object(Notebook.self, id: ids[0])?.name == "Notebook 0")
            try store.compactInPlace()
            #expect(try context.object(Notebook.self, id: ids[1])?.name == "Notebook 1")
            store.close()
            #expect(throws: StoreError.self) {
                try store.context().object(Notebook.self, id: ids[2])
            }
        }
    }
}
