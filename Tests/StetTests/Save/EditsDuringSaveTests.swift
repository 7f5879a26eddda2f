import Foundation
import StetStore
import StetTestModels
import Testing

@testable import Stet

/// A flight that is prepared again with edits on top of it.
@MainActor @Suite struct EditsDuringSaveTests {
    /// A flight that renames the notebook, while others rate the article and date the notebook.
    private func contested(_ policy: MergePolicy) async throws -> (
        Desk, Task<Commit?, any Error>
    ) {
        let desk = try Desk()
        desk.context.mergePolicy = policy
        try desk.elsewhere { other in
            try #require(try other.object(Notebook.self, id: desk.notebook.id)).created =
                desk.scratch.now + 5
            try #require(try other.object(Article.self, id: desk.article.id)).rating = 4
        }
        desk.notebook.name = "flight"
        desk.hold()
        return (desk, await desk.send("flight"))
    }

    @Test func editsOfTheFlightsObjectsStayOnTop() async throws {
        let (desk, save) = try await contested(.mergeStoreWins)
        desk.notebook.name = "later"
        desk.article.body = "later"
        let inserted = Article(title: "inserted", notebook: desk.notebook)
        desk.context.insert(inserted)
        try await desk.release()
        let commit = try #require(try await save.value)
        #expect(commit.changes(of: Notebook.self).first?.new[\.name] == "flight")
        #expect(desk.notebook.name == "later")
        #expect(desk.notebook.created == desk.scratch.now + 5)
        #expect(inserted.isInserted)
        #expect(inserted.notebook === desk.notebook)
        #expect(try desk.context.referrers(of: desk.notebook).count == 2)
        // Others have changed the article, too. The next save merges it.
        let next = try #require(try await desk.context.save("later"))
        #expect(next.changeCount == 3)
        #expect(desk.article.body == "later")
        #expect(desk.article.rating == 4)
        let stored = desk.store.context()
        let found = try #require(try stored.object(Notebook.self, id: desk.notebook.id))
        #expect(found.snapshot == desk.notebook.snapshot)
        #expect(try desk.store.verify().problems == [])
    }

    @Test func theyCanBeRolledBackAlone() async throws {
        let (desk, save) = try await contested(.mergeContextWins)
        desk.notebook.name = "later"
        desk.context.delete(desk.article)
        try await desk.release()
        #expect(try await save.value != nil)
        #expect(desk.article.isDeleted)
        #expect(desk.context.hasChanges)
        desk.context.rollback()
        #expect(desk.notebook.name == "flight")
        #expect(!desk.article.isDeleted)
        #expect(desk.article.rating == 4)
        #expect(!desk.context.hasChanges)
    }

    @Test func aFlightThatFailsThenTakesThemAlong() async throws {
        struct Refusal: Error {}
        let (desk, save) = try await contested(.mergeStoreWins)
        let token = desk.context.willCommit { _ in throw Refusal() }
        desk.notebook.name = "later"
        let waiting = await desk.queue("waiting")
        try await desk.release()
        let error = try #require(await failure(of: save) as? DiscardedEditsError)
        #expect(error.cause is Refusal)
        #expect(error.discardedChanges.changes.map(\.id) == [desk.notebook.id])
        #expect(await failure(of: waiting) is DiscardedEditsError)
        token.cancel()
        #expect(!desk.context.hasChanges)
        // The merge moved the context to the last commit.
        #expect(desk.notebook.name == "Swift")
        #expect(desk.article.rating == 4)
    }

    @Test func aWaitingSaveHasThemWhenTheFlightLands() async throws {
        let (desk, save) = try await contested(.mergeStoreWins)
        desk.article.title = "waiting"
        let waiting = await desk.queue("waiting")
        try await desk.release()
        #expect(try await save.value?.label == "flight")
        let commit = try #require(try await waiting.value)
        #expect(commit.label == "waiting")
        #expect(commit.changeCount == 1)
        #expect(desk.article.title == "waiting")
        #expect(desk.article.rating == 4)
        #expect(try desk.store.verify().problems == [])
    }

    @Test func theyGoWithAFlightThatAnotherHasMadeMeanwhile() async throws {
        let desk = try Desk()
        desk.context.mergePolicy = .mergeStoreWins
        let id = try desk.context.makeCommitID()
        try desk.renameElsewhere()
        let inserted = Article(title: "flight", notebook: desk.notebook)
        desk.context.insert(inserted)
        desk.notebook.name = "flight"
        desk.hold()
        let save = await desk.send("flight", id: id)
        inserted.title = "later"
        desk.releaseNow()
        // The save was refused, but has not ended. Another context makes the commit that it
        // repeats.
        let other = desk.store.context()
        other.insert(Notebook(name: "other"))
        try saveNow(other, id)
        let error = try #require(await failure(of: save) as? DiscardedEditsError)
        #expect((error.cause as? ConflictError)?.reason == .contention)
        #expect(error.discardedChanges.changes.map(\.id) == [inserted.id])
        #expect(inserted.context == nil)
        #expect(!desk.context.hasChanges)
        #expect(try desk.store.verify().problems == [])
    }

    private func saveNow(_ context: ManagedContext, _ id: CommitID) throws {
        try context.save("other", id: id)
    }
}
