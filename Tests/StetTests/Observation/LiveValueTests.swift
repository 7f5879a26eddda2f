import Stet
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// Live values, single objects and members.
@Suite struct LiveValueTests {
    private typealias Article = Ledger.Article
    private typealias Notebook = Ledger.Notebook
    private typealias Tag = Ledger.Tag

    private let desk: LedgerDesk
    private let ids: [ObjectID]
    private let notebook: ObjectID
    private var store: Store { desk.store }

    init() throws {
        desk = try LedgerDesk()
        let notebook = Notebook(name: "n")
        let articles = ["a", "b", "c"].map { Article(title: $0, notebook: notebook) }
        try desk.edit("a") { context in
            for (rating, article) in articles.enumerated() {
                article.rating = rating
                context.insert(article)
            }
        }
        ids = articles.map(\.id)
        self.notebook = notebook.id
    }

    private func rate(_ id: ObjectID, _ rating: Int) throws {
        try desk.edit("a", Article.self, id) { $0.rating = rating }
    }

    @Test("A7 aggregates are observed") func aggregatesAreObserved() async throws {
        let live = store.observe(store.fetch(Article.self))
        var count = live.count.makeAsyncIterator()
        var sum = live.sum(\.rating).makeAsyncIterator()
        var least = live.min(\.rating).makeAsyncIterator()
        var greatest = live.max(\.notebook?.name).makeAsyncIterator()
        var average = live.average(\.rating).makeAsyncIterator()
        #expect(try await count.next() == ValueUpdate(value: 3, revision: 1))
        #expect(try await sum.next()?.value == 3)
        #expect(try await least.next()?.value == 0)
        #expect(try await greatest.next()?.value == "n")
        #expect(try await average.next()?.value == 1)
        try rate(ids[0], 3)
        #expect(try count.poll() == nil)
        #expect(try await sum.next() == ValueUpdate(value: 6, revision: 2))
        #expect(try await least.next()?.value == 1)
        #expect(try greatest.poll() == nil)
        #expect(try await average.next()?.value == 2)
        try desk.edit("a", Notebook.self, notebook) { $0.name = "o" }
        #expect(try await greatest.next() == ValueUpdate(value: "o", revision: 3))
        for id in ids { try desk.delete("a", Article.self, id) }
        #expect(try await count.next()?.value == 0)
        #expect(try await least.next() == ValueUpdate(value: nil, revision: 6))
    }

    @Test func valuesFollowFromChangesWhereTheseTellAll() async throws {
        let live = store.observe(store.fetch(Article.self) { $0.rating < 5 })
        let (count, sum, least) = (live.count, live.sum(\.rating), live.min(\.rating))
        var counts = count.makeAsyncIterator()
        var sums = sum.makeAsyncIterator()
        var leasts = least.makeAsyncIterator()
        func poll() throws -> [Int?] {
            [try counts.poll()?.value, try sums.poll()?.value, try leasts.poll()?.value ?? nil]
        }
        #expect(try poll() == [3, 3, 0])
        try rate(ids[1], 0)
        #expect(try poll() == [nil, 2, nil])
        // Another object has the same minimum.
        try rate(ids[0], 5)
        #expect(try poll() == [2, nil, nil])
        try desk.delete("a", Article.self, ids[2])
        try rate(ids[0], 1)
        #expect(try poll() == [nil, 1, nil])
        #expect(least.statistics.rerunCount == 1)
        // Now no other object has it.
        try rate(ids[1], 3)
        #expect(try poll() == [nil, 4, 1])
        #expect(count.statistics.rerunCounts == ["there is no result yet": 1])
        #expect(count.statistics.updateCount == 2)
        #expect(count.statistics.incrementalStepCount == 4)
        #expect(sum.statistics.rerunCount == 1)
        #expect(sum.statistics.incrementalStepCount == 4)
        #expect(least.statistics.rerunCounts["the value before does not tell the next"] == 1)
        let page = store.observe(store.fetch(Article.self).sorted(by: \.title).limit(1))
            .sum(\.rating)
        var pages = page.makeAsyncIterator()
        #expect(try pages.poll()?.value == 1)
        try rate(ids[0], 2)
        #expect(try pages.poll()?.value == 2)
        #expect(page.statistics.rerunCounts["the query has a page"] == 1)
    }

    @Test func aValueThatWasRedactedMeanwhileIsNotTakenForTheOneBefore() async throws {
        let least = store.observe(store.fetch(Article.self)).min(\.title)
        let before = store.observe(store.fetch(Article.self) { $0.title < "b" }).count
        var leasts = least.makeAsyncIterator()
        var befores = before.makeAsyncIterator()
        #expect(try leasts.poll()?.value == "a")
        #expect(try befores.poll()?.value == 1)
        try desk.edit("a", Article.self, ids[0]) { $0.title = "z" }
        try store.requestRedaction(of: Article.self, id: ids[0], \.title).confirm()
        #expect(try leasts.poll()?.value == "b")
        #expect(try befores.poll()?.value == 0)
        #expect(before.statistics.rerunCounts["values were redacted"] == 1)
    }

    @Test func aValueIsReadAgainWhenTheStateBeforeWasTrimmed() throws {
        let sum = store.observe(store.fetch(Article.self)).sum(\.rating)
        var sums = sum.makeAsyncIterator()
        #expect(try sums.poll()?.value == 3)
        for rating in 2...5 { try rate(ids[0], rating) }
        // The ring still contains the trimmed commits.
        try store.requestTrim(before: 4).confirm()
        #expect(try sums.poll() == ValueUpdate(value: 8, revision: 5))
        #expect(sum.statistics.rerunCount == 2)
    }

    #if STET_FAULTS
        @Test(arguments: [LMDBError.Operation.begin, .get, .cursor], 1...6)
        func aReadThatFailsLosesNoChange(operation: LMDBError.Operation, count: Int) throws {
            let live = store.observe(store.fetch(Article.self))
            var sums = live.sum(\.rating).makeAsyncIterator()
            var members = store.observe(membersOf: notebook, in: Notebook.self, \.articles)
                .makeAsyncIterator()
            #expect(try sums.poll()?.value == 3)
            #expect(try members.poll()?.result.ids == ids)
            try rate(ids[0], 5)
            let faults = store.file.environment.faults
            faults.failNext(operation, after: count, code: LMDBError.inputOutput)
            let early = (try? sums.poll()) ?? nil
            faults.disarm()
            #expect(try (early ?? sums.poll())?.value == 8)
            faults.failNext(operation, after: count, code: LMDBError.inputOutput)
            let update = (try? members.poll()) ?? nil
            faults.disarm()
            #expect(try (update ?? members.poll())?.updatedObjects.map(\.id) == [ids[0]])
        }
    #endif

    @Test func aValueIsNotWokenByPropertiesThatItDoesNotRead() async throws {
        let live = store.observe(store.fetch(Article.self) { $0.rating > 1 }.sorted(by: \.title))
        let task = Task {
            var values: [Int] = []
            for try await update in live.count { values.append(update.value) }
            return values
        }
        try await store.untilObserversWait(1)
        let before = store.file.feed.counts
        try desk.edit("a", Article.self, ids[0]) { $0.title = "z" }
        try desk.edit("a") { $0.insert(Tag(name: "t")) }
        try await store.untilObserversWait(1)
        #expect(store.file.feed.counts == before)
        try rate(ids[0], 4)
        while store.file.feed.counts.wakes == before.wakes { await Task.yield() }
        try await store.untilObserversWait(1)
        task.cancel()
        #expect(try await task.value == [1, 2])
    }

    @Test("A7 one object is observed, its deletion included")
    func oneObjectIsObserved() async throws {
        var iterator = store.observe(Article.self, id: ids[0]).makeAsyncIterator()
        let first = try #require(try await iterator.next())
        #expect(first.snapshot?.title == "a")
        #expect(first.changes.isEmpty)
        #expect(first.commits.isEmpty)
        try rate(ids[1], 4)
        #expect(try iterator.poll() == nil)
        try rate(ids[0], 3)
        try rate(ids[0], 4)
        let second = try #require(try await iterator.next())
        #expect(second.snapshot?.rating == 4)
        #expect(second.revision == 4)
        #expect(second.changes.map { $0.new[\.rating] } == [3, 4])
        try desk.delete("a", Article.self, ids[0])
        let third = try #require(try await iterator.next())
        #expect(third.snapshot == nil)
        #expect(third.changes.map(\.kind) == [.delete])
        _ = try await store.undo(author: "a")
        #expect(try await iterator.next()?.snapshot?.rating == 4)
        store.close()
        #expect(try await iterator.next() == nil)
    }

    @Test func anObjectThatDoesNotExistIsAwaited() async throws {
        let article = Article(title: "later")
        var iterator = store.observe(Article.self, id: article.id).makeAsyncIterator()
        let first = try #require(try await iterator.next())
        #expect(first.snapshot == nil)
        #expect(first.revision == 1)
        try desk.edit("a") { $0.insert(article) }
        #expect(try await iterator.next()?.snapshot?.title == "later")
    }

    @Test func membersAreAQueryOfTheOtherModel() async throws {
        let (notebook, tag) = (notebook, Tag(name: "t"))
        try desk.edit("a") { $0.insert(tag) }
        let articles = store.observe(store.fetch(Article.self) { $0.notebook?.id == notebook })
        let tagged = store.observe(
            store.fetch(Article.self) { [id = tag.id] in $0.tags.contains(id) })
        var members = articles.makeAsyncIterator()
        var links = tagged.makeAsyncIterator()
        #expect(try await members.next()?.result.ids == ids)
        #expect(try await links.next()?.result.isEmpty == true)
        try desk.edit("a", Article.self, ids[1]) { article in
            article.notebook = nil
            guard let context = article.context else { return }
            article.tags.append(try desk.object(Tag.self, tag.id, context))
        }
        #expect(try await members.next()?.result.ids == [ids[0], ids[2]])
        #expect(try await links.next()?.result.ids == [ids[1]])
        #expect(articles.statistics.rerunCount == 1)
    }

    @Test("A7 the members of a relationship are observed in their order")
    func membersAreObservedInTheirOrder() async throws {
        try desk.edit("a", Notebook.self, notebook) { notebook in
            for article in notebook.articles.sorted(by: { $0.title < $1.title }) {
                notebook.shelf.append(article)
            }
        }
        let live = store.observe(membersOf: notebook, in: Notebook.self, \.shelf)
        var iterator = live.makeAsyncIterator()
        let first = try #require(try await iterator.next())
        #expect(first.result.ids == ids)
        #expect(first.commits.isEmpty)
        #expect(first.revision == 2)
        try desk.edit("a", Notebook.self, notebook) { notebook in
            notebook.shelf.move(from: 2, to: 0)
        }
        let second = try #require(try await iterator.next())
        #expect(second.result.ids == [ids[2], ids[0], ids[1]])
        #expect(ids.applying(second.difference) == second.result.ids)
        #expect(second.difference.inferringMoves().count == 2)
        #expect(second.commits.count == 1)
        try rate(ids[1], 4)
        let third = try #require(try await iterator.next())
        #expect(third.difference.isEmpty)
        #expect(third.updatedObjects.map(\.id) == [ids[1]])
        #expect(third.updatedObjects[0].changes.map { $0.new[\.rating] } == [4])
        try desk.edit("a") { $0.insert(Article(title: "in no notebook")) }
        #expect(try iterator.poll() == nil)
        try desk.delete("a", Notebook.self, notebook)
        #expect(try await iterator.next()?.result.isEmpty == true)
        store.close()
        #expect(try await iterator.next() == nil)
    }

    @Test func membersOfAnObjectThatDoesNotExistAreAwaited() async throws {
        let later = Notebook(name: "later")
        var iterator = store.observe(membersOf: later.id, in: Notebook.self, \.articles)
            .makeAsyncIterator()
        #expect(try await iterator.next()?.result.isEmpty == true)
        try desk.edit("a") { context in
            context.insert(later)
            context.insert(Article(title: "x", notebook: later))
        }
        #expect(try await iterator.next()?.result.map(\.title) == ["x"])
    }
}
