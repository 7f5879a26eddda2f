import Foundation
import Stet
import StetTestSupport
import Testing

struct DeleteRuleTests {
    private typealias Notebook = Shelf.Notebook
    private typealias Article = Shelf.Article
    private typealias Tag = Shelf.Tag
    private typealias Note = Shelf.Note
    private typealias Cover = Shelf.Cover

    private let directory = TemporaryDirectory()
    private let store: Store
    /// 1,000 by hand.
    private let rounds =
        Int(ProcessInfo.processInfo.environment["STET_ROUNDS"] ?? "") ?? 25

    init() throws { store = try Shelf.store(in: directory) }

    @Test func cascadeDeletesWhatNobodyHasLoadedAndSaysByWhichPath() throws {
        let context = store.context()
        let notebook = Notebook(name: "Swift")
        let tag = Tag(name: "memory")
        notebook.articles = [Article(title: "a"), Article(title: "b")]
        for article in notebook.articles { article.tags = [tag] }
        context.insert(notebook)
        try context.save()

        let other = store.context()
        let same = try #require(try other.object(Notebook.self, id: notebook.id))
        var seen: ChangeSet?
        other.willCommit { seen = $0 }
        other.delete(same)
        try other.save()
        #expect(try other.fetch(Article.self).all().isEmpty)
        #expect(try other.fetch(Tag.self).all().map(\.name) == ["memory"])
        let paths = try #require(seen).changes.map { "\($0.kind) \($0.entity) \($0.via ?? "-")" }
        #expect(
            paths == [
                "delete Article Notebook.articles", "delete Article Notebook.articles",
                "delete Notebook -",
            ])
        try context.refresh()
        #expect(notebook.isDeleted)
        #expect(tag.articles.isEmpty)
        #expect(try store.verify().isClean)
    }

    @Test func nullifyTakesTheReferenceAwayAndTheResultIsValidated() throws {
        let context = store.context()
        let notebook = Notebook(name: "Swift")
        let cover = Cover(colour: "red")
        cover.notebook = notebook
        cover.artist = Tag(name: "artist")
        context.insert(cover)
        try context.save()
        // An artist's covers have no relationship: the references become nil.
        context.delete(try #require(cover.artist))
        try context.save()
        #expect(cover.artist == nil)
        cover.notebook = nil
        let error = #expect(throws: ValidationError.self) { try context.save() }
        #expect(error?.violations.map(\.code) == [.required])
        #expect(cover.notebook === notebook)
    }

    @Test func denyIsJudgedByTheWholeChangeSetAndNamesWhatIsInTheWay() throws {
        let context = store.context()
        let notebook = Notebook(name: "Swift")
        let covers = [Cover(colour: "red"), Cover(colour: "blue")]
        notebook.covers = ToMany(covers)
        context.insert(notebook)
        try context.save()
        context.delete(notebook)
        context.delete(covers[0])
        let error = try #require(throws: ValidationError.self) { try context.save() }
        let violation = try #require(error.violations.first)
        #expect(error.violations.count == 1)
        #expect(violation.code == .deleteDenied)
        #expect(violation.object == notebook.id)
        #expect(violation.property == "covers")
        #expect(violation.others == [covers[1].id])
        #expect(violation.message == "Notebook can't be deleted while it has covers")
        #expect(!notebook.isDeleted)
        #expect(notebook.covers.count == 2)
        for cover in covers { context.delete(cover) }
        context.delete(notebook)
        try context.save()
        #expect(try context.fetch(Notebook.self).all().isEmpty)
        #expect(try store.verify().isClean)
    }

    @Test func theRulesOfReferencesToOneAreThoseOfTheirOwner() throws {
        let context = store.context()
        let cover = Cover(colour: "red")
        cover.notebook = Notebook(name: "Swift")
        cover.artist = Tag(name: "artist")
        cover.note = Note(text: "goes with the cover")
        context.insert(cover)
        try context.save()
        let artist = try #require(cover.artist)
        context.delete(cover)
        let error = #expect(throws: ValidationError.self) { try context.save() }
        #expect(error?.violations.first?.others == [artist.id])
        context.delete(cover)
        context.delete(artist)
        try context.save()
        #expect(try context.fetch(Note.self).all().isEmpty)
        #expect(try context.fetch(Notebook.self).count() == 1)
    }

    @Test func aRuleDoesNotFollowAReferenceThatWasCleared() throws {
        let context = store.context()
        let (notebook, cover) = (Notebook(name: "Swift"), Cover(colour: "red"))
        cover.notebook = notebook
        cover.note = Note(text: "stays")
        context.insert(cover)
        try context.save()
        cover.note = nil
        context.delete(cover)
        try context.save()
        #expect(try store.fetch(Note.self).all().map(\.text) == ["stays"])
    }

    @Test func orphansAreDeletedAndOnlyOrphans() throws {
        let context = store.context()
        let (swift, rust) = (Notebook(name: "Swift"), Notebook(name: "Rust"))
        let (orphan, moved) = (Note(text: "orphan"), Note(text: "moved"))
        let stays = Note(text: "stays")
        swift.notes = [orphan, moved, stays]
        context.insert(swift)
        context.insert(rust)
        try context.save()
        swift.notes.remove(orphan)
        rust.notes.append(moved)
        let new = Note(text: "never had an owner for long")
        swift.notes.append(new)
        swift.notes.remove(new)
        try context.save()
        #expect(orphan.isDeleted)
        #expect(
            Set(try context.fetch(Note.self).all().map(\.text)) == [
                "moved", "stays", "never had an owner for long",
            ])
        #expect(rust.notes.map(\.text) == ["moved"])
        // Deleting an owner leaves orphans, too.
        context.delete(swift)
        try context.save()
        #expect(stays.isDeleted)
        #expect(!moved.isDeleted)
        #expect(try store.verify().isClean)
    }

    @Test func cyclesOfCascadesEnd() throws {
        let store = try Store.open(at: directory.file("ring.stet"), for: Ring.self)
        let context = store.context()
        let rings = (0..<2_000).map { _ in Ring() }
        for (index, ring) in rings.enumerated() { ring.next = rings[(index + 1) % rings.count] }
        context.insert(rings[0])
        try context.save()
        #expect(try context.fetch(Ring.self).count() == 2_000)
        context.delete(rings[77])
        try context.save()
        #expect(try context.fetch(Ring.self).all().isEmpty)
        #expect(try store.verify().isClean)
    }

    @Test func deletingWhatWasNeverSavedLeavesNoTrace() throws {
        let context = store.context()
        let notebook = Notebook(name: "Swift")
        let article = Article(title: "a")
        article.tags = [Tag(name: "memory")]
        notebook.articles = [article]
        notebook.readingList = [article]
        context.insert(notebook)
        context.delete(notebook)
        for tag in article.tags { context.delete(tag) }
        #expect(try context.save() == nil)
        #expect(try store.revision() == 0)
    }

    @Test func aRefusedCascadePutsEverythingBack() throws {
        let context = store.context()
        let notebook = Notebook(name: "Swift")
        let article = Article(title: "a")
        let tag = Tag(name: "memory")
        article.tags = [tag]
        notebook.articles = [article]
        context.insert(notebook)
        try context.save()
        context.delete(notebook)
        tag.name = "changed"
        context.insert(Article(title: ""))
        #expect(throws: ValidationError.self) { try context.save(onFailure: .keepPending) }
        #expect(notebook.isDeleted)
        #expect(!article.isDeleted)
        #expect(Array(article.tags) == [tag])
        context.rollback()
        #expect(Array(notebook.articles) == [article])
        #expect(Array(article.tags) == [tag])
        #expect(tag.name == "memory")
    }

    @Test func countsAreBounded() throws {
        let context = store.context()
        let notebook = Notebook(name: "Swift")
        notebook.covers = ToMany((0..<3).map { Cover(colour: "\($0)") })
        context.insert(notebook)
        try context.save()
        notebook.covers.append(Cover(colour: "one too many"))
        let error = #expect(throws: ValidationError.self) { try context.save() }
        #expect(error?.violations.map(\.code) == [.tooMany])
        #expect(error?.violations.map(\.message) == ["covers can't have more than 3 members"])
        #expect(error?.violations.map(\.object) == [notebook.id])
        // Replacing a member of a full relationship is allowed.
        let first = try #require(notebook.covers.first)
        context.delete(first)
        notebook.covers.append(Cover(colour: "instead"))
        try context.save()
        #expect(notebook.covers.count == 3)
    }

    @Test func twoContextsDoNotExceedABoundTogether() throws {
        let context = store.context()
        let notebook = Notebook(name: "Swift")
        notebook.covers = [Cover(colour: "a"), Cover(colour: "b")]
        context.insert(notebook)
        try context.save()
        let others = [store.context(), store.context()]
        for other in others {
            let same = try #require(try other.object(Notebook.self, id: notebook.id))
            same.covers.append(Cover(colour: "c"))
        }
        try others[0].save()
        let error = #expect(throws: ValidationError.self) { try others[1].save() }
        #expect(error?.violations.map(\.code) == [.tooMany])
        #expect(try store.verify().isClean)
    }

    /// The outcome of a deletion and of an addition that were made independently.
    private enum Outcome { case saved, refused, conflict }

    private func outcome(_ save: () throws -> Void) throws -> Outcome {
        do {
            try save()
            return .saved
        } catch is ValidationError {
            return .refused
        } catch is ConflictError {
            return .conflict
        }
    }

    @Test(arguments: [true, false])
    func aMemberAddedWhileItsOwnerIsDeletedLeavesNoLooseEnd(deletesFirst: Bool) throws {
        let additions: [(Notebook) -> Void] = [
            { $0.articles.append(Article(title: "b")) },
            { $0.readingList.append(Article(title: "b")) },
            { $0.notes.append(Note(text: "b")) }, { $0.covers.append(Cover(colour: "b")) },
        ]
        for round in 0..<rounds {
            let rule = round % additions.count
            let context = store.context()
            let notebook = Notebook(name: "Swift")
            notebook.articles = [Article(title: "a")]
            notebook.notes = [Note(text: "a")]
            context.insert(notebook)
            try context.save()
            let (deleter, adder) = (store.context(), store.context())
            deleter.delete(try #require(try deleter.object(Notebook.self, id: notebook.id)))
            additions[rule](try #require(try adder.object(Notebook.self, id: notebook.id)))
            let delete = { try outcome { try deleter.save() } }
            let add = { try outcome { try adder.save() } }
            let outcomes = try deletesFirst ? [delete(), add()] : [add(), delete()]
            let isDenied = !deletesFirst && rule == 3
            #expect(outcomes == [.saved, deletesFirst ? .conflict : isDenied ? .refused : .saved])
            let after = store.context()
            #expect(try after.fetch(Notebook.self).count() == (isDenied ? 1 : 0))
            #expect(try after.fetch(Note.self).all().isEmpty == !isDenied)
            for cover in try after.fetch(Cover.self).all() {
                #expect(cover.notebook?.covers.contains(cover) == true)
                after.delete(cover)
            }
            for article in try after.fetch(Article.self).all() {
                #expect(article.notebook == nil || isDenied)
                after.delete(article)
            }
            for note in try after.fetch(Note.self).all() { after.delete(note) }
            for notebook in try after.fetch(Notebook.self).all() { after.delete(notebook) }
            try after.save()
        }
        #expect(try store.verify().isClean)
    }

    @Test func aCascadeThroughManyObjectsIsOneCommit() throws {
        let count = Int(ProcessInfo.processInfo.environment["STET_OBJECTS"] ?? "") ?? 5_000
        let context = store.context()
        let notebook = Notebook(name: "Swift")
        context.insert(notebook)
        for index in 0..<count {
            let article = Article(title: "\(index)")
            context.insert(article)
            article.notebook = notebook
        }
        try context.save()
        let other = store.context()
        other.delete(try #require(try other.object(Notebook.self, id: notebook.id)))
        let commit = try #require(try other.save())
        #expect(commit.changes(of: Article.self).count == count)
        #expect(try other.fetch(Article.self).all().isEmpty)
        #expect(try store.verify().isClean)
    }
}

@Model final class Ring {
    @Relationship(deleteRule: .cascade) var next: Ring?
    init() {}
}
