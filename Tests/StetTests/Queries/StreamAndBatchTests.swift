import Foundation
import Stet
import StetTestModels
import StetTestSupport
import Testing

/// Streams of results, and changes of all objects that meet a condition.
@Suite struct StreamAndBatchTests {
    private let scratch: Scratch
    private let context: ManagedContext

    init() throws {
        scratch = try Scratch()
        context = scratch.store.context()
        for number in 0..<100 {
            let article = Article(title: "Article \(number)")
            article.rating = number % 5
            context.insert(article)
        }
        try context.save()
    }

    @Test(arguments: [1, 7, 100, 256])
    func aStreamGivesEverySnapshotOnce(batch: Int) async throws {
        let fetch = scratch.store.fetch(Article.self) { $0.rating > 1 }
        for query in [fetch, fetch.sorted(by: \.title, .descending), fetch.offset(3).limit(20)] {
            var found: [Article.Snapshot] = []
            for try await article in query.stream(batch: batch) { found.append(article) }
            #expect(try found == query.all())
        }
    }

    @Test func aStreamShowsTheRevisionOfItsFirstBatch() async throws {
        let before = try scratch.store.fetch(Article.self).all()
        var found: [Article.Snapshot] = []
        var commits = 0
        for try await article in scratch.store.fetch(Article.self).stream(batch: 10) {
            found.append(article)
            if found.count % 10 == 5 {
                for victim in try context.fetch(Article.self).all().suffix(3) {
                    context.delete(victim)
                }
                try context.fetch(Article.self).all()[0].title = "Changed \(found.count)"
                context.insert(Article(title: "New"))
                _ = try await context.save()
                commits += 1
            }
        }
        #expect(commits == 10)
        #expect(found == before)
    }

    @Test func aStreamOfAContextHasWhatIsPending() async throws {
        let articles = try context.fetch(Article.self).all()
        articles[0].title = "Pending"
        context.delete(articles[1])
        let added = Article(title: "Added")
        context.insert(added)
        let expected = try context.fetch(Article.self).snapshots()
        let stream = context.fetch(Article.self).stream(batch: 9)
        context.rollback()
        var found: [Article.Snapshot] = []
        for try await article in stream { found.append(article) }
        #expect(found == expected)
        #expect(found.count == 100)
    }

    @Test func aStreamEndsWithItsTaskAndItsDeadline() async throws {
        let store = scratch.store
        let task = Task {
            var count = 0
            for try await _ in store.fetch(Article.self).stream(batch: 10) {
                count += 1
                if count == 15 { withUnsafeCurrentTask { $0?.cancel() } }
            }
            return count
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        let late = store.fetch(Article.self).stream(deadline: .now - .seconds(1))
        await #expect {
            for try await _ in late {}
        } throws: { ($0 as? QueryError)?.code == .deadlineExceeded }
    }

    @Test func anUpdateIsOneCommitAndIsValidated() async throws {
        let count = try await scratch.store.update(Article.self, "raise", author: "lala") {
            $0.rating == 3
        } set: {
            $0.rating = 4
        }
        #expect(count == 20)
        #expect(try scratch.store.fetch(Article.self) { $0.rating == 4 }.count() == 40)
        let last = try #require(try scratch.store.journal().last)
        #expect(last.label == "raise")
        #expect(last.author == "lala")
        #expect(last.changeCount == 20)
        let before = try scratch.store.revision()
        await #expect(throws: ValidationError.self) {
            try await scratch.store.update(Article.self) {
                $0.rating == 4
            } set: {
                $0.rating = 9
            }
        }
        #expect(try scratch.store.revision() == before)
    }

    @Test func anUpdateThatThrowsLeavesWhatWasPending() throws {
        let articles = try context.fetch(Article.self).all()
        articles[0].title = "Pending"
        let before = context.changes
        #expect(throws: CancellationError.self) {
            try context.update(Article.self) {
                $0.rating == 3
            } set: { article in
                article.rating = 1
                if article.title == "Article 8" { throw CancellationError() }
            }
        }
        #expect(context.changes == before)
    }

    @Test func moreThanTheLimitIsRefused() throws {
        #expect {
            try context.update(Article.self, limit: 19) {
                $0.rating == 3
            } set: {
                $0.rating = 1
            }
        } throws: { ($0 as? QueryError)?.code == .tooMany }
        #expect(
            try context.update(Article.self, limit: 20) {
                $0.rating == 3
            } set: {
                $0.rating = 1
            }
                == 20)
        #expect {
            try context.delete(Article.self, limit: 1) { $0.rating == 1 }
        } throws: { ($0 as? QueryError)?.code == .tooMany }
    }

    @Test func aDeleteFollowsTheDeleteRules() async throws {
        let articles = try context.fetch(Article.self).all()
        articles[0].next = articles[4]
        try await context.save()
        #expect(try await scratch.store.delete(Article.self) { $0.rating == 4 } == 20)
        #expect(try scratch.store.fetch(Article.self).count() == 80)
        try context.refresh()
        #expect(articles[0].next == nil)
        #expect(articles[4].isDeleted)
        #expect(try scratch.store.verify().problems.isEmpty)
    }

    @Test func aStreamOfNewObjectsIsOneStepOfUndo() async throws {
        let numbers = AsyncStream { continuation in
            for number in 0..<25 { continuation.yield(number) }
            continuation.finish()
        }
        let count = try await scratch.store.insert(
            stream: numbers, "import", author: "importer", batch: 10
        ) { number in number % 5 == 4 ? nil : Article(title: "Imported \(number)") }
        #expect(count == 20)
        let imported = scratch.store.fetch(Article.self) { $0.title.hasPrefix("Imported") }
        #expect(try imported.count() == 20)
        #expect(try scratch.store.journal().suffix(2).map(\.changeCount) == [10, 10])
        try await scratch.store.undo(author: "importer")
        #expect(try imported.count() == 0)
    }

    @Test func aStreamThatBreaksSaysWhereToGoOn() async throws {
        let titles = (0..<30).map { $0 == 17 ? " " : "Imported \($0)" }
        func insert(_ titles: ArraySlice<String>) async throws -> Int {
            let stream = AsyncStream { continuation in
                for title in titles { continuation.yield(title) }
                continuation.finish()
            }
            return try await scratch.store.insert(stream: stream, batch: 5) { Article(title: $0) }
        }
        let failure = await #expect(throws: InsertStreamError.self) {
            try await insert(titles[...])
        }
        #expect(failure?.elementCount == 15)
        #expect(failure?.insertedCount == 15)
        #expect(failure?.cause is ValidationError)
        #expect(failure?.problem.code == "insertStream")
        #expect(failure?.problem.status == 422)
        let rest = titles.dropFirst(failure?.elementCount ?? 0).map { $0 == " " ? "Mended" : $0 }
        #expect(try await insert(rest[...]) == 15)
        #expect(
            try scratch.store.fetch(Article.self) { !$0.title.hasPrefix("Article") }.count() == 30)
    }
}
