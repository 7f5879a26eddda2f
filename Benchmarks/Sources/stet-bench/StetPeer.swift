import Stet

/// The program that all this is about.
final class StetPeer: Peer {
    /// The author of commits that can be undone.
    private static let author = "bench"

    private let path: String
    private let samples: Samples
    private let durability: Durability
    private var store: Store
    private var context: ManagedContext
    private var notebooks: [Notebook]
    private let notebookIDs: [ObjectID]
    private var inserted: [ObjectID] = []
    private var ids: [ObjectID] = []

    init(_ path: String, _ samples: Samples, _ durability: Durability = .synced) throws {
        self.path = path
        self.samples = samples
        self.durability = durability
        store = try Store.open(path, durability)
        try store.commitNotebooks()
        (context, notebooks) = try store.contextWithNotebooks()
        notebookIDs = notebooks.map(\.id)
    }

    func commit(_ range: Range<Int>) throws {
        context.insert(samples.values[range], into: notebooks)
        try context.save()
    }

    /// Each writer is a task with a context of its own, which finds its notebooks by id.
    func commitSingly(_ range: Range<Int>, writers: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for share in range.shares(writers) {
                let samples = samples.values[share]
                group.addTask { [store, notebookIDs] in
                    let context = store.context()
                    for sample in samples {
                        let id = notebookIDs[sample.notebook]
                        guard let notebook = try context.object(Notebook.self, id: id) else {
                            throw Failure("a notebook is missing")
                        }
                        context.insert(Article(sample, in: notebook))
                        try await context.save()
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    func prepareReads(_ positions: [Int]) throws {
        inserted = try store.context().fetch(Article.self).all().map(\.id)
        ids = positions.map { inserted[$0] }
    }

    func read(inOneScope: Bool) throws -> Totals {
        if inOneScope {
            return try store.read { context in
                try ids.reduce(into: Totals()) {
                    $0.addAll(try context.object(Article.self, id: $1))
                }
            }
        }
        return try ids.reduce(into: Totals()) {
            $0.addAll(try store.context().object(Article.self, id: $1))
        }
    }

    func walk() throws -> Totals {
        try store.read { context in
            var totals = Totals()
            for notebook in try context.fetch(Notebook.self).all() {
                for article in notebook.articles { totals.add(title: article.title) }
            }
            return totals
        }
    }

    func sorted(_ notebooks: Range<Int>) throws -> TitlesInOrder {
        let ids = notebookIDs[notebooks]
        let articles = store.context().fetch(Article.self) { ids.contains($0.notebook?.id) }
        var titles = TitlesInOrder()
        for article in try articles.sorted(by: \.title).all() { titles.add(article.title) }
        return titles
    }

    func count(containing text: String) throws -> Int {
        try store.context().fetch(Article.self) { $0.body.contains(text) }.count()
    }

    func fetchAll() throws -> Totals {
        // Retained until all objects are read, as in applications; otherwise each object checks on
        // release whether it is the last.
        let context = store.context()
        return try withExtendedLifetime(context) {
            try context.fetch(Article.self).all().reduce(into: Totals()) { $0.add($1) }
        }
    }

    func fetchSnapshots() throws -> Totals {
        try store.context().fetch(Article.self).snapshots().reduce(into: Totals()) {
            $0.add(title: $1.title)
            $0.ratingSum += $1.rating
        }
    }

    func fetchValues() throws -> Totals {
        let articles = store.context().fetch(Article.self)
        return try articles.values(of: \.title, \.rating).reduce(into: Totals()) {
            $0.add(title: $1.0)
            $0.ratingSum += $1.1
        }
    }

    func update(_ positions: [Int], to range: Range<Int>) throws {
        let ids = positions.map { inserted[$0] }
        let samples = samples.values[range]
        try store.edit(author: Self.author) { context in
            for (id, sample) in zip(ids, samples) {
                let article = try context.article(id)
                article.title = sample.title
                article.rating = sample.rating
            }
        }
    }

    func undo() throws {
        guard try store.undo(author: Self.author) != nil else {
            throw Failure("there was nothing to undo")
        }
    }

    func delete(_ positions: [Int]) throws {
        let ids = positions.map { inserted[$0] }
        try store.edit { context in
            for id in ids { context.delete(try context.article(id)) }
        }
    }

    func openAndRead() throws -> (Duration, Totals) {
        let start = ContinuousClock.now
        let store = try Store.open(path, durability)
        var totals = Totals()
        totals.addAll(try store.context().object(Article.self, id: ids[0]))
        let time = start.duration(to: .now)
        store.close()
        return (time, totals)
    }

    func check() throws -> Totals {
        let positions = Dictionary(
            uniqueKeysWithValues: notebookIDs.enumerated().map { ($1, $0) })
        var totals = Totals()
        for article in try context.fetch(Article.self).all() {
            totals.addAll(article)
            guard let id = article.notebook?.id, let notebook = positions[id] else {
                throw Failure("an article has no notebook")
            }
            totals.addHash(
                title: article.title, body: article.body, rating: article.rating,
                created: article.created.timeIntervalSinceReferenceDate, notebook: notebook)
        }
        return totals
    }

    func open() throws {
        store = try Store.open(path, durability)
        (context, notebooks) = try store.contextWithNotebooks()
    }

    func close() { store.close() }
}

extension Range<Int> {
    /// As many parts of it, as equal as can be.
    func shares(_ count: Int) -> [Range<Int>] {
        (0..<count).map { index in
            lowerBound + self.count * index / count..<lowerBound + self.count * (index + 1) / count
        }
    }
}

extension ManagedContext {
    fileprivate func article(_ id: ObjectID) throws -> Article {
        guard let article = try object(Article.self, id: id) else {
            throw Failure("an article is missing")
        }
        return article
    }
}
