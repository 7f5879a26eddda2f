import Foundation
import Stet
import StetLMDB
import StetStore
import StetTestModels
import StetTestSupport
import Testing

/// One store, several processes.
@Suite(.serialized) struct SeveralProcessesTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }

    private func open(uptime: (@Sendable () -> Duration)? = nil) throws -> Store {
        var configuration = Store.Configuration()
        if let uptime { configuration.uptime = uptime }
        return try Store.open(
            at: path, for: Notebook.self, Article.self, configuration: configuration)
    }

    private func saveOne(_ store: Store, _ name: String = "here") throws -> Revision? {
        let context = store.context()
        context.insert(Notebook(name: name))
        return try context.save()?.revision
    }

    // MARK: Reads

    @Test func aReadShowsItsRevisionWhileAnotherProcessSaves() throws {
        let store = try open()
        let context = store.context()
        let notebooks = (0..<12).map { Notebook(name: "notebook \($0)") }
        for notebook in notebooks { context.insert(notebook) }
        try context.save()
        func names(
            _ context: ManagedContext, after each: (Int) throws -> Void = { _ in }
        ) throws -> [String?] {
            try notebooks.indices.map { index in
                let name = try context.object(Notebook.self, id: notebooks[index].id)?.name
                try each(index)
                return name
            }
        }
        let shown = try store.read { context in
            try names(context) { index in
                if index % 4 > 0 { return }
                let child = try RunningChild(["random", path, "60", "\(index)"])
                #expect(child.status() == 0)
            }
        }
        #expect(shown == (0..<12).map { "notebook \($0)" })
        #expect(try store.revision() == 181)
        try store.read { context in
            let later = try names(context)
            #expect(later != shown)
            #expect(context.revision == 181)
        }
        #expect(try store.verify().problems == [])
    }

    // MARK: Observers

    /// `STET_SCALE` says how many times as many commits as in a usual run are made.
    private static let scale =
        ProcessInfo.processInfo.environment["STET_SCALE"].flatMap(Int.init) ?? 1

    @Test func eightObserversSeeEachCommitOfFourTasksAndThreeProcesses() async throws {
        let store = try open()
        let unit = repetitions(1_000) * Self.scale
        let count = 10 * unit
        let commits = store.commits
        let observers = (0..<8).map { number in
            Task {
                var seen: [Commit] = []
                for try await commit in commits {
                    seen.append(commit)
                    // Some observers fall behind, and read from the journal.
                    if number < 2, seen.count % 500 == 1 {
                        while store.file.feed.head.number < UInt64(seen.count + 400),
                            store.file.feed.head.number < UInt64(count - 100)
                        { await Task.yield() }
                    }
                    if seen.count == count { break }
                }
                return seen
            }
        }
        while store.file.feed.observerCount < 8 { await Task.yield() }
        let children = try (0..<3).map { number in
            try RunningChild(["random", path, "\(2 * unit)", "\(100 + number)"])
        }
        try await withThrowingTaskGroup { group in
            for seed in 0..<4 {
                group.addTask {
                    var saver = RandomSaver(store, seed: UInt64(seed))
                    try saver.save(unit)
                }
            }
            try await group.waitForAll()
        }
        for child in children {
            #expect(child.lines() == [])
            #expect(child.status() == 0)
        }
        let journal = try store.journal()
        #expect(journal.map(\.revision.number) == Array(1...UInt64(count)))
        #expect(Set(journal.map(\.author)).count == 7)
        for observer in observers {
            let seen = try await observer.value
            #expect(seen == journal)
        }
        // The values are equal, whether from the ring, the journal or another process.
        let first = try await observers[7].value
        for (seen, stored) in zip(first, journal) {
            guard seen.changes(of: Article.self) == stored.changes(of: Article.self),
                seen.changes(of: Notebook.self) == stored.changes(of: Notebook.self),
                seen.changeSet == stored.changeSet, seen.hash == stored.hash
            else {
                Issue.record("commit \(stored.revision) differs")
                break
            }
        }
        #expect(journal.contains { !$0.changes(of: Article.self).isEmpty })
        #expect(try store.verify().problems == [])
        while store.file.feed.observerCount > 0 { await Task.yield() }
        #expect(store.file.feed.waiterCount == 0)
        #expect(store.file.feed.byteCount == 0)
    }

    @Test func commitsOfAnotherProcessThatComeBeforeOursAreDeliveredBeforeOurs() async throws {
        let store = try open()
        let iterator = store.commits.makeAsyncIterator()
        for round in 0..<20 {
            #expect(try RunningChild(["random", path, "2", "\(round)"]).status() == 0)
            #expect(try saveOne(store) == Revision(UInt64(3 * round + 3)))
        }
        var position = iterator
        var seen: [UInt64] = []
        while seen.count < 60, let commit = try await position.next() {
            seen.append(commit.revision.number)
        }
        #expect(seen == Array(1...60))
    }

    @Test func anObserverInAProcessThatOnlyReadsIsWokenByOthers() async throws {
        let store = try open()
        let observer = Task { [commits = store.commits] in
            var names: [String?] = []
            for try await commit in commits {
                names.append(commit.author)
                if names.count == 5 { break }
            }
            return names
        }
        while store.file.feed.waiterCount == 0 { await Task.yield() }
        #expect(try RunningChild(["random", path, "5", "7"]).status() == 0)
        #expect(try await observer.value == Array(repeating: "saver 7", count: 5))
    }

    #if STET_FAULTS
        @Test func withoutNoticeFromTheSystemTheFileIsLookedAtNowAndThen() async throws {
            let store = try open()
            store.file.environment.faults.failNext(.watch, code: EMFILE, isLasting: true)
            let child = try RunningChild(["write", path])
            defer { child.kill() }
            #expect(child.line() == "ack 1")
            var seen: [UInt64] = []
            let first = try store.revision().number
            for try await commit in store.commits {
                seen.append(commit.revision.number)
                if seen.count == 30 { break }
            }
            let start = try #require(seen.first)
            #expect(start > first)
            #expect(seen == Array(start..<start + 30))
        }
    #endif

    @Test func anObserverThatSavesHearsOfItsOwnCommits() async throws {
        let store = try open()
        let observer = Task { [commits = store.commits] in
            let context = store.context(author: "echo")
            var authors: [String?] = []
            for try await commit in commits {
                authors.append(commit.author)
                if commit.author == nil {
                    context.insert(Notebook(name: "echo of \(commit.revision)"))
                    try await context.save()
                }
                if authors.count == 20 { break }
            }
            return authors
        }
        while store.file.feed.observerCount == 0 { await Task.yield() }
        for _ in 0..<10 { _ = try saveOne(store) }
        let authors = try await observer.value
        #expect(authors.count { $0 == "echo" } == 10)
        #expect(authors.count { $0 == nil } == 10)
        #expect(try store.revision() == 20)
    }

    // MARK: Killed processes

    @Test func aProcessThatIsKilledWhileItWritesLeavesNothingBehind() throws {
        let store = try open()
        for round in 1...5 {
            let child = try RunningChild(["lock", path])
            #expect(child.line() == "writing")
            child.kill()
            #expect(try saveOne(store) == Revision(UInt64(round)))
        }
        #expect(try store.verify().problems == [])
        #expect(try Store.inspect(path).damages == [])
    }

    @Test func aProcessThatIsKilledWhileItReadsIsForgottenByTheIdleWriter() throws {
        let now = Monitor(Duration.seconds(1_000))
        let store = try open { now.withLock { $0 } }
        _ = try saveOne(store)
        let child = try RunningChild(["read", path])
        #expect(child.line() == "reading")
        #expect(
            try store.statistics().readers == [
                StoreStatistics.Reader(processID: child.processID, age: .zero)
            ])
        now.withLock { $0 += .seconds(29) }
        #expect(try store.statistics().readers.map(\.age) == [.seconds(29)])
        // While it is alive, its read keeps pages in use.
        for _ in 0..<30 { _ = try saveOne(store) }
        let heldBack = try store.statistics().heldBackPageCount
        #expect(heldBack > 30)
        child.kill()
        for _ in 0..<2 {
            let before = store.file.idleRoundCount
            store.file.attend()
            while store.file.idleRoundCount == before { sched_yield() }
        }
        #expect(try store.statistics().readers.count == 1)
        // Half a minute after its last check, the writer frees the slots of dead processes.
        now.withLock { $0 += .seconds(2) }
        let before = store.file.idleRoundCount
        store.file.attend()
        while try !store.statistics().readers.isEmpty { sched_yield() }
        // The writer also reads, until its round has ended.
        while store.file.idleRoundCount == before { sched_yield() }
        #expect(try store.statistics().heldBackPageCount == 0)
        #expect(try saveOne(store) == 32)
    }

    // MARK: What others do to the file

    @Test func aProcessWhoseMapIsTooSmallFollowsTheGrowthOfAnother() throws {
        var configuration = StoreFile.Configuration()
        configuration.mapByteCount = 1 << 30
        configuration.initialMapByteCount = 1 << 18
        let path = path
        let first = try open()
        let schema = first.file.schema
        first.close()
        let file = try StoreFile.open(at: path, schema: schema, configuration)
        #expect(try RunningChild(["write", path, "400"]).lines().count == 400)
        #expect(try file.read { try $0.head().revision } == 400)
        #expect(try file.environment.statistics().mapByteCount > 1 << 18)
        #expect(try file.verify().problems == [])
        // It can save with its larger map.
        let store = try open()
        #expect(store.file === file)
        #expect(try saveOne(store) == 401)
    }

    @Test func aStoreThatAnotherProcessHasMigratedRefusesReadsAndSaves() throws {
        let store = try open()
        let context = store.context()
        context.insert(Notebook(name: "early"))
        try context.save()
        let notebook = try #require(try context.fetch(Notebook.self).first())
        // Changes the schema's number in the head, at offset 48, as a migration does.
        try store.file.environment.write { transaction in
            try Array("head".utf8).withUnsafeBytes { key in
                let head = try #require(try transaction.reading.get(key, in: .unnamed))
                var bytes = Array(head)
                bytes[48] += 1
                try bytes.withUnsafeBytes { try transaction.put($0, for: key, in: .unnamed) }
            }
        }
        func isMismatch(_ error: any Error) -> Bool {
            (error as? StoreError)?.code == .modelMismatch && (error as? StoreError)?.path == path
        }
        #expect { try store.revision() } throws: { isMismatch($0) }
        #expect { try store.context().fetch(Notebook.self).all() } throws: { isMismatch($0) }
        #expect { try store.journal() } throws: { isMismatch($0) }
        notebook.name = "late"
        #expect { try context.save() } throws: { isMismatch($0) }
        #expect(notebook.name == "early")
    }

    @Test func aForkedChildIsToldSoAndMayOpenTheStoreAnew() throws {
        let child = try RunningChild(["fork", path])
        #expect(
            child.lines() == [
                "child reads: forked", "child saves: forked", "child verifies: forked",
                "child's own: 2", "child ended: 0", "parent: 3", "verified: true",
            ])
        #expect(child.status() == 0)
    }

    @Test func forkedProcessesMakeIDsOfTheirOwn() throws {
        let child = try RunningChild(["fork-ids"])
        let numbers = child.lines()
        #expect(numbers.count == 60)
        #expect(Set(numbers).count == 60)
        #expect(child.status() == 0)
    }
}
