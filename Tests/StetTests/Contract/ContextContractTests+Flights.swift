import StetLMDB
import StetTestModels
import Testing

@testable import Stet

/// The asynchronous save.
@MainActor extension ContextContractTests {
    @Test("Only waiting for the writer suspends: what is refused before comes without it")
    func onlyWaitingForTheWriterSuspends() async throws {
        let desk = try Desk()
        desk.hold()
        desk.notebook.name = ""
        await #expect(throws: ValidationError.self) { try await desk.context.save() }
        desk.notebook.name = "Swift"
        // Without changes the save does not need the writer, which is held.
        #expect(try await desk.context.save() == nil)
        try await desk.release()
    }

    @Test("Edits made meanwhile form the next change set")
    func editsMadeMeanwhileFormTheNextChangeSet() async throws {
        let desk = try Desk()
        let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
        let fresh = Article(title: "fresh")
        notebook.name = "flight"
        context.insert(fresh)
        desk.hold()
        let save = await desk.send("flight")
        #expect(!context.hasChanges)
        #expect(!fresh.isInserted)
        fresh.title = "later"
        fresh.notebook = notebook
        context.delete(article)
        #expect(context.changes.changes.map(\.kind) == [.delete, .update])
        try await desk.release()
        #expect(try await save.value?.changeCount == 2)
        let next = try #require(try await context.save("next"))
        #expect(next.changes(of: Article.self).map(\.kind) == [.delete, .update])
        #expect(next.changes(of: Article.self).last?.old[\.title] == "fresh")
        #expect(try Shown(context) == Shown(desk.store.context()))
    }

    @Test("A second save waits its turn")
    func aSecondSaveWaitsItsTurn() async throws {
        let desk = try Desk()
        desk.hold()
        var saves: [Task<Commit?, any Error>] = []
        for rating in 1...4 {
            desk.article.rating = rating
            saves.append(rating == 1 ? await desk.send("1") : await desk.queue("\(rating)"))
        }
        try await desk.release()
        var revisions: [Revision?] = []
        for save in saves { revisions.append(try await save.value?.revision) }
        // The second save includes all edits made before its turn.
        #expect(revisions == [2, 3, nil, nil])
        #expect(try desk.labels() == ["first", "1", "2"])
        #expect(try desk.store.context().fetch(Article.self).first()?.rating == 4)
    }

    @Test("`rollback` and `restore` reach back to the start of the flight")
    func goingBackReachesToTheStartOfTheFlight() async throws {
        let desk = try Desk()
        let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
        let before = context.snapshot()
        notebook.name = "flight"
        context.delete(article)
        desk.hold()
        let save = await desk.send()
        #expect(before.isVoid)
        let start = context.snapshot()
        notebook.name = "later"
        let snapshot = context.snapshot()
        notebook.name = "latest"
        context.restore(snapshot)
        #expect(notebook.name == "later")
        context.restore(start)
        #expect(notebook.name == "flight")
        #expect(article.isDeleted)
        #expect(!context.hasChanges)
        notebook.name = "later"
        context.rollback()
        #expect(notebook.name == "flight")
        #expect(article.isDeleted)
        try await desk.release()
        #expect(try await save.value?.changeCount == 2)
        #expect(try Shown(context) == Shown(desk.store.context()))
    }

    @Test("`refresh` waits")
    func refreshWaits() async throws {
        let desk = try Desk()
        desk.notebook.name = "flight"
        desk.hold()
        let save = await desk.send()
        desk.releaseNow()
        try desk.context.refresh()
        #expect(desk.context.revision == 2)
        #expect(desk.context.core.saves.inFlight == nil)
        #expect(try await save.value?.revision == 2)
    }

    @Test("If the flight fails, later edits are rolled back too and are in `discardedChanges`")
    func laterEditsAreRolledBackAndTold() async throws {
        let desk = try Desk()
        let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
        let saved = try Shown(context)
        try desk.renameElsewhere()
        notebook.name = "flight"
        desk.hold()
        let save = await desk.send()
        let late = Article(title: "late", notebook: notebook)
        context.insert(late)
        article.title = "later"
        context.delete(article)
        let laterChanges = context.changes
        try await desk.release()
        let error = try #require(await failure(of: save) as? DiscardedEditsError)
        #expect(error.cause is ConflictError)
        #expect(error.discardedChanges == laterChanges)
        #expect(try Shown(context) == saved)
        #expect(late.context == nil)
        #expect(!context.hasChanges)
        #expect(!article.isDeleted)
        // The later changes can be applied again on the newer state.
        try context.refresh()
        try context.apply(error.discardedChanges)
        #expect(try await context.save()?.changeCount == 2)
        #expect(try Shown(context) == Shown(desk.store.context()))
    }

    @Test("A snapshot taken during a flight that fails is void")
    func aSnapshotOfAFailedFlightIsVoid() async throws {
        for keeps in [true, false] {
            let desk = try Desk()
            try desk.renameElsewhere()
            desk.notebook.name = "flight"
            desk.hold()
            let save = await desk.send(onFailure: keeps ? .keepPending : .rollback)
            desk.article.rating = 1
            let snapshot = desk.context.snapshot()
            try await desk.release()
            #expect(await failure(of: save) is DiscardedEditsError)
            #expect(snapshot.isVoid)
            #expect(desk.article.rating == 0)
            #expect(desk.notebook.name == (keeps ? "flight" : "Swift"))
        }
    }

    #if STET_FAULTS
        @Test("A context that is frozen keeps what it shows: no snapshot is put back")
        func aFrozenContextKeepsWhatItShows() async throws {
            let desk = try Desk()
            desk.notebook.name = "flight"
            desk.hold()
            let save = await desk.send()
            desk.article.rating = 1
            let snapshot = desk.context.snapshot()
            desk.article.rating = 2
            let faults = desk.store.file.environment.faults
            faults.failNext(.reportOfCommit, code: LMDBError.inputOutput)
            faults.failNext(.openEnvironment, code: LMDBError.inputOutput)
            try await desk.release()
            #expect(await failure(of: save) is UnknownOutcomeError)
            #expect(snapshot.isVoid)
            #expect(desk.notebook.name == "flight")
            #expect(desk.article.rating == 2)
        }
    #endif
}
