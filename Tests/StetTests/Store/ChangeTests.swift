import Stet
import StetTestModels
import Testing

@Suite struct ChangeTests {
    @Test("A7 an observer sees the old and the new values of each change")
    func anObserverSeesOldAndNewOfEachChange() async throws {
        let scratch = try Scratch()
        var commits = scratch.store.commits.makeAsyncIterator()
        let (context, notebook, article) = try scratch.saved()
        article.rating = 3
        article.notebook = nil
        try await context.save("edit")
        context.delete(notebook)
        try await context.save("delete")

        let insert = try #require(try await commits.next()?.changes(of: Article.self).first)
        #expect(insert.kind == .insert)
        #expect(insert.new.snapshot?.title == "Macros")
        #expect(insert.new[\.notebook] == .some(notebook.id))
        #expect(insert.old[\.title] == nil)

        let update = try #require(try await commits.next()?.changes(of: Article.self).first)
        #expect(update.kind == .update)
        #expect(update.id == article.id)
        #expect(update.new.snapshot == nil)
        #expect(update.changedProperties == ["rating", "notebook"])
        #expect(update.old[\.rating] == 0)
        #expect(update.new[\.rating] == 3)
        #expect(update.old[\.notebook] == .some(notebook.id))
        #expect(update.new[\.notebook] == .some(nil))
        #expect(update.new[\.title] == nil)

        let commit = try #require(try await commits.next())
        #expect(commit.changes(of: Article.self).isEmpty)
        let delete = try #require(commit.changes(of: Notebook.self).first)
        #expect(delete.kind == .delete)
        #expect(delete.old[\.name] == "Swift")
        #expect(delete.old.snapshot?.name == "Swift")
    }

    @Test func theCommitIsTheSameFromTheSaveTheFeedAndTheJournal() async throws {
        let scratch = try Scratch()
        var commits = scratch.store.commits.makeAsyncIterator()
        let (context, notebook, article) = try scratch.saved()
        article.title = "other"
        notebook.name = "other"
        let saved = try await #require(try context.save("edit"))
        _ = try await commits.next()
        #expect(try await commits.next() == saved)
        let journal = try scratch.store.journal()
        #expect(journal.count == 2)
        #expect(journal.last == saved)
        #expect(journal.last?.changeSet == saved.changeSet)
        #expect(journal.last?.hash == saved.hash)
        #expect(saved.hash.count == 64)
        #expect(try scratch.store.verify().hash == saved.hash)
    }

    @Test func nothingIsPublishedForASaveThatFailed() async throws {
        let scratch = try Scratch()
        let (context, notebook, _) = try scratch.saved()
        var commits = scratch.store.commits.makeAsyncIterator()
        notebook.name = ""
        #expect(throws: ValidationError.self) { try context.save() }
        notebook.name = "good"
        try await context.save("good")
        #expect(try await commits.next()?.label == "good")
    }

    @Test func aCommitHasTheIdentityItWasPreparedWith() throws {
        let scratch = try Scratch()
        let (context, notebook, _) = try scratch.saved()
        notebook.name = "other"
        let commit = try #require(try context.save())
        #expect(commit.id.base == 1)
        #expect(commit.revision == 2)
        #expect(try scratch.store.journal(from: 2).map(\.id) == [commit.id])
    }
}
