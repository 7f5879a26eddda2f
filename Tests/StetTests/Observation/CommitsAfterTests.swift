import Foundation
import Stet
import StetLMDB
import StetStore
import StetTestModels
import StetTestSupport
import Testing

/// `store.commits(after:)`: what was committed and what is being committed, as one sequence.
@Suite struct CommitsAfterTests {
    private func save(_ store: Store, _ count: Int) throws {
        let context = store.context(author: "lala")
        for number in 0..<count {
            context.insert(Notebook(name: "notebook \(number)"))
            try context.save()
        }
    }

    private func take(_ count: Int, of commits: Commits) async throws -> [UInt64] {
        var taken: [UInt64] = []
        for try await commit in commits {
            taken.append(commit.revision.number)
            if taken.count == count { break }
        }
        return taken
    }

    @Test("A7 an observer begins at a revision, at the beginning or now, and goes on live")
    func anObserverBeginsWhereItLikes() async throws {
        let scratch = try Scratch()
        try save(scratch.store, 5)
        let store = scratch.store
        let (beginning, third, present) = (
            store.commits(after: .beginning), store.commits(after: 3), store.commits(after: .now)
        )
        let implied = store.commits
        let live = Task { try await take(4, of: third) }
        while store.file.feed.waiterCount < 1 { await Task.yield() }
        try save(store, 2)
        #expect(try await live.value == [4, 5, 6, 7])
        #expect(try await take(7, of: beginning) == [1, 2, 3, 4, 5, 6, 7])
        #expect(try await take(2, of: present) == [6, 7])
        #expect(try await take(2, of: implied) == [6, 7])
        #expect(try await take(1, of: store.commits(after: .revision(6))) == [7])
    }

    @Test func anObserverThatAsksForWhatWasTrimmedIsToldWhereTheJournalBegins() async throws {
        let scratch = try Scratch()
        try save(scratch.store, 8)
        try scratch.store.requestTrim(before: 6).confirm()
        #expect(try await take(3, of: scratch.store.commits(after: .beginning)) == [6, 7, 8])
        #expect(try await take(3, of: scratch.store.commits(after: 5)) == [6, 7, 8])
        for start: FeedStart in [0, 4] {
            var observer = scratch.store.commits(after: start).makeAsyncIterator()
            let error = await #expect(throws: StoreError.self) { _ = try await observer.next() }
            #expect(error?.code == .historyTrimmed)
            #expect(error?.message.hasSuffix("the journal begins after 5.") ?? false)
        }
    }

    @Test func anObserverThatBeginsBeyondTheLastCommitIsRefused() async throws {
        let scratch = try Scratch()
        try save(scratch.store, 2)
        var observer = scratch.store.commits(after: 3).makeAsyncIterator()
        let error = await #expect(throws: StoreError.self) { _ = try await observer.next() }
        #expect(error?.code == .noSuchRevision)
        #expect(try await take(1, of: scratch.store.commits(after: 1)) == [2])
    }

    @Test func theBeginningIsWhereTheJournalBeginsWhenTheObserverDoes() async throws {
        let scratch = try Scratch()
        try save(scratch.store, 5)
        let commits = scratch.store.commits(after: .beginning)
        try scratch.store.requestTrim(before: 4).confirm()
        #expect(try await take(2, of: commits) == [4, 5])
    }

    @Test("A7 observers that begin anywhere get the commits of all processes once, in order")
    func observersFollowSeveralProcesses() async throws {
        let scratch = try Scratch()
        let store = scratch.store
        try save(store, 20)
        let children = try (0..<2).map { number in
            try RunningChild(["random", scratch.path, "150", "\(500 + number)"])
        }
        var observers: [(start: UInt64, task: Task<[UInt64], any Error>)] = []
        for start in stride(from: UInt64(0), through: 20, by: 5) {
            let commits = store.commits(after: .revision(Revision(start)))
            observers.append((start, Task { try await take(330 - Int(start), of: commits) }))
        }
        try save(store, 10)
        for (start, observer) in observers {
            #expect(try await observer.value == Array(start + 1...330))
        }
        for child in children { #expect(child.status() == 0) }
        while store.file.feed.observerCount > 0 { await Task.yield() }
        #expect(store.file.feed.waiterCount == 0)
        #expect(store.file.feed.byteCount == 0)
    }

    @Test("A7 a filtered feed has what another process commits")
    func aFilteredFeedFollowsAnotherProcess() async throws {
        let scratch = try Scratch()
        let store = scratch.store
        try save(store, 1)
        let feed = FeedTask(
            store.changes(of: Article.self, when: .entering) { $0.rating >= 2 }.withSnapshots())
        #expect(try RunningChild(["random", scratch.path, "200", "77"]).status() == 0)
        try await store.untilObserversWait(1)
        var request = FeedRequest(entity: "Article", compared: [])
        request.condition = { try $0.object(Article.self, id: $1)?.rating ?? 0 >= 2 }
        request.side = .entering
        let expected = try request.items(of: store, after: 1, through: store.revision())
        let delivered = feed.events.flatMap { event in
            event.changes.map { (event.revision, $0.id, $0.kind) }
        }
        #expect(feed.error == nil)
        #expect(!expected.isEmpty)
        #expect(delivered.count == expected.count)
        for (change, item) in zip(delivered, expected) {
            #expect(change == (item.revision, item.id, item.kind))
        }
        #expect(
            feed.events.allSatisfy { $0.changes.allSatisfy { $0.new.snapshot?.rating ?? 0 >= 2 } })
        await feed.end()
    }
}
