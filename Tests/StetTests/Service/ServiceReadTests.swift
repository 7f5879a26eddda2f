import Stet
import StetTestModels
import StetTestSupport
import Testing

/// Reads of a handler: values of one revision.
@Suite struct ServiceReadTests {
    @Test func aReadReturnsWhatItsClosureMakesOfOneRevision() throws {
        let scratch = try Scratch()
        let (_, notebook, article) = try scratch.saved()
        let store = scratch.store
        let (id, notebookID) = (article.id, notebook.id)
        let seen = try store.read { context in
            let before = try context.object(Article.self, id: id)?.notebook?.name
            try store.edit { try $0.object(Notebook.self, id: notebookID)?.name = "Data" }
            return [before, try context.object(Notebook.self, id: notebookID)?.name]
        }
        #expect(seen == ["Swift", "Swift"])
        #expect(try store.read { try $0.fetch(Notebook.self).all().map(\.name) } == ["Data"])
    }

    @Test func aReadThrowsWhatItsClosureThrows() throws {
        struct NotFound: Error {}
        let store = try Scratch().store
        #expect(throws: NotFound.self) { try store.read { _ in throw NotFound() } }
    }

    @Test func aReadOfAClosedStoreThrows() throws {
        let store = try Scratch().store
        store.close()
        #expect(throws: StoreError.self) { try store.read { _ in 1 } }
        #expect(throws: StoreError.self) { try store.object(Article.self, id: ObjectID()) }
    }

    @Test func aReadThatEditsTraps() async throws {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let scratch = try Scratch()
            try scratch.store.read { $0.insert(Notebook(name: "lost")) }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("Store.read(_:) has edited objects, and nobody saves them"))
    }

    @Test func aReadThatRefreshesTraps() async throws {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            try Scratch().store.read { try $0.refresh() }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("refresh() inside Store.read, which shows one revision"))
    }

    @Test(arguments: [false, true]) func aReadThatSavesTraps(edits: Bool) async throws {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) { [edits] in
            let scratch = try Scratch()
            try scratch.store.read { context in
                if edits {
                    _ = try context.edit { context.insert(Notebook(name: "lost")) }
                } else {
                    context.insert(Notebook(name: "lost"))
                    _ = try context.save()
                }
            }
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("inside Store.read: edit in Store.edit"))
    }

    @Test func aStoreGivesOneObjectAsTheLastCommitHasLeftIt() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        let store = scratch.store
        article.rating = 4
        #expect(try store.object(Article.self, id: article.id)?.rating == 0)
        try context.save()
        #expect(try store.object(Article.self, id: article.id) == article.snapshot)
        #expect(try store.object(Article.self, id: ObjectID()) == nil)
        #expect(try store.object(Notebook.self, id: article.id) == nil)
        context.delete(article)
        try context.save()
        #expect(try store.object(Article.self, id: article.id) == nil)
    }

    @Test func aStoreGivesMembersInTheirOrder() throws {
        let directory = TemporaryDirectory()
        let store = try Crates.open(directory)
        let (crate, _) = try store.edit { context in
            let crate = Crates.Crate(name: "a")
            context.insert(crate)
            for name in ["2", "1", "3"] { crate.shelf.append(Crates.Part(name: name)) }
            return crate
        }
        let members = try store.members(of: crate.id, in: Crates.Crate.self) { $0.shelf }
        #expect(members.map(\.name) == ["2", "1", "3"])
        #expect(try store.members(of: ObjectID(), in: Crates.Crate.self) { $0.shelf }.isEmpty)
    }
}
