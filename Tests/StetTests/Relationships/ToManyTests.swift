import Stet
import StetTestSupport
import Testing

struct ToManyTests {
    private typealias Notebook = Shelf.Notebook
    private typealias Article = Shelf.Article
    private typealias Tag = Shelf.Tag

    private let directory: TemporaryDirectory
    private let store: Store

    init() throws {
        directory = TemporaryDirectory()
        store = try Shelf.store(in: directory)
    }

    private func titles(_ members: some Sequence<Article>) -> [String] { members.map(\.title) }

    @Test func bothEndsOfAnInverseToOneAreRightAtOnce() throws {
        let context = store.context()
        let (swift, rust) = (Notebook(name: "Swift"), Notebook(name: "Rust"))
        context.insert(swift)
        context.insert(rust)
        let article = Article(title: "ARC")
        swift.articles.append(article)
        #expect(article.notebook === swift)
        #expect(Array(swift.articles) == [article])
        #expect(article.context === context)
        article.notebook = rust
        #expect(Array(swift.articles) == [])
        #expect(Array(rust.articles) == [article])
        rust.articles.remove(article)
        #expect(article.notebook == nil)
        #expect(rust.articles.isEmpty)
    }

    @Test func bothEndsOfAManyToManyRelationshipAreRightAtOnce() throws {
        let context = store.context()
        let (arc, actors) = (Article(title: "ARC"), Article(title: "Actors"))
        let (memory, runtime) = (Tag(name: "memory"), Tag(name: "runtime"))
        for object in [arc, actors] { context.insert(object) }
        arc.tags = [memory, runtime]
        runtime.articles.append(actors)
        #expect(Set(arc.tags) == [memory, runtime])
        #expect(Array(actors.tags) == [runtime])
        #expect(Set(runtime.articles) == [arc, actors])
        #expect(memory.articles.contains(arc))
        #expect(!memory.articles.contains(actors))
        try context.save()

        let other = store.context()
        let same = try #require(try other.object(Tag.self, id: runtime.id))
        #expect(titles(same.articles).sorted() == ["ARC", "Actors"])
        same.articles.removeAll()
        try other.save()
        #expect(Set(arc.tags) == [memory, runtime])
        try context.refresh()
        #expect(Array(arc.tags) == [memory])
        #expect(Array(runtime.articles) == [])
        #expect(try store.verify().isClean)
    }

    @Test func membersGivenToANewObjectAreInsertedWithIt() throws {
        let context = store.context()
        let notebook = Notebook(name: "Swift")
        let article = Article(title: "ARC")
        let tag = Tag(name: "memory")
        notebook.articles = [article]
        article.tags.append(tag)
        article.tags.append(tag)
        #expect(notebook.articles.count == 1)
        #expect(article.context == nil)
        context.insert(notebook)
        #expect(article.notebook === notebook)
        #expect(tag.context === context)
        #expect(Array(tag.articles) == [article])
        context.rollback()
        #expect(notebook.context == nil)
        #expect(article.context == nil)
        #expect(Array(notebook.articles) == [article])
        #expect(Array(article.tags) == [tag])
        context.insert(notebook)
        try context.save()
        #expect(Array(notebook.articles) == [article])
        #expect(Array(tag.articles) == [article])
        #expect(try store.verify().isClean)
    }

    @Test func aFailedSavePutsLinksAndEndsBack() throws {
        let context = store.context()
        let notebook = Notebook(name: "Swift")
        let article = Article(title: "ARC")
        let tag = Tag(name: "memory")
        notebook.articles = [article]
        article.tags = [tag]
        context.insert(notebook)
        try context.save()
        article.tags = []
        notebook.articles.removeAll()
        let added = Article(title: "")
        notebook.articles.append(added)
        added.tags.append(tag)
        #expect(Array(notebook.articles) == [added])
        #expect(throws: ValidationError.self) { try context.save() }
        #expect(Array(notebook.articles) == [article])
        #expect(Array(article.tags) == [tag])
        #expect(Array(tag.articles) == [article])
        #expect(added.context == nil)
        #expect(!context.hasChanges)
    }

    @Test func snapshotsCoverLinks() throws {
        let context = store.context()
        let article = Article(title: "ARC")
        let (one, two) = (Tag(name: "one"), Tag(name: "two"))
        context.insert(article)
        article.tags.append(one)
        let before = context.snapshot()
        article.tags.append(two)
        article.tags.remove(one)
        let between = context.snapshot()
        article.tags.append(one)
        #expect(Set(article.tags) == [one, two])
        context.restore(between)
        #expect(Array(article.tags) == [two])
        context.restore(before)
        #expect(Array(article.tags) == [one])
        #expect(two.context == nil)
    }

    @Test func rollingOneObjectBackTakesItsLinksAlong() throws {
        let context = store.context()
        let article = Article(title: "ARC")
        let (one, two) = (Tag(name: "one"), Tag(name: "two"))
        article.tags = [one]
        context.insert(article)
        context.insert(two)
        try context.save()
        article.tags = [two]
        article.title = "Actors"
        context.rollback(article)
        #expect(article.title == "ARC")
        #expect(Array(article.tags) == [one])
        #expect(!context.hasChanges)
    }

    @Test func addingWhatIsThereOrRemovingWhatIsNotMakesNoChange() throws {
        let context = store.context()
        let article = Article(title: "ARC")
        let (one, two) = (Tag(name: "one"), Tag(name: "two"))
        article.tags = [one]
        context.insert(article)
        context.insert(two)
        try context.save()
        article.tags.append(one)
        article.tags.remove(two)
        article.tags.remove(one)
        article.tags.append(one)
        #expect(try context.save() == nil)
        #expect(Array(article.tags) == [one])
    }

    @Test func setAlgebraKeepsWhatItSays() throws {
        let context = store.context()
        let article = Article(title: "ARC")
        context.insert(article)
        let tags = (0..<6).map { Tag(name: "\($0)") }
        article.tags.formUnion(tags[0...3])
        #expect(Set(article.tags) == Set(tags[0...3]))
        article.tags.formIntersection(tags[2...5])
        #expect(Set(article.tags) == Set(tags[2...3]))
        article.tags.formSymmetricDifference(tags[3...4])
        #expect(Set(article.tags) == [tags[2], tags[4]])
        article.tags.subtract([tags[4], tags[5]])
        #expect(Set(article.tags) == [tags[2]])
        article.tags.removeAll { $0.name == "2" }
        #expect(article.tags.isEmpty)
    }

    @Test func changingMembersWhileTheyAreGoneThroughDisturbsNothing() throws {
        let context = store.context()
        let notebook = Notebook(name: "Swift")
        notebook.articles = ToMany((0..<600).map { Article(title: "\($0)") })
        context.insert(notebook)
        try context.save()
        var seen = 0
        for article in notebook.articles {
            seen += 1
            notebook.articles.remove(article)
        }
        #expect(seen == 600)
        #expect(notebook.articles.isEmpty)
        context.rollback()
        #expect(notebook.articles.count == 600)
    }

    @Test func membersAreReadAtTheContextsRevision() throws {
        let context = store.context()
        let notebook = Notebook(name: "Swift")
        let (stays, leaves) = (Article(title: "stays"), Article(title: "leaves"))
        let comes = Article(title: "comes")
        let tag = Tag(name: "memory")
        notebook.articles = [stays, leaves]
        stays.tags = [tag]
        context.insert(notebook)
        context.insert(comes)
        try context.save()

        let reader = store.context()
        let seen = try #require(try reader.object(Notebook.self, id: notebook.id))
        let seenTag = try #require(try reader.object(Tag.self, id: tag.id))
        leaves.notebook = nil
        comes.notebook = notebook
        stays.tags = []
        comes.tags = [tag]
        try context.save()
        #expect(titles(seen.articles).sorted() == ["leaves", "stays"])
        #expect(titles(seenTag.articles) == ["stays"])
        try reader.refresh()
        #expect(titles(seen.articles).sorted() == ["comes", "stays"])
        #expect(titles(seenTag.articles) == ["comes"])
    }

    @Test func tooMuchChangedSinceIsAnErrorThatLosesNothing() throws {
        var configuration = Store.Configuration()
        configuration.maximumLag = 3
        let store = try Store.open(
            at: directory.file("lag.stet"), for: Shelf.models, configuration: configuration)
        let context = store.context()
        let notebook = Notebook(name: "Swift")
        notebook.articles = [Article(title: "a")]
        context.insert(notebook)
        try context.save()
        let reader = store.context()
        let seen = try #require(try reader.object(Notebook.self, id: notebook.id))
        for index in 0..<4 {
            context.insert(Article(title: "\(index)"))
            try context.save()
        }
        #expect(seen.articles.isEmpty)
        let error = #expect(throws: StoreError.self) {
            try reader.fetch(Notebook.self).all()
        }
        #expect(error?.code == .snapshotTooOld)
        let revisions = "between revision 1, which is shown, and revision 5"
        #expect(error?.message.contains(revisions) == true)
        try reader.refresh()
        #expect(titles(seen.articles) == ["a"])
    }

    @Test func twoContextsThatAddTheSameMemberMakeOneLink() throws {
        let context = store.context()
        let article = Article(title: "ARC")
        let tag = Tag(name: "memory")
        context.insert(article)
        context.insert(tag)
        try context.save()
        let others = [store.context(), store.context()]
        for other in others {
            let article = try #require(try other.object(Article.self, id: article.id))
            article.tags.append(try #require(try other.object(Tag.self, id: tag.id)))
        }
        #expect(try others[0].save() != nil)
        #expect(try others[1].save() == nil)
        try context.refresh()
        #expect(Array(article.tags) == [tag])
        for other in others {
            try other.object(Article.self, id: article.id)?.tags.removeAll()
        }
        #expect(try others[0].save() != nil)
        #expect(try others[1].save() == nil)
        #expect(try store.verify().isClean)
    }

    @Test func anObjectOfAnotherContextIsAViolationAndNoMember() throws {
        let context = store.context()
        let other = store.context()
        let notebook = Notebook(name: "Swift")
        let foreign = Article(title: "foreign")
        let gone = Article(title: "gone")
        context.insert(notebook)
        context.insert(gone)
        other.insert(foreign)
        context.delete(gone)
        notebook.articles.append(foreign)
        notebook.articles.append(gone)
        #expect(notebook.articles.isEmpty)
        #expect(foreign.notebook == nil)
        let error = #expect(throws: ValidationError.self) { try context.save() }
        #expect(
            error?.violations.map(\.message) == [
                "articles was given an object of another context",
                "articles was given an object that is deleted",
            ])
    }

    @Test func changeSetsNameMembersByTheirRelationship() throws {
        let context = store.context()
        let article = Article(title: "ARC")
        let tag = Tag(name: "memory")
        article.tags = [tag]
        context.insert(article)
        let change = try #require(context.changes.changes.first { $0.id == article.id })
        #expect(change.relationships.map(\.name) == ["tags"])
        #expect(
            change.relationships.first?.members == [
                RelationshipChange.Member(id: tag.id, old: .absent, new: .present(nil))
            ])
        let changes = context.changes
        context.rollback()
        try context.apply(changes)
        try context.apply(changes)
        try context.save()
        let found = try #require(try context.object(Article.self, id: article.id))
        #expect(found.tags.map(\.name) == ["memory"])
        #expect(try store.verify().isClean)
    }

    @Test func anObjectWhoseContextNobodyHoldsHasItsMembers() throws {
        var context: ManagedContext? = store.context()
        let notebook = Notebook(name: "Swift")
        notebook.articles = [Article(title: "a")]
        context?.insert(notebook)
        try context?.save()
        context = nil
        #expect(notebook.articles.map(\.title) == ["a"])
        notebook.articles.append(Article(title: "b"))
        #expect(notebook.articles.map(\.title) == ["a", "b"])
        #expect(try notebook.context?.save()?.changeCount == 1)
    }

    @Test func loadReadsTargetsAndMembersOnce() throws {
        let context = store.context()
        let (swift, rust) = (Notebook(name: "Swift"), Notebook(name: "Rust"))
        swift.articles = [Article(title: "a"), Article(title: "b")]
        rust.articles = [Article(title: "c")]
        context.insert(swift)
        context.insert(rust)
        try context.save()
        let other = store.context()
        let articles = try other.fetch(Article.self).all()
        let notebooks = try other.load(\Article.notebook, of: articles)
        #expect(notebooks.map(\.name) == ["Swift", "Rust"])
        #expect(try other.load(\Notebook.articles, of: notebooks) == articles)
    }
}
