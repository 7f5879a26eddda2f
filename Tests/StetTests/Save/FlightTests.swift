import StetStore
import StetTestModels
import Testing

@testable import Stet

/// The state of a context during a save, and the treatment of edits that are made during it.
@MainActor @Suite struct FlightTests {
    @Test func objectsOfAFlightCountAsSaved() async throws {
        let desk = try Desk()
        let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
        let other = Notebook(name: " other ")
        let late = Article(title: "late", notebook: other)
        context.insert(late)
        article.next = late
        article.rating = 3
        context.delete(notebook)
        desk.hold()
        let save = await desk.send("flight")
        #expect(!context.hasChanges)
        #expect(context.changes == ChangeSet())
        #expect(context.revision == 1)
        for object in [other, notebook] {
            #expect(!object.hasChanges)
            #expect(!object.isInserted)
        }
        #expect(other.name == "other")
        #expect(other.created == desk.scratch.now)
        #expect(notebook.isDeleted)
        #expect(notebook.context === context)
        #expect(article.notebook == nil)
        #expect(article.next === late)
        #expect(late.notebook === other)
        #expect(try context.fetch(Notebook.self).all() == [other])
        #expect(try context.fetch(Article.self).all() == [article, late])
        #expect(try context.object(Notebook.self, id: notebook.id) == nil)
        #expect(try context.object(Article.self, id: late.id) === late)
        let during = try desk.dump(other, late)
        try await desk.release()
        let commit = try #require(try await save.value)
        #expect(commit.label == "flight")
        #expect(commit.revision == 2)
        #expect(commit.changeCount == 4)
        #expect(context.revision == 2)
        #expect(try desk.dump(other, late) == during)
        #expect(try desk.store.verify().problems == [])
    }

    @Test func aReferenceThatAFlightMovesHasItsOtherEndThere() async throws {
        let desk = try Desk()
        let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
        let other = Notebook(name: "other")
        context.insert(other)
        article.notebook = other
        desk.hold()
        let save = await desk.send()
        #expect(try context.referrers(of: notebook).isEmpty)
        #expect(try context.referrers(of: other).map { $0.id } == [article.id])
        article.notebook = notebook
        #expect(try context.referrers(of: notebook).map { $0.id } == [article.id])
        #expect(try context.referrers(of: other).isEmpty)
        context.rollback(article)
        #expect(try context.referrers(of: notebook).isEmpty)
        #expect(try context.referrers(of: other).map { $0.id } == [article.id])
        article.notebook = nil
        try await desk.release()
        _ = try await save.value
        #expect(try context.referrers(of: other).isEmpty)
        try await context.save()
        #expect(try desk.store.verify().problems == [])
        #expect(try desk.store.context().fetch(Article.self).all().map(\.notebook) == [nil])
    }

    @Test func editsMadeMeanwhileArePendingWithTheFlightAsTheirBase() async throws {
        let desk = try Desk()
        let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
        let inserted = Article(title: "inserted")
        let gone = Article(title: "gone")
        context.insert(inserted)
        context.insert(gone)
        notebook.name = "second"
        desk.hold()
        let save = await desk.send("flight")
        notebook.name = "third"
        inserted.title = "edited"
        context.delete(gone)
        article.rating = 2
        let late = Article(title: "late", notebook: notebook)
        context.insert(late)
        let during = try desk.dump(inserted, gone, late)
        try await desk.release()
        #expect(try await save.value?.changeCount == 3)
        #expect(try desk.dump(inserted, gone, late) == during)
        let changes = context.changes.changes
        #expect(changes.map(\.kind) == [.update, .update, .delete, .insert, .update])
        #expect(changes.last?["name"]?.old == .string("second"))
        let commit = try #require(try await context.save("later"))
        #expect(commit.revision == 3)
        #expect(commit.changeCount == 5)
        #expect(commit.changes(of: Notebook.self).first?.old[\.name] == "second")
        #expect(commit.changes(of: Notebook.self).first?.new[\.name] == "third")
        #expect(gone.isDeleted)
        #expect(!context.hasChanges)
        let fresh = desk.store.context()
        #expect(try fresh.fetch(Article.self).all().map(\.title) == ["Macros", "edited", "late"])
        #expect(try fresh.fetch(Notebook.self).all().map(\.name) == ["third"])
        #expect(try desk.store.verify().problems == [])
    }

    @Test func whatAFlightDeletesStaysDeletedAndIsNoTarget() async throws {
        let desk = try Desk()
        let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
        context.delete(notebook)
        desk.hold()
        let save = await desk.send()
        context.insert(notebook)
        notebook.name = "edited"
        article.notebook = notebook
        #expect(notebook.isDeleted)
        #expect(notebook.name == "Swift")
        #expect(article.notebook == nil)
        try await desk.release()
        _ = try await save.value
        let error = await #expect(throws: ValidationError.self) { try await context.save() }
        #expect(error?.violations.map(\.code).allSatisfy { $0 == .deletedObjectEdited } == true)
        #expect(error?.violations.count == 3)
        #expect(try desk.store.verify().problems == [])
    }

    @Test func deleteRulesSeeTheReferencesOfTheFlight() async throws {
        let desk = try Desk()
        let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
        let late = Article(title: "late", notebook: notebook)
        context.insert(late)
        article.notebook = nil
        desk.hold()
        let first = await desk.send("first")
        context.delete(notebook)
        let second = await desk.queue("second")
        try await desk.release()
        _ = try await first.value
        let commit = try #require(try await second.value)
        #expect(commit.changeSet.changes.map(\.id) == [late.id, notebook.id])
        #expect(late.notebook == nil)
        #expect(notebook.isDeleted)
        #expect(article.notebook == nil)
        #expect(try desk.store.verify().problems == [])
    }

    @Test func savesWaitTheirTurnAndAreMadeInOrder() async throws {
        let desk = try Desk()
        desk.hold()
        desk.notebook.name = "one"
        let first = await desk.send("one")
        desk.notebook.name = "two"
        let second = await desk.queue("two")
        desk.article.title = "three"
        let third = await desk.queue("three")
        try await desk.release()
        #expect(try await first.value?.label == "one")
        // The second save includes everything that is pending at its turn, so nothing is left for
        // the third.
        let commit = try await second.value
        #expect(commit?.label == "two")
        #expect(commit?.changeCount == 2)
        #expect(try await third.value == nil)
        #expect(try desk.labels() == ["first", "one", "two"])
        #expect(desk.context.core.saves.inFlight == nil)
        #expect(desk.context.core.saves.waiting.isEmpty)
    }

    @Test func aSaveThatWaitsGetsItsTurnHoweverBusyAnotherIs() async throws {
        let desk = try Desk()
        let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
        desk.hold()
        var count = 0
        let busy = Task {
            while count < 100 {
                count += 1
                notebook.name = "\(count)"
                try await context.save("busy")
            }
        }
        await until { context.core.saves.inFlight != nil }
        article.title = "patient"
        let patient = await desk.queue("patient")
        try await desk.release()
        // The edit may be part of any save. The call returns at its turn.
        _ = try await patient.value
        #expect(count < 10)
        try await busy.value
        #expect(try desk.store.revision().number >= 101)
        #expect(try desk.store.context().fetch(Article.self).all().map(\.title) == ["patient"])
    }

    @Test func anObjectThatNobodyHoldsLivesUntilItsFlightHasLanded() async throws {
        let desk = try Desk()
        let context = desk.context
        weak var dropped: Article?
        do {
            let article = Article(title: "dropped", notebook: desk.notebook)
            context.insert(article)
            dropped = article
        }
        desk.hold()
        let save = await desk.send()
        #expect(dropped != nil)
        dropped?.rating = 1
        try await desk.release()
        _ = try await save.value
        #expect(dropped?.rating == 1)
        #expect(dropped?.hasChanges == true)
        try await context.save()
        #expect(dropped == nil)
        #expect(context.core.liveObjectCount == 2)
        #expect(try context.fetch(Article.self).all().map(\.rating) == [0, 1])
    }

    @Test func aContextThatIsDroppedAfterItsFlightLeavesItsObjectsTheirEdits() async throws {
        let scratch = try Scratch()
        let notebook = Notebook(name: "kept")
        weak var dropped: ManagedContext?
        do {
            let context = scratch.store.context()
            dropped = context
            context.insert(notebook)
            let save = Task { try await context.save() }
            _ = try await save.value
            notebook.name = "later"
        }
        // The task's closure is released when the task has ended, a moment after its value is
        // known.
        await until { dropped == nil }
        #expect(notebook.name == "later")
        #expect(notebook.hasChanges)
        #expect(try scratch.store.context().fetch(Notebook.self).all().map(\.name) == ["kept"])
    }
}
