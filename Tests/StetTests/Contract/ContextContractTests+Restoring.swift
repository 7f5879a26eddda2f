import Foundation
import StetTestModels
import StetTestSupport
import Testing

@testable import Stet

/// Snapshots, rollback, and what a save without net change and a failed one leave.
extension ContextContractTests {
    // MARK: Snapshots

    @Test("`snapshot()` captures all pending changes, `restore` puts them back")
    func aSnapshotIsPutBack() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        article.title = "pending"
        let inserted = Article(title: "inserted", notebook: notebook)
        context.insert(inserted)
        let pending = context.changes
        let shown = try Shown(context)
        let snapshot = context.snapshot()
        article.title = "later"
        context.delete(inserted)
        context.delete(notebook)
        context.insert(Article(title: "late"))
        context.restore(snapshot)
        #expect(context.changes == pending)
        #expect(try Shown(context) == shown)
    }

    @Test("Snapshots nest to any depth")
    func snapshotsNest() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        var snapshots: [(ManagedContext.Snapshot, ChangeSet)] = []
        for depth in 0..<300 {
            snapshots.append((context.snapshot(), context.changes))
            article.title = "depth \(depth)"
            if depth % 10 == 0 { context.insert(Article(title: "\(depth)")) }
        }
        for (snapshot, changes) in snapshots.reversed() {
            context.restore(snapshot)
            guard context.changes == changes else {
                Issue.record("the snapshot of \(changes.changes.count) changes is not put back")
                return
            }
        }
        #expect(!context.hasChanges)
    }

    @Test("Out of order: a snapshot taken after the one restored is void and says so")
    func aSnapshotTakenAfterTheOneRestoredIsVoid() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        let snapshots = (0..<4).map { rating in
            article.rating = rating
            return context.snapshot()
        }
        context.restore(snapshots[2])
        #expect(snapshots.map(\.isVoid) == [false, false, false, true])
        context.restore(snapshots[0])
        #expect(snapshots.map(\.isVoid) == [false, true, true, true])
        // A new snapshot is valid, and the void ones stay void.
        let again = context.snapshot()
        #expect(!again.isVoid)
        #expect(snapshots[1].isVoid)
        article.rating = 4
        context.restore(again)
        #expect(article.rating == 0)
    }

    @Test("Restoring a void snapshot, or that of another context, traps with a message")
    func restoringTheWrongSnapshotTraps() async {
        let void = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let scratch = try Scratch()
            let context = scratch.store.context()
            let outer = context.snapshot()
            let inner = context.snapshot()
            context.restore(outer)
            context.restore(inner)
        }
        #expect(lastWords(of: void).contains("check isVoid"))
        let foreign = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let scratch = try Scratch()
            let snapshot = scratch.store.context().snapshot()
            scratch.store.context().restore(snapshot)
        }
        #expect(lastWords(of: foreign).contains("another context"))
    }

    @Test("A save, a refresh, a rollback, also of one object, make every snapshot void")
    func whatMakesSnapshotsVoid() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        let calls: [() throws -> Void] = [
            { try context.save() }, { try context.refresh() }, { context.rollback() },
            { context.rollback(article) },
        ]
        for call in calls {
            article.rating = article.rating == 1 ? 2 : 1
            let snapshot = context.snapshot()
            try call()
            #expect(snapshot.isVoid)
        }
    }

    @Test("An older snapshot restored inside an edit does not keep the edit from its beginning")
    func anEditFindsItsBeginningWhateverIsRestoredInside() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let outer = context.snapshot()
        let fresh = Article(title: "fresh", notebook: notebook)
        context.insert(fresh)
        article.rating = 1
        let pending = (context.changes, try Shown(context))
        #expect(throws: Stop.self) {
            try context.edit {
                context.restore(outer)
                notebook.name = "other"
                context.insert(Article(title: "late"))
                throw Stop()
            }
        }
        #expect(context.changes == pending.0)
        #expect(try Shown(context) == pending.1)
        #expect(!outer.isVoid)
        #expect(fresh.isInserted)
        context.restore(outer)
        #expect(!context.hasChanges)
        #expect(fresh.context == nil)
    }

    @Test("A refresh that is refused moves nothing and leaves snapshots valid")
    func aRefusedRefreshMovesNothing() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let other = scratch.store.context()
        try #require(try other.object(Notebook.self, id: notebook.id)).name = "theirs"
        try #require(try other.object(Article.self, id: article.id)).title = "theirs"
        try other.save()
        notebook.name = "mine"
        let snapshot = context.snapshot()
        notebook.name = "mine again"
        let shown = try Shown(context)
        #expect(throws: ConflictError.self) { try context.refresh() }
        #expect(try Shown(context) == shown)
        #expect(context.revision == 1)
        #expect(article.title == "Macros")
        context.restore(snapshot)
        #expect(notebook.name == "mine")
        context.rollback()
        try context.refresh()
        #expect(try Shown(context) == Shown(scratch.store.context()))
    }

    @Test("`rollback()` goes back to the last saved state")
    func rollbackGoesBackToTheLastSavedState() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let saved = try Shown(context)
        let fresh = Article(title: "fresh", notebook: notebook)
        context.insert(fresh)
        article.next = fresh
        article.title = ""
        context.delete(notebook)
        notebook.name = "a violation"
        context.rollback()
        #expect(try Shown(context) == saved)
        #expect(fresh.context == nil)
        #expect(fresh.notebook === notebook)
        #expect(!fresh.isInserted)
        #expect(!context.hasChanges)
        #expect(try context.save() == nil)
    }

    @Test("`rollback(object)` goes back to the last saved state of one object")
    func rollbackOfOneObject() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        article.notebook = nil
        notebook.name = "pending"
        context.rollback(article)
        #expect(article.notebook === notebook)
        #expect(!article.hasChanges)
        #expect(try context.referrers(of: notebook).map { $0.id } == [article.id])
        #expect(context.changes.changes.map(\.id) == [notebook.id])
        // Rolling back an object of another context, or without changes, does nothing.
        scratch.store.context().rollback(notebook)
        context.rollback(article)
        #expect(notebook.name == "pending")
    }

    @Test("Restoring covers values, references, inverse ends, insertions, deletions, stamps, all")
    func whatRestoringCovers() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let other = Notebook(name: "other")
        context.insert(other)
        let before = try Shown(context)
        let updated = notebook.updated
        context.willCommit { _ in throw Stop() }
        #expect(throws: Stop.self) {
            try context.edit {
                notebook.name = "renamed"
                article.notebook = other
                context.delete(notebook)
                context.insert(Article(title: "late", notebook: other))
            }
        }
        #expect(try Shown(context) == before)
        #expect(notebook.updated == updated)
        #expect(other.updated == nil)
        #expect(!notebook.hasChanges)
        #expect(try context.referrers(of: notebook).map { $0.id } == [article.id])
        #expect(try context.referrers(of: other).isEmpty)
        #expect(other.isInserted)
        #expect(context.changes.changes.map(\.id) == [other.id])
    }

    // MARK: Saves without net change, and failed ones

    @Test("A save gives a commit; nil when there is no net change: nothing written or fired")
    func aSaveWithoutNetChangeIsNil() async throws {
        let subjects = try Subjects()
        let (context, saved) = try subjects.saved("a")
        let subject = saved[0]
        var fired = 0
        context.willCommit { _ in fired += 1 }
        context.didCommit { _ in fired += 1 }
        subject.count = 1
        subject.count = 2
        subject.count = 0
        let brief = Subject("brief")
        context.insert(brief)
        context.delete(brief)
        // The stored form would be equal: the title is trimmed, and an unchanged object gets no
        // stamp.
        subject.title = "  a "
        subject.partner = subject
        subject.partner = nil
        #expect(context.hasChanges)
        let stamp = subject.updated
        func saveNow() throws -> Commit? { try context.save("nothing") }
        #expect(try saveNow() == nil)
        subject.title = "a  "
        #expect(try await context.save("nothing") == nil)
        #expect(subject.title == "a")
        #expect(subject.updated == stamp)
        #expect(!subject.hasChanges)
        #expect(fired == 0)
        #expect(!context.hasChanges)
        #expect(try subjects.store.revision() == 1)
        // Stored bytes decide, so a value that is equal in Swift only is a change.
        subject.ratio = -0.0
        #expect(try saveNow()?.changeCount == 1)
    }

    @Test("A save that fails goes back to the last saved state")
    func aFailedSaveGoesBack() async throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let saved = try Shown(context)
        func saveNow() throws { try context.save() }
        for isBlocking in [true, false] {
            let fresh = Article(title: "fresh", notebook: notebook)
            context.insert(fresh)
            article.title = ""
            context.delete(notebook)
            await #expect(throws: ValidationError.self) {
                if isBlocking { try saveNow() } else { try await context.save() }
            }
            #expect(try Shown(context) == saved)
            #expect(!context.hasChanges)
            #expect(fresh.context == nil)
        }
    }

    @Test("`.keepPending` leaves the edits for fix and retry, as they were")
    func keepPendingLeavesTheEdits() async throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        let fresh = Article(title: "", notebook: notebook)
        context.insert(fresh)
        article.title = "  padded "
        context.delete(notebook)
        let pending = (context.changes, try Shown(context))
        await #expect(throws: ValidationError.self) {
            try await context.save(onFailure: .keepPending)
        }
        #expect(context.changes == pending.0)
        #expect(try Shown(context) == pending.1)
        #expect(fresh.notebook === notebook)
        #expect(notebook.isDeleted)
        fresh.title = "fixed"
        #expect(try await context.save()?.changeCount == 3)
        #expect(article.title == "padded")
        #expect(article.notebook == nil)
    }

    @Test("What is kept after a merge with an object of the same id is shown once")
    func whatIsKeptAfterAMergeIsShownOnce() throws {
        let (from, to) = (try Scratch(), try Scratch())
        _ = try from.saved()
        let insertions = try #require(try from.store.journal().first).changeSet
        let (one, two) = (to.store.context(), to.store.context())
        two.mergePolicy = .mergeContextWins
        try two.apply(insertions)
        let article = try #require(try two.fetch(Article.self).first())
        article.rating = 2
        try one.apply(insertions)
        try one.save()
        let observation = two.willCommit { _ in
            if two.revision == 1 { throw Stop() }
        }
        #expect(throws: Stop.self) { try two.save(onFailure: .keepPending) }
        observation.cancel()
        #expect(try two.fetch(Article.self).all() == [article])
        #expect(article.rating == 2)
        try two.save()
        #expect(try Shown(two) == Shown(to.store.context()))
    }
}
