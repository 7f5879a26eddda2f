import Foundation
import StetLMDB
import StetStore
import Testing

struct WriterTests {
    let directory: StoreDirectory
    let file: StoreFile

    init() throws {
        directory = try StoreDirectory()
        file = try directory.openUnsynced()
    }

    private func journal() throws -> [Commit] {
        try file.read { reader in
            let head = try reader.head().revision.number
            return head == 0 ? [] : try (1...head).map { try reader.commit(Revision($0)) }
        }
    }

    /// Submits while the writer is held, then lets it go.
    private func held<Result>(
        _ body: () throws -> Result, whenHeld: () throws -> Void = {}
    ) throws -> Result {
        let writer = HeldWriter(file.environment)
        // The writer has taken the first one, and waits for the lock.
        let first = try file.submitInserts([0])
        file.untilWaiting(0)
        defer { _ = try? first[0].wait() }
        let result: Result
        do {
            result = try body()
            try whenHeld()
        } catch {
            writer.release()
            throw error
        }
        writer.release()
        return result
    }

    // MARK: Batches

    @Test func whatWaitsIsOneTransactionInTheOrderOfSubmission() throws {
        let before = try file.environment.lastCommit().transaction
        let submissions = try held { try file.submitInserts(1...50) }
        let commits = try submissions.map { try $0.wait() }
        #expect(commits.map(\.revision.number) == Array(2...51))
        #expect(commits.map(\.id.token) == Array(1...50))
        #expect(try journal().dropFirst() == commits[...])
        // Three transactions at most: the holder's, the first save, and all others.
        #expect(try file.environment.lastCommit().transaction - before <= 3)
        #expect(try file.verify().problems == [])
    }

    @Test func aBatchHasAnEnd() throws {
        let before = try file.environment.lastCommit().transaction
        let submissions = try held { try file.submitInserts(1...2_100) }
        for submission in submissions { _ = try submission.wait() }
        #expect(try file.environment.lastCommit().transaction - before >= 1 + 3)
        #expect(try file.verify().commitCount == 2_101)
    }

    @Test func aMemberSeesTheEarlierOnesAndARefusedOneHasPutNothing() throws {
        let tag = ObjectKey(Number.tag, 1)
        let article = ObjectKey(Number.article, 2)
        var values: [Value] = Array(repeating: .null, count: 11)
        values[0] = .string("title")
        values[1] = .int(1)
        values[10] = .reference(tag.id)
        let edits: [[Edit]] = [
            [.insertTag(1, 1)],
            // Inserts the same object again.
            [.insertTag(1, 2), .insertTag(3)],
            // Refers to an object that an earlier member inserts.
            [Edit(article, from: nil, to: values)],
            // Changes an object that an earlier member inserts, whose revision the saver cannot
            // know.
            [Edit(tag, from: [.data(Data([1]))], to: [.data(Data([9]))]), .insertTag(4)],
            // Deletes an object to which an earlier member refers.
            [Edit(tag, from: [.data(Data([1]))], to: nil, base: 2)],
        ]
        let submissions = try held { try edits.map { try file.submit(try file.encode($0)) } }
        let outcomes = submissions.map { submission in Result { try submission.wait() } }
        #expect(outcomes.map { (try? $0.get())?.revision } == [2, nil, 3, nil, nil])
        func reasons(_ index: Int) -> [CommitRefusal.Reason]? {
            thrown(CommitRefusal.self) { try outcomes[index].get() }?.reasons
        }
        #expect(
            reasons(1) == [
                .objectChanged(entity: Number.tag, tag.id, base: .zero, now: 2)
            ])
        #expect(
            reasons(3) == [
                .objectChanged(entity: Number.tag, tag.id, base: .zero, now: 2)
            ])
        #expect(
            reasons(4) == [
                .stillReferenced(
                    Schema.library.membership(of: article, in: tag.id, slot: 10))
            ])
        #expect(
            try file.objects(asOf: 3).keys.sorted() == [
                article, ObjectKey(Number.tag, 0), tag,
            ])
        #expect(try file.verify().problems == [])
    }

    @Test func aMemberThatCannotBeCheckedDoesNotTakeTheOthersWithIt() throws {
        _ = try file.commit([.insertTag(7)])
        let key = [UInt8](ObjectID.fixed(7).bytes)
        let tamper = { (bytes: [UInt8]?) in try file.tamper("records.3", key, bytes) }
        let record = try #require(try file.dump()["records.3"]?[key])
        try tamper([1, 2, 3])
        let update = Edit(
            ObjectKey(Number.tag, 7), from: [.data(Data([1]))], to: [.data(Data([2]))], base: 1)
        let submissions = try held {
            try file.submitInserts(10...12) + [try file.submit(try file.encode([update]))]
                + file.submitInserts(13...15)
        }
        let outcomes = submissions.map { submission in Result { try submission.wait() } }
        #expect(
            outcomes.map { (try? $0.get()) != nil } == [true, true, true, false, true, true, true])
        #expect(thrown(StoreError.self) { try outcomes[3].get() }?.code == .damaged)
        try tamper(record)
        #expect(try file.verify().problems == [])
        #expect(try file.verify().objectCount == 8)
    }

    // MARK: Whose thread

    /// Opens the store with a clock that records the thread of each call: every thread that commits
    /// calls it.
    private func open(noting threads: Monitor<Set<pthread_t>>) throws -> StoreFile {
        file.close()
        var configuration = StoreFile.Configuration.small()
        configuration.uptime = {
            threads.withLock { _ = $0.insert(pthread_self()) }
            return systemUptime()
        }
        return try StoreFile.open(at: directory.file(), schema: .library, configuration)
    }

    /// Commits until this thread has done so itself, which it does once the writer's sleeps.
    private func untilCommittedHere(_ file: StoreFile, _ threads: Monitor<Set<pthread_t>>) throws {
        for number in 1_000...11_000 {
            let set = try file.encode([.insertTag(number)])
            threads.withLock { $0 = [] }
            _ = try file.commit(set)
            if threads.withLock({ $0 }).contains(pthread_self()) { return }
        }
        Issue.record("the writer's thread has never slept")
    }

    @Test func aSaverThatBlocksCommitsOnItsOwnThread() throws {
        let threads = Monitor<Set<pthread_t>>([])
        let file = try open(noting: threads)
        try untilCommittedHere(file, threads)
        // The writer's thread does not take part in the next commit.
        let set = try file.encode([.insertTag(1), .insertTag(2)])
        threads.withLock { $0 = [] }
        let commit = try file.commit(set)
        #expect(threads.withLock { $0 } == [pthread_self()])
        #expect(try file.read { try $0.commit(commit.revision) } == commit)
        #expect(try file.verify().problems == [])
    }

    /// A task that fetches its outcome must not block its thread for others.
    @Test func whoeverKnowsTheOutcomeCommitsNothingForOthers() throws {
        let threads = Monitor<Set<pthread_t>>([])
        let file = try open(noting: threads)
        try untilCommittedHere(file, threads)
        let decided = try file.submitInserts([1])[0]
        let commit = try decided.wait()
        let waiting = try file.submitInserts([2])[0]
        #expect(try decided.wait() == commit)
        #expect(!waiting.isDecided)
        #expect(try waiting.wait().revision == commit.revision.next)
    }

    /// Code of users runs where a clock or a log handler is asked by the thread that commits.
    @Test func aCommitInsideAnotherIsRefused() throws {
        file.close()
        let inside = Monitor<(EncodedChangeSet, StoreFile)?>(nil)
        let codes = Monitor<[StoreError.Code?]>([])
        var configuration = StoreFile.Configuration.small()
        configuration.uptime = {
            if let (set, file) = inside.withLock({ inside in
                defer { inside = nil }
                return inside
            }) {
                let error = thrown(StoreError.self) { try file.commit(set) }
                codes.withLock { $0.append(error?.code) }
            }
            return systemUptime()
        }
        let file = try StoreFile.open(at: directory.file(), schema: .library, configuration)
        for number in 1...100 {
            let (outer, inner) = (
                try file.encode([.insertTag(number)]), try file.encode([.insertTag(number + 100)])
            )
            let submission = try file.submit(outer)
            inside.withLock { $0 = (inner, file) }
            _ = try submission.wait()
        }
        #expect(codes.withLock { $0 } == Array(repeating: .storeBusy, count: 100))
        #expect(try file.head().revision == 100)
    }

    @Test func whatComesMeanwhileIsLeftToTheWriter() async throws {
        let threads = Monitor<Set<pthread_t>>([])
        let file = try open(noting: threads)
        try untilCommittedHere(file, threads)
        let head = try file.head().revision.number
        let writer = HeldWriter(file.environment)
        let submission = try file.submitInserts([1])[0]
        let first = Monitor<Result<Commit, any Error>?>(nil)
        Thread {
            let result = Result { try submission.wait() }
            first.withLock { $0 = result }
            first.notify()
        }.start()
        file.untilWaiting(0)
        let submissions = try file.submitInserts(2...4)
        let tasks = submissions.map { submission in
            Task {
                await submission.decision()
                return try submission.wait().revision.number
            }
        }
        tasks[1].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[1].value }
        writer.release()
        #expect(try first.wait { $0 }.get().revision.number == head + 1)
        #expect(try await tasks[0].value == head + 2)
        #expect(try await tasks[2].value == head + 3)
    }

    // MARK: Withdrawal

    @Test func aCancelledTaskWithdrawsWhatWaits() async throws {
        let writer = HeldWriter(file.environment)
        let first = try file.submitInserts([0])
        file.untilWaiting(0)
        let submissions = try file.submitInserts(1...9)
        let tasks = submissions.map { submission in
            Task {
                await submission.decision()
                return try submission.wait().id.token
            }
        }
        for index in [0, 4, 8] {
            tasks[index].cancel()
            await #expect(throws: CancellationError.self) { try await tasks[index].value }
        }
        writer.release()
        _ = try first[0].wait()
        var tokens: [UInt64] = []
        for (index, task) in tasks.enumerated() where ![0, 4, 8].contains(index) {
            tokens.append(try await task.value)
        }
        #expect(tokens == [2, 3, 4, 6, 7, 8])
        #expect(try journal().map(\.id.token) == [0, 2, 3, 4, 6, 7, 8])
    }

    @Test func aTaskThatIsCancelledTooLateGetsTheOutcome() async throws {
        let file = file
        let writer = HeldWriter(file.environment)
        let submission = try file.submitInserts([1])[0]
        file.untilWaiting(0)
        let task = Task {
            await submission.decision()
            return try submission.wait().revision
        }
        task.cancel()
        #expect(!submission.isDecided)
        writer.release()
        #expect(try await task.value == 1)
        #expect(try journal().count == 1)
    }

    // MARK: The end

    @Test func closingCommitsWhatWaitsAndRefusesWhatComesLater() async throws {
        let file = file
        let observer = Task {
            var seen: [UInt64] = []
            for try await commit in Commits(file: file, after: 0) {
                seen.append(commit.revision.number)
            }
            return seen
        }
        while file.feed.waiterCount == 0 { await Task.yield() }
        let writer = HeldWriter(file.environment)
        let submissions = try file.submitInserts(0...30)
        let closed = Monitor(false)
        Thread {
            file.close()
            closed.withLock { $0 = true }
            closed.notify()
        }.start()
        while !file.isClosing { sched_yield() }
        #expect(thrown(StoreError.self) { try file.submitInserts([99]) }?.code == .storeClosed)
        #expect(submissions.allSatisfy { !$0.isDecided })
        writer.release()
        closed.wait { $0 ? () : nil }
        #expect(try submissions.map { try $0.wait().revision.number } == Array(1...31))
        #expect(try await observer.value == Array(1...31))
        #expect(thrown(StoreError.self) { try file.commit([.insertTag(99)]) }?.code == .storeClosed)
        #expect(thrown(StoreError.self) { try file.read { _ in } }?.code == .storeClosed)
        let again = try directory.open()
        #expect(try again.read { try $0.head().revision } == 31)
        #expect(try again.verify().problems == [])
    }

    @Test func aStoreThatNobodyHoldsIsClosedAndItsThreadEnds() throws {
        let directory = try StoreDirectory()
        weak var dropped: StoreFile?
        weak var environment: Environment?
        for round in 0..<20 {
            let file = try directory.open()
            _ = try file.commit([.insertTag(round)])
            dropped = file
            environment = file.environment
        }
        // The thread keeps the store alive for moments only.
        while dropped != nil || environment != nil { sched_yield() }
        #expect(try directory.open().verify().commitCount == 20)
    }

    @Test func closingFromManyThreadsWhileOthersSaveLosesNothing() throws {
        for round in 0..<10 {
            let directory = try StoreDirectory()
            let file = try directory.openUnsynced()
            let acknowledged = Monitor(0)
            onThreads(6) { thread in
                for number in 0..<40 {
                    if thread < 2, number == 3 * round { return file.close() }
                    let edit = Edit.insertTag(thread * 1_000 + number)
                    guard thread >= 2, (try? file.commit([edit])) != nil else { continue }
                    acknowledged.withLock { $0 += 1 }
                }
            }
            file.close()
            let again = try directory.open()
            #expect(try again.verify().problems == [])
            #expect(try again.verify().commitCount == acknowledged.withLock { $0 })
        }
    }
}
