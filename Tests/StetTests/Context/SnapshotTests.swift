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

    private func text(_ article: Article) -> String {
        "\(article.title) \(article.rating) \(article.notebook?.name ?? "-")"
    }

    /// A snapshot keeps its objects in parts of one model and of limited size.
    @Test func aSnapshotOfManyObjectsOfSeveralModelsRestoresEach() throws {
        let scratch = try Scratch()
        let context = scratch.store.context()
        let notebooks = (0..<150).map { Notebook(name: "notebook \($0)") }
        let articles = (0..<300).map { number in
            Article(title: "article \(number)", notebook: notebooks[number / 2])
        }
        for article in articles { context.insert(article) }
        try context.save()
        // A long run of one model, then a few of each in turn.
        for article in articles[..<140] { article.rating = 1 }
        for number in 0..<50 {
            notebooks[number].name = "edited \(number)"
            articles[140 + number].notebook = notebooks[149 - number]
        }
        context.delete(articles[200])
        let (first, shown) = (context.snapshot(), articles.map(text))

        for article in articles[..<200] { article.title = "later" }
        for notebook in notebooks[100...] { notebook.name = "later" }
        context.delete(articles[3])
        let second = context.snapshot()
        for article in articles[..<150] { article.notebook = nil }
        context.restore(second)
        #expect(articles[..<200].filter { $0.title == "later" }.count == 200)
        #expect(articles[3].isDeleted)
        for _ in 0..<2 {
            context.restore(first)
            #expect(articles.map(text) == shown)
            #expect(articles.indices.filter { articles[$0].isDeleted } == [200])
            #expect(articles.filter(\.hasChanges).count == 191)
            #expect(notebooks.filter(\.hasChanges).count == 50)
            articles[299].rating = 5
            notebooks[0].name = "again"
        }
        context.restore(first)
        try context.save()
        let saved = try scratch.store.fetch(Article.self).all()
        #expect(saved.count == 299)
        #expect(saved.filter { $0.rating == 1 }.count == 140)
        #expect(saved.allSatisfy { $0.title.hasPrefix("article") })
    }

    @Test(arguments: [1, 2, 5, 6, 21, 22, 85, 86, 149, 150])
    func aSnapshotOfAnyNumberOfObjectsRestoresEach(count: Int) throws {
        let scratch = try Scratch()
        let context = scratch.store.context()
        let articles = (0..<count).map { Article(title: "\($0)") }
        for article in articles { context.insert(article) }
        let snapshot = context.snapshot()
        for article in articles { article.title += " edited" }
        context.restore(snapshot)
        #expect(articles.map(\.title) == (0..<count).map { "\($0)" })
        for article in articles[(count / 2)...] { context.delete(article) }
        context.restore(snapshot)
        #expect(articles.filter(\.isInserted).count == count)
        #expect(articles.filter(\.isDeleted).isEmpty)
        #expect(try context.save()?.changeCount == count)
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
