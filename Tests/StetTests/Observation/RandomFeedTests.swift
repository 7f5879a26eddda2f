import Stet
import StetStore
import StetTestSupport
import Testing

/// Random commits and random filters: what a feed delivers is what plain Swift finds in the
/// journal, whether it comes from the ring, the journal, or live.
@Suite struct RandomFeedTests {
    private typealias Article = Ledger.Article
    private typealias Notebook = Ledger.Notebook
    private typealias Tag = Ledger.Tag

    @Test("A7 a filtered feed is the journal, filtered", arguments: 0..<UInt64(repetitions(12)))
    func aFilteredFeedIsTheJournalFiltered(seed: UInt64) async throws {
        let run = try FeedRun(seed: seed)
        for _ in 0..<20 { try run.step() }
        let start = try run.store.revision()
        let asked = run.requests(8)
        let live = asked.map { FeedTask(run.changes($0, after: .now)) }
        let tags = FeedTask(run.store.changes(of: Tag.self))
        for _ in 0..<60 { try run.step() }
        try await run.store.untilObserversWait(9)
        let middle = try run.store.revision()
        // Trims commits that the live observers have received.
        let floor = Revision(UInt64.random(in: 1...start.number, using: &run.generator))
        try run.store.requestTrim(before: floor).confirm()
        for _ in 0..<60 { try run.step() }
        try await run.store.untilObserversWait(9)
        let end = try run.store.revision()
        #expect(end > middle)
        #expect(middle > start)

        var deliveredCount = 0
        for (request, feed) in zip(asked, live) {
            let expected = try run.reference(request).items(
                of: run.store, after: start, through: end)
            let events = feed.events
            #expect(feed.error == nil)
            #expect(run.items(events, request) == expected, "\(request)")
            #expect(events.allSatisfy { !$0.changes.isEmpty })
            deliveredCount += expected.count
            // Feeds that read the journal, from its beginning or from a revision, deliver the same.
            let all = try await run.read(run.changes(request, after: .beginning))
            #expect(
                run.items(all, request)
                    == (try run.reference(request).items(
                        of: run.store, after: run.store.floor(), through: end)))
            let rest = try await run.read(run.changes(request, after: .revision(middle)))
            #expect(rest == events.filter { $0.revision > middle })
        }
        #expect(deliveredCount > 0)
        let links = FeedRequest(
            inverse: ("articles", "Article", "tags"), entity: "Tag", compared: ["name"])
        #expect(
            tags.events.flatMap { event in
                event.changes.map { FeedRun.item(of: $0, event.revision) }
            } == (try links.items(of: run.store, after: start, through: end)))
        #expect(tags.events.contains { $0.changes.contains { $0.changedProperties.isEmpty } })
        for feed in live { await feed.end() }
        await tags.end()
        #expect(run.store.file.feed.observerCount == 0)
        #expect(run.store.file.feed.byteCount == 0)
    }
}

/// A store, two contexts that edit it at random, and feeds that are asked for at random.
private final class FeedRun {
    typealias Article = Ledger.Article
    typealias Notebook = Ledger.Notebook
    typealias Tag = Ledger.Tag

    /// The filters of a feed of articles.
    struct Request {
        var objects: [ObjectID]?
        var properties: [String]?
        var author: String?
        var leavesOutUndo = false
        var condition: Int?
        var side = ConditionSide.either
        var excludesFirst = false
        var wantsSnapshots = false
    }

    private let fields: [(String, PartialKeyPath<Article.Fields>)] = [
        ("title", \.title), ("rating", \.rating), ("notebook", \.notebook), ("tags", \.tags),
        ("sources", \.sources),
    ]

    private let desk: LedgerDesk
    var generator: SeededGenerator
    private let contexts: [ManagedContext]
    private var ofFirst: Set<Revision> = []
    private var articles: [ObjectID] = []

    var store: Store { desk.store }

    init(seed: UInt64) throws {
        desk = try LedgerDesk()
        generator = SeededGenerator(seed: seed)
        let store = desk.store
        contexts = ["a", "b"].map { store.context(author: $0) }
        // Has no author, so that no undo includes it.
        try desk.edit(nil) { context in
            for index in 0..<4 {
                context.insert(Notebook(name: "n\(index)"))
                context.insert(Tag(name: "t\(index)"))
            }
        }
    }

    // MARK: Commits

    func step() throws {
        let author = ["a", "b"].randomElement(using: &generator) ?? "a"
        switch Int.random(in: 0..<12, using: &generator) {
        case 0: _ = try? store.undo(author: author, policy: .skip)
        case 1: _ = try? store.redo(author: author, policy: .skip)
        case 2:
            let first = try store.floor().number + 1
            let last = try store.revision().number
            let revision = Revision(UInt64.random(in: min(first, last)...last, using: &generator))
            _ = try? store.revert(revision, author: author, policy: .skip)
        default: try edit()
        }
    }

    private func edit() throws {
        let index = Int.random(in: 0..<2, using: &generator)
        let context = contexts[index]
        try context.refresh()
        for _ in 0..<Int.random(in: 1...3, using: &generator) { try edit(context) }
        if let commit = try? context.save(), index == 0 { ofFirst.insert(commit.revision) }
    }

    private func edit(_ context: ManagedContext) throws {
        let tags = try context.fetch(Tag.self).all()
        let notebooks = try context.fetch(Notebook.self).all()
        let known = try context.fetch(Article.self).all()
        let article = known.filter { !$0.isDeleted }.randomElement(using: &generator)
        guard let article, known.count > 2, Int.random(in: 0..<6, using: &generator) > 0 else {
            let new = Article(title: "new", notebook: notebooks.randomElement(using: &generator))
            new.rating = Int.random(in: 0...5, using: &generator)
            context.insert(new)
            articles.append(new.id)
            return
        }
        switch Int.random(in: 0..<9, using: &generator) {
        case 0, 1: article.rating = Int.random(in: 0...5, using: &generator)
        case 2: article.title = "title \(Int.random(in: 0..<5, using: &generator))"
        case 3: article.notebook = notebooks.randomElement(using: &generator)
        case 4: context.delete(article)
        case 5, 6:
            guard let tag = tags.randomElement(using: &generator) else { return }
            if article.tags.contains(tag) {
                article.tags.remove(tag)
            } else {
                article.tags.append(tag)
            }
        case 7:
            if let other = known.randomElement(using: &generator), !other.isDeleted {
                article.sources.append(other)
            }
        default:
            let name = "n\(Int.random(in: 0..<50, using: &generator))"
            if !notebooks.contains(where: { $0.name == name }) {
                notebooks.randomElement(using: &generator)?.name = name
            }
        }
    }

    // MARK: Feeds

    func requests(_ count: Int) -> [Request] {
        (0..<count).map { number in
            var request = Request()
            func maybe(_ chance: Int = 3) -> Bool {
                Int.random(in: 0..<chance, using: &generator) == 0
            }
            // The first request has no filter.
            if number == 0 { return request }
            if maybe() { request.objects = Array(articles.shuffled(using: &generator).prefix(6)) }
            if maybe(2) {
                let names = fields.map(\.0).shuffled(using: &generator)
                request.properties = Array(names.prefix(Int.random(in: 1...2, using: &generator)))
            }
            if maybe(4) { request.author = maybe(2) ? "a" : "b" }
            request.leavesOutUndo = maybe(4)
            if maybe(2) {
                request.condition = Int.random(in: 0..<3, using: &generator)
                request.side = ConditionSide.allCases.randomElement(using: &generator) ?? .either
            }
            request.excludesFirst = maybe(4)
            request.wantsSnapshots = maybe(3)
            return request
        }
    }

    func changes(_ request: Request, after start: FeedStart) -> Changes<Article> {
        var changes: Changes<Article>
        switch request.condition {
        case 0?:
            changes = store.changes(of: Article.self, after: start, when: request.side) {
                $0.rating >= 3
            }
        case 1?:
            changes = store.changes(of: Article.self, after: start, when: request.side) {
                $0.notebook?.name == "n1" || $0.title == "title 1"
            }
        case 2?:
            changes = store.changes(of: Article.self, after: start, when: request.side) {
                $0.tags.any { $0.name == "t1" }
            }
        default: changes = store.changes(of: Article.self, after: start)
        }
        if let objects = request.objects { changes = changes.objects(objects) }
        if let names = request.properties {
            let paths = names.compactMap { name in fields.first { $0.0 == name }?.1 }
            changes =
                paths.count == 1
                ? changes.properties(paths[0]) : changes.properties(paths[0], paths[1])
        }
        if let author = request.author { changes = changes.authors(author) }
        if request.leavesOutUndo { changes = changes.causes { $0 == .edit } }
        if request.excludesFirst { changes = changes.excluding(contexts[0]) }
        return request.wantsSnapshots ? changes.withSnapshots() : changes
    }

    func reference(_ request: Request) -> FeedRequest {
        var plain = FeedRequest(entity: "Article", compared: ["title", "rating", "notebook"])
        plain.objects = request.objects.map { Set($0) }
        plain.properties = request.properties.map { Set($0) }
        plain.authors = request.author.map { [$0] }
        if request.leavesOutUndo { plain.isWantedCause = { $0 == .edit } }
        plain.side = request.side
        plain.excluded = request.excludesFirst ? ofFirst : []
        switch request.condition {
        case 0?:
            plain.condition = { try $0.object(Article.self, id: $1)?.rating ?? 0 >= 3 }
        case 1?:
            plain.condition = { view, id in
                guard let article = try view.object(Article.self, id: id) else { return false }
                if article.title == "title 1" { return true }
                guard let notebook = article.notebook else { return false }
                return try view.object(Notebook.self, id: notebook)?.name == "n1"
            }
        case 2?:
            plain.condition = { view, id in
                guard try view.object(Article.self, id: id) != nil else { return false }
                return try view.members(of: id, in: Article.self, \.tags).contains {
                    $0.name == "t1"
                }
            }
        default: break
        }
        if request.wantsSnapshots {
            plain.snapshots = { try $0.object(Article.self, id: $1).map { "\($0)" } ?? "nil" }
        }
        return plain
    }

    /// Returns the events that a feed delivers until it has caught up.
    func read(_ changes: Changes<Article>) async throws -> [ChangeEvent<Article>] {
        let count = store.file.feed.waiterCount
        let feed = FeedTask(changes)
        try await store.untilObserversWait(count + 1)
        #expect(feed.error == nil)
        await feed.end()
        return feed.events
    }

    func items(_ events: [ChangeEvent<Article>], _ request: Request) -> [FeedItem] {
        events.flatMap { event in
            event.changes.map { change in
                var item = Self.item(of: change, event.revision)
                if request.wantsSnapshots {
                    item.snapshots = [change.old.snapshot, change.new.snapshot].map {
                        $0.map { "\($0)" } ?? "nil"
                    }
                }
                return item
            }
        }
    }

    static func item(of change: Change<Article>, _ revision: Revision) -> FeedItem {
        let (old, new) = (change.old, change.new)
        return item(
            of: change, revision,
            [
                "title: \(old[\.title] ?? "nil") → \(new[\.title] ?? "nil")",
                "rating: \(text(old[\.rating])) → \(text(new[\.rating]))",
                "notebook: \(text(old[\.notebook] ?? nil)) → \(text(new[\.notebook] ?? nil))",
            ])
    }

    static func item(of change: Change<Tag>, _ revision: Revision) -> FeedItem {
        item(
            of: change, revision,
            ["name: \(change.old[\.name] ?? "nil") → \(change.new[\.name] ?? "nil")"])
    }

    private static func text(_ value: (some CustomStringConvertible)?) -> String {
        value.map(\.description) ?? "nil"
    }

    private static func item<M: Model>(
        of change: Change<M>, _ revision: Revision, _ values: [String]
    ) -> FeedItem {
        FeedItem(
            revision: revision, kind: change.kind, id: change.id,
            properties: Set(change.changedProperties), values: values,
            relationships: Dictionary(
                uniqueKeysWithValues: change.relationships.map { ($0.name, $0.members) }))
    }
}
