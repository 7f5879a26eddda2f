import Foundation
import StetLMDB
import StetStore
import StetTestModels
import StetTestSupport
import Testing

@testable import Stet

/// Objects that outlive their context, and reads.
extension ContextContractTests {
    // MARK: A context that is gone

    @Test("A context that nobody holds lives as long as its objects, which have it and their edits")
    func aContextLivesAsLongAsItsObjects() throws {
        let scratch = try Scratch()
        let (_, notebook, saved) = try scratch.saved()
        var context: ManagedContext? = scratch.store.context()
        weak let gone = context
        let edited = try #require(try context?.object(Article.self, id: saved.id))
        let renamed = try #require(try context?.object(Notebook.self, id: notebook.id))
        let inserted = Article(title: "inserted")
        let deleted = Article(title: "deleted")
        context?.insert(inserted)
        context?.insert(deleted)
        edited.title = "edited"
        renamed.name = "renamed"
        context?.delete(deleted)
        context = nil
        #expect(gone == nil)
        #expect(
            [edited.title, inserted.title, deleted.title] == ["edited", "inserted", "deleted"])
        #expect(renamed.name == "renamed")
        let objects: [any Model] = [edited, renamed, inserted, deleted]
        #expect(objects.allSatisfy { $0.hasChanges })
        #expect(inserted.isInserted)
        #expect(!edited.isInserted)
        #expect(deleted.isDeleted)
        // They can be read and edited as before, and nothing was written.
        edited.title = "edited again"
        #expect(edited.title == "edited again")
        #expect(edited.notebook === renamed)
        #expect(try scratch.store.revision() == 1)
        let again = try #require(edited.context)
        #expect(objects.allSatisfy { $0.context === again })
        #expect(again.changes.changes.count == 3)
        #expect(try again.save()?.changeCount == 3)
        #expect(try scratch.store.context().fetch(Notebook.self).all().map(\.name) == ["renamed"])
    }

    @Test("A context that is dropped with pending edits takes none of its objects along")
    func aContextDroppedWithPendingEditsIsFreed() throws {
        let scratch = try Scratch()
        let (_, _, saved) = try scratch.saved()
        weak var inserted: Article?
        weak var edited: Article?
        try {
            let context = scratch.store.context()
            let known = try #require(try context.object(Article.self, id: saved.id))
            let article = Article(title: "one")
            context.insert(article)
            known.next = article
            article.next = article
            (inserted, edited) = (article, known)
        }()
        #expect(inserted == nil)
        #expect(edited == nil)
    }

    // MARK: Reads

    @Test("Reads see the context's pending changes")
    func readsSeePendingChanges() throws {
        let scratch = try Scratch()
        let (_, notebook, saved) = try scratch.saved()
        let context = scratch.store.context()
        let article = try #require(try context.object(Article.self, id: saved.id))
        article.title = "edited"
        let inserted = Article(title: "inserted", notebook: article.notebook)
        context.insert(inserted)
        #expect(try context.fetch(Article.self).all().map(\.title) == ["edited", "inserted"])
        context.delete(article)
        #expect(try context.fetch(Article.self).all() == [inserted])
        #expect(try context.object(Article.self, id: saved.id) == nil)
        #expect(try context.object(Article.self, id: inserted.id) === inserted)
        context.delete(inserted)
        #expect(try context.fetch(Article.self).all() == [])
        #expect(try context.fetch(Notebook.self).all().map(\.id) == [notebook.id])
    }

    @Test("Reads see one revision, held by nobody: repeatable while others commit")
    func readsAreRepeatableWhileOthersCommit() throws {
        let scratch = try Scratch()
        var saver = RandomSaver(scratch.store, seed: 3)
        try saver.save(150)
        let context = scratch.store.context()
        let revision = context.revision
        let ids = try context.fetch(Article.self).all().map(\.id)
        let before = try Shown(context, ids: ids)
        let held = try context.fetch(Article.self).all().enumerated().filter { $0.offset % 3 == 0 }
        for round in 1...5 {
            try saver.save(40)
            #expect(try Shown(context, ids: ids) == before)
            #expect(context.revision == revision)
            #expect(try scratch.store.revision() == Revision(UInt64(150 + 40 * round)))
        }
        #expect(!held.isEmpty)
        try context.refresh()
        #expect(try Shown(context, ids: ids) == Shown(scratch.store.context(), ids: ids))
    }

    @Test("Reads are repeatable while other tasks commit at the same time")
    func readsAreRepeatableWhileOtherTasksCommit() async throws {
        let scratch = try Scratch()
        var saver = RandomSaver(scratch.store, seed: 4)
        try saver.save(60)
        let store = scratch.store
        try await withThrowingTaskGroup { group in
            for seed in 5..<7 as Range<UInt64> {
                group.addTask {
                    var saver = RandomSaver(store, seed: seed)
                    try saver.save(80)
                }
            }
            group.addTask {
                while try store.revision() < 200 {
                    let context = store.context()
                    let first = try Shown(context)
                    for _ in 0..<3 { #expect(try Shown(context) == first) }
                }
            }
            try await group.waitForAll()
        }
        #expect(try store.verify().problems == [])
    }

    @Test("A refresh moves the context, and with it every live unchanged object")
    func aRefreshMovesLiveObjects() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let kept = Article(title: "kept")
        let gone = Article(title: "gone")
        context.insert(kept)
        context.insert(gone)
        try context.save()
        kept.rating = 2
        let other = scratch.store.context()
        try #require(try other.object(Notebook.self, id: notebook.id)).name = "theirs"
        try #require(try other.object(Article.self, id: article.id)).notebook = nil
        other.delete(try #require(try other.object(Article.self, id: gone.id)))
        try other.save()
        #expect(notebook.name == "Swift")
        #expect(article.notebook === notebook)
        #expect(!gone.isDeleted)
        try context.refresh()
        #expect(notebook.name == "theirs")
        #expect(article.notebook == nil)
        #expect(gone.isDeleted)
        #expect(gone.title == "gone")
        #expect(kept.rating == 2)
        #expect(kept.hasChanges)
        #expect(context.revision == 3)
    }

    @Test("A save moves the context, and with it every live unchanged object")
    func aSaveMovesLiveObjects() async throws {
        for isBlocking in [true, false] {
            let scratch = try Scratch()
            let (context, notebook, article) = try scratch.saved()
            let other = scratch.store.context()
            try #require(try other.object(Notebook.self, id: notebook.id)).name = "theirs"
            func saveNow(_ context: ManagedContext) throws { try context.save() }
            try saveNow(other)
            article.rating = 2
            if isBlocking { try saveNow(context) } else { try await context.save() }
            #expect(notebook.name == "theirs")
            #expect(context.revision == 3)
            #expect(try Shown(context) == Shown(scratch.store.context()))
        }
    }

    @Test("An object that is rolled back shows the revision of its context, like all the others")
    @MainActor func whatIsRolledBackShowsTheRevisionOfTheContext() async throws {
        for rollsBackAll in [true, false] {
            let desk = try Desk()
            let (context, notebook, article) = (desk.context, desk.notebook, desk.article)
            try desk.elsewhere { other in
                try #require(try other.object(Article.self, id: article.id)).rating = 4
            }
            notebook.name = "flight"
            desk.hold()
            let save = await desk.send()
            article.title = "later"
            try await desk.release()
            #expect(try await save.value?.revision == 3)
            // Not merged yet, the object still has its own base.
            #expect(article.title == "later")
            #expect(article.rating == 0)
            if rollsBackAll { context.rollback() } else { context.rollback(article) }
            #expect(context.revision == 3)
            #expect(article.rating == 4)
            #expect(try Shown(context) == Shown(desk.store.context()))
        }
    }

    @Test("No read transaction is held between calls")
    func noReadTransactionIsHeld() throws {
        let scratch = try Scratch()
        let (_, _, saved) = try scratch.saved()
        let context = scratch.store.context()
        let article = try #require(try context.object(Article.self, id: saved.id))
        #expect(article.notebook?.name == "Swift")
        article.rating = 1
        let snapshot = context.snapshot()
        #expect(try context.fetch(Article.self).count() == 1)
        #expect(try scratch.store.statistics().readers.isEmpty)
        context.restore(snapshot)
        try context.save()
        #expect(try scratch.store.statistics().readers.isEmpty)
    }

    @Test("A record that changed after the revision is corrected by walking its chain of changes")
    func laterChangesAreUndoneByTheChain() throws {
        let scratch = try Scratch()
        let (writer, notebook, article) = try scratch.saved()
        // A context at each revision: before, edited, moved, deleted.
        var contexts = [scratch.store.context()]
        var expected = [article.snapshot]
        for rating in 1...4 {
            article.rating = rating
            article.notebook = rating == 2 ? nil : notebook
            article.body = rating == 3 ? String(repeating: "long ", count: 2_000) : nil
            try writer.save()
            contexts.append(scratch.store.context())
            expected.append(article.snapshot)
        }
        writer.delete(article)
        try writer.save()
        let shown = try contexts.map { try $0.object(Article.self, id: article.id)?.snapshot }
        #expect(shown == expected)
        #expect(try scratch.store.context().object(Article.self, id: article.id) == nil)
    }

    #if STET_FAULTS
        @Test("A refresh that cannot read shows nothing of what it could, and can be tried again")
        func aRefreshThatCannotReadShowsNoMixture() throws {
            for count in 1...40 {
                let scratch = try Scratch()
                let (writer, notebook, article) = try scratch.saved()
                let context = scratch.store.context()
                let before = try Shown(context)
                let held = (
                    try context.fetch(Article.self).all(), try context.fetch(Notebook.self).all()
                )
                notebook.name = "renamed"
                article.title = "renamed"
                try writer.save()
                let faults = scratch.store.file.environment.faults
                faults.failNext(.get, after: count, code: LMDBError.inputOutput)
                let isRefused = (try? context.refresh()) == nil
                let isMet = !faults.isArmed
                faults.disarm()
                #expect(isRefused == isMet)
                if isRefused { #expect(try Shown(context) == before) }
                try context.refresh()
                #expect(try Shown(context) == Shown(scratch.store.context()))
                #expect(held.0.map(\.title) == ["renamed"])
                #expect(held.1.map(\.name) == ["renamed"])
                if !isMet { return }
            }
            Issue.record("the reads of a refresh have no end")
        }

        @Test("A save whose landing cannot read says so in later calls; a rollback catches up")
        func aLandingThatCannotReadShowsNoMixture() throws {
            for count in 1...40 {
                let scratch = try Scratch()
                let (context, notebook, article) = try scratch.saved()
                let other = scratch.store.context()
                try #require(try other.object(Article.self, id: article.id)).rating = 4
                try other.save()
                context.insert(Article(title: "fresh", notebook: notebook))
                let faults = scratch.store.file.environment.faults
                faults.failNext(.get, after: count, code: LMDBError.inputOutput)
                let commit = try? context.save()
                let isMet = !faults.isArmed
                faults.disarm()
                if commit != nil, isMet {
                    #expect(throws: StoreError.self) { try context.fetch(Article.self).all() }
                    #expect(article.rating == 0)
                }
                context.rollback()
                if commit != nil {
                    #expect(context.revision == 3)
                    #expect(article.rating == 4)
                    #expect(try Shown(context) == Shown(scratch.store.context()))
                }
                if !isMet { return }
            }
            Issue.record("the reads of a save have no end")
        }
    #endif
}
