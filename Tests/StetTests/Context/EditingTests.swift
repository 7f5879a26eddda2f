import Foundation
import Stet
import StetTestModels
import Testing

@Suite struct EditingTests {
    @Test func insertTakesInEverythingReachableCyclesIncluded() throws {
        let scratch = try Scratch()
        let context = scratch.store.context()
        let first = Article(title: "first", notebook: Notebook(name: "Swift"))
        let second = Article(title: "second")
        first.next = second
        second.next = first
        context.insert(first)
        #expect(second.context === context)
        #expect(second.isInserted)
        #expect(first.notebook?.isInserted == true)
        let commit = try #require(try context.save())
        #expect(commit.changeSet.changes.map(\.kind) == [.insert, .insert, .insert])
        #expect(first.next === second)
        #expect(second.next === first)
        #expect(!first.hasChanges)
        #expect(!first.isInserted)
    }

    @Test func aReferenceToAnObjectThatIsNotInsertedHoldsItAndSavesIt() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        weak var held: Notebook?
        do {
            let notebook = Notebook(name: "New")
            held = notebook
            article.notebook = notebook
        }
        #expect(held?.name == "New")
        #expect(held?.isInserted == false)
        try context.save()
        #expect(article.notebook?.name == "New")
        #expect(
            try scratch.store.context().fetch(Notebook.self).all().map(\.name) == ["Swift", "New"])
    }

    @Test func thereIsOneObjectPerIDInAContext() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        #expect(try context.object(Notebook.self, id: notebook.id) === notebook)
        #expect(try context.fetch(Article.self).first() === article)
        let other = scratch.store.context()
        let theirs = try #require(try other.object(Notebook.self, id: notebook.id))
        #expect(theirs !== notebook)
        #expect(theirs.id == notebook.id)
        #expect(try other.fetch(Article.self).first()?.notebook === theirs)
    }

    @Test func unchangedObjectsAreNotHeldAndPendingOnesAre() throws {
        let scratch = try Scratch()
        let id = try scratch.saved().article.id
        let context = scratch.store.context()
        weak let unheld = try context.object(Article.self, id: id)
        #expect(unheld == nil)
        try #require(try context.object(Article.self, id: id)).rating = 3
        #expect(context.hasChanges)
        #expect(try context.object(Article.self, id: id)?.rating == 3)
    }

    @Test func deletingSetsReferencesToNilWhateverIsLoaded() throws {
        let scratch = try Scratch()
        let (_, notebook, article) = try scratch.saved()
        let context = scratch.store.context()
        let loaded = try #require(try context.object(Notebook.self, id: notebook.id))
        context.delete(loaded)
        #expect(loaded.isDeleted)
        #expect(loaded.name == "Swift")
        #expect(try context.object(Notebook.self, id: notebook.id) == nil)
        let commit = try #require(try context.save())
        #expect(
            commit.changeSet.changes.map { "\($0.kind) \($0.entity)" }
                == ["update Article", "delete Notebook"])
        #expect(try context.object(Article.self, id: article.id)?.notebook == nil)
        #expect(loaded.isDeleted)
        #expect(loaded.name == "Swift")
    }

    @Test func saveWithoutNetChangeIsNilAndWritesNothing() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        let before = try scratch.store.revision()
        article.rating = 2
        article.rating = 0
        let passing = Article(title: "passing")
        context.insert(passing)
        context.delete(passing)
        #expect(context.hasChanges)
        #expect(context.changes.isEmpty)
        #expect(try context.save() == nil)
        #expect(!context.hasChanges)
        #expect(try scratch.store.revision() == before)
    }

    @Test func stringsThatAreEqualButStoredOtherwiseAreAChange() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        article.title = "caf\u{e9}"
        try context.save()
        article.title = "cafe\u{301}"
        #expect(try context.save() != nil)
        let read = try scratch.store.context().fetch(Article.self).all()
        #expect(read.map { Array($0.title.utf8) } == [Array("cafe\u{301}".utf8)])
    }

    @Test func normalisersRunOnceAndOnlyOnWhatChanged() throws {
        let scratch = try Scratch()
        let context = scratch.store.context()
        let notebook = Notebook(name: " \n Swift\t ")
        context.insert(notebook)
        let commit = try #require(try context.save())
        #expect(notebook.name == "Swift")
        #expect(commit.changeSet.changes.first?["name"]?.new == .string("Swift"))
        notebook.name = "   Swift   "
        #expect(try context.save() == nil)
        #expect(notebook.name == "Swift")
    }

    @Test func stampsAreSetOnceForTheWholeSaveAndOnlyWhereSomethingChanged() throws {
        let scratch = try Scratch()
        let context = scratch.store.context()
        let changed = Notebook(name: "changed")
        let unchanged = Notebook(name: "unchanged")
        context.insert(changed)
        context.insert(unchanged)
        let first = scratch.now
        try context.save()
        scratch.now = first + 60
        changed.name = "other"
        unchanged.name = "x"
        unchanged.name = "unchanged"
        let commit = try #require(try context.save())
        #expect(commit.time == first + 60)
        #expect(changed.created == first)
        #expect(changed.updated == first + 60)
        #expect(unchanged.created == first)
        #expect(unchanged.updated == first)
        #expect(commit.changeSet.changes.map(\.id) == [changed.id])
    }

    @Test func rollingBackOneObjectLeavesTheOthers() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        notebook.name = "other"
        article.rating = 3
        article.notebook = nil
        context.rollback(article)
        #expect(article.rating == 0)
        #expect(article.notebook === notebook)
        #expect(!article.hasChanges)
        #expect(notebook.name == "other")
        #expect(context.hasChanges)
        #expect(try context.referrers(of: notebook).map { $0.id } == [article.id])
    }

    @Test func whatRefersToAnInsertionThatIsRolledBackHoldsIt() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        let notebook = Notebook(name: "New")
        context.insert(notebook)
        article.notebook = notebook
        context.rollback(notebook)
        #expect(notebook.context == nil)
        #expect(article.notebook === notebook)
        try context.save()
        #expect(notebook.context === context)
        #expect(!notebook.hasChanges)
    }

    @Test func objectsKeepTheirContextAlive() throws {
        let scratch = try Scratch()
        var context: ManagedContext? = scratch.store.context()
        let article = Article(title: "survivor", notebook: Notebook(name: "Swift"))
        context?.insert(article)
        try context?.save()
        article.rating = 4
        context = nil
        #expect(article.rating == 4)
        #expect(article.title == "survivor")
        article.rating = 1
        #expect(article.notebook?.name == "Swift")
        #expect(article.hasChanges)
        let other = scratch.store.context()
        other.insert(article)
        let error = try #require(throws: ValidationError.self) { try other.save() }
        #expect(error.violations.map(\.message) == ["Article belongs to another context"])
        try article.context?.save()
        #expect(try scratch.store.context().object(Article.self, id: article.id)?.rating == 1)
    }

    @Test func whatWasNeverSavedBelongsToItsContextUntilThatIsRolledBack() throws {
        let scratch = try Scratch()
        var context: ManagedContext? = scratch.store.context()
        let article = Article(title: "homeless")
        context?.insert(article)
        context = nil
        #expect(article.isInserted)
        article.context?.rollback()
        #expect(article.context == nil)
        #expect(!article.isInserted)
        let other = scratch.store.context()
        other.insert(article)
        #expect(try other.save()?.changeCount == 1)
    }

    @Test func misuseChangesNothingAndIsToldByTheNextSave() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let other = scratch.store.context()
        let foreign = try #require(try other.object(Notebook.self, id: notebook.id))
        article.notebook = foreign
        #expect(article.notebook === notebook)
        context.insert(foreign)
        context.delete(foreign)
        #expect(foreign.context === other)
        #expect(!foreign.isDeleted)
        context.delete(notebook)
        notebook.name = "edited"
        #expect(notebook.name == "Swift")
        let error = #expect(throws: ValidationError.self) { try context.validate() }
        #expect(
            error?.violations.map(\.message) == [
                "notebook was given an object of another context",
                "Notebook belongs to another context",
                "Notebook was edited after it had been deleted",
            ])
        #expect(throws: ValidationError.self) { try context.save() }
        #expect(!context.hasChanges)
        #expect(!notebook.isDeleted)
        #expect(try context.save() == nil)
    }

    @Test func aThousandLinkedObjectsAreInsertedWithoutDeepRecursion() throws {
        let scratch = try Scratch()
        let context = scratch.store.context()
        let head = Article(title: "0")
        var last = head
        for number in 1..<20_000 {
            let next = Article(title: "\(number)")
            last.next = next
            last = next
        }
        context.insert(head)
        #expect(try context.save()?.changeCount == 20_000)
    }
}
