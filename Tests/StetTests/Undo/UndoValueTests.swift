import Foundation
import Stet
import StetStore
import Testing

/// Cases 1 to 4 of the contract: values that were changed since, or were not.
struct UndoValueTests {
    private typealias Notebook = Ledger.Notebook
    private typealias Article = Ledger.Article

    private let desk: LedgerDesk
    private let notebook: ObjectID
    private let article: ObjectID
    private let before: LedgerState
    private static var policies: [UndoPolicy] { [.fail, .skip, .overwrite] }

    init() throws {
        let desk = try LedgerDesk()
        let notebook = Notebook(name: "Swift")
        let article = Article(title: "Macros", notebook: notebook)
        try desk.edit(nil) { $0.insert(article) }
        (self.desk, self.notebook, self.article) = (desk, notebook.id, article.id)
        before = try desk.state()
    }

    private func title(_ author: String, _ title: String) throws {
        try desk.edit(author, Article.self, article) { $0.title = title }
    }

    @Test("U1 A field that is as the commit has left it gets the value of before")
    func anUntouchedFieldComesBack() throws {
        try title("a", "Changed")
        let after = try desk.state()
        let commit = try #require(try desk.store.undo(author: "a"))
        #expect(commit.cause == .undo(of: 2))
        #expect(commit.author == "a")
        #expect(commit.isUndoable)
        #expect(commit.changeSet.changes.map(\.kind) == [.update])
        try desk.expect(before)
        let redo = try #require(try desk.store.redo(author: "a"))
        #expect(redo.cause == .redo(of: commit.revision))
        try desk.expect(after)
        try desk.store.undo(author: "a")
        try desk.expect(before)
        #expect(try desk.store.undo(author: "a") == nil)
    }

    @Test("U2 A field that another has changed since is a conflict, kept, or taken")
    func aFieldChangedByOthers() throws {
        try title("a", "A's")
        try title("b", "B's")
        let theirs = try desk.state()
        let conflicts = try desk.conflicts("a")
        #expect(
            conflicts == [
                UndoConflict(
                    kind: .changed, entity: "Article", object: article, property: "title",
                    before: .string("Macros"), after: .string("A's"), current: .string("B's"),
                    later: .init(revision: 3, author: "b", label: nil), others: [])
            ])
        #expect(
            conflicts.first?.debugDescription
                == "title of Article \(article) was \"Macros\", then \"A's\", and has since "
                + "become \"B's\" by commit 3 of b")
        let commit = try #require(try desk.store.undo(author: "a", policy: .overwrite))
        #expect(commit.metadata == [:])
        try desk.expect(before)
        try desk.store.redo(author: "a")
        try desk.expect(theirs)
    }

    @Test("U2 What is skipped stays, and a step with nothing left is discarded")
    func whatIsSkippedStays() throws {
        try desk.edit("a", Article.self, article) { article in
            article.title = "A's"
            article.rating = 3
        }
        try title("b", "B's")
        let commit = try #require(try desk.store.undo(author: "a", policy: .skip))
        #expect(commit.metadata["stet.skipped"] == "1; changed Article \(article).title")
        #expect(try desk.value(article, "title") == .string("B's"))
        #expect(try desk.value(article, "rating") == .int(0))
        try title("a", "A's again")
        try title("b", "B's again")
        let theirs = try desk.state()
        #expect(try desk.store.undo(author: "a", policy: .skip) == nil)
        try desk.expect(theirs)
        let last = try #require(try desk.store.journal().last)
        #expect(last.cause == .discard(of: 5))
        #expect(last.changeCount == 0)
        #expect(!last.isUndoable)
        #expect(last.metadata["stet.skipped"] == "1; changed Article \(article).title")
        #expect(try desk.store.undoStack(author: "a") == UndoStack(undo: [], redo: []))
    }

    @Test("U2b Another field of the same stamped object is no conflict", arguments: [0, 1, 2])
    func anotherFieldOfAStampedObject(policy: Int) throws {
        try title("a", "A's")
        try desk.edit("b", Article.self, article) { $0.rating = 4 }
        let stamp = try desk.value(article, "updated")
        try desk.store.undo(author: "a", policy: Self.policies[policy])
        #expect(try desk.value(article, "updated") == stamp)
        var state = before
        state[article]?[1] = .int(4)
        try desk.expect(state)
    }

    @Test("U3 A field that has the value of before already is left alone", arguments: [0, 1, 2])
    func aFieldThatIsBackAlready(policy: Int) throws {
        let policy = Self.policies[policy]
        try desk.edit("a", Article.self, article) { article in
            article.title = "A's"
            article.rating = 3
        }
        try title("b", "Macros")
        let commit = try #require(try desk.store.undo(author: "a", policy: policy))
        #expect(commit.changeSet.changes.map { $0.properties.map(\.name) } == [["rating"]])
        try desk.expect(before)
    }

    @Test(
        "U4 What others have changed and changed back is as the commit has left it",
        arguments: [0, 1, 2])
    func aFieldThatWentAndCame(policy: Int) throws {
        try title("a", "A's")
        try title("b", "B's")
        try title("b", "A's")
        let commit = try #require(
            try desk.store.undo(author: "a", policy: Self.policies[policy]))
        #expect(commit.metadata == [:])
        try desk.expect(before)
    }

    @Test("U2 A closure answers each conflict, also with another value")
    func aClosureAnswers() throws {
        try desk.edit("a", Article.self, article) { article in
            article.title = "A's"
            article.rating = 3
        }
        try desk.edit("b", Article.self, article) { article in
            article.title = "B's"
            article.rating = 4
        }
        var asked: [String] = []
        try desk.store.undo(
            author: "a",
            policy: .resolve { conflict in
                asked.append(conflict.property ?? "")
                return conflict.property == "title" ? .set(["title": .string("Ours")]) : .keep
            })
        #expect(asked == ["title", "rating"])
        #expect(try desk.value(article, "title") == .string("Ours"))
        #expect(try desk.value(article, "rating") == .int(4))
        try desk.reopen()
    }

    @Test("U14 What a rule or a validator forbids is not written", arguments: [true, false])
    func whatIsNotValid(byRule: Bool) throws {
        // A value can become invalid when another one changes.
        try title("a", "A's")
        let theirs = try desk.state()
        let policy = UndoPolicy.resolve { _ in .fail }
        let title = byRule ? "" : article.description
        try self.title("b", "B's")
        let answer = UndoPolicy.resolve { _ in .set(["title": .string(title)]) }
        let stack = try desk.store.undoStack(author: "a")
        let error = #expect(throws: ValidationError.self) {
            try desk.store.undo(author: "a", policy: answer)
        }
        #expect(
            error?.violations.map(\.message)
                == [byRule ? "title can't be empty" : "a title is no id"])
        #expect(error?.rejected.changes.first?.id == article)
        #expect(try desk.store.undoStack(author: "a") == stack)
        #expect(try desk.store.previewUndo(author: "a", policy: answer)?.isPossible == false)
        #expect(throws: UndoConflictError.self) {
            try desk.store.undo(author: "a", policy: policy)
        }
        try self.title("b", "A's")
        try desk.expect(theirs)
    }
}
