import Foundation
import Stet
import StetTestSupport
import Testing

import struct StetStore.ListPosition

struct OrderedToManyTests {
    private typealias Notebook = Shelf.Notebook
    private typealias Article = Shelf.Article

    private let directory = TemporaryDirectory()
    private let store: Store

    init() throws { store = try Shelf.store(in: directory) }

    private func articles(_ titles: String) -> [Article] {
        titles.map { Article(title: String($0)) }
    }

    private func order(_ members: OrderedToMany<Article>) -> String {
        members.map(\.title).joined()
    }

    @Test func linksKeepTheirOrderThroughSaveReloadAndRestore() throws {
        let context = store.context()
        let article = Article(title: "main")
        context.insert(article)
        let sources = articles("abcd")
        article.sources = OrderedToMany(sources)
        article.sources.insert(Article(title: "x"), at: 1)
        article.sources.move(from: 4, to: 0)
        #expect(order(article.sources) == "daxbc")
        #expect(article.sources[2]?.title == "x")
        #expect(article.sources[5] == nil)
        #expect(article.sources.firstIndex(of: sources[1]) == 3)
        try context.save()
        #expect(order(article.sources) == "daxbc")

        let other = store.context()
        let same = try #require(try other.object(Article.self, id: article.id))
        #expect(order(same.sources) == "daxbc")
        same.sources.move(from: 0, to: 4)
        same.sources.remove(at: 1)
        let before = other.snapshot()
        same.sources = OrderedToMany(Array(same.sources).reversed())
        #expect(order(same.sources) == "dcba")
        other.restore(before)
        #expect(order(same.sources) == "abcd")
        try other.save()
        try context.refresh()
        #expect(order(article.sources) == "abcd")
        #expect(try store.verify().isClean)
    }

    @Test func theMembersOfAnInverseToOneKeepTheirOrder() throws {
        let context = store.context()
        let notebook = Notebook(name: "Swift")
        context.insert(notebook)
        let all = articles("abc")
        notebook.readingList = OrderedToMany(all)
        #expect(all.allSatisfy { $0.readingList === notebook })
        notebook.readingList.insert(all[2], at: 0)
        #expect(order(notebook.readingList) == "cab")
        try context.save()

        let other = store.context()
        let same = try #require(try other.object(Notebook.self, id: notebook.id))
        #expect(order(same.readingList) == "cab")
        // Set through the to-one property, the member is appended to the list.
        let late = Article(title: "d")
        late.readingList = same
        other.insert(late)
        try #require(try other.object(Article.self, id: all[0].id)).readingList = nil
        #expect(order(same.readingList) == "cbd")
        try other.save()
        #expect(order(same.readingList) == "cbd")
        try context.refresh()
        #expect(order(notebook.readingList) == "cbd")
        notebook.readingList.append(all[0])
        notebook.readingList.move(from: 3, to: 1)
        try context.save()
        #expect(order(notebook.readingList) == "cabd")
        #expect(try store.verify().isClean)
    }

    @Test func aMemberThatChangesItsOwnerHasOnePlace() throws {
        let context = store.context()
        let (swift, rust) = (Notebook(name: "Swift"), Notebook(name: "Rust"))
        let all = articles("abcd")
        swift.readingList = OrderedToMany(all[0...1])
        rust.readingList = OrderedToMany(all[2...3])
        context.insert(swift)
        context.insert(rust)
        try context.save()
        rust.readingList.insert(all[0], at: 1)
        try context.save()
        #expect(order(swift.readingList) == "b")
        #expect(order(rust.readingList) == "cad")
        all[3].readingList = swift
        try context.save()
        let other = store.context()
        let same = try other.load(
            \Article.readingList, of: try other.fetch(Article.self).all()
        ).sorted { $0.name < $1.name }
        #expect(same.map { order($0.readingList) } == ["ca", "bd"])
        #expect(try store.verify().isClean)
    }

    @Test func twoContextsMayAddAndMoveInOneList() throws {
        let context = store.context()
        let article = Article(title: "main")
        article.sources = OrderedToMany(articles("abc"))
        context.insert(article)
        try context.save()
        let others = [store.context(), store.context()]
        for (index, other) in others.enumerated() {
            let same = try #require(try other.object(Article.self, id: article.id))
            same.sources.append(Article(title: "\(index)"))
            if index == 1 { same.sources.move(from: 2, to: 0) }
            try other.save()
        }
        try context.refresh()
        #expect(order(article.sources) == "cab01")
        // Inserting between two equal positions makes them differ.
        let x = Article(title: "x")
        article.sources.insert(x, at: 4)
        #expect(order(article.sources) == "cab0x1")
        try context.save()
        #expect(try store.verify().isClean)
    }

    @Test func appendingComesAfterWhatOthersHaveAppended() throws {
        let context = store.context()
        let article = Article(title: "main")
        article.sources = OrderedToMany(articles("ab"))
        context.insert(article)
        try context.save()
        article.sources.append(Article(title: "c"))
        context.rollback()
        let other = store.context()
        let same = try #require(try other.object(Article.self, id: article.id))
        same.sources.append(contentsOf: articles("xyz"))
        try other.save()
        try context.refresh()
        article.sources.append(Article(title: "d"))
        #expect(order(article.sources) == "abxyzd")
    }

    @Test(arguments: 0..<20) func randomMovesAgreeWithAnArray(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let context = store.context()
        let article = Article(title: "main")
        let notebook = Notebook(name: "list")
        context.insert(article)
        context.insert(notebook)
        var expected: [Article] = []
        for step in 0..<60 {
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1:
                let new = Article(title: "\(step)")
                expected.append(new)
                article.sources.append(new)
                notebook.readingList.append(new)
            case 2, 3:
                let new = Article(title: "\(step)")
                let index = Int.random(in: 0...expected.count, using: &random)
                expected.insert(new, at: index)
                article.sources.insert(new, at: index)
                notebook.readingList.insert(new, at: index)
            case 4 where !expected.isEmpty:
                let index = Int.random(in: 0..<expected.count, using: &random)
                let newIndex = Int.random(in: 0..<expected.count, using: &random)
                expected.insert(expected.remove(at: index), at: newIndex)
                article.sources.move(from: index, to: newIndex)
                notebook.readingList.move(from: index, to: newIndex)
            case 5 where !expected.isEmpty:
                let member = expected.remove(at: Int.random(in: 0..<expected.count, using: &random))
                article.sources.remove(member)
                notebook.readingList.remove(member)
            case 6:
                expected.shuffle(using: &random)
                article.sources = OrderedToMany(expected)
                notebook.readingList = OrderedToMany(expected)
            case 7: try context.save()
            default: break
            }
            #expect(Array(article.sources) == expected)
            #expect(Array(notebook.readingList) == expected)
        }
        try context.save()
        let other = store.context()
        let same = try #require(try other.object(Article.self, id: article.id))
        #expect(same.sources.map(\.id) == expected.map(\.id))
        let list = try #require(try other.object(Notebook.self, id: notebook.id))
        #expect(list.readingList.map(\.id) == expected.map(\.id))
        #expect(try store.verify().isClean)
    }

    @Test func thereIsAPositionBetweenAndItsBytesSortAsItDoes() throws {
        var random = SeededGenerator(seed: 7)
        var positions: [ListPosition] = [.first]
        for _ in 0..<2_000 {
            let index = Int.random(in: 0...positions.count, using: &random)
            let lower = index == 0 ? nil : positions[index - 1]
            let upper = index == positions.count ? nil : positions[index]
            positions.insert(try #require(.between(lower, upper)), at: index)
        }
        #expect(zip(positions, positions.dropFirst()).allSatisfy { $0 < $1 })
        let bytes = positions.map(\.bytes)
        #expect(zip(bytes, bytes.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
        #expect(bytes.map { ListPosition(bytes: $0) } == positions)
    }

    @Test func appendingMakesNoLongPositionsAndSplittingOnePlaceSlowlyLongerOnes() throws {
        var last = ListPosition.first
        for _ in 0..<100_000 { last = try #require(.between(last, nil)) }
        #expect(last.bytes.count == 8)
        var upper = last
        for _ in 0..<400 { upper = try #require(.between(.first, upper)) }
        #expect(upper.bytes.count < 70)
    }
}
