import Foundation
import StetLMDB
import StetStore
import Testing

struct CommitFeedTests {
    private func edit(_ library: Library, _ byteCount: Int = 1) -> Edit {
        let number = library.states.count
        let value = Value.data(Data(repeating: UInt8(truncatingIfNeeded: number), count: byteCount))
        return library.edit(ObjectKey(Number.tag, number), [value])
    }

    private func commit(_ library: Library, _ count: Int, byteCount: Int = 1) throws {
        for _ in 0..<count { try library.commit([edit(library, byteCount)]) }
    }

    private func take(_ count: Int, of commits: Commits) async throws -> [Commit] {
        var taken: [Commit] = []
        for try await commit in commits {
            taken.append(commit)
            if taken.count == count { break }
        }
        return taken
    }

    /// Returns when so many observers wait.
    private func untilWaiting(_ count: Int, _ feed: CommitFeed) async {
        while feed.waiterCount != count { await Task.yield() }
    }

    @Test func observersGetEveryCommitInOrderOnce() async throws {
        let library = try Library()
        let file = library.file
        let observers = (0..<4).map { _ in
            Task { try await take(30, of: Commits(file: file, after: 0)) }
        }
        await untilWaiting(4, file.feed)
        try commit(library, 30)
        for observer in observers { #expect(try await observer.value == library.commits) }
        #expect(file.feed.waiterCount == 0)
        #expect(file.feed.head == 30)
    }

    @Test func anObserverBeginsAfterTheRevisionItNames() async throws {
        let library = try Library()
        try commit(library, 10)
        for start in 0...9 {
            let commits = Commits(file: library.file, after: .revision(Revision(UInt64(start))))
            #expect(try await take(10 - start, of: commits) == Array(library.commits[start...]))
        }
        let late = Commits(file: library.file, after: .revision(library.file.feed.head))
        try commit(library, 3)
        #expect(try await take(3, of: late) == Array(library.commits[10...]))
        // Each iterator is a separate observer.
        #expect(try await take(3, of: late) == Array(library.commits[10...]))
    }

    @Test func commitsFromBeforeTheStoreWasOpenedComeFromTheJournal() async throws {
        let library = try Library()
        try commit(library, 5)
        try library.reopen()
        #expect(library.file.feed.head == 5)
        try commit(library, 2)
        let commits = Commits(file: library.file, after: 0)
        #expect(try await take(7, of: commits) == library.commits)
    }

    @Test func anObserverThatFellBehindTheRingMissesNothing() async throws {
        let library = try Library()
        let commits = Commits(file: library.file, after: 0)
        var iterator = commits.makeAsyncIterator()
        try commit(library, 2)
        #expect(try await iterator.next() == library.commits[0])
        // Fills a ring of 16 MiB with 24 MiB.
        try commit(library, 24, byteCount: 1 << 20)
        #expect((15 << 20...16 << 20).contains(library.file.feed.byteCount))
        var seen = [library.commits[0]]
        while seen.count < 26, let next = try await iterator.next() { seen.append(next) }
        #expect(seen == library.commits)
    }

    @Test func aCommitLargerThanTheRingIsDelivered() async throws {
        let library = try Library()
        try commit(library, 1)
        try commit(library, 1, byteCount: 17 << 20)
        try commit(library, 1)
        let commits = Commits(file: library.file, after: 0)
        #expect(try await take(3, of: commits) == library.commits)
    }

    @Test func commitsOfManyThreadsArriveInOrderOnce() async throws {
        let library = try Library()
        let file = library.file
        let observers = (0..<3).map { _ in
            Task { try await take(200, of: Commits(file: file, after: 0)) }
        }
        await untilWaiting(3, file.feed)
        try await withThrowingTaskGroup { group in
            for thread in 1...4 {
                group.addTask {
                    for number in 0..<50 {
                        let key = ObjectKey(Number.tag, thread * 1_000 + number)
                        _ = try file.commit([Edit(key, from: nil, to: [.data(Data([1]))])])
                    }
                }
            }
            try await group.waitForAll()
        }
        let journal = try file.read { reader in
            try (1...200).map { try reader.commit(Revision($0)) }
        }
        #expect(journal.map(\.revision.number) == Array(1...200))
        for observer in observers { #expect(try await observer.value == journal) }
    }

    // MARK: The end

    @Test func aCancelledObserverEndsAndLeavesNoWaiter() async throws {
        let library = try Library()
        let file = library.file
        for _ in 0..<50 {
            let observers = (0..<3).map { _ in
                Task { try await take(1, of: Commits(file: file, after: 0)) }
            }
            // Some are cancelled before they wait, some while they do.
            observers[0].cancel()
            await untilWaiting(2, file.feed)
            observers[1].cancel()
            observers[2].cancel()
            for observer in observers { #expect(try await observer.value == []) }
            #expect(file.feed.waiterCount == 0)
        }
        try commit(library, 1)
        #expect(try await take(1, of: Commits(file: file, after: 0)) == library.commits)
    }

    @Test func closingEndsTheObserversThatWait() async throws {
        let library = try Library()
        let file = library.file
        try commit(library, 2)
        let observers = (0..<3).map { _ in
            Task { try await take(.max, of: Commits(file: file, after: 0)) }
        }
        await untilWaiting(3, file.feed)
        file.close()
        for observer in observers { #expect(try await observer.value == library.commits) }
        #expect(file.feed.waiterCount == 0)
    }

    @Test func anObserverStartedAfterClosingEnds() async throws {
        let library = try Library()
        try commit(library, 2)
        library.file.close()
        let commits = Commits(file: library.file, after: .revision(library.file.feed.head))
        #expect(try await take(1, of: commits) == [])
    }

    /// Commits that were acknowledged before the store was closed are still delivered.
    @Test func anObserverThatIsBehindSeesWhatThereIsBeforeItEnds() async throws {
        let library = try Library()
        var iterator = Commits(file: library.file, after: 0).makeAsyncIterator()
        try commit(library, 3)
        #expect(try await iterator.next() == library.commits[0])
        library.file.close()
        #expect(try await iterator.next() == library.commits[1])
        #expect(try await iterator.next() == library.commits[2])
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test func anObserverBehindTheRingOfAClosedStoreIsToldThatItIsClosed() async throws {
        let library = try Library()
        var iterator = Commits(file: library.file, after: 0).makeAsyncIterator()
        try commit(library, 1, byteCount: 17 << 20)
        library.file.close()
        await #expect { try await iterator.next() } throws: { error in
            (error as? StoreError)?.code == .storeClosed
        }
    }

    // MARK: Failures

    #if STET_FAULTS
        @Test func nothingIsHeardOfACommitThatFailed() async throws {
            let library = try Library()
            let file = library.file
            let observer = Task { try await take(2, of: Commits(file: file, after: 0)) }
            await untilWaiting(1, file.feed)
            file.environment.faults.failNext(.commit, code: LMDBError.inputOutput)
            let error = thrown(StoreError.self) { try library.commit([edit(library)]) }
            #expect(error?.code == .inputOutput)
            #expect(file.feed.head == .zero)
            observer.cancel()
            _ = try await observer.value
            try commit(library, 1)
            #expect(file.feed.head == 1)
        }
    #endif

    @Test func aJournalThatCannotBeReadEndsTheObserverWithAnError() async throws {
        let library = try Library()
        try commit(library, 2)
        try library.reopen()
        try commit(library, 1)
        let environment = library.file.environment
        let journal = try #require(try environment.tables(["journal"])[0])
        // Revision 1, chunk 0.
        let key: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]
        let chunk = try environment.write { transaction in
            try key.withUnsafeBytes { key in
                let chunk = Array(
                    try transaction.reading.get(key, in: journal) ?? .init(start: nil, count: 0))
                try transaction.delete(key, in: journal)
                return chunk
            }
        }
        var iterator = Commits(file: library.file, after: 0).makeAsyncIterator()
        await #expect {
            try await iterator.next()
        } throws: { error in
            (error as? StoreError)?.code == .damaged
        }
        try environment.write { transaction in
            try key.withUnsafeBytes { key in
                try chunk.withUnsafeBytes { try transaction.put($0, for: key, in: journal) }
            }
        }
        // The position has not moved, so the observer can continue.
        #expect(try await iterator.next() == library.commits[0])
    }
}
