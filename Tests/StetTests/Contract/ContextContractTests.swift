import Foundation
import StetTestModels
import StetTestSupport
import Testing

@testable import Stet

/// The contract of the unit of work, sentence by sentence: isolation, ids, references, identity.
@Suite struct ContextContractTests {
    // MARK: Isolation

    @Test("A context belongs to the isolation domain that asked for it")
    func aContextBelongsToWhoAskedForIt() async throws {
        actor Worker {
            let context: ManagedContext
            init(_ store: Store) { context = store.context() }
            func add(_ title: String) async throws -> Article.Snapshot {
                let article = Article(title: title)
                context.insert(article)
                try await context.save()
                return article.snapshot
            }
        }
        let scratch = try Scratch()
        let workers = [Worker(scratch.store), Worker(scratch.store)]
        async let first = workers[0].add("first")
        async let second = workers[1].add("second")
        let titles = try await [first.title, second.title]
        #expect(titles == ["first", "second"])
        #expect(try scratch.store.context().fetch(Article.self).count() == 2)
    }

    @Test("Ids, snapshots, change sets, commits and errors are Sendable")
    func whatLeavesAContextIsSendable() throws {
        func sent<Value: Sendable>(_ value: Value) -> Value { value }
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        article.title = ""
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(sent(error).rejected == sent(error.rejected))
        #expect(sent(notebook.snapshot).id == sent(notebook.id))
        #expect(sent(context.changes).isEmpty)
        #expect(try sent(scratch.store.journal()).count == 1)
    }

    // MARK: Ids

    @Test("Ids are RFC 9562 UUIDv7 and ascend in the process, whichever task makes them")
    func idsAreVersion7AndAscend() async {
        let made = await withTaskGroup(of: [ObjectID].self) { group in
            for _ in 0..<8 { group.addTask { (0..<2_000).map { _ in ObjectID() } } }
            return await group.reduce(into: [[ObjectID]]()) { $0.append($1) }
        }
        for ids in made { #expect(zip(ids, ids.dropFirst()).allSatisfy { $0 < $1 }) }
        #expect(Set(made.joined()).count == 16_000)
        for id in made.joined() {
            let bytes = id.uuid.uuid
            guard bytes.6 >> 4 == 7, bytes.8 >> 6 == 2 else {
                Issue.record("\(id) is no version 7 UUID")
                return
            }
        }
    }

    @Test("An id is permanent from the creation of the object, never temporary")
    func anIDIsPermanent() throws {
        let scratch = try Scratch()
        let context = scratch.store.context()
        let article = Article(title: "one")
        let id = article.id
        context.insert(article)
        context.rollback()
        #expect(article.id == id)
        context.insert(article)
        #expect(throws: Stop.self) { try context.edit { throw Stop() } }
        try context.save()
        #expect(article.id == id)
        context.delete(article)
        try context.save()
        #expect(article.id == id)
        #expect(article.snapshot.id == id)
    }

    @Test("An id is never reused: not even the object that had it can be inserted again")
    func anIDIsNeverReused() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        let insertion = try #require(try scratch.store.journal().first).changeSet
        context.delete(article)
        try context.save()
        context.insert(article)
        let error = try #require(throws: ValidationError.self) { try context.save() }
        #expect(error.violations.map(\.code) == [.deletedObjectEdited])
        // The change set that inserted it cannot bring it back either, even in another context.
        let other = scratch.store.context()
        #expect(throws: ConflictError.self) {
            try other.apply(insertion)
            try other.save()
        }
        #expect(try scratch.store.context().fetch(Article.self).all() == [])
    }

    @Test("An id is the same after export and import")
    func anIDSurvivesExportAndImport() throws {
        let (from, to) = (try Scratch(), try Scratch())
        let (_, notebook, article) = try from.saved()
        let exported = try JSONEncoder().encode(
            try #require(try from.store.journal().first).changeSet)
        let context = to.store.context()
        try context.apply(try JSONDecoder().decode(ChangeSet.self, from: exported))
        try context.save()
        #expect(try context.object(Notebook.self, id: notebook.id)?.name == "Swift")
        #expect(try context.object(Article.self, id: article.id)?.notebook?.id == notebook.id)
    }

    @Test("Ids ascend, so records append: objects are fetched in the order of their creation")
    func recordsAppend() throws {
        let scratch = try Scratch()
        let context = scratch.store.context()
        let articles = (0..<50).map { Article(title: "\($0)") }
        // Ids follow the order of insertion unless they were read before.
        for article in articles.reversed() { context.insert(article) }
        try context.save()
        let fetched = try scratch.store.context().fetch(Article.self).all()
        #expect(fetched.map(\.title) == (0..<50).reversed().map(String.init))
    }

    @Test("The key of a record is entity and id: no object of another model is found by its id")
    func theKeyIsEntityAndID() throws {
        let scratch = try Scratch()
        let (context, notebook, article) = try scratch.saved()
        #expect(try context.object(Notebook.self, id: article.id) == nil)
        #expect(try context.object(Article.self, id: notebook.id) == nil)
        #expect(try scratch.store.context().object(Article.self, id: notebook.id) == nil)
    }

    // MARK: References to what is not inserted

    @Test("A reference to an object that is not inserted yet is strong")
    func aReferenceToAnUninsertedObjectIsStrong() throws {
        let scratch = try Scratch()
        let (context, _, saved) = try scratch.saved()
        weak var first: Notebook?
        weak var second: Notebook?
        let article = Article(title: "outside")
        do {
            let (one, two) = (Notebook(name: "one"), Notebook(name: "two"))
            (first, second) = (one, two)
            article.notebook = one
            saved.notebook = two
        }
        #expect(first != nil)
        #expect(second != nil)
        article.notebook = nil
        saved.notebook = nil
        #expect(first == nil)
        #expect(second == nil)
        #expect(try context.save()?.changeCount == 1)
    }

    @Test("Insert inserts everything reachable: a whole graph, cycles and itself included")
    func insertInsertsTheReachableGraph() throws {
        let scratch = try Scratch()
        let context = scratch.store.context()
        let notebook = Notebook(name: "hub")
        let ring = (0..<200).map { Article(title: "\($0)", notebook: $0 == 7 ? notebook : nil) }
        for (index, article) in ring.enumerated() { article.next = ring[(index + 1) % ring.count] }
        let narcissus = Article(title: "itself")
        narcissus.next = narcissus
        context.insert(ring[42])
        context.insert(narcissus)
        #expect(ring.allSatisfy { $0.context === context && $0.isInserted })
        #expect(notebook.context === context)
        #expect(narcissus.context === context)
        #expect(try context.save()?.changeCount == 202)
        let fresh = scratch.store.context()
        var walk = try fresh.object(Article.self, id: ring[0].id)
        for _ in ring { walk = walk?.next }
        #expect(walk?.id == ring[0].id)
        #expect(try fresh.object(Article.self, id: narcissus.id)?.next?.id == narcissus.id)
    }

    @Test("What becomes reachable after the insertion is inserted by the save")
    func whatBecomesReachableLaterIsInserted() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        let chain = (0..<3).map { Article(title: "\($0)") }
        article.next = chain[0]
        // Links objects of which the context knows none.
        chain[0].next = chain[1]
        chain[1].next = chain[2]
        chain[2].next = chain[0]
        #expect(chain.allSatisfy { $0.context == nil })
        #expect(try context.save()?.changeCount == 4)
        #expect(chain.allSatisfy { $0.context === context && !$0.isInserted })
        #expect(try Shown(context) == Shown(scratch.store.context()))
    }

    @Test("What a deleted object alone refers to is not inserted")
    func whatOnlyADeletedObjectRefersToIsNotInserted() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        let fresh = Notebook(name: "fresh")
        article.notebook = fresh
        context.delete(article)
        #expect(try context.save()?.changeCount == 1)
        #expect(fresh.context == nil)
        #expect(try scratch.store.verify().problems == [])
    }

    // MARK: The identity map

    @Test("There is one object per id and context, by whatever way it is read")
    func oneObjectPerIDAndContext() throws {
        let scratch = try Scratch()
        let (_, notebook, article) = try scratch.saved()
        let (one, two) = (scratch.store.context(), scratch.store.context())
        let fetched = try #require(try one.fetch(Article.self).first())
        #expect(try one.object(Article.self, id: article.id) === fetched)
        #expect(try one.object(Notebook.self, id: notebook.id) === fetched.notebook)
        let otherOne = try #require(try two.object(Article.self, id: article.id))
        #expect(otherOne !== fetched)
        #expect(otherOne.id == fetched.id)
    }

    @Test("Objects are unowned by the map unless pending")
    func objectsAreUnownedUnlessPending() throws {
        let scratch = try Scratch()
        let (_, _, article) = try scratch.saved()
        let id = article.id
        let context = scratch.store.context()
        weak var held = try context.object(Article.self, id: id)
        #expect(held == nil)
        held = try {
            let article = try #require(try context.object(Article.self, id: id))
            article.rating = 3
            return article
        }()
        #expect(held?.rating == 3)
        try context.save()
        #expect(held == nil)
        #expect(context.core.liveObjectCount == 0)
    }

    @Test("All that a snapshot names is retained, deleted and rolled back objects, too")
    func whatASnapshotNamesIsRetained() throws {
        let scratch = try Scratch()
        let (_, _, saved) = try scratch.saved()
        let context = scratch.store.context()
        weak var inserted: Article?
        weak var deleted: Article?
        let before = context.snapshot()
        var snapshot: ManagedContext.Snapshot?
        try {
            let article = Article(title: "inserted")
            let known = try #require(try context.object(Article.self, id: saved.id))
            context.insert(article)
            context.delete(known)
            (inserted, deleted) = (article, known)
            snapshot = context.snapshot()
        }()
        context.restore(before)
        #expect(inserted != nil)
        #expect(deleted != nil)
        #expect(inserted?.context == nil)
        #expect(deleted?.isDeleted == false)
        #expect(snapshot?.isVoid == true)
        snapshot = nil
        #expect(inserted == nil)
        #expect(deleted == nil)
    }

    @Test("Insert, delete, restore gives the same instance, which the store then has under its id")
    func insertDeleteRestoreIsTheSameInstance() throws {
        let scratch = try Scratch()
        let (context, notebook, saved) = try scratch.saved()
        let article = Article(title: "one", notebook: notebook)
        context.insert(article)
        saved.next = article
        let snapshot = context.snapshot()
        context.delete(article)
        context.delete(saved)
        context.restore(snapshot)
        #expect(saved.next === article)
        #expect(article.isInserted)
        #expect(!article.isDeleted)
        #expect(try context.object(Article.self, id: article.id) === article)
        #expect(try context.save()?.changeCount == 2)
        #expect(try Shown(context) == Shown(scratch.store.context()))
    }

    @Test("A deleted object that somebody holds comes back as the same instance by rollback")
    func aDeletedObjectComesBackAsTheSameInstance() throws {
        let scratch = try Scratch()
        let (context, _, article) = try scratch.saved()
        context.delete(article)
        #expect(try context.object(Article.self, id: article.id) == nil)
        context.rollback()
        #expect(try context.object(Article.self, id: article.id) === article)
        #expect(try context.fetch(Article.self).first() === article)
    }
}
