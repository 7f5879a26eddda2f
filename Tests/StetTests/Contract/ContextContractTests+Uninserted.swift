import StetStore
import StetTestModels
import Testing

@testable import Stet

/// References to objects that nobody has inserted, beside snapshots, failures and other contexts.
extension ContextContractTests {
    @Test("A snapshot holds what its objects refer to and nobody has inserted")
    func aSnapshotHoldsUninsertedTargets() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        weak var fresh: Notebook?
        do {
            let notebook = Notebook(name: "fresh")
            article.notebook = notebook
            fresh = notebook
        }
        let snapshot = context.snapshot()
        article.notebook = nil
        #expect(fresh != nil)
        context.restore(snapshot)
        #expect(article.notebook === fresh)
        #expect(fresh?.context == nil)
        #expect(try context.save()?.changeCount == 2)
        #expect(try Shown(context) == Shown(scratch.store.context()))
    }

    @Test("What was inserted after a snapshot is uninserted by its restore, and held as before")
    func aTargetThatIsInsertedLaterIsUninserted() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        weak var fresh: Notebook?
        do {
            let notebook = Notebook(name: "fresh")
            article.notebook = notebook
            fresh = notebook
            let snapshot = context.snapshot()
            context.insert(notebook)
            notebook.name = "later"
            context.restore(snapshot)
        }
        #expect(fresh != nil)
        #expect(article.notebook === fresh)
        #expect(fresh?.context == nil)
        #expect(fresh?.isInserted == false)
        #expect(fresh?.name == "fresh")
        #expect(try context.fetch(Notebook.self).all().map(\.name) == ["Swift"])
        context.rollback()
        #expect(fresh == nil)
        #expect(article.notebook?.name == "Swift")
    }

    @Test("A refused save leaves what it has inserted uninserted, and held by who refers to it")
    func aRefusedSaveUninserts() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        weak var fresh: Article?
        do {
            let next = Article(title: "next", notebook: Notebook(name: ""))
            next.next = article
            article.next = next
            fresh = next
        }
        for _ in 0..<2 {
            #expect(throws: ValidationError.self) { try context.save(onFailure: .keepPending) }
            #expect(fresh?.context == nil)
            #expect(fresh?.notebook?.context == nil)
            #expect(article.next === fresh)
            #expect(fresh?.notebook?.name == "")
        }
        fresh?.notebook?.name = "mended"
        #expect(try context.save()?.changeCount == 3)
        #expect(try Shown(context) == Shown(scratch.store.context()))
    }

    @Test("Deleting an object that is not inserted changes nothing")
    func deletingAnUninsertedObjectChangesNothing() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        let fresh = Article(title: "fresh")
        article.next = fresh
        context.delete(fresh)
        #expect(!fresh.isDeleted)
        #expect(article.next === fresh)
        #expect(try context.save()?.changeCount == 2)
    }

    @Test("What two contexts refer to belongs to the first that saves; the other is told")
    func whatTwoContextsReferToBelongsToTheFirst() throws {
        let scratch = try Scratch()
        let (one, _, first) = try scratch.saved()
        let second = Article(title: "second")
        let two = scratch.store.context()
        two.insert(second)
        let fresh = Notebook(name: "fresh")
        first.notebook = fresh
        second.notebook = fresh
        #expect(try one.save()?.changeCount == 2)
        #expect(fresh.context === one)
        let error = try #require(throws: ValidationError.self) { try two.save() }
        #expect(error.violations.map(\.code) == [.foreignObject])
        #expect(fresh.context === one)
        #expect(second.context == nil)
        #expect(!two.hasChanges)
        #expect(try Shown(one) == Shown(scratch.store.context()))
    }

    @Test("A cycle of objects that are not inserted goes where its reference goes, whole")
    func anUninsertedCycleMovesAsAWhole() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        let ring = (0..<3).map { Article(title: "\($0)") }
        for index in ring.indices { ring[index].next = ring[(index + 1) % 3] }
        article.next = ring[1]
        #expect(throws: Stop.self) {
            try context.edit {
                context.insert(ring[0])
                ring[2].next = nil
                throw Stop()
            }
        }
        try #require(ring.allSatisfy { $0.context == nil })
        #expect(ring[2].next === ring[0])
        #expect(try context.save()?.changeCount == 4)
        #expect(ring[2].next === ring[0])
        #expect(ring[0].next === ring[1])
        for article in ring { context.delete(article) }
        #expect(try context.save()?.changeCount == 4)
        #expect(article.next == nil)
        #expect(try scratch.store.verify().problems == [])
    }
}
