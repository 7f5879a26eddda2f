import Stet
import StetTestModels
import Testing

@Suite struct SnapshotTests {
    @Test func restoringBringsBackValuesReferencesInsertionsAndDeletions() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        article.rating = 1
        let snapshot = context.snapshot()
        article.rating = 2
        article.notebook = Notebook(name: "other")
        let inserted = Article(title: "late")
        context.insert(inserted)
        inserted.title = "edited"
        context.delete(notebook)
        context.restore(snapshot)
        #expect(article.rating == 1)
        #expect(article.notebook === notebook)
        #expect(!notebook.isDeleted)
        #expect(inserted.context == nil)
        #expect(inserted.title == "late")
        #expect(!inserted.isInserted)
        #expect(context.changes.changes.map(\.id) == [article.id])
        #expect(try context.referrers(of: notebook).map { $0.id } == [article.id])
    }

    @Test func insertedDeletedAndRestoredIsTheSameInstance() throws {
        let scratch = try Scratch()
        let context = scratch.store.context()
        let article = Article(title: "one")
        context.insert(article)
        let snapshot = context.snapshot()
        context.delete(article)
        context.restore(snapshot)
        #expect(try context.fetch(Article.self).first() === article)
        #expect(article.isInserted)
        #expect(!article.isDeleted)
        try context.save()
        #expect(try scratch.store.context().fetch(Article.self).all().map(\.id) == [article.id])
    }

    @Test func aSnapshotHoldsTheObjectsThatItNames() throws {
        let scratch = try Scratch()
        let context = scratch.store.context()
        weak var held: Article?
        let snapshot: ManagedContext.Snapshot
        do {
            let article = Article(title: "held")
            held = article
            context.insert(article)
            snapshot = context.snapshot()
        }
        context.restore(snapshot)
        #expect(held?.title == "held")
    }

    @Test func snapshotsNestAndAnOlderOneMakesLaterOnesVoid() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        let outer = context.snapshot()
        article.rating = 1
        let inner = context.snapshot()
        article.rating = 2
        context.restore(inner)
        #expect(article.rating == 1)
        #expect(!inner.isVoid)
        context.restore(outer)
        #expect(article.rating == 0)
        #expect(inner.isVoid)
        #expect(!outer.isVoid)
        article.rating = 3
        context.restore(outer)
        #expect(article.rating == 0)
        try context.save()
        #expect(outer.isVoid)
    }

    @Test func restoringAVoidSnapshotTrapsWithAMessage() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let scratch = try Scratch()
            let context = scratch.store.context()
            let snapshot = context.snapshot()
            context.rollback()
            context.restore(snapshot)
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("void snapshot"))
    }

    @Test func anEditThatThrowsRestoresItsOwnBeginning() throws {
        struct Refused: Error {}
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        notebook.name = "pending"
        var afterInner: Int?
        func inner() throws {
            article.rating = 2
            throw Refused()
        }
        func outer() throws {
            article.rating = 1
            _ = try? context.edit("inner", inner)
            afterInner = article.rating
            throw Refused()
        }
        #expect(throws: Refused.self) { try context.edit("outer", outer) }
        #expect(afterInner == 1)
        #expect(article.rating == 0)
        #expect(!article.hasChanges)
        #expect(notebook.name == "pending")
        #expect(notebook.hasChanges)
    }

    @Test func anEditSavesWhatWasPendingBeforeAndAnInnerOneDoesNotSave() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        notebook.name = "pending"
        let commit = try context.edit("outer") {
            let inner = try context.edit("inner") { article.rating = 9 }
            #expect(inner == nil)
            article.rating = 4
        }
        #expect(commit?.label == "outer")
        #expect(commit?.changeCount == 2)
    }

    @Test func aRefusedEditIsAsIfItHadNotBeen() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let error = #expect(throws: ValidationError.self) {
            try context.edit("rename") {
                notebook.name = ""
                article.notebook = nil
            }
        }
        #expect(error?.description == "name must be at least 1 character")
        #expect(notebook.name == "Swift")
        #expect(article.notebook === notebook)
        #expect(!context.hasChanges)
    }

    @Test func misuseIsToldByOneEditAndNotByTheNext() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let other = scratch.store.context()
        article.notebook = try other.object(Notebook.self, id: notebook.id)
        #expect(throws: ValidationError.self) { try context.edit { article.rating = 1 } }
        #expect(article.rating == 0)
        #expect(article.notebook === notebook)
        #expect(try context.edit { article.rating = 2 }?.changeCount == 1)
    }

    @Test func keepPendingLeavesTheEditsForAFix() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        notebook.name = "  "
        article.rating = 2
        #expect(throws: ValidationError.self) { try context.save(onFailure: .keepPending) }
        // Even the normalisation of the refused save is gone.
        #expect(notebook.name == "  ")
        #expect(article.rating == 2)
        notebook.name = "fixed"
        #expect(try context.save()?.changeCount == 2)
    }
}
