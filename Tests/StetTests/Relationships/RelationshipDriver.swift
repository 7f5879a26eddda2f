import Stet
import StetTestSupport
import Testing

/// Edits relationships at random, and compares every member of every object with an oracle after
/// each step, in the editing context, and after each save in a fresh one.
struct RelationshipDriver {
    typealias Notebook = Shelf.Notebook
    typealias Article = Shelf.Article
    typealias Tag = Shelf.Tag
    typealias Note = Shelf.Note
    typealias Cover = Shelf.Cover

    struct Objects {
        var notebooks: [Int: Notebook] = [:]
        var articles: [Int: Article] = [:]
        var tags: [Int: Tag] = [:]
        var notes: [Int: Note] = [:]
        var covers: [Int: Cover] = [:]
    }

    var random: SeededGenerator
    let store: Store
    var context: ManagedContext
    var objects = Objects()
    var oracle = RelationshipOracle()
    /// As of the last save.
    private var saved = RelationshipOracle()
    private var snapshots: [(ManagedContext.Snapshot, RelationshipOracle)] = []
    private var nextLabel = 1
    private(set) var saveCount = 0
    private(set) var refusalCount = 0

    init(seed: UInt64, store: Store) {
        random = SeededGenerator(seed: seed)
        self.store = store
        context = store.context()
    }

    mutating func run(steps: Int) throws {
        for _ in 0..<steps {
            try step()
            compare(context)
        }
        #expect(try store.verify().isClean)
    }

    private mutating func step() throws {
        switch Int.random(in: 0..<20, using: &random) {
        case 0...3: make()
        case 4...11: edit()
        case 12: Bool.random(using: &random) ? editTitle() : editSlug()
        case 13: delete()
        case 14: snapshots.append((context.snapshot(), oracle))
        case 15: restore()
        case 16 where Int.random(in: 0..<4, using: &random) == 0:
            context.rollback()
            oracle = saved
            snapshots = []
        case 17: reopen()
        case 18, 19: try save()
        default: break
        }
    }

    mutating func pick<Key: Comparable>(_ keys: some Collection<Key>) -> Key? {
        keys.sorted().randomElement(using: &random)
    }

    private mutating func make() {
        let label = nextLabel
        nextLabel += 1
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            let notebook = Notebook(name: "\(label)")
            context.insert(notebook)
            objects.notebooks[label] = notebook
            oracle.notebooks[label] = .init()
        case 1, 2:
            let article = Article(title: "\(label)")
            context.insert(article)
            objects.articles[label] = article
            oracle.articles[label] = .init(title: "\(label)")
        case 3:
            let tag = Tag(name: "\(label)")
            context.insert(tag)
            objects.tags[label] = tag
            oracle.tags.insert(label)
        case 4:
            let note = Note(text: "\(label)")
            context.insert(note)
            objects.notes[label] = note
            oracle.notes[label] = .init()
        default:
            guard let owner = pick(oracle.notebooks.keys), let notebook = objects.notebooks[owner]
            else { return }
            let cover = Cover(colour: "\(label)")
            notebook.covers.append(cover)
            objects.covers[label] = cover
            oracle.covers[label] = .init(notebook: owner)
        }
    }

    private mutating func restore() {
        guard !snapshots.isEmpty else { return }
        let index = Int.random(in: 0..<snapshots.count, using: &random)
        context.restore(snapshots[index].0)
        oracle = snapshots[index].1
        snapshots.removeSubrange((index + 1)...)
    }

    // MARK: Saving

    private mutating func save() throws {
        var next = oracle
        let refusals = next.save()
        snapshots = []
        do {
            try context.save()
            #expect(refusals == [])
            oracle = next
            saved = next
            saveCount += 1
            let other = store.context()
            try load(into: other)
            compare(other)
            objects = try loaded(context)
        } catch let error as ValidationError {
            #expect(found(error) == refusals)
            refusalCount += 1
            oracle = saved
        }
    }

    private func found(_ error: ValidationError) -> Set<RelationshipOracle.Refusal> {
        func label(_ id: ObjectID?) -> Int {
            let all: [(Int, ObjectID)] =
                objects.notebooks.map { ($0, $1.id) } + objects.articles.map { ($0, $1.id) }
                + objects.covers.map { ($0, $1.id) } + objects.tags.map { ($0, $1.id) }
            return all.first { $0.1 == id }?.0 ?? -1
        }
        return Set(
            error.violations.map { violation in
                switch violation.code {
                case .tooShort: .emptyTitle(label(violation.object))
                case .deleteDenied: .deniedNotebook(label(violation.object))
                case .notUnique: .takenSlug(label(violation.object))
                case .tooMany: .tooManyCovers(label(violation.object))
                default: .coverWithoutNotebook(label(violation.object))
                }
            })
    }

    /// Goes on in a new context, with what is saved.
    private mutating func reopen() {
        guard Int.random(in: 0..<4, using: &random) == 0 else { return }
        context = store.context()
        snapshots = []
        oracle = saved
        objects = (try? loaded(context)) ?? Objects()
    }

    private func load(into context: ManagedContext) throws { _ = try loaded(context) }

    /// The objects of a context, by the labels that their first values give.
    private func loaded(_ context: ManagedContext) throws -> Objects {
        var loaded = Objects()
        for notebook in try context.fetch(Notebook.self).all() {
            loaded.notebooks[Int(notebook.name) ?? -1] = notebook
        }
        for article in try context.fetch(Article.self).all() {
            let digits = article.title.drop { !$0.isNumber }
            loaded.articles[Int(digits) ?? -1] = article
        }
        for tag in try context.fetch(Tag.self).all() { loaded.tags[Int(tag.name) ?? -1] = tag }
        for note in try context.fetch(Note.self).all() { loaded.notes[Int(note.text) ?? -1] = note }
        for cover in try context.fetch(Cover.self).all() {
            loaded.covers[Int(cover.colour) ?? -1] = cover
        }
        return loaded
    }

    // MARK: Comparison

    private func compare(_ context: ManagedContext) {
        let objects = context === self.context ? objects : ((try? loaded(context)) ?? Objects())
        func labels<M: Model>(_ members: some Sequence<M>, _ all: [Int: M]) -> [Int] {
            let byID = Dictionary(uniqueKeysWithValues: all.map { ($1.id, $0) })
            return members.map { byID[$0.id] ?? -1 }
        }
        for (label, expected) in oracle.notebooks {
            guard let notebook = objects.notebooks[label] else {
                Issue.record("notebook \(label) is not there")
                continue
            }
            #expect(labels(notebook.readingList, objects.articles) == expected.readingList)
            let articles = oracle.articles.filter { $0.value.notebook == label }.keys
            #expect(labels(notebook.articles, objects.articles).sorted() == articles.sorted())
            let notes = oracle.notes.filter { $0.value.notebook == label }.keys
            #expect(labels(notebook.notes, objects.notes).sorted() == notes.sorted())
            let covers = oracle.covers.filter { $0.value.notebook == label }.keys
            #expect(labels(notebook.covers, objects.covers).sorted() == covers.sorted())
        }
        for (label, expected) in oracle.articles {
            guard let article = objects.articles[label] else {
                Issue.record("article \(label) is not there")
                continue
            }
            #expect(article.title == expected.title)
            #expect(labels(article.sources, objects.articles) == expected.sources)
            let tags = expected.tags.subtracting(oracle.deletedTags)
            #expect(labels(article.tags, objects.tags).sorted() == tags.sorted())
        }
        for label in oracle.tags {
            #expect(objects.tags[label]?.slug == oracle.slugs[label])
            let articles = oracle.articles.filter { $0.value.tags.contains(label) }.keys
            #expect(
                objects.tags[label].map { labels($0.articles, objects.articles).sorted() }
                    == articles.sorted())
        }
    }
}

@Suite struct RelationshipDriverTests {
    @Test(arguments: 0..<40)
    func randomEditsAgreeWithTheOracle(seed: UInt64) throws {
        let directory = TemporaryDirectory()
        var driver = RelationshipDriver(seed: seed, store: try Shelf.store(in: directory))
        try driver.run(steps: 200)
        #expect(driver.saveCount > 0)
        #expect(driver.refusalCount + driver.saveCount > 5)
    }
}
