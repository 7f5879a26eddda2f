import Foundation
import StetLMDB
import StetStore
import StetTestModels
import StetTestSupport
import Testing

@testable import Stet

/// Closing a store completes the calls in progress, and refuses later ones.
@MainActor @Suite struct CloseTests {
    @Test func whatWaitsWhenTheStoreIsClosedIsDurableAndReported() async throws {
        let desk = try Desk()
        let store = desk.store
        let observer = Task { () async throws -> [Revision] in
            var seen: [Revision] = []
            for try await commit in store.commits { seen.append(commit.revision) }
            return seen
        }
        await until { store.file.feed.waiterCount == 1 }
        await desk.holdQueue()
        let contexts = (0..<20).map { _ in store.context() }
        let saves = contexts.enumerated().map { number, context in
            Task {
                context.insert(Notebook(name: "\(number)"))
                return try await context.save("\(number)")
            }
        }
        await until { store.file.waitingCount == 20 }
        let closing = blocking { store.close() }
        await until { store.file.isClosing }
        let late = store.context()
        late.insert(Notebook(name: "late"))
        let error = await #expect(throws: StoreError.self) { try await late.save("late") }
        #expect(error?.code == .storeClosed)
        #expect(!late.hasChanges)
        try await desk.release()
        try await closing.value
        var labels: [String?] = []
        for save in saves { labels.append(try await save.value?.label) }
        #expect(labels == (0..<20).map { "\($0)" })
        #expect(contexts.allSatisfy { !$0.hasChanges })
        #expect(try await observer.value == (2...22).map { Revision($0) })
        let again = try Store.open(at: desk.scratch.path, for: Notebook.self, Article.self)
        #expect(try again.journal().map(\.label) == ["first", "plug"] + labels)
        #expect(try again.verify().problems == [])
    }

    @Test func aClosedStoreThrowsFromEveryCall() async throws {
        let desk = try Desk()
        let (store, context, notebook) = (desk.store, desk.context, desk.notebook)
        let id = try context.makeCommitID()
        store.close()
        store.close()
        notebook.name = "late"
        func code(_ body: () async throws -> Void) async -> StoreError.Code? {
            do {
                try await body()
                return nil
            } catch {
                return (error as? StoreError)?.code
            }
        }
        #expect(await code { try await context.save(onFailure: .keepPending) } == .storeClosed)
        #expect(notebook.name == "late")
        #expect(notebook.hasChanges)
        #expect(await code { try await context.save() } == .storeClosed)
        #expect(notebook.name == "Swift")
        #expect(!context.hasChanges)
        notebook.name = "late"
        #expect(await code { try desk.saveNow() } == .storeClosed)
        #expect(notebook.name == "Swift")
        #expect(!context.hasChanges)
        #expect(await code { try context.edit { notebook.name = "late" } } == .storeClosed)
        #expect(notebook.name == "Swift")
        #expect(!context.hasChanges)
        #expect(await code { try context.refresh() } == .storeClosed)
        #expect(await code { _ = try context.fetch(Notebook.self).all() } == .storeClosed)
        #expect(await code { _ = try store.revision() } == .storeClosed)
        #expect(await code { _ = try store.journal() } == .storeClosed)
        #expect(await code { _ = try store.verify() } == .storeClosed)
        #expect(store.outcome(of: id) == .unknown)
        var iterator = store.commits.makeAsyncIterator()
        #expect(try await iterator.next() == nil)
    }

    @Test func aStoreThatNobodyHoldsClosesItselfAfterTheLastSave() async throws {
        let directory = TemporaryDirectory()
        weak var dropped: StoreFile?
        let saves: [Task<Commit?, any Error>]
        let held: HeldWriter
        do {
            let store = try Store.open(at: directory.file(), for: Notebook.self, Article.self)
            dropped = store.file
            held = HeldWriter(store.file.environment)
            func save(_ number: Int) -> Task<Commit?, any Error> {
                Task {
                    let context = store.context()
                    context.insert(Notebook(name: "\(number)"))
                    return try await context.save("\(number)")
                }
            }
            // The writer is busy with the first save, and the others wait.
            let first = try store.context().makeCommitID()
            let plug = Task {
                let context = store.context()
                context.insert(Notebook(name: "0"))
                return try await context.save("0", id: first)
            }
            await until {
                store.outcome(of: first) == .unknown && store.file.waitingCount == 0
            }
            saves = [plug] + (1..<5).map(save)
            await until { store.file.waitingCount == 4 }
        }
        #expect(dropped != nil)
        held.release()
        var labels: [String?] = []
        for save in saves { labels.append(try await save.value?.label) }
        #expect(labels == (0..<5).map { "\($0)" })
        await until { dropped == nil }
        let again = try Store.open(at: directory.file(), for: Notebook.self, Article.self)
        #expect(try again.journal().map(\.label) == labels)
    }

    @Test func aFlightThatLandsAfterCloseKeepsItsCommit() async throws {
        let desk = try Desk()
        let (store, context, notebook) = (desk.store, desk.context, desk.notebook)
        try desk.elsewhere { $0.insert(Notebook(name: "theirs")) }
        notebook.name = "flight"
        desk.hold()
        let save = await desk.send("flight")
        notebook.name = "later"
        let closing = blocking { store.close() }
        await until { store.file.isClosing }
        // The store is closed before the context completes the save.
        desk.releaseNow()
        untilNow { store.file.isClosed }
        try await closing.value
        #expect(try await save.value?.revision == 3)
        #expect(notebook.name == "later")
        let error = await #expect(throws: StoreError.self) { try await context.save() }
        #expect(error?.code == .storeClosed)
        context.rollback()
        #expect(notebook.name == "flight")
        #expect(!context.hasChanges)
    }
}
