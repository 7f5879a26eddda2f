import StetStore
import StetTestModels
import Testing

@testable import Stet

/// Foreign and deleted objects.
extension ContextContractTests {
    @Test("Assigning an object of another context changes nothing and is a violation")
    func assigningAForeignObjectChangesNothing() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let other = scratch.store.context()
        article.notebook = try other.object(Notebook.self, id: notebook.id)
        #expect(article.notebook === notebook)
        #expect(!article.hasChanges)
        for call in [{ try context.validate() }, { _ = try context.save() }] {
            let error = try #require(throws: ValidationError.self) { try call() }
            #expect(error.violations.map(\.code) == [.foreignObject])
            #expect(error.violations.map(\.property) == ["notebook"])
        }
        #expect(try context.save() == nil)
        let fresh = Article(title: "fresh")
        fresh.notebook = try other.fetch(Notebook.self).first()
        let held = fresh.notebook
        context.insert(fresh)
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.violations.map(\.code) == [.foreignObject])
        #expect(fresh.context == nil)
        #expect(held?.context === other)
    }

    @Test("Inserting or deleting an object of another context changes nothing, is a violation")
    func insertingAForeignObjectChangesNothing() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        let other = scratch.store.context()
        let pending = Article(title: "pending")
        context.insert(pending)
        for call in [
            { other.insert(article) }, { other.delete(article) }, { other.insert(pending) },
        ] {
            call()
            let error = try #require(throws: ValidationError.self) { try other.save() }
            #expect(error.violations.map(\.code) == [.foreignObject])
        }
        #expect(article.context === context)
        #expect(!article.isDeleted)
        #expect(pending.isInserted)
        #expect(try context.save()?.changeCount == 1)
    }

    @Test("Editing a deleted object changes nothing and is a violation; so is referring to it")
    func editingADeletedObjectChangesNothing() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        for isSaved in [false, true] {
            context.delete(notebook)
            if isSaved { try context.save() }
            notebook.name = "edited"
            #expect(notebook.name == "Swift")
            #expect(notebook.isDeleted)
            let error = try #require(throws: ValidationError.self) { try context.save() }
            #expect(error.violations.map(\.code) == [.deletedObjectEdited])
        }
        article.notebook = notebook
        #expect(article.notebook == nil)
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.violations.map(\.code) == [.deletedObjectEdited])
        #expect(try context.save() == nil)
    }

    @Test("A deleted object keeps its last values and says `isDeleted`, by whoever deleted it")
    func aDeletedObjectKeepsItsLastValues() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let other = scratch.store.context()
        let theirs = try #require(try other.object(Article.self, id: article.id))
        article.title = "last"
        context.delete(article)
        #expect(article.isDeleted)
        #expect(article.title == "last")
        try context.save()
        #expect(article.isDeleted)
        #expect(article.title == "last")
        #expect(article.context === context)
        #expect(!article.hasChanges)
        #expect(article.notebook === notebook)
        #expect(!theirs.isDeleted)
        try other.refresh()
        #expect(theirs.isDeleted)
        #expect(theirs.title == "Macros")
        #expect(theirs.notebook?.name == "Swift")
    }

    @Test("A model that the store was not opened with traps with a message that names it")
    func anUnknownModelTraps() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            try Scratch().store.context().insert(Subject("unknown"))
        }
        let words = lastWords(of: result)
        #expect(words.contains("Subject is not a model of this store"))
    }
}
