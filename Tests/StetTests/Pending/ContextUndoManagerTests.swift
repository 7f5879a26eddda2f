import Stet
import StetTestModels
import StetTestSupport
import StetTesting
import Testing

/// Undo and redo of edits that are not saved yet.
@Suite struct ContextUndoManagerTests {
    private let clock = TestClock()
    private let store: Store
    private let context: ManagedContext
    private let article: Article

    private var undoManager: ContextUndoManager { context.undoManager }

    init() throws {
        store = try Store.inMemory(
            for: Notebook.self, Article.self, configuration: Store.Configuration(clock: clock))
        context = store.context()
        article = Article(title: "a")
        context.insert(article)
        try context.save()
    }

    @Test("Service 8 each perform is a step that is undone and redone, with its name")
    func steps() {
        undoManager.perform("First") { article.title = "b" }
        undoManager.perform("Second") { article.title = "c" }
        #expect(undoManager.undoActionName == "Second")
        #expect(undoManager.redoActionName == nil)
        undoManager.undo()
        #expect(article.title == "b")
        #expect(undoManager.redoActionName == "Second")
        undoManager.undo()
        #expect(article.title == "a")
        #expect(!undoManager.canUndo)
        #expect(!context.hasChanges)
        undoManager.undo()
        undoManager.redo()
        undoManager.redo()
        #expect(article.title == "c")
        #expect(undoManager.canUndo)
        #expect(!undoManager.canRedo)
        undoManager.undo()
        undoManager.perform { article.rating = 3 }
        #expect(!undoManager.canRedo)
        #expect(article.title == "b")
        #expect(article.rating == 3)
    }

    @Test("Service 8 insertions, deletions and relationships are undone and redone, too")
    func graphs() throws {
        let notebook = Notebook(name: "n")
        undoManager.perform {
            context.insert(notebook)
            article.notebook = notebook
        }
        undoManager.perform { context.delete(article) }
        undoManager.undo()
        #expect(!article.isDeleted)
        #expect(article.notebook === notebook)
        undoManager.undo()
        #expect(article.notebook == nil)
        #expect(notebook.context == nil)
        #expect(!context.hasChanges)
        undoManager.redo()
        #expect(article.notebook === notebook)
        #expect(notebook.isInserted)
        undoManager.redo()
        #expect(article.isDeleted)
        undoManager.undo()
        try context.save()
        let other = try #require(try store.context().object(Article.self, id: article.id))
        #expect(other.notebook?.name == "n")
    }

    @Test("Service 8 edits of one property within an interval are one step")
    func coalescing() {
        func type(_ text: String) {
            undoManager.perform("Typing", coalesce: \.title, of: article, within: .seconds(2)) {
                article.title += text
            }
        }
        type("b")
        clock.advance(by: .seconds(2))
        type("c")
        clock.advance(by: .seconds(2.5))
        type("d")
        undoManager.undo()
        #expect(article.title == "abc")
        undoManager.undo()
        #expect(article.title == "a")
        undoManager.redo()
        type("x")
        #expect(article.title == "abcx")
        undoManager.undo()
        #expect(article.title == "abc")
        undoManager.perform(coalesce: \.rating, of: article, within: .seconds(2)) {
            article.rating = 1
        }
        clock.advance(by: .seconds(-1))
        undoManager.perform(coalesce: \.rating, of: article, within: .seconds(2)) {
            article.rating = 2
        }
        undoManager.undo()
        #expect(article.rating == 1)
    }

    @Test("Service 8 a limit keeps the latest steps")
    func levels() {
        undoManager.levelsOfUndo = 2
        for title in ["b", "c", "d"] { undoManager.perform { article.title = title } }
        undoManager.undo()
        undoManager.undo()
        undoManager.undo()
        #expect(article.title == "b")
        #expect(!undoManager.canUndo)
        undoManager.redo()
        undoManager.levelsOfUndo = 1
        undoManager.redo()
        #expect(article.title == "d")
        undoManager.removeAllActions()
        #expect(!undoManager.canUndo)
        #expect(article.title == "d")
        #expect(context.hasChanges)
    }

    @Test("Service 8 a save, a rollback and a refresh end the history; a refused save does not")
    func ends() throws {
        undoManager.perform { article.title = "" }
        #expect(throws: ValidationError.self) { try context.save(onFailure: .keepPending) }
        #expect(undoManager.canUndo)
        undoManager.undo()
        #expect(article.title == "a")
        undoManager.perform { article.title = "b" }
        try context.save()
        #expect(!undoManager.canUndo)
        #expect(!undoManager.canRedo)
        undoManager.perform { article.title = "c" }
        context.rollback()
        #expect(!undoManager.canUndo)
        #expect(article.title == "b")
        undoManager.perform { article.title = "c" }
        #expect(undoManager.canUndo)
    }

    @Test("Service 8 a redo leaves an object alone that another context has taken over")
    func takenOver() throws {
        let second = Article(title: "second")
        undoManager.perform {
            context.insert(second)
            article.title = "b"
        }
        undoManager.undo()
        let other = store.context()
        other.insert(second)
        second.title = "of the other"
        undoManager.redo()
        #expect(article.title == "b")
        #expect(second.context === other)
        #expect(second.title == "of the other")
        try context.save()
        try other.save()
        let titles = try store.fetch(Article.self).sorted(by: \.title).all().map(\.title)
        #expect(titles == ["b", "of the other"])
    }

    @Test("Service 8 an edit outside belongs to the step before it, and ends what could be redone")
    func editsOutside() {
        undoManager.perform { article.title = "b" }
        article.rating = 1
        undoManager.perform { article.title = "c" }
        undoManager.undo()
        #expect(article.title == "b")
        #expect(article.rating == 1)
        #expect(undoManager.canRedo)
        article.rating = 2
        #expect(!undoManager.canRedo)
        undoManager.undo()
        #expect(article.title == "a")
        #expect(article.rating == 0)
    }

    @Test("Service 8 a step that throws or changes nothing is none, and an inner one is a part")
    func noSteps() {
        struct Failure: Error {}
        #expect(throws: Failure.self) {
            try undoManager.perform {
                article.title = "b"
                throw Failure()
            }
        }
        undoManager.perform {}
        #expect(article.title == "a")
        #expect(!undoManager.canUndo)
        undoManager.perform("Outer") {
            article.title = "b"
            undoManager.perform("Inner") { article.rating = 1 }
        }
        #expect(undoManager.undoActionName == "Outer")
        undoManager.undo()
        #expect(article.title == "a")
        #expect(article.rating == 0)
        #expect(!undoManager.canUndo)
    }
}
