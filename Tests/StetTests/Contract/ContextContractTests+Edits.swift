import Foundation
import StetLMDB
import StetStore
import StetTestModels
import StetTestSupport
import Testing

@testable import Stet

/// `edit`, rejected change sets, accessors that cannot read.
extension ContextContractTests {
    // MARK: edit

    @Test("`edit` takes a snapshot, runs, saves: on success all pending changes are saved")
    func anEditSavesAllPendingChanges() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        notebook.name = "pending before"
        let commit = try #require(try context.edit("rename") { article.title = "edited" })
        #expect(commit.label == "rename")
        #expect(commit.changeCount == 2)
        #expect(!context.hasChanges)
        let nothing = try context.edit { article.title = "edited" }
        #expect(nothing == nil)
    }

    @Test("Anything thrown restores the edit's own beginning and is rethrown")
    func whatIsThrownRestoresTheBeginningOfTheEdit() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let fresh = Article(title: "fresh", notebook: notebook)
        context.insert(fresh)
        notebook.name = "pending before"
        context.delete(article)
        let pending = (context.changes, try Shown(context))
        // Fails in the closure, in validation, in an observer, and because the store has moved.
        #expect(throws: Stop.self) {
            try context.edit {
                context.delete(fresh)
                context.insert(article)
                notebook.name = "edited"
                throw Stop()
            }
        }
        #expect(try Shown(context) == pending.1)
        #expect(throws: ValidationError.self) { try context.edit { fresh.title = "" } }
        #expect(try Shown(context) == pending.1)
        let observation = context.willCommit { _ in throw Stop() }
        #expect(throws: Stop.self) { try context.edit { fresh.title = "observed" } }
        observation.cancel()
        let other = scratch.store.context()
        try #require(try other.object(Notebook.self, id: notebook.id)).name = "theirs"
        try other.save()
        #expect(throws: ConflictError.self) { try context.edit { fresh.title = "conflict" } }
        #expect(try Shown(context) == pending.1)
        #expect(context.changes == pending.0)
        #expect(fresh.isInserted)
        #expect(article.isDeleted)
    }

    @Test("An inner `edit` neither saves nor validates; it restores if its closure throws")
    func anInnerEditNeitherSavesNorValidates() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        var asked = 0
        context.willCommit { _ in asked += 1 }
        let commit = try context.edit("outer") {
            notebook.name = "outer"
            let inner = try context.edit("inner") { article.title = "" }
            #expect(inner == nil)
            #expect(asked == 0)
            #expect(context.revision == 1)
            #expect(article.title == "")
            #expect(throws: Stop.self) {
                try context.edit("inner") {
                    article.title = "thrown away"
                    try context.edit("innermost") { notebook.name = "thrown away" }
                    throw Stop()
                }
            }
            #expect(article.title == "")
            #expect(notebook.name == "outer")
            article.title = "valid"
        }
        #expect(commit?.label == "outer")
        #expect(commit?.changeCount == 2)
        #expect(asked == 1)
    }

    @Test("`save`, `rollback` and `refresh` inside an edit trap with a message")
    func whatWouldEndTheEditTraps() async {
        let save = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let context = try Scratch().store.context()
            try context.edit { try context.save() }
        }
        #expect(lastWords(of: save).contains("inside edit(_:_:)"))
        let back = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let context = try Scratch().store.context()
            try context.edit { context.rollback() }
        }
        #expect(lastWords(of: back).contains("inside edit(_:_:)"))
        let move = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let context = try Scratch().store.context()
            try context.edit { try context.refresh() }
        }
        #expect(lastWords(of: move).contains("inside edit(_:_:)"))
    }

    // MARK: rejected

    @Test("A refused save carries `rejected`: inspected, mended, applied, also on a newer base")
    func aRejectedChangeSetIsMendedAndApplied() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let fresh = Article(title: "", notebook: notebook)
        context.insert(fresh)
        article.next = fresh
        let error = try #require(throws: ValidationError.self) { try context.save() }
        let coded = try JSONEncoder().encode(error.rejected)
        var mended = try JSONDecoder().decode(ChangeSet.self, from: coded)
        #expect(mended == error.rejected)
        #expect(mended.changes.map(\.id) == [article.id, fresh.id])
        let other = scratch.store.context()
        try #require(try other.object(Notebook.self, id: notebook.id)).name = "newer base"
        try other.save()
        let change = try #require(mended.changes.firstIndex { $0.id == fresh.id })
        let title = try #require(
            mended.changes[change].properties.firstIndex { $0.name == "title" })
        mended.changes[change].properties[title].new = .string("mended")
        try context.refresh()
        try context.apply(mended)
        #expect(try context.save()?.changeCount == 2)
        #expect(article.next?.id == fresh.id)
        #expect(article.next?.title == "mended")
        #expect(try Shown(context) == Shown(scratch.store.context()))
    }

    // MARK: Accessors

    #if STET_FAULTS
        /// A context with an article of whose notebook nothing has been read.
        private func unread(_ scratch: Scratch) throws -> (ManagedContext, Article) {
            let (_, _, saved) = try scratch.saved()
            let context = scratch.store.context()
            return (context, try #require(try context.object(Article.self, id: saved.id)))
        }

        private func failNextRead(_ scratch: Scratch) {
            scratch.store.file.environment.faults.failNext(.get, code: LMDBError.inputOutput)
        }

        @Test("A fault that cannot be read gives nil and puts the context in `failed(error)`")
        func everyThrowingCallTellsOfTheFailedRead() async throws {
            let scratch = try Scratch()
            let (context, article) = try unread(scratch)
            article.rating = 1
            failNextRead(scratch)
            #expect(article.notebook == nil)
            // The next read would succeed, but decisions based on nil are not saved.
            #expect(article.notebook?.name == "Swift")
            let rejected = ChangeSet()
            func saveNow() throws { try context.save() }
            let calls: [() throws -> Void] = [
                saveNow, { try context.validate() }, { try context.edit {} },
                { _ = try context.fetch(Article.self).all() }, { try context.apply(rejected) },
                { _ = try context.object(Article.self, id: article.id) },
            ]
            for call in calls {
                #expect(try #require(throws: StoreError.self) { try call() }.code == .inputOutput)
            }
            await #expect(throws: StoreError.self) { try await context.save() }
            #expect(article.rating == 1)
            #expect(try scratch.store.revision() == 1)
        }

        @Test("`rollback()` leads out of the failed state, and so does `refresh()`")
        func rollbackAndRefreshLeadOutOfTheFailedState() throws {
            for refreshes in [true, false] {
                let scratch = try Scratch()
                let (context, article) = try unread(scratch)
                article.rating = 1
                failNextRead(scratch)
                #expect(article.notebook == nil)
                if refreshes { try context.refresh() } else { context.rollback() }
                #expect(article.rating == (refreshes ? 1 : 0))
                article.title = "goes on"
                #expect(try context.save()?.changeCount == 1)
            }
        }

        @Test("An edit whose closure met a read that failed restores its beginning, too")
        func anEditThatCouldNotReadRestoresItsBeginning() throws {
            let scratch = try Scratch()
            let (context, article) = try unread(scratch)
            article.rating = 1
            let error = #expect(throws: StoreError.self) {
                try context.edit {
                    article.title = "edited"
                    failNextRead(scratch)
                    article.body = article.notebook?.name ?? "no notebook"
                }
            }
            #expect(error?.code == .inputOutput)
            #expect(article.title == "Macros")
            #expect(article.body == nil)
            #expect(article.rating == 1)
            #expect(try scratch.store.revision() == 1)
        }

        @Test("A read that fails in a hook or an observer of the save refuses that save")
        func aFailedReadInAHookRefusesTheSave() async throws {
            let subjects = try Subjects()
            let (writer, saved) = try subjects.saved("a", "b")
            saved[0].partner = saved[1]
            try await writer.save()
            let faults = subjects.store.file.environment.faults
            func fail(_ subject: Subject) {
                faults.failNext(.get, code: LMDBError.inputOutput)
                subject.title = subject.partner?.title ?? "no partner"
            }
            func saveNow(_ context: ManagedContext) throws { try context.save() }
            for stage in 0..<4 {
                let context = subjects.store.context()
                let subject = try #require(try context.object(Subject.self, id: saved[0].id))
                subject.count = 1
                if stage < 3 {
                    subject.onSave = {
                        $0.onSave = nil; fail($0)
                    }
                }
                if stage == 3 {
                    context.willCommit { _ in
                        faults.failNext(.get, code: LMDBError.inputOutput)
                        if subject.partner?.title == "b" { throw Stop() }
                    }
                }
                await #expect(throws: StoreError.self) {
                    switch stage {
                    case 0: try context.validate()
                    case 1: try await context.save()
                    default: try saveNow(context)
                    }
                }
                #expect(try subjects.store.revision() == 2)
                #expect(subject.title == "a")
            }
        }
    #endif
}
