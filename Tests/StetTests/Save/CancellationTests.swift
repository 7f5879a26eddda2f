import StetLMDB
import StetStore
import StetTestModels
import StetTestSupport
import Testing

@testable import Stet

/// A cancelled task withdraws its change set or reports its outcome, never half.
@MainActor @Suite struct CancellationTests {
    @Test func whatTheWriterHasTakenComesToItsEnd() async throws {
        let desk = try Desk()
        desk.notebook.name = "taken"
        desk.hold()
        let save = await desk.send("taken")
        await until { desk.store.file.waitingCount == 0 }
        save.cancel()
        #expect(desk.context.core.saves.inFlight != nil)
        try await desk.release()
        #expect(try await save.value?.label == "taken")
        #expect(try desk.labels() == ["first", "taken"])
    }

    @Test func whatWaitsIsWithdrawnAtOnce() async throws {
        let desk = try Desk()
        desk.notebook.name = "withdrawn"
        let id = try desk.context.makeCommitID()
        await desk.holdQueue()
        let save = await desk.send("withdrawn", id: id)
        #expect(desk.store.outcome(of: id) == .unknown)
        save.cancel()
        // The writer is still held.
        #expect(await failure(of: save) is CancellationError)
        #expect(desk.store.outcome(of: id) == .notCommitted)
        #expect(desk.notebook.name == "Swift")
        #expect(!desk.context.hasChanges)
        try await desk.release()
        #expect(try desk.labels() == ["first", "plug"])
        #expect(desk.store.outcome(of: id) == .notCommitted)
    }

    @Test func aTaskThatIsCancelledBeforeItSavesWritesNothing() async throws {
        let desk = try Desk()
        let context = desk.context
        desk.notebook.name = "never"
        let save = Task {
            await until { Task.isCancelled }
            return try await context.save("never")
        }
        save.cancel()
        #expect(await failure(of: save) is CancellationError)
        #expect(desk.notebook.name == "Swift")
        #expect(!context.hasChanges)
        #expect(try desk.labels() == ["first"])
    }

    @Test func aTaskThatIsCancelledWhileItWaitsForItsTurnWritesNothing() async throws {
        let desk = try Desk()
        desk.notebook.name = "one"
        desk.hold()
        let first = await desk.send("one")
        desk.article.title = "two"
        let second = await desk.queue("two")
        second.cancel()
        try await desk.release()
        #expect(try await first.value?.label == "one")
        #expect(await failure(of: second) is CancellationError)
        #expect(desk.notebook.name == "one")
        #expect(desk.article.title == "Macros")
        #expect(try desk.labels() == ["first", "one"])
    }

    @Test func cancellingAfterTheEndChangesNothing() async throws {
        let desk = try Desk()
        desk.notebook.name = "done"
        desk.hold()
        let save = await desk.send("done")
        try await desk.release()
        let commit = try await save.value
        save.cancel()
        #expect(try await save.value == commit)
        #expect(desk.notebook.name == "done")
    }

    /// The outcome of one save of the storm.
    private enum End: Equatable {
        case cancelled
        case committed(Revision)
    }

    @Test(arguments: UInt64(1)...4)
    func inAStormOfCancellationsEachSaveIsWholeOrNotThere(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let scratch = try Scratch()
        let store = scratch.store
        let saves = (0..<200).map { number in
            Task.detached { () async throws -> End in
                let context = store.context()
                let notebook = Notebook(name: "\(number)")
                context.insert(Article(title: "\(number)", notebook: notebook))
                do {
                    guard let commit = try await context.save("\(number)") else {
                        throw ConflictError(reason: .changed, conflicts: [], rejected: .init())
                    }
                    #expect(commit.label == "\(number)")
                    #expect(commit.changeCount == 2)
                    #expect(!context.hasChanges)
                    #expect(notebook.context === context)
                    return .committed(commit.revision)
                } catch is CancellationError {
                    #expect(!context.hasChanges)
                    #expect(notebook.context == nil)
                    return .cancelled
                }
            }
        }
        for _ in 0..<120 {
            for _ in 0..<Int.random(in: 0...20, using: &generator) { await Task.yield() }
            saves.randomElement(using: &generator)?.cancel()
        }
        var ends: [String: Revision] = [:]
        for (number, save) in saves.enumerated() {
            if case .committed(let revision) = try await save.value { ends["\(number)"] = revision }
        }
        let journal = try store.journal()
        #expect(
            Dictionary(uniqueKeysWithValues: journal.map { ($0.label ?? "", $0.revision) }) == ends)
        let stored = store.context()
        #expect(try Set(stored.fetch(Notebook.self).all().map(\.name)) == Set(ends.keys))
        #expect(try Set(stored.fetch(Article.self).all().map(\.title)) == Set(ends.keys))
        #expect(try store.verify().problems == [])
    }
}
