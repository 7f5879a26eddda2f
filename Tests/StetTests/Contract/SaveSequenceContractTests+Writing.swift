import Foundation
import StetLMDB
import StetStore
import StetTestModels
import Testing

@testable import Stet

/// The checks of the writer, the written and published commits, and saves that fail or whose base
/// has changed.
@MainActor extension SaveSequenceContractTests {
    /// Calls the blocking save from asynchronous code.
    @discardableResult
    private func saveNow(_ context: ManagedContext, _ label: String? = nil) throws -> Commit? {
        try context.save(label)
    }

    // MARK: 6

    @Test("6: the writer checks the base revision of every touched object")
    func theBaseOfEveryTouchedObjectIsChecked() async throws {
        for isBlocking in [true, false] {
            for deletes in [true, false] {
                let desk = try Desk()
                try desk.renameElsewhere()
                if deletes { desk.context.delete(desk.notebook) } else { desk.notebook.name = "m" }
                desk.article.rating = 1
                let shown = try desk.store.context().fetch(Notebook.self).all().map(\.name)
                let error = try await #require(throws: ConflictError.self) {
                    if isBlocking {
                        try saveNow(desk.context)
                    } else {
                        try await desk.context.save()
                    }
                }
                #expect(error.reason == .changed)
                #expect(error.conflicts.map(\.object) == [desk.notebook.id])
                #expect(error.conflicts.map(\.current) == [2])
                #expect(
                    Set(error.rejected.changes.map(\.id)) == [desk.article.id, desk.notebook.id])
                #expect(try desk.labels() == ["first", "elsewhere"])
                #expect(shown == ["theirs"])
                #expect(desk.article.rating == 0)
                #expect(!desk.context.hasChanges)
            }
        }
    }

    @Test("6: targets of references exist")
    func targetsOfReferencesExist() async throws {
        let desk = try Desk()
        let fresh = Article(title: "fresh", notebook: desk.notebook)
        try desk.elsewhere { other in
            other.delete(try #require(try other.object(Notebook.self, id: desk.notebook.id)))
        }
        desk.context.insert(fresh)
        let error = try await #require(throws: ConflictError.self) { try await desk.context.save() }
        #expect(error.conflicts.map(\.object) == [desk.notebook.id])
        #expect(error.conflicts.map(\.current) == [nil])
        #expect(fresh.context == nil)
        #expect(fresh.notebook === desk.notebook)
        #expect(try desk.store.verify().problems == [])
    }

    @Test("6: stored referrers of each deleted object lie within the change set")
    func storedReferrersLieWithinTheChangeSet() async throws {
        let desk = try Desk()
        let late = Article(title: "late")
        try desk.elsewhere { other in
            late.notebook = try other.object(Notebook.self, id: desk.notebook.id)
            other.insert(late)
        }
        desk.context.delete(desk.notebook)
        // The save is prepared again, with the new referrer.
        let commit = try #require(try await desk.context.save())
        #expect(commit.changes(of: Article.self).map(\.id) == [desk.article.id, late.id])
        let reader = desk.store.context()
        #expect(try reader.fetch(Article.self).all().map(\.notebook) == [nil, nil])
        #expect(try desk.store.verify().problems == [])
    }

    // MARK: 7 to 9

    @Test("7: one journal entry, durable, with everything that its save has changed")
    func oneJournalEntryIsDurable() async throws {
        let desk = try Desk()
        desk.notebook.name = "saved"
        desk.context.insert(Article(title: "fresh", notebook: desk.notebook))
        let commit = try #require(try await desk.context.save("label"))
        let path = desk.scratch.path
        desk.store.close()
        let store = try Store.open(at: path, for: Notebook.self, Article.self)
        #expect(try store.journal().last == commit)
        #expect(commit.author == "lala")
        #expect(commit.label == "label")
        #expect(commit.changeCount == 2)
        #expect(try store.verify().problems == [])
    }

    @Test("8: the context adopts what it has saved")
    func theContextAdopts() async throws {
        let desk = try Desk()
        let fresh = Article(title: " fresh ", notebook: desk.notebook)
        desk.context.insert(fresh)
        desk.context.delete(desk.article)
        let commit = try await desk.context.save()
        #expect(desk.context.revision == commit?.revision)
        #expect(!desk.context.hasChanges)
        #expect(!fresh.isInserted)
        #expect(fresh.title == "fresh")
        #expect(desk.article.isDeleted)
        #expect(try Shown(desk.context) == Shown(desk.store.context()))
        fresh.title = "goes on"
        #expect(try saveNow(desk.context)?.changeCount == 1)
    }

    @Test("9: published off the writer, in order, once; nothing for a save that failed")
    func publishedInOrderOnce() async throws {
        let desk = try Desk()
        var commits = desk.store.commits.makeAsyncIterator()
        desk.notebook.name = ""
        await #expect(throws: ValidationError.self) { try await desk.context.save("refused") }
        for label in ["one", "two", "three"] {
            desk.notebook.name = label
            try await desk.context.save(label)
        }
        var labels: [String?] = []
        for _ in 0..<3 { labels.append(try await commits.next()?.label) }
        #expect(labels == ["one", "two", "three"])
    }

    @Test("9: `didCommit` may save, also in an asynchronous save, while others wait their turn")
    func didCommitMaySave() async throws {
        let desk = try Desk()
        let article = desk.article
        var seen: [String?] = []
        desk.context.didCommit { commit in
            seen.append(commit.label)
            guard article.rating < 3 else { return }
            article.rating += 1
            _ = try? self.saveNow(desk.context, "nested \(article.rating)")
        }
        desk.notebook.name = "flight"
        desk.hold()
        let save = await desk.send("flight")
        desk.notebook.name = "waits"
        let second = await desk.queue("second")
        try await desk.release()
        #expect(try await save.value?.revision == 2)
        // The observer's first save included the changes of the waiting second one.
        #expect(try await second.value == nil)
        #expect(seen == ["flight", "nested 1", "nested 2", "nested 3"])
        #expect(try desk.labels() == ["first"] + seen)
        #expect(try Shown(desk.context) == Shown(desk.store.context()))
    }

    // MARK: A store that has moved

    @Test("If the store moved: nothing is written, the caller merges by its policy, prepares again")
    func whatMovedIsMergedAndPreparedAgain() async throws {
        for isBlocking in [true, false] {
            let desk = try Desk()
            desk.context.mergePolicy = .mergeStoreWins
            try desk.renameElsewhere()
            try desk.elsewhere { other in
                try #require(try other.object(Article.self, id: desk.article.id)).rating = 4
            }
            var prepared: [Int] = []
            desk.context.willCommit { prepared.append($0.changes.count) }
            desk.notebook.name = "mine"
            desk.article.title = "mine"
            let commit = isBlocking ? try saveNow(desk.context) : try await desk.context.save()
            #expect(prepared == [2, 1])
            #expect(commit?.revision == 4)
            #expect(commit?.changeCount == 1)
            #expect(desk.notebook.name == "theirs")
            #expect(desk.article.title == "mine")
            #expect(desk.article.rating == 4)
            #expect(try Shown(desk.context) == Shown(desk.store.context()))
        }
    }

    @Test("At most 8 times, then `ConflictError` with the reason `.contention`", arguments: 6...8)
    func atMostEightPreparations(moves: Int) async throws {
        for isBlocking in [true, false] {
            let desk = try Desk()
            desk.context.mergePolicy = .mergeContextWins
            var count = 0
            desk.context.willCommit { _ in
                guard count < moves else { return }
                count += 1
                try desk.renameElsewhere("theirs \(count)")
            }
            desk.notebook.name = "mine"
            let article = desk.article
            article.rating = 2
            if moves < 8 {
                let commit = isBlocking ? try saveNow(desk.context) : try await desk.context.save()
                #expect(commit?.revision == Revision(UInt64(moves + 2)))
            } else {
                let error = try await #require(throws: ConflictError.self) {
                    if isBlocking {
                        try saveNow(desk.context)
                    } else {
                        try await desk.context.save()
                    }
                }
                #expect(error.reason == .contention)
                #expect(count == 8)
                #expect(error.rejected.changes.map(\.id) == [article.id, desk.notebook.id])
                #expect(desk.notebook.name == "theirs 8")
                #expect(article.rating == 0)
            }
            #expect(try Shown(desk.context) == Shown(desk.store.context()))
            #expect(try desk.store.verify().problems == [])
        }
    }

    @Test("Conflicts are named in the order of ids, however far the context is behind")
    func conflictsAreInOrder() throws {
        for commitCount in [1, 60] {
            let scratch = try Scratch()
            let context = scratch.store.context()
            let articles = (0..<20).map { Article(title: "\($0)") }
            for article in articles { context.insert(article) }
            try context.save()
            let other = scratch.store.context()
            for count in 1...commitCount {
                for article in try other.fetch(Article.self).all() { article.body = "\(count)" }
                try other.save()
            }
            for article in articles { article.rating = 1 }
            let error = try #require(throws: ConflictError.self) { try context.refresh() }
            #expect(error.conflicts.map(\.object) == articles.map(\.id))
        }
    }

    #if STET_FAULTS
        // MARK: Failures

        @Test("A throw up to 6 leaves the disk as it was and restores, whichever call fails")
        func aThrowLeavesTheDiskAsItWas() async throws {
            for operation in [LMDBError.Operation.begin, .get, .cursor, .put, .commit] {
                for count in [1, 2, 3, 5] {
                    let desk = try Desk()
                    let before = try Shown(desk.context)
                    desk.context.delete(desk.notebook)
                    desk.context.insert(Article(title: "fresh", notebook: nil))
                    let faults = desk.store.file.environment.faults
                    faults.failNext(operation, after: count, code: LMDBError.inputOutput)
                    let commit = try? await desk.context.save()
                    let isMet = !faults.isArmed
                    faults.disarm()
                    if desk.context.core.failure != nil { try desk.context.refresh() }
                    #expect(try Shown(desk.context) == Shown(desk.store.context()))
                    if commit == nil { #expect(try Shown(desk.context) == before) }
                    #expect(isMet || commit != nil)
                    #expect(!desk.context.hasChanges)
                    #expect(try desk.store.verify().problems == [])
                }
            }
        }

        @Test(
            "On EIO the commit is looked up before `save` returns; unknown, the context is frozen")
        func onAnErrorOfTheDiskTheCommitIsLookedUp() async throws {
            for (isThere, isReopened) in [(true, true), (false, true), (true, false)] {
                let desk = try Desk()
                let faults = desk.store.file.environment.faults
                faults.failNext(isThere ? .reportOfCommit : .commit, code: LMDBError.inputOutput)
                if !isReopened { faults.failNext(.openEnvironment, code: LMDBError.inputOutput) }
                let id = try desk.context.makeCommitID()
                desk.notebook.name = "saved"
                var commit: Commit?
                var error: (any Error)?
                do { commit = try await desk.context.save(id: id) } catch let thrown {
                    error = thrown
                }
                #expect((commit?.id == id) == (isThere && isReopened))
                #expect((error is UnknownOutcomeError) == !isReopened)
                #expect(desk.notebook.name == (isThere ? "saved" : "Swift"))
                #expect(desk.notebook.hasChanges == !isReopened)
                let outcome = desk.store.outcome(of: id)
                let expected: Outcome = commit.map { .committed($0) } ?? .notCommitted
                #expect(outcome == (isReopened ? expected : .unknown))
            }
        }
    #endif
}
