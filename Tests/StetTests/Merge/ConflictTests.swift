import Stet
import StetTestModels
import Testing

@Suite struct ConflictTests {
    @Test func whatWasSavedElsewhereIsAConflictAndNothingIsWritten() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let other = scratch.store.context(author: "other")
        try #require(try other.object(Notebook.self, id: notebook.id)).name = "theirs"
        try other.save()
        notebook.name = "mine"
        article.rating = 3
        let error = try #require(throws: ConflictError.self) { try context.save() }
        #expect(error.reason == .changed)
        #expect(
            error.conflicts == [
                Conflict(
                    entity: "Notebook", object: notebook.id, base: 1, current: 2,
                    properties: [
                        Conflict.Property(
                            entity: "Notebook", object: notebook.id, property: "name",
                            base: .string("Swift"), mine: .string("mine"),
                            theirs: .string("theirs"))
                    ])
            ])
        #expect(error.rejected.changes.map(\.id) == [article.id, notebook.id])
        #expect(notebook.name == "Swift")
        #expect(article.rating == 0)
        #expect(context.revision == 1)
        #expect(try scratch.store.revision() == 2)
        try context.refresh()
        #expect(notebook.name == "theirs")
        #expect(context.revision == 2)
        notebook.name = "mine"
        #expect(try context.save()?.revision == 3)
    }

    @Test func aContextSeesOneRevisionUntilItRefreshes() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let other = scratch.store.context()
        let theirs = try #require(try other.object(Article.self, id: article.id))
        for rating in 1...4 {
            theirs.rating = rating
            try other.save()
        }
        other.delete(try #require(theirs.notebook))
        other.insert(Article(title: "new"))
        try other.save()
        let fresh = scratch.store.context()
        #expect(try fresh.fetch(Notebook.self).all().isEmpty)
        // `late` has not followed yet, and shows a revision before all of this.
        #expect(context.revision == 1)
        #expect(try context.fetch(Article.self).all().map(\.rating) == [0])
        #expect(try context.fetch(Notebook.self).all() == [notebook])
        #expect(article.notebook === notebook)
        try context.refresh()
        #expect(article.rating == 4)
        #expect(article.notebook == nil)
        #expect(notebook.isDeleted)
        #expect(try context.fetch(Article.self).count() == 2)
    }

    @Test func anObjectThatWasNotLoadedIsReadAsItWas() throws {
        let scratch = try Scratch()
        let (_, notebook, article) = try scratch.saved()
        let late = scratch.store.context()
        let other = scratch.store.context()
        let theirs = try #require(try other.object(Article.self, id: article.id))
        theirs.title = "changed"
        theirs.notebook = nil
        try other.save()
        other.delete(theirs)
        try other.save()
        let seen = try #require(try late.object(Article.self, id: article.id))
        #expect(seen.title == "Macros")
        #expect(seen.notebook?.id == notebook.id)
    }

    @Test func savingMovesTheContextAndItsUnchangedObjects() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let other = scratch.store.context()
        try #require(try other.object(Article.self, id: article.id)).rating = 4
        try other.save()
        notebook.name = "mine"
        #expect(try context.save()?.revision == 3)
        #expect(article.rating == 4)
        #expect(context.revision == 3)
    }

    @Test func aNewReferenceToADeletedObjectIsNullifiedByPreparingAgain() throws {
        let scratch = try Scratch()
        let (context, notebook, _) = try scratch.saved()
        let other = scratch.store.context()
        let theirs = Article(
            title: "late", notebook: try other.object(Notebook.self, id: notebook.id))
        other.insert(theirs)
        try other.save()
        context.delete(notebook)
        let commit = try #require(try context.save())
        #expect(commit.changeSet.changes.map(\.kind) == [.update, .update, .delete])
        #expect(
            try scratch.store.context().fetch(Article.self).all().allSatisfy { $0.notebook == nil })
        #expect(try scratch.store.verify().problems == [])
    }

    @Test func whatOnlyADeleteRuleChangesFollowsTheStore() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let other = scratch.store.context()
        try #require(try other.object(Article.self, id: article.id)).title = "theirs"
        try other.save()
        context.delete(notebook)
        #expect(try context.save()?.revision == 3)
        #expect(article.title == "theirs")
        #expect(article.notebook == nil)
        let fresh = scratch.store.context()
        let read = try #require(try fresh.object(Article.self, id: article.id))
        #expect(read.title == "theirs")
        #expect(read.notebook == nil)
        #expect(try scratch.store.verify().problems == [])
    }

    @Test func aReferenceToWhatSomebodyDeletedIsAConflict() throws {
        let scratch = try Scratch()
        let (context, notebook, _) = try scratch.saved()
        let other = scratch.store.context()
        other.delete(try #require(try other.object(Notebook.self, id: notebook.id)))
        try other.save()
        let article = Article(title: "late", notebook: notebook)
        context.insert(article)
        let error = try #require(throws: ConflictError.self) { try context.save() }
        #expect(
            error.conflicts == [
                Conflict(entity: "Notebook", object: notebook.id, base: 1, current: nil)
            ])
        #expect(article.context == nil)
        #expect(article.notebook === notebook)
        #expect(try scratch.store.verify().problems == [])
    }

    @Test func refreshLeavesPendingChangesAndRefusesToLoseThem() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let other = scratch.store.context()
        try #require(try other.object(Article.self, id: article.id)).rating = 4
        try other.save()
        notebook.name = "pending"
        try context.refresh()
        #expect(article.rating == 4)
        #expect(notebook.name == "pending")
        #expect(notebook.hasChanges)
        article.rating = 1
        try #require(try other.object(Article.self, id: article.id)).rating = 3
        try other.save()
        #expect(throws: ConflictError.self) { try context.refresh() }
        #expect(article.rating == 1)
        #expect(context.revision == 2)
    }

    @Test func deletingOnBothSidesIsAConflictForTheSecond() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        let other = scratch.store.context()
        other.delete(try #require(try other.object(Article.self, id: article.id)))
        try other.save()
        context.delete(article)
        #expect(throws: ConflictError.self) { try context.save() }
        #expect(!article.isDeleted)
        try context.refresh()
        #expect(article.isDeleted)
        #expect(article.title == "Macros")
    }
}
