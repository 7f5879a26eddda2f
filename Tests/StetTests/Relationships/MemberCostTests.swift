import Foundation
import Stet
import StetLMDB
import StetStore
import StetTestSupport
import Testing

/// The cost of adding a member, counted.
struct MemberCostTests {
    private typealias Notebook = Shelf.Notebook
    private typealias Article = Shelf.Article

    /// Look-ups in trees of LMDB, by a change of a relationship with `count` members and its save.
    private func lookUps(
        _ count: Int, _ change: (Notebook, Article) -> Void
    ) throws -> (reading: Int, all: Int) {
        let directory = TemporaryDirectory()
        let store = try Shelf.store(in: directory)
        let notebook = Notebook(name: "Swift")
        let first = Article(title: "first")
        do {
            let context = store.context()
            context.insert(notebook)
            context.insert(first)
            notebook.articles.append(first)
            for index in 0..<count {
                let article = Article(title: "\(index)")
                context.insert(article)
                article.notebook = notebook
                notebook.readingList.append(article)
                first.sources.append(article)
            }
            try context.save()
        }
        let context = store.context()
        let same = try #require(try context.object(Notebook.self, id: notebook.id))
        let main = try #require(try context.object(Article.self, id: first.id))
        func counts() -> Int {
            store.file.environment.faults.callCounts
                .filter { [.get, .cursor, .put, .delete].contains($0.key) }
                .values.reduce(0, +)
        }
        let before = counts()
        change(same, main)
        let between = counts()
        try context.save()
        return (between - before, counts() - before)
    }

    /// A tree of a million entries has 4 levels: 40 pages are 10 look-ups.
    @Test(arguments: [
        { @Sendable (notebook: Shelf.Notebook, article: Shelf.Article) in
            notebook.articles.append(Shelf.Article(title: "new"))
        },
        { @Sendable (notebook, article) in
            article.sources.append(Shelf.Article(title: "new"))
        },
        { @Sendable (notebook, article) in
            notebook.readingList.append(Shelf.Article(title: "new"))
        },
    ])
    func addingAMemberCostsTheSameWhateverTheirNumber(
        change: @Sendable (Shelf.Notebook, Shelf.Article) -> Void
    ) throws {
        let few = try lookUps(10, change)
        let many = try lookUps(
            Int(ProcessInfo.processInfo.environment["STET_MEMBERS"] ?? "") ?? 3_000, change)
        // A longer list has several chunks, one of which must be found.
        #expect(many.reading <= few.reading + 2)
        #expect(many.all <= few.all + 4)
        #expect(many.reading <= 10)
    }

    @Test func readingAListLeavesOthersKnown() throws {
        let directory = TemporaryDirectory()
        let store = try Shelf.store(in: directory)
        let context = store.context()
        let notebooks = ["one", "two"].map(Notebook.init)
        for notebook in notebooks {
            context.insert(notebook)
            for number in 0..<3 { notebook.articles.append(Article(title: "\(number)")) }
        }
        try context.save()
        func titles() -> [[String]] { notebooks.map { $0.articles.map(\.title) } }
        let first = titles()
        // Lists are read by cursors, and the objects are looked up.
        let before = store.file.environment.faults.callCounts[.cursor]
        #expect(titles() == first)
        #expect(store.file.environment.faults.callCounts[.cursor] == before)
        notebooks[1].articles.remove(try #require(notebooks[1].articles.first))
        #expect(titles().map(\.count) == [3, 2])
    }
}
