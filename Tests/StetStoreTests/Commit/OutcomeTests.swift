#if STET_FAULTS
    import Foundation
    import StetLMDB
    import StetStore
    import Synchronization
    import Testing

    /// The reported outcome of a commit whose transaction met a disk error.
    struct OutcomeTests {
        let directory: StoreDirectory
        let file: StoreFile

        init() throws {
            directory = try StoreDirectory()
            file = try directory.openUnsynced()
            _ = try file.commit([.insertTag(1)])
        }

        private func id(_ token: UInt64, base: Revision = .zero) -> CommitID {
            CommitID(store: file.storeID, base: base, token: token)
        }

        private func fail(_ operation: LMDBError.Operation, _ code: Int32 = LMDBError.inputOutput) {
            file.environment.faults.failNext(operation, code: code)
        }

        @Test func aCommitThatIsNotOnTheDiskIsNotCommitted() throws {
            fail(.commit)
            let error = thrown(StoreError.self) { try file.submitInserts([2])[0].wait() }
            #expect(error?.code == .inputOutput)
            #expect(error?.systemCode == EIO)
            #expect(file.outcome(of: id(2)) == .notCommitted)
            #expect(try file.read { try $0.head().revision } == 1)
            // The store has reopened its file and works again.
            let commit = try file.submitInserts([3])[0].wait()
            #expect(commit.revision == 2)
            #expect(file.outcome(of: id(3)) == .committed(commit))
            #expect(try file.verify().problems == [])
        }

        @Test func aCommitThatIsOnTheDiskIsCommittedWhateverTheSystemSaid() throws {
            fail(.reportOfCommit)
            let commit = try file.submitInserts([2])[0].wait()
            #expect(commit.revision == 2)
            #expect(commit.id == id(2))
            #expect(file.outcome(of: id(2)) == .committed(commit))
            #expect(try file.submitInserts([3])[0].wait().revision == 3)
            #expect(file.feed.head == 3)
            #expect(try file.verify().problems == [])
        }

        /// A disk that fails may drop what was written and read: the number of a commit then comes
        /// again, with another one.
        @Test func theHeadOfACommitThatTheDiskHasLostIsForgotten() throws {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: file.path))
            let lost = try file.submitInserts([2])[0].wait()
            let head = try file.head()
            #expect(head.revision == lost.revision)
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file.path))
            try handle.write(contentsOf: bytes)
            try handle.close()
            fail(.commit)
            _ = thrown(StoreError.self) { try file.submitInserts([3])[0].wait() }
            let other = try file.submitInserts([4])[0].wait()
            #expect(other.revision == lost.revision)
            #expect(try file.head().hash != head.hash)
            #expect(try file.head() == file.read { try $0.head() })
            #expect(try file.verify().problems == [])
        }

        @Test(arguments: [LMDBError.Operation.commit, .reportOfCommit], [2, 3])
        func everyMemberOfABatchIsToldTheTruth(_ failing: LMDBError.Operation, at number: Int)
            throws
        {
            // The first transaction belongs to the lock. The second has one member, the third has
            // eight.
            file.environment.faults.failNext(failing, after: number, code: LMDBError.inputOutput)
            let writer = HeldWriter(file.environment)
            let first = try file.submitInserts([12])
            file.untilWaiting(0)
            let refused = try file.submit(try file.encode([.insertTag(1)]))
            let all = try first + file.submitInserts(13...19)
            writer.release()
            let outcomes = all.map { submission in Result { try submission.wait() } }
            let lost = outcomes.count { (try? $0.get()) == nil }
            #expect(lost == (failing == .reportOfCommit ? 0 : number == 2 ? 1 : 7))
            for (submission, outcome) in zip(all, outcomes) {
                let expected = (try? outcome.get()).map(Outcome.committed) ?? .notCommitted
                #expect(file.outcome(of: submission.id) == expected)
            }
            #expect(throws: CommitRefusal.self) { try refused.wait() }
            #expect(try file.verify().problems == [])
            #expect(try file.verify().commitCount == 9 - lost)
        }

        @Test func aStoreThatCannotBeOpenedAgainDoesNotKnowAndSaysSo() throws {
            let path = file.path
            file.environment.faults.failNext(.openEnvironment, code: LMDBError.inputOutput)
            fail(.reportOfCommit)
            let submission = try file.submitInserts([2])[0]
            let error = thrown(UnknownOutcomeError.self) { try submission.wait() }
            #expect(error?.commit == id(2))
            #expect(error?.cause.code == .inputOutput)
            #expect(error?.cause.path == path)
            #expect(file.outcome(of: id(2)) == .unknown)
            // All other calls throw the failure.
            let failure = thrown(StoreError.self) { try file.read { _ in } }
            #expect(failure?.code == .inputOutput)
            #expect(failure?.message.contains("opened") == true)
            #expect(
                thrown(StoreError.self) { try file.commit([.insertTag(3)]) }?.code == .inputOutput)
            file.close()
            let again = try directory.open()
            #expect(again.outcome(of: id(2)) == .committed(try again.read { try $0.commit(2) }))
            #expect(again.outcome(of: id(77)) == .notCommitted)
            #expect(try again.verify().problems == [])
        }

        @Test(arguments: [LMDBError.noSpace, LMDBError.fileTooLarge, EINTR])
        func anErrorBeforeTheEndLeavesNothingOpen(code: Int32) throws {
            fail(.commit, code)
            let before = try file.dump()
            #expect(
                thrown(StoreError.self) { try file.submitInserts([2])[0].wait() }?.systemCode
                    == code)
            #expect(try file.dump() == before)
            #expect(try file.submitInserts([3])[0].wait().revision == 2)
        }

        @Test func readersOnlyWaitWhileTheFileIsOpenedAgain() throws {
            let file = file
            let problems = Monitor<[String]>([])
            let isDone = Atomic(false)
            onThreads(4) { thread in
                do {
                    if thread > 0 {
                        var last = Revision.zero
                        while !isDone.load(ordering: .relaxed) {
                            let (head, count) = try file.read { reader in
                                // A nested read, as in accessors of objects.
                                let inner = try file.read { try $0.head().revision }
                                let head = try reader.head().revision
                                guard inner >= head else {
                                    throw DecodingFailure("\(inner) < \(head)")
                                }
                                return (head, try reader.recordCount(ofEntity: Number.tag))
                            }
                            if head < last || UInt64(count) != head.number {
                                throw DecodingFailure("\(head) after \(last), \(count) records")
                            }
                            last = head
                        }
                        return
                    }
                    for round in 2...200 {
                        file.environment.faults.failNext(
                            round.isMultiple(of: 2) ? .commit : .reportOfCommit,
                            code: LMDBError.inputOutput)
                        _ = try? file.commit([.insertTag(round)])
                    }
                } catch {
                    problems.withLock { $0.append("\(error)") }
                }
                isDone.store(true, ordering: .relaxed)
            }
            #expect(problems.withLock { $0 } == [])
            #expect(try file.verify().problems == [])
            #expect(try file.verify().commitCount == 100)
        }

        @Test func aRetryMakesNoSecondCommit() throws {
            let set = try file.encode(
                [.insertTag(2)],
                {
                    var note = EditNote(); note.token = 2; return note
                }())
            let commit = try file.submit(set, isRetry: true).wait()
            #expect(commit.revision == 2)
            for number in 10...14 { _ = try file.commit([.insertTag(number)]) }
            #expect(try file.submit(set, isRetry: true).wait() == commit)
            #expect(try file.verify().commitCount == 7)
            // Unless it is marked as a retry, the change set no longer fits.
            #expect(throws: CommitRefusal.self) { try file.commit(set) }
        }

        @Test(arguments: [true, false])
        func aChangeSetFromBeyondTheHeadIsOfAnotherHistory(isRetry: Bool) throws {
            let set = try file.encode([.insertTag(2)], EditNote(token: 2, base: 2))
            let submission = try file.submit(set, isRetry: isRetry)
            let error = thrown(StoreError.self) { try submission.wait() }
            #expect(error?.code == .wrongStore)
            #expect(error?.path == file.path)
            #expect(file.outcome(of: submission.id) == .unknown)
            #expect(try file.read { try $0.head().revision } == 1)
        }

        @Test func theOutcomeOfWhatWaitsIsUnknown() throws {
            let writer = HeldWriter(file.environment)
            var submissions = try file.submitInserts([2])
            file.untilWaiting(0)
            submissions += try file.submitInserts([3])
            #expect(submissions.map { file.outcome(of: $0.id) } == [.unknown, .unknown])
            writer.release()
            for submission in submissions {
                let commit = try submission.wait()
                #expect(file.outcome(of: submission.id) == .committed(commit))
            }
            let elsewhere = CommitID(store: ObjectID(), base: .zero, token: 2)
            #expect(file.outcome(of: elsewhere) == .notCommitted)
        }
    }
#endif
