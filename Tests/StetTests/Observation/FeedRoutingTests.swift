import Stet
import StetStore
import StetTestSupport
import Testing

/// The cost of a commit for observers that it does not concern, in wakes and decoded changes.
///
/// An observer that ends with an error never waits again, which the limit makes a failure.
@Suite(.timeLimit(.minutes(10))) struct FeedRoutingTests {
    private typealias Article = Ledger.Article
    private typealias Notebook = Ledger.Notebook
    private typealias Tag = Ledger.Tag

    private let desk: LedgerDesk
    private let article: ObjectID
    private let other: ObjectID
    private let tag: ObjectID
    private var store: Store { desk.store }
    private var feed: CommitFeed { store.file.feed }

    init() throws {
        desk = try LedgerDesk()
        let (article, other, tag) = (Article(title: "one"), Article(title: "two"), Tag(name: "t"))
        try desk.edit("a") { context in
            context.insert(article)
            context.insert(other)
            context.insert(tag)
        }
        (self.article, self.other, self.tag) = (article.id, other.id, tag.id)
    }

    private func rate(_ id: ObjectID, _ rating: Int, by author: String = "a") throws {
        try desk.edit(author, Article.self, id) { $0.rating = rating }
    }

    private func link(_ id: ObjectID) throws {
        try desk.edit("a", Article.self, id) { article in
            if let context = article.context, let tag = try context.object(Tag.self, id: tag) {
                article.tags.append(tag)
            }
        }
    }

    /// The wakes and decoded changes of feeds while `body` commits.
    private func cost(
        of feeds: [Changes<Article>], _ body: () throws -> Void
    ) async throws -> CommitFeed.Counts {
        let tasks = feeds.map { FeedTask($0) }
        try await store.untilObserversWait(feeds.count)
        let before = feed.counts
        try body()
        try await store.untilObserversWait(feeds.count)
        let after = feed.counts
        for task in tasks { await task.end() }
        #expect(feed.observerCount == 0)
        #expect(feed.waiterCount == 0)
        #expect(feed.byteCount == 0)
        return CommitFeed.Counts(
            wakes: after.wakes - before.wakes, entries: after.entries - before.entries,
            decodedChanges: after.decodedChanges - before.decodedChanges)
    }

    @Test("A7 a hundred feeds that a commit does not concern are not woken, and decode nothing")
    func feedsThatACommitDoesNotConcernAreNotWoken() async throws {
        let all = store.changes(of: Article.self)
        var feeds: [Changes<Article>] = []
        for _ in 0..<25 {
            feeds.append(all.objects([other]))
            feeds.append(all.properties(\.title, \.notebook))
            feeds.append(all.authors("b"))
            feeds.append(all.objects([article]).properties(\.tags))
        }
        let cost = try await cost(of: feeds) {
            for number in 0..<50 { try rate(article, (number + 1) % 5) }
            // Commits of another model.
            for number in 0..<50 {
                try desk.edit("b") { $0.insert(Notebook(name: "\(number)")) }
            }
        }
        #expect(cost == CommitFeed.Counts())
    }

    @Test func eachFeedIsWokenByWhatItAsksForOnly() async throws {
        let all = store.changes(of: Article.self)
        let matching: [(String, Changes<Article>)] = [
            ("all", all), ("object", all.objects([article])), ("slot", all.properties(\.rating)),
            ("author", all.authors("a")), ("both", all.objects([article]).properties(\.rating)),
        ]
        for (name, changes) in matching {
            let cost = try await cost(of: [changes, all.objects([other])]) {
                try rate(article, name.count % 5)
            }
            #expect(
                cost == CommitFeed.Counts(wakes: 1, entries: 0, decodedChanges: 1), "\(name)")
        }
    }

    @Test func aChangeOfALinkWakesThoseWhoAskForTheRelationshipAtEitherEnd() async throws {
        let all = store.changes(of: Article.self)
        let tags = FeedTask(store.changes(of: Tag.self).objects([tag]))
        let names = FeedTask(store.changes(of: Tag.self).properties(\.name))
        try await store.untilObserversWait(2)
        let before = feed.counts.wakes
        try link(article)
        try await store.untilObserversWait(2)
        #expect(feed.counts.wakes == before + 1)
        #expect(names.events.isEmpty)
        let change = try #require(tags.events.first?.changes.first)
        #expect(change.members(of: \.articles)?.added == [article])
        #expect(change.kind == .update)
        #expect(change.changedProperties.isEmpty)
        #expect(tags.events.count == 1)
        await tags.end()
        await names.end()
        let cost = try await cost(of: [all.properties(\.tags), all.properties(\.rating)]) {
            try link(other)
        }
        #expect(cost == CommitFeed.Counts(wakes: 1, entries: 0, decodedChanges: 1))
    }

    @Test func aFeedThatNothingConcernedGoesOnWhereItIsWithoutReadingTheJournal() async throws {
        let changes = store.changes(of: Article.self).objects([other])
        let task = FeedTask(changes)
        try await store.untilObserversWait(1)
        for number in 0..<100 { try rate(article, (number + 1) % 5) }
        // Commits without changes of interest may be trimmed without a gap for the observer.
        try store.requestTrim(before: 90).confirm()
        store.file.feed.forgetRing()
        try rate(other, 4)
        try await store.untilObserversWait(1)
        #expect(task.events.map(\.revision) == [102])
        #expect(task.error == nil)
        #expect(feed.counts.entries == 0)
        #expect(feed.counts.wakes == 1)
        await task.end()
    }

    @Test func insertsAndDeletesConcernEveryPropertyAndUpdatesTheirOwn() async throws {
        let titles = FeedTask(store.changes(of: Article.self).properties(\.title))
        try await store.untilObserversWait(1)
        let new = Article(title: "three")
        try desk.edit("a") { $0.insert(new) }
        try rate(new.id, 2)
        try desk.edit("a", Article.self, new.id) { $0.title = "four" }
        try desk.delete("a", Article.self, new.id)
        try await store.untilObserversWait(1)
        #expect(
            titles.events.flatMap(\.changes).map(\.kind) == [.insert, .update, .delete])
        #expect(titles.events.map(\.revision) == [2, 4, 5])
        #expect(titles.events[1].changes[0].old[\.title] == "three")
        await titles.end()
    }

    @Test func theCommitsOfAContextAreLeftOutWhereverTheyComeFrom() async throws {
        let context = store.context(author: "a")
        let mine = try #require(try context.object(Article.self, id: article))
        mine.rating = 1
        try await context.save()
        let live = FeedTask(store.changes(of: Article.self).excluding(context))
        try await store.untilObserversWait(1)
        for rating in 2...4 {
            mine.rating = rating
            try await context.save()
            try rate(other, rating)
        }
        try await store.undo(author: "a")
        try await store.untilObserversWait(1)
        #expect(live.events.map(\.revision) == [4, 6, 8, 9])
        let journal = FeedTask(store.changes(of: Article.self, after: 1).excluding(context))
        try await store.untilObserversWait(2)
        #expect(journal.events == live.events)
        await live.end()
        await journal.end()
    }

    // MARK: Signals

    @Test("A7 a signal tells that the store has moved, and how far, and nothing is kept for it")
    func aSignalTellsHowFarTheStoreHasMoved() async throws {
        var signals = store.signals.makeAsyncIterator()
        for rating in 1...4 { try rate(article, rating) }
        #expect(feed.byteCount == 0)
        #expect(feed.observerCount == 1)
        #expect(try await signals.next() == 5)
        try rate(article, 0)
        #expect(try await signals.next() == 6)
        #expect(feed.counts.entries == 0)
        #expect(feed.counts.decodedChanges == 0)
        let waiting = Task { [signals = store.signals] in
            for try await revision in signals { return revision }
            return Revision.zero
        }
        while feed.waiterCount == 0 { await Task.yield() }
        waiting.cancel()
        #expect(try await waiting.value == .zero)
        #expect(feed.waiterCount == 0)
        store.close()
        #expect(try await signals.next() == nil)
    }

    // MARK: The end

    @Test func aFeedThatIsMadeAndNotReadCostsNothing() throws {
        let changes = store.changes(of: Article.self) { $0.rating > 2 }
        let commits = store.commits(after: .beginning)
        try rate(article, 3)
        #expect(feed.observerCount == 0)
        #expect(feed.byteCount == 0)
        withExtendedLifetime((changes, commits)) {}
    }

    @Test func nothingIsLeftOfAnObserverThatEnds() async throws {
        for round in 1...30 {
            let tasks = (0..<4).map { _ in FeedTask(store.changes(of: Article.self)) }
            try rate(article, round % 5)
            for task in tasks { await task.end() }
            #expect(feed.observerCount == 0)
            #expect(feed.waiterCount == 0)
            #expect(feed.byteCount == 0)
        }
    }

    @Test func aSlowFeedIsServedFromTheJournalAndItsPositionStaysWhereItFails() async throws {
        var feed = store.changes(of: Article.self, after: 1) { $0.rating >= 3 }.makeAsyncIterator()
        for rating in [1, 3, 4, 2, 0] { try rate(article, rating) }
        self.feed.forgetRing()
        #expect(try await feed.next()?.revision == 3)
        try store.requestTrim(before: 5).confirm()
        let error = await #expect(throws: StoreError.self) { _ = try await feed.next() }
        #expect(error?.code == .historyTrimmed)
        let again = await #expect(throws: StoreError.self) { _ = try await feed.next() }
        #expect(again?.code == .historyTrimmed)
    }
}
