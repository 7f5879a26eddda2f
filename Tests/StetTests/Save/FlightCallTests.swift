import StetStore
import StetTestModels
import Testing

@testable import Stet

/// The calls that need the outcome of a save that is on its way, and those that do not.
@MainActor @Suite struct FlightCallTests {
    @Test func aBlockingSaveLandsTheFlightFirst() async throws {
        let desk = try Desk()
        let (context, notebook) = (desk.context, desk.notebook)
        var seen: [String?] = []
        context.didCommit { seen.append($0.label) }
        notebook.name = "flight"
        desk.hold()
        let save = await desk.send("flight")
        desk.releaseNow()
        notebook.name = "blocking"
        #expect(try desk.saveNow("blocking")?.revision == 3)
        #expect(try await save.value?.revision == 2)
        #expect(seen == ["flight", "blocking"])
        #expect(try desk.labels() == ["first", "flight", "blocking"])
    }

    @Test func aSnapshotTakenDuringAFlightDoesNotRetainIt() async throws {
        let desk = try Desk()
        let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
        notebook.name = "flight"
        desk.hold()
        let save = await desk.send("flight")
        let empty = context.snapshot()
        notebook.name = "later"
        article.rating = 3
        let both = context.snapshot()
        weak let flight = context.core.saves.inFlight
        #expect(flight != nil)
        desk.releaseNow()
        #expect(try await save.value?.revision == 2)
        #expect(flight == nil)
        withExtendedLifetime((empty, both)) {}
        #expect(try await context.save()?.revision == 3)
    }

    @Test func anEditLandsTheFlightFirst() async throws {
        let desk = try Desk()
        let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
        notebook.name = "flight"
        desk.hold()
        let save = await desk.send("flight")
        desk.releaseNow()
        article.rating = 1
        let commit = try context.edit("edit") {
            #expect(context.revision == 2)
            notebook.name = "edit"
        }
        #expect(commit?.revision == 3)
        #expect(commit?.changeCount == 2)
        #expect(try await save.value?.revision == 2)
        #expect(try desk.store.verify().problems == [])
    }

    @Test func refreshLandsTheFlightFirst() async throws {
        let desk = try Desk()
        let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
        try desk.elsewhere { other in
            try #require(try other.object(Article.self, id: article.id)).rating = 4
        }
        notebook.name = "flight"
        desk.hold()
        let save = await desk.send("flight")
        desk.releaseNow()
        notebook.name = "later"
        try context.refresh()
        #expect(context.revision == 3)
        #expect(notebook.name == "later")
        #expect(article.rating == 4)
        #expect(try await save.value?.revision == 3)
        #expect(context.revision == 3)
        #expect(try await context.save()?.revision == 4)
    }

    @Test func refreshDuringAFlightThatIsRefusedLosesNoUpdate() async throws {
        let desk = try Desk()
        let (context, notebook) = (desk.context, desk.notebook)
        try desk.renameElsewhere()
        notebook.name = "mine"
        desk.hold()
        let save = await desk.send("flight")
        desk.releaseNow()
        try context.refresh()
        #expect(notebook.name == "theirs")
        #expect(await failure(of: save) is ConflictError)
        #expect(notebook.name == "theirs")
        #expect(!notebook.hasChanges)
        #expect(context.revision == 2)
        notebook.name = "mine again"
        #expect(try await context.save()?.changes(of: Notebook.self).first?.old[\.name] == "theirs")
    }

    @Test func validateLandsTheFlightFirstAndChangesNothing() async throws {
        let desk = try Desk()
        let (context, notebook) = (desk.context, desk.notebook)
        notebook.name = "flight"
        desk.hold()
        let save = await desk.send("flight")
        desk.releaseNow()
        notebook.name = " "
        #expect(throws: ValidationError.self) { try context.validate() }
        #expect(context.revision == 2)
        #expect(notebook.name == " ")
        #expect(notebook.hasChanges)
        notebook.name = "fine"
        try context.validate()
        #expect(try await save.value?.revision == 2)
        #expect(try await context.save()?.revision == 3)
    }

    @Test func rollbackGoesBackToTheMomentWhenTheFlightWasSentOff() async throws {
        let desk = try Desk()
        let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
        notebook.name = "flight"
        article.notebook = nil
        desk.hold()
        let save = await desk.send("flight")
        let sent = try desk.dump()
        notebook.name = "later"
        article.notebook = notebook
        context.delete(notebook)
        context.insert(Article(title: "late"))
        context.rollback()
        #expect(try desk.dump() == sent)
        notebook.name = "again"
        context.rollback(notebook)
        #expect(try desk.dump() == sent)
        try await desk.release()
        #expect(try await save.value?.changeCount == 2)
        #expect(try desk.dump() == sent)
    }

    @Test func snapshotsTakenDuringAFlightCanBeRestoredAfterIt() async throws {
        let desk = try Desk()
        let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
        notebook.name = "flight"
        let before = context.snapshot()
        desk.hold()
        let save = await desk.send("flight")
        #expect(before.isVoid)
        let sentSnapshot = context.snapshot()
        let sent = try desk.dump()
        notebook.name = "later"
        context.delete(article)
        let laterSnapshot = context.snapshot()
        let later = try desk.dump()
        context.rollback(notebook)
        #expect(laterSnapshot.isVoid)
        #expect(sentSnapshot.isVoid)
        notebook.name = "later"
        let third = context.snapshot()
        notebook.name = "latest"
        try await desk.release()
        _ = try await save.value
        #expect(!third.isVoid)
        context.restore(third)
        #expect(try desk.dump() == later)
        context.rollback()
        #expect(try desk.dump() == sent)
        notebook.name = "next"
        #expect(try await context.save()?.changes(of: Notebook.self).first?.old[\.name] == "flight")
    }

    @Test func whatOthersChangedUnderALaterEditIsAConflictThatCanBeMended() async throws {
        let desk = try Desk()
        let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
        try desk.renameElsewhere()
        article.rating = 1
        desk.hold()
        let save = await desk.send("flight")
        notebook.name = "mine"
        try await desk.release()
        #expect(try await save.value?.revision == 3)
        #expect(notebook.name == "mine")
        await #expect(throws: ConflictError.self) { try await context.save("conflict") }
        try context.refresh()
        #expect(notebook.name == "theirs")
        notebook.name = "mended"
        #expect(try await context.save("mended")?.revision == 4)
    }

    @Test func didCommitMaySaveAgainAfterAFlight() async throws {
        let desk = try Desk()
        let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
        var seen: [String?] = []
        context.didCommit { commit in
            seen.append(commit.label)
            guard article.rating < 2 else { return }
            article.rating += 1
            _ = try? context.save("nested \(article.rating)")
        }
        notebook.name = "flight"
        desk.hold()
        let first = await desk.send("flight")
        notebook.name = "second"
        let second = await desk.queue("second")
        try await desk.release()
        _ = try await first.value
        // The first nested save includes the pending changes.
        #expect(try await second.value == nil)
        #expect(seen == ["flight", "nested 1", "nested 2"])
        #expect(try desk.labels() == ["first", "flight", "nested 1", "nested 2"])
    }
}
