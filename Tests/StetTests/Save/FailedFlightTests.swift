#if STET_FAULTS
    import StetLMDB
    import StetStore
    import StetTestModels
    import Testing

    @testable import Stet

    /// The cause of the failure of a save in progress, and its circumstances.
    struct FailureCase: CustomTestStringConvertible, Sendable {
        enum Cause: CaseIterable { case conflict, inputOutput, withdrawn }
        let cause: Cause
        let keepsPending: Bool
        let hasLaterEdits: Bool

        var onFailure: ManagedContext.FailureBehavior { keepsPending ? .keepPending : .rollback }

        var testDescription: String {
            "\(cause)\(keepsPending ? ", keeping" : "")\(hasLaterEdits ? ", later edits" : "")"
        }

        static let all = Cause.allCases.flatMap { cause in
            [true, false].flatMap { keeps in
                [true, false].map {
                    FailureCase(cause: cause, keepsPending: keeps, hasLaterEdits: $0)
                }
            }
        }
    }

    /// A save that fails while it is on its way leaves everything as before.
    @MainActor @Suite struct FailedFlightTests {
        @Test(arguments: FailureCase.all)
        func aFlightThatFailsLeavesEverythingAsBefore(_ failure: FailureCase) async throws {
            let desk = try Desk()
            let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
            let fresh = Article(title: "fresh", notebook: notebook)
            let late = Article(title: "late", notebook: notebook)
            let initial = try desk.dump(fresh, late)
            if failure.cause == .conflict { try desk.renameElsewhere() }
            notebook.name = "flight"
            context.insert(fresh)
            fresh.next = article
            article.notebook = nil
            article.rating = 3
            let pending = try desk.dump(fresh, late)
            let save = try await send(desk, failure)
            if failure.hasLaterEdits {
                notebook.name = "later"
                context.delete(article)
                fresh.title = "later"
                fresh.notebook = nil
                context.insert(late)
                late.next = fresh
            }
            let laterChanges = context.changes
            try await land(desk, save, failure)
            let error = try #require(await StetTests.failure(of: save))
            let later = error as? DiscardedEditsError
            #expect(later?.discardedChanges == (failure.hasLaterEdits ? laterChanges : nil))
            check(later?.cause ?? error, failure)
            #expect(
                try desk.dump(fresh, late) == (failure.keepsPending ? pending : initial))
            #expect(context.core.saves.inFlight == nil)
            #expect(context.core.failure == nil)
            try await goOn(desk, failure)
        }

        private func send(
            _ desk: Desk, _ failure: FailureCase
        ) async throws -> Task<Commit?, any Error> {
            if failure.cause == .withdrawn { await desk.holdQueue() } else { desk.hold() }
            return await desk.send("flight", onFailure: failure.onFailure)
        }

        private func land(
            _ desk: Desk, _ save: Task<Commit?, any Error>, _ failure: FailureCase
        ) async throws {
            switch failure.cause {
            case .conflict: break
            case .inputOutput:
                desk.store.file.environment.faults.failNext(.commit, code: LMDBError.inputOutput)
            case .withdrawn:
                save.cancel()
                _ = await StetTests.failure(of: save)
            }
            try await desk.release()
        }

        private func check(_ cause: any Error, _ failure: FailureCase) {
            switch failure.cause {
            case .conflict: #expect((cause as? ConflictError)?.reason == .changed)
            case .inputOutput: #expect((cause as? StoreError)?.code == .inputOutput)
            case .withdrawn: #expect(cause is CancellationError)
            }
        }

        /// The context can be used as if nothing had been.
        private func goOn(_ desk: Desk, _ failure: FailureCase) async throws {
            let context = desk.context
            if failure.cause == .conflict {
                context.rollback()
                try context.refresh()
                #expect(desk.notebook.name == "theirs")
            }
            let hadChanges = context.hasChanges
            #expect(try await context.save("after") != nil || !hadChanges)
            desk.notebook.name = "after"
            #expect(try await context.save("after") != nil)
            #expect(!(try desk.labels()).contains("flight"))
            #expect(try desk.store.verify().problems == [])
            let stored = desk.store.context()
            #expect(try stored.fetch(Notebook.self).all().map(\.name).contains("after"))
            #expect(
                try stored.fetch(Article.self).all().map(\.snapshot)
                    == context.fetch(Article.self).all().map(\.snapshot))
        }

        @Test(arguments: [true, false])
        func aRefusalThatCanBeFollowedIsFollowed(hasLaterEdits: Bool) async throws {
            let desk = try Desk()
            let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
            let initial = try desk.dump()
            try desk.elsewhere { other in
                let theirs = try other.object(Notebook.self, id: notebook.id)
                other.insert(Article(title: "theirs", notebook: theirs))
                try #require(try other.object(Article.self, id: article.id)).rating = 4
            }
            context.delete(notebook)
            desk.hold()
            let save = await desk.send("flight")
            if hasLaterEdits { article.title = "later" }
            try await desk.release()
            #expect(try await save.value?.changeCount == 3)
            if hasLaterEdits {
                #expect(article.title == "later")
                #expect(article.hasChanges)
                let later = try #require(try await context.save("later"))
                #expect(later.changeSet.changes.map { $0.properties.map(\.name) } == [["title"]])
            }
            #expect(!context.hasChanges)
            #expect(try desk.dump() != initial)
            #expect(article.rating == 4)
            #expect(article.notebook == nil)
            #expect(notebook.isDeleted)
            #expect(try context.fetch(Article.self).all().map(\.notebook) == [nil, nil])
            #expect(try desk.store.verify().problems == [])
        }

        @Test func aSaveThatWaitsIsToldWhenTheFlightTakesItsChangesAlong() async throws {
            let desk = try Desk()
            let (notebook, article) = (desk.notebook, desk.article)
            let initial = try desk.dump()
            try desk.renameElsewhere()
            notebook.name = "flight"
            desk.hold()
            let first = await desk.send("first")
            let idle = await desk.queue("idle")
            article.title = "second"
            let second = await desk.queue("second")
            let later = desk.context.changes
            try await desk.release()
            let error = try #require(await failure(of: second) as? DiscardedEditsError)
            #expect(error.discardedChanges == later)
            #expect(error.cause is ConflictError)
            #expect(await failure(of: first) is DiscardedEditsError)
            #expect(try await idle.value == nil)
            #expect(try desk.dump() == initial)
        }

        @Test func aSaveThatWaitsIsToldWhenTheNextFlightTakesItsChangesAlong() async throws {
            let desk = try Desk()
            let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
            desk.hold()
            article.title = "first"
            let first = await desk.send("first")
            notebook.name = "second"
            let second = await desk.queue("second")
            article.rating = 2
            let third = await desk.queue("third")
            // The next save contains the edits of the second and the third, and is refused.
            let token = context.willCommit { _ in
                guard context.revision == 2 else { return }
                try desk.renameElsewhere()
            }
            try await desk.release()
            #expect(try await first.value?.revision == 2)
            #expect(await failure(of: second) is ConflictError)
            let error = await failure(of: third)
            #expect(error != nil, "its changes are gone")
            token.cancel()
            #expect(article.title == "first")
            #expect(article.rating == 0)
            #expect(notebook.name == "Swift")
        }

        @Test func aSaveThatWaitsIsNotForgottenWhenPreparingAgainFails() async throws {
            struct Refused: Error {}
            let desk = try Desk()
            let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
            try desk.elsewhere { other in
                let theirs = try other.object(Notebook.self, id: notebook.id)
                other.insert(Article(title: "theirs", notebook: theirs))
            }
            context.delete(notebook)
            var count = 0
            context.willCommit { _ in
                count += 1
                if count == 2 { throw Refused() }
            }
            desk.hold()
            let first = await desk.send("first")
            let second = await desk.queue("second")
            try await desk.release()
            #expect(await failure(of: first) is Refused)
            #expect(try await second.value == nil)
            article.title = "fine"
            #expect(try await context.save()?.changeCount == 1)
        }

        @Test func aBlockingSaveTellsThatTheFlightTookItsChangesAlong() async throws {
            let desk = try Desk()
            let (notebook, article) = (desk.notebook, desk.article)
            try desk.renameElsewhere()
            notebook.name = "flight"
            desk.hold()
            let save = await desk.send("flight")
            article.title = "later"
            desk.releaseNow()
            #expect(throws: DiscardedEditsError.self) { try desk.saveNow() }
            #expect(await failure(of: save) is DiscardedEditsError)
            #expect(notebook.name == "Swift")
            #expect(article.title == "Macros")
            article.title = "after"
            #expect(try desk.saveNow()?.changeCount == 1)
        }

        @Test func misuseDuringAFlightThatFailsIsForgottenWithTheRest() async throws {
            let desk = try Desk()
            let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
            try desk.renameElsewhere()
            notebook.name = "flight"
            desk.hold()
            let save = await desk.send("flight")
            let foreign = desk.store.context()
            let other = Notebook(name: "foreign")
            foreign.insert(other)
            article.notebook = other
            #expect(context.hasChanges)
            try await desk.release()
            #expect(await failure(of: save) != nil)
            #expect(!context.hasChanges)
            #expect(article.notebook === notebook)
            article.title = "after"
            #expect(try await context.save() != nil)
        }
    }
#endif
