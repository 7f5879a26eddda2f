import Foundation
import Observation
import Stet
import Synchronization
import Testing

/// The code of ContextsAndSnapshots.md.
@Suite struct ContextsAndSnapshotsTests {
    @Test func aContextSeesOneRevision() throws {
        let desk = try Desk()
        let (store, article) = (desk.store, desk.article)

        let reader = store.context()
        let writer = store.context(author: "lala")
        try writer.object(Article.self, id: article.id)?.rating = 4
        try writer.save("rate")
        let before = try reader.object(Article.self, id: article.id)?.rating  // 0
        try reader.refresh()
        let after = try reader.object(Article.self, id: article.id)?.rating  // 4

        #expect(before == 0)
        #expect(after == 4)
    }

    @Test func anObjectIsOneInstanceInItsContext() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)

        let same = try context.object(Article.self, id: article.id)
        let isSame = same === article  // true

        #expect(isSame)
    }

    @Test func aContextLivesAsLongAsAnyOfItsObjects() throws {
        let desk = try Desk()
        let (store, id) = (desk.store, desk.article.id)

        let held = try store.context(author: "lala").object(Article.self, id: id)
        held?.rating = 4
        try held?.context?.save("rate")

        #expect(try desk.stored().rating == 4)
        #expect(try store.journal().last?.author == "lala")
    }

    @Test func aSnapshotOfAnObjectIsAValue() async throws {
        let desk = try Desk()
        let article = desk.article

        let snapshot = article.snapshot  // Sendable, Codable, Equatable
        let json = try JSONEncoder().encode(snapshot)
        let title = await Task.detached { snapshot.title }.value

        #expect(title == "Macros")
        #expect(try JSONDecoder().decode(Article.Snapshot.self, from: json) == snapshot)
    }

    @Test func pendingEditsAreUndone() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)

        let undoManager = context.undoManager
        undoManager.perform("Rate") { article.rating = 5 }
        for letter in "Hello" {
            undoManager.perform("Typing", coalesce: \.title, of: article, within: .seconds(2)) {
                article.title.append(letter)
            }
        }
        undoManager.undo()
        let typed = article.title  // "Macros"
        undoManager.undo()
        let rating = article.rating  // 0
        undoManager.redo()

        #expect(typed == "Macros")
        #expect(rating == 0)
        #expect(article.rating == 5)
    }

    @Test func aDraftIsFinishedLater() throws {
        let desk = try Desk()
        let (store, context, article) = (desk.store, desk.context, desk.article)

        article.title = "Half a tit"
        try store.drafts.save(context, as: "article of Mara")
        let later = store.context(author: "Mara")
        try later.apply(try store.drafts.changes("article of Mara"))
        try later.save("finish")
        try store.drafts.remove("article of Mara")

        #expect(try desk.stored().title == "Half a tit")
        #expect(try store.drafts.list().isEmpty)
    }

    @Test func aSnapshotOfPendingChangesIsRestored() throws {
        let desk = try Desk()
        let (context, article, notebook) = (desk.context, desk.article, desk.notebook)

        article.title = "Draft"
        let snapshot = context.snapshot()
        article.title = "Worse"
        article.notebook = nil
        context.delete(notebook)
        context.restore(snapshot)
        let title = article.title  // "Draft", and the notebook is there
        context.rollback()
        let saved = article.title  // "Macros"

        #expect(title == "Draft")
        #expect(saved == "Macros")
        #expect(snapshot.isVoid)
        #expect(article.notebook === notebook)
        #expect(!notebook.isDeleted)
        #expect(!context.hasChanges)
    }

    @Test func pendingChangesCanBeLookedAt() throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)

        article.rating = 4
        let change = context.changes.changes.first
        let rating = change?["rating"]  // old 0, new 4
        let text = context.debugView.long

        #expect(rating == PropertyChange(name: "rating", old: .int(0), new: .int(4)))
        #expect(text.contains("rating: 4 (was 0)"))
    }

    @Test func anEditInsideAnEditRestoresItsOwnBeginning() throws {
        struct Refusal: Error {}
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)

        try context.edit("two steps") {
            article.rating = 4
            do {
                try context.edit {
                    article.title = "Worse"
                    throw Refusal()
                }
            } catch is Refusal {
                // The title is back; the rating is still pending.
            }
        }

        #expect(try desk.stored().title == "Macros")
        #expect(try desk.stored().rating == 4)
    }

    @Test func anObservableObjectTellsOfItsChanges() throws {
        let context = try Desk().store.context()
        let names = Mutex<[String]>([])

        let tag = Tag(name: "macros")
        context.insert(tag)
        withObservationTracking {
            _ = tag.name
        } onChange: {
            names.withLock { $0.append("name") }
        }
        tag.name = "Macros"

        #expect(names.withLock { $0 } == ["name"])
    }
}
