import Foundation
import Stet
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// Questions to the journal: commits in order, the life of an object, differences of states.
struct StoreHistoryTests {
    private typealias Notebook = Ledger.Notebook
    private typealias Article = Ledger.Article

    private let desk: LedgerDesk
    private let article: ObjectID

    /// Five commits: an insertion, a rename by each author, a notebook, a deletion.
    init() throws {
        let desk = try LedgerDesk()
        let article = Article(title: "one")
        try desk.edit("a", "insert") { $0.insert(article) }
        try desk.edit("b", Article.self, article.id) { $0.title = "two" }
        try desk.edit("a", scope: "s") { context in
            context.metadata = ["ticket": "4711"]
            try desk.object(Article.self, article.id, context).rating = 3
        }
        try desk.edit("a") { $0.insert(Notebook(name: "n")) }
        try desk.delete("b", Article.self, article.id)
        (self.desk, self.article) = (desk, article.id)
    }

    private func revisions(
        from first: Revision.Bound = 1, to last: Revision.Bound = .latest,
        _ filter: Commit.Filter = Commit.Filter(), limit: Int = .max
    ) throws -> [Revision] {
        var revisions: [Revision] = []
        try desk.store.forEachCommit(from: first, to: last, where: filter) { commit in
            revisions.append(commit.revision)
            return revisions.count < limit
        }
        return revisions
    }

    @Test func commitsComeInBothDirectionsAndByFilter() throws {
        #expect(try revisions() == [1, 2, 3, 4, 5])
        #expect(try revisions(from: .latest, to: 1) == [5, 4, 3, 2, 1])
        #expect(try revisions(from: 2, to: 3) == [2, 3])
        #expect(try revisions(from: 4, to: 2) == [4, 3, 2])
        #expect(try revisions(from: 6) == [])
        #expect(try revisions(from: 0, to: 0) == [])
        #expect(try revisions(from: .latest, to: 0, limit: 2) == [5, 4])
        #expect(try revisions(Commit.Filter(author: "b")) == [2, 5])
        #expect(try revisions(from: .latest, to: 1, Commit.Filter(author: "a")) == [4, 3, 1])
        #expect(try revisions(Commit.Filter(scope: "s")) == [3])
        #expect(try revisions(Commit.Filter(entity: "Notebook")) == [4])
        #expect(try revisions(Commit.Filter(entity: "Nothing")) == [])
        #expect(try revisions(Commit.Filter(object: article)) == [1, 2, 3, 5])
        #expect(try revisions(Commit.Filter(entity: "Article", object: article)) == [1, 2, 3, 5])
        try desk.store.revert(4)
        #expect(try revisions(Commit.Filter { $0.subject == 4 }) == [6])
        #expect(try revisions(Commit.Filter { $0 == .edit }) == [1, 2, 3, 4, 5])
    }

    @Test func theHistoryOfAnObjectTellsWhoChangedWhat() throws {
        let history = try desk.store.history(of: Article.self, id: article)
        #expect(history.map(\.revision) == [5, 3, 2, 1])
        #expect(history.map(\.author) == ["b", "a", "b", "a"])
        #expect(history.map(\.change.kind) == [.delete, .update, .update, .insert])
        try #require(history.map(\.scope) == [nil, "s", nil, nil])
        #expect(history[3].label == "insert")
        #expect(try desk.store.journal()[2].metadata == ["ticket": "4711"])
        #expect(try desk.store.history(of: Article.self, id: ObjectID()) == [])
        let blame = try desk.store.blame(Article.self, id: article, \.title)
        #expect(blame?.revision == 5)
        try desk.store.revert(5)
        let context = desk.store.context()
        let restored = try desk.object(Article.self, article, context)
        restored.rating = 4
        try context.save()
        #expect(try desk.store.blame(restored, \.title)?.revision == 6)
        #expect(try desk.store.blame(restored, \.rating)?.revision == 7)
        #expect(try desk.store.history(of: restored).count == 6)
    }

    @Test func aDifferenceIsNet() throws {
        let store = desk.store
        #expect(try store.diff(from: 0, to: 5).changes.map(\.entity) == ["Notebook"])
        let forward = try store.diff(from: 1, to: 3)
        let titles = PropertyChange(name: "title", old: .string("one"), new: .string("two"))
        #expect(forward.changes.map(\.id) == [article])
        #expect(forward.changes[0]["title"] == titles)
        #expect(forward.changes[0]["rating"]?.new == .int(3))
        let backward = try store.diff(from: 3, to: 1)
        #expect(backward.changes[0]["title"]?.new == .string("one"))
        #expect(try store.diff(from: 5, to: 1).changes(of: .insert).map(\.id) == [article])
        #expect(try store.diff(from: 3, to: 3).isEmpty)
        #expect(try store.diff(from: 4, to: .latest).changes.map(\.kind) == [.delete])
    }

    @Test func metadataAndAuthorComeFromTheTask() throws {
        let commit = try Commit.Defaults.$author.withValue("task") {
            try Commit.Defaults.$metadata.withValue(["request": "7"]) {
                let context = desk.store.context()
                context.insert(Article(title: "t"))
                return try #require(try context.save())
            }
        }
        #expect(commit.author == "task")
        #expect(commit.metadata == ["request": "7"])
        #expect(try desk.store.journal().last == commit)
        let context = desk.store.context()
        for (count, isRight) in [(4_096, true), (4_097, false)] {
            context.metadata = ["m": String(repeating: "x", count: count - 1)]
            context.insert(Article(title: "t"))
            if isRight {
                try context.save()
            } else {
                let error = #expect(throws: StoreError.self) { try context.save() }
                #expect(error?.code == .limitExceeded)
            }
        }
        try desk.reopen()
    }

    #if STET_FAULTS
        /// `STET_COMMITS=1000000` makes it as long as the contract says.
        @Test func theHistoryOfAnObjectCostsFewReadsInALongJournal() async throws {
            let text = ProcessInfo.processInfo.environment["STET_COMMITS"]
            let count = text.flatMap { Int($0) } ?? 10_000
            let directory = TemporaryDirectory()
            let path = directory.file("diary.stet")
            try Store.open(at: path, for: Ledger.models).close()
            // Only reads are counted, so nothing needs to reach the disk.
            var configuration = Environment.Configuration()
            configuration.skipsSync = true
            let environment = try Environment.open(at: path, configuration)
            let store = try withExtendedLifetime(environment) {
                try Store.open(at: path, for: Ledger.models)
            }
            defer { store.close() }

            let context = store.context(author: "a")
            let article = Article(title: "0")
            context.insert(article)
            try await context.save()
            for number in 1...2 {
                try await commit(count / 2, to: store)
                try context.refresh()
                article.title = "\(number)"
                try await context.save()
            }
            let faults = store.file.environment.faults
            let (gets, moves) = (faults.callCounts[.get] ?? 0, faults.moveCount)
            let history = try store.history(of: Article.self, id: article.id)
            let reads = (faults.callCounts[.get] ?? 0) - gets + faults.moveCount - moves
            #expect(history.map { $0.change["title"]?.new } == ["2", "1", "0"].map(Value.string))
            #expect(try store.revision().number >= count)
            #expect(reads <= 50)
        }

        /// So many commits by tasks, each of which edits a notebook of its own.
        private func commit(_ count: Int, to store: Store) async throws {
            let writers = 100
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<writers {
                    group.addTask {
                        let context = store.context()
                        let notebook = Notebook(name: ObjectID().description)
                        context.insert(notebook)
                        for number in 0..<count / writers {
                            notebook.colour = "\(number)"
                            try await context.save()
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    #endif
}
