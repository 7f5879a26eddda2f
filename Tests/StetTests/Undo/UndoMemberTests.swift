import Foundation
import Stet
import StetStore
import Testing

/// Cases 15 to 17 of the contract: members of relationships, and their order.
struct UndoMemberTests {
    private typealias Notebook = Ledger.Notebook
    private typealias Article = Ledger.Article
    private typealias Tag = Ledger.Tag

    private let desk: LedgerDesk
    private let notebook: ObjectID
    private let articles: [ObjectID]
    private let tags: [ObjectID]
    private let before: LedgerState

    /// Articles a to e on the shelf of a notebook; two tags, of which the first article has one.
    init() throws {
        let desk = try LedgerDesk()
        let notebook = Notebook(name: "Swift")
        let articles = "abcde".map { Article(title: String($0)) }
        let tags = ["one", "two"].map { Tag(name: $0) }
        try desk.edit(nil) { context in
            context.insert(notebook)
            notebook.shelf = OrderedToMany(articles)
            articles[0].tags = ToMany(tags.prefix(1))
            context.insert(tags[1])
        }
        (self.desk, self.notebook) = (desk, notebook.id)
        (self.articles, self.tags) = (articles.map(\.id), tags.map(\.id))
        before = try desk.state()
    }

    @discardableResult
    private func tagging(
        _ author: String, _ body: (ToMany<Tag>, [Tag]) -> Void
    ) throws -> Revision {
        try desk.edit(author) { context in
            let article = try desk.object(Article.self, articles[0], context)
            body(article.tags, try tags.map { try desk.object(Tag.self, $0, context) })
        }
    }

    private func shelving(
        _ author: String, _ body: (OrderedToMany<Article>, [Article]) -> Void
    ) throws {
        try desk.edit(author) { context in
            let notebook = try desk.object(Notebook.self, notebook, context)
            body(
                notebook.shelf, try articles.map { try desk.object(Article.self, $0, context) })
        }
    }

    private func tagNames() throws -> [String] {
        let context = desk.store.context()
        return try withExtendedLifetime(context) {
            try desk.object(Article.self, articles[0], context).tags.map(\.name).sorted()
        }
    }

    private static var policies: [UndoPolicy] { [.fail, .skip, .overwrite] }

    @Test("U15 An added member is taken out, and one that is out already stays out")
    func anAddedMember() throws {
        for policy in Self.policies {
            try tagging("a") { $0.append($1[1]) }
            try desk.store.undo(author: "a", policy: policy)
            try desk.expect(before)
            try tagging("a") { $0.append($1[1]) }
            try tagging("b") { $0.remove($1[1]) }
            #expect(try desk.store.undo(author: "a", policy: policy) == nil)
            try desk.expect(before)
        }
    }

    @Test("U15 A removed member is put in, and one that is in again stays in")
    func aRemovedMember() throws {
        for policy in Self.policies {
            try tagging("a") { $0.remove($1[0]) }
            try desk.store.undo(author: "a", policy: policy)
            try desk.expect(before)
            let removal = try tagging("a") { $0.remove($1[0]) }
            let addition = try tagging("b") { $0.append($1[0]) }
            #expect(try desk.store.undo(author: "a", policy: policy) == nil)
            try desk.expect(before)
            try desk.store.revert(addition)
            #expect(try tagNames() == [])
            try desk.store.revert(removal)
            try desk.expect(before)
        }
    }

    @Test("U16 Members that others have added stay", arguments: [0, 1, 2])
    func membersOfOthersStay(policy: Int) throws {
        let policy = Self.policies[policy]
        // The state that the edit of the other author makes by itself.
        let addition = try tagging("b") { $0.append($1[1]) }
        let theirs = try desk.state()
        try desk.store.revert(addition)
        try desk.expect(before)
        try tagging("a") { $0.remove($1[0]) }
        try tagging("b") { $0.append($1[1]) }
        try desk.store.undo(author: "a", policy: policy)
        try desk.expect(theirs)
        try shelving("a") { shelf, articles in shelf.remove(articles[4]) }
        let late = Article(title: "x")
        try desk.edit("b") { context in
            context.insert(late)
            try desk.object(Notebook.self, notebook, context).shelf.append(late)
        }
        try desk.store.undo(author: "a", policy: policy)
        #expect(try desk.order(notebook) == "abcdex")
        #expect(Set(try desk.state().keys) == Set(theirs.keys).union([late.id]))
        try shelving("b") { shelf, articles in shelf.move(from: 5, to: 4) }
        #expect(try desk.order(notebook) == "abcdxe")
        try desk.reopen()
    }

    @Test(
        "U17 A member comes back behind its nearest left neighbour that is still there",
        arguments: [0, 1, 2])
    func aMemberComesBackToItsPlace(policy: Int) throws {
        try shelving("a") { shelf, articles in shelf.remove(articles[2]) }
        try shelving("b") { shelf, articles in shelf.move(from: 1, to: 3) }
        #expect(try desk.order(notebook) == "adeb")
        try desk.store.undo(author: "a", policy: Self.policies[policy])
        #expect(try desk.order(notebook) == "adebc")
        try desk.reopen()
    }

    @Test("U17 Without its left neighbours a member comes back behind the one before them")
    func theNearestLeftNeighbourIsGone() throws {
        try shelving("a") { shelf, articles in
            shelf.remove(articles[2])
            shelf.remove(articles[3])
        }
        try shelving("b") { shelf, articles in
            shelf.remove(articles[1])
            shelf.move(from: 1, to: 0)
        }
        #expect(try desk.order(notebook) == "ea")
        try desk.store.undo(author: "a")
        #expect(try desk.order(notebook) == "eacd")
        try shelving("b") { shelf, articles in shelf.remove(articles[0]) }
        try desk.store.redo(author: "a")
        #expect(try desk.order(notebook) == "e")
        try desk.store.undo(author: "a")
        #expect(try desk.order(notebook) == "ecd")
        try desk.reopen()
    }

    @Test("U17 A member comes back where others were appended at the same time")
    func aMemberComesBackAmongThoseOfOnePlace() throws {
        let late = "xyz".map { Article(title: String($0)) }
        let contexts = try late.map { article in
            let context = desk.store.context()
            context.insert(article)
            try desk.object(Notebook.self, notebook, context).shelf.append(article)
            return context
        }
        for context in contexts { try context.save() }
        let order = try desk.order(notebook)
        let places = try desk.state().values.flatMap { values in
            values.filter { value in if case .placed = value { true } else { false } }
        }
        #expect(places.count == 8)
        #expect(Set(places).count == 6)
        #expect(order.hasPrefix("abcde"))
        #expect(order.count == 8)
        let middle = try #require(late.first { $0.title == String(Array(order)[6]) })
        try desk.edit("a") { context in
            try desk.object(Notebook.self, notebook, context).shelf
                .remove(desk.object(Article.self, middle.id, context))
        }
        try shelving("b") { shelf, articles in
            shelf.remove(articles[0])
            shelf.append(articles[0])
        }
        try desk.store.undo(author: "a")
        let restored = try desk.order(notebook)
        #expect(restored.hasPrefix("bcde\(Array(order)[5])"))
        #expect(restored.count == 8)
        try desk.reopen()
    }

    @Test("U17 An order that nobody else has changed comes back as it was")
    func anUntouchedOrder() throws {
        try shelving("a") { shelf, articles in
            shelf.move(from: 0, to: 3)
            shelf.remove(articles[1])
        }
        let after = try desk.state()
        #expect(try desk.order(notebook) == "cdae")
        try desk.store.undo(author: "a")
        try desk.expect(before)
        try desk.store.redo(author: "a")
        try desk.expect(after)
    }

    @Test("U17 A move that others have moved on stays as they have left it")
    func aMoveThatWasMovedOn() throws {
        try shelving("a") { shelf, _ in shelf.move(from: 0, to: 4) }
        try shelving("b") { shelf, _ in shelf.move(from: 4, to: 2) }
        let theirs = try desk.state()
        #expect(try desk.order(notebook) == "bcade")
        #expect(try desk.store.undo(author: "a") == nil)
        try desk.expect(theirs)
    }

    @Test("U15 A member that others have given to another owner stays there, or comes back")
    func aMemberOfAnotherOwner() throws {
        let other = Notebook(name: "Other")
        try desk.edit(nil) { $0.insert(other) }
        let before = try desk.state()
        try shelving("a") { shelf, articles in shelf.remove(articles[2]) }
        try desk.edit("b") { context in
            try desk.object(Notebook.self, other.id, context).shelf
                .append(try desk.object(Article.self, articles[2], context))
        }
        let theirs = try desk.state()
        #expect(try desk.conflicts("a").map(\.property) == ["shelf"])
        #expect(try desk.store.undo(author: "a", policy: .skip) == nil)
        try desk.expect(theirs)
        try desk.store.revert(try desk.store.journal()[2].revision, policy: .overwrite)
        #expect(try desk.order(notebook).sorted() == Array("abcde"))
        #expect(try desk.order(other.id) == "")
        #expect(try desk.state().count == before.count)
        try desk.reopen()
    }
}
