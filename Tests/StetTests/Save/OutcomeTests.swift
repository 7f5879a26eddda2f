#if STET_FAULTS
    import StetLMDB
    import StetStore
    import StetTestModels
    import Testing

    @testable import Stet

    /// The reported outcome of a commit, and the state of a context, when the disk fails.
    @MainActor @Suite struct SaveOutcomeTests {
        private func fail(_ desk: Desk, _ operations: LMDBError.Operation...) {
            for operation in operations {
                desk.store.file.environment.faults.failNext(operation, code: LMDBError.inputOutput)
            }
        }

        private func reopen(_ desk: Desk) throws -> Store {
            desk.store.close()
            return try Store.open(at: desk.scratch.path, for: Notebook.self, Article.self)
        }

        // MARK: Known

        @Test func anErrorOfTheDiskAfterWhichTheCommitIsThereIsASuccess() async throws {
            let desk = try Desk()
            let (context, notebook) = (desk.context, desk.notebook)
            notebook.name = "flight"
            let id = try context.makeCommitID()
            fail(desk, .reportOfCommit)
            let commit = try #require(try await context.save("flight", id: id))
            #expect(commit.id == id)
            #expect(commit.revision == 2)
            #expect(context.revision == 2)
            #expect(!context.hasChanges)
            #expect(notebook.name == "flight")
            #expect(desk.store.outcome(of: id) == .committed(commit))
            notebook.name = "next"
            #expect(try await context.save()?.revision == 3)
            fail(desk, .reportOfCommit)
            notebook.name = "blocking"
            #expect(try desk.saveNow()?.revision == 4)
        }

        @Test func anErrorOfTheDiskAfterWhichTheCommitIsNotThereIsAFailure() async throws {
            let desk = try Desk()
            let (context, notebook) = (desk.context, desk.notebook)
            let initial = try desk.dump()
            notebook.name = "flight"
            let id = try context.makeCommitID()
            fail(desk, .commit)
            let error = await #expect(throws: StoreError.self) {
                try await context.save("flight", id: id)
            }
            #expect(error?.code == .inputOutput)
            #expect(try desk.dump() == initial)
            #expect(desk.store.outcome(of: id) == .notCommitted)
            notebook.name = "again"
            #expect(try await context.save(id: id)?.id == id)
        }

        @Test func outcomesBeforeDuringAndAfter() async throws {
            let desk = try Desk()
            let (context, store) = (desk.context, desk.store)
            let id = try context.makeCommitID()
            #expect(store.outcome(of: id) == .notCommitted)
            desk.notebook.name = "flight"
            desk.hold()
            let save = await desk.send(id: id)
            #expect(store.outcome(of: id) == .unknown)
            await until { store.file.waitingCount == 0 }
            #expect(store.outcome(of: id) == .unknown)
            try await desk.release()
            let commit = try #require(try await save.value)
            #expect(store.outcome(of: id) == .committed(commit))
            let other = try Scratch()
            #expect(other.store.outcome(of: id) == .notCommitted)
            #expect(try reopen(desk).outcome(of: id) == .committed(commit))
        }

        // MARK: save(id:)

        @Test func theSameIDTwiceMakesOneCommit() async throws {
            let desk = try Desk()
            let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
            let id = try context.makeCommitID()
            notebook.name = "once"
            let commit = try await context.save("once", id: id)
            try desk.elsewhere { other in
                try #require(try other.object(Article.self, id: article.id)).rating = 4
            }
            notebook.name = "twice"
            article.rating = 1
            let inserted = Article(title: "twice")
            context.insert(inserted)
            #expect(try await context.save("twice", id: id) == commit)
            #expect(notebook.name == "once")
            #expect(article.rating == 4)
            #expect(context.revision == 3)
            #expect(inserted.context == nil)
            #expect(!context.hasChanges)
            #expect(try desk.labels() == ["first", "once", "elsewhere"])
            // Repeats the save without pending changes, and with the blocking call.
            #expect(try await context.save(id: id) == commit)
            func saveNow() throws -> Commit? { try context.save(id: id) }
            #expect(try saveNow() == commit)
        }

        @Test func aRetryInAnotherContextAndInTheStoreOpenedAgainIsTheSameCommit() async throws {
            let desk = try Desk()
            let id = try desk.context.makeCommitID()
            desk.notebook.name = "once"
            let commit = try await desk.context.save(id: id)
            for store in [desk.store, try reopen(desk)] {
                if store.file.isClosed { continue }
                let context = store.context()
                let notebook = try #require(try context.fetch(Notebook.self).first())
                notebook.name = "once"
                #expect(try await context.save(id: id) == commit)
                notebook.name = "another"
                #expect(try await context.save(id: id) == commit)
                #expect(notebook.name == "once")
                #expect(try store.revision() == 2)
            }
        }

        @Test(arguments: [true, false])
        func twoContextsWithTheSameIDAtOnceMakeOneCommit(hasLaterEdits: Bool) async throws {
            let desk = try Desk()
            let (context, notebook) = (desk.context, desk.notebook)
            let id = try context.makeCommitID()
            let other = desk.store.context()
            let theirs = try #require(try other.object(Notebook.self, id: notebook.id))
            desk.hold()
            theirs.name = "theirs"
            let first = Task { try await other.save("theirs", id: id) }
            await until { other.core.saves.inFlight != nil }
            notebook.name = "mine"
            let inserted = Article(title: "mine")
            context.insert(inserted)
            let second = await desk.send("mine", id: id)
            if hasLaterEdits {
                notebook.name = "later"
                desk.article.title = "later"
                inserted.title = "later"
            }
            try await desk.release()
            let commit = try #require(try await first.value)
            if hasLaterEdits {
                let error = await failure(of: second) as? DiscardedEditsError
                #expect(error?.discardedChanges.changes.count == 3)
                context.rollback()
            } else {
                #expect(try await second.value == commit)
            }
            #expect(try await context.save(id: id) == commit)
            #expect(notebook.name == "theirs")
            #expect(desk.article.title == "Macros")
            #expect(inserted.context == nil)
            #expect(inserted.title == "mine")
            #expect(!context.hasChanges)
            desk.article.title = "after"
            notebook.name = "after"
            #expect(try await context.save()?.revision == 3)
            #expect(try desk.store.verify().problems == [])
        }

        @Test func anIDOfAnotherStoreIsRefusedAndTheContextIsBackAtTheSavedState() async throws {
            let desk = try Desk()
            let (context, notebook) = (desk.context, desk.notebook)
            let id = try Scratch().store.context().makeCommitID()
            notebook.name = "kept"
            let error = await #expect(throws: StoreError.self) {
                try await context.save(id: id, onFailure: .keepPending)
            }
            #expect(error?.code == .wrongStore)
            #expect(notebook.name == "kept")
            await #expect(throws: StoreError.self) { try await context.save(id: id) }
            #expect(notebook.name == "Swift")
            #expect(!context.hasChanges)
            #expect(desk.store.outcome(of: id) == .notCommitted)
        }

        @Test func aRetriedSaveThatIsRefusedIsPreparedAgainUnderItsID() async throws {
            let desk = try Desk()
            let (context, notebook) = (desk.context, desk.notebook)
            let id = try context.makeCommitID()
            try desk.elsewhere { other in
                let theirs = try other.object(Notebook.self, id: notebook.id)
                other.insert(Article(title: "theirs", notebook: theirs))
            }
            context.delete(notebook)
            let commit = try #require(try await context.save(id: id))
            #expect(commit.id == id)
            #expect(commit.revision == 3)
            #expect(commit.changeCount == 3)
            #expect(try await context.save(id: id) == commit)
        }

        // MARK: Unknown

        @Test(arguments: [true, false], [true, false])
        func aContextWhoseOutcomeIsUnknownStaysAsItIsAndRefuses(
            isOnTheDisk: Bool, hasLaterEdits: Bool
        ) async throws {
            let desk = try Desk()
            let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
            let id = try context.makeCommitID()
            let inserted = Article(title: "flight")
            context.insert(inserted)
            notebook.name = "flight"
            desk.hold()
            let save = await desk.send("flight", id: id)
            if hasLaterEdits {
                notebook.name = "later"
                context.delete(inserted)
                article.notebook = nil
            }
            fail(desk, isOnTheDisk ? .reportOfCommit : .commit, .openEnvironment)
            try await desk.release()
            let error = await failure(of: save) as? UnknownOutcomeError
            #expect(error?.commit == id)
            #expect(error?.cause.code == .inputOutput)
            #expect(desk.store.outcome(of: id) == .unknown)
            #expect(notebook.name == (hasLaterEdits ? "later" : "flight"))
            #expect(notebook.hasChanges)
            #expect(inserted.isDeleted == hasLaterEdits)
            #expect(inserted.context === context)
            #expect((article.notebook == nil) == hasLaterEdits)
            try await expectRefusals(desk, id)
            // The refusals do not change any value.
            #expect(notebook.name == (hasLaterEdits ? "later" : "flight"))
            context.rollback()
            #expect(notebook.name == "Swift")
            #expect(article.notebook === notebook)
            #expect(inserted.context == nil)
            #expect(!inserted.isDeleted)
            #expect(!context.hasChanges)
            try await retry(desk, id, isOnTheDisk)
        }

        private func expectRefusals(_ desk: Desk, _ id: CommitID) async throws {
            let context = desk.context
            func unknown(_ body: () async throws -> Void) async -> Bool {
                do {
                    try await body()
                    return false
                } catch {
                    return (error as? UnknownOutcomeError)?.commit == id
                }
            }
            #expect(await unknown { try await context.save() })
            #expect(await unknown { try await context.save(id: id, onFailure: .keepPending) })
            #expect(await unknown { try desk.saveNow() })
            #expect(await unknown { try context.edit { desk.notebook.name = "edit" } })
            #expect(await unknown { try context.validate() })
            #expect(await unknown { _ = try context.fetch(Notebook.self).all() })
            #expect(await unknown { _ = try context.object(Notebook.self, id: desk.notebook.id) })
        }

        /// Follows the advice of the error: close, open again, ask, retry.
        private func retry(_ desk: Desk, _ id: CommitID, _ isOnTheDisk: Bool) async throws {
            let store = try reopen(desk)
            let context = store.context()
            let notebook = try #require(try context.fetch(Notebook.self).first())
            #expect(notebook.name == (isOnTheDisk ? "flight" : "Swift"))
            if isOnTheDisk {
                #expect(store.outcome(of: id) == .committed(try #require(try store.journal().last)))
            } else {
                #expect(store.outcome(of: id) == .notCommitted)
            }
            notebook.name = "flight"
            let commit = try await context.save("retry", id: id)
            #expect(commit?.label == (isOnTheDisk ? "flight" : "retry"))
            #expect(try store.revision() == 2)
            #expect(try store.verify().problems == [])
        }

        @Test(arguments: [true, false])
        func refreshLeadsOutOnceTheOutcomeIsKnown(isOnTheDisk: Bool) async throws {
            // Fails one read after the other, until the one that looks up the commit fails.
            for count in 1...100 {
                let desk = try Desk()
                let (context, notebook) = (desk.context, desk.notebook)
                let inserted = Article(title: "flight", notebook: notebook)
                context.insert(inserted)
                notebook.name = "flight"
                let faults = desk.store.file.environment.faults
                desk.hold()
                let save = await desk.send("flight")
                notebook.name = "later"
                faults.failNext(.get, after: count, code: LMDBError.inputOutput)
                fail(desk, isOnTheDisk ? .reportOfCommit : .commit)
                try await desk.release()
                guard await failure(of: save) is UnknownOutcomeError else { continue }
                #expect(throws: UnknownOutcomeError.self) { try context.validate() }
                try context.refresh()
                #expect(!context.hasChanges)
                #expect(notebook.name == (isOnTheDisk ? "flight" : "Swift"))
                #expect(notebook.created == (isOnTheDisk ? desk.scratch.now : notebook.created))
                let articles = try context.fetch(Article.self).all()
                #expect(articles.map(\.title) == (isOnTheDisk ? ["Macros", "flight"] : ["Macros"]))
                notebook.name = "after"
                #expect(try await context.save()?.revision == (isOnTheDisk ? 3 : 2))
                #expect(try desk.store.verify().problems == [])
                return
            }
            Issue.record("no read failed where the commit is looked up")
        }
    }
#endif
