import Foundation
import Stet
import StetLMDB
import StetStore
import Testing

/// Cases 18 to 28 of the contract: the order of undos and redos, and what is around them.
struct UndoSequenceTests {
    private typealias Notebook = Ledger.Notebook
    private typealias Article = Ledger.Article

    private let desk: LedgerDesk
    private let article: ObjectID
    private let before: LedgerState

    init() throws {
        let desk = try LedgerDesk()
        let article = Article(title: "Macros", notebook: Notebook(name: "Swift"))
        try desk.edit(nil) { $0.insert(article) }
        (self.desk, self.article) = (desk, article.id)
        before = try desk.state()
    }

    @discardableResult
    private func title(
        _ author: String?, _ title: String, scope: String? = nil, group: UndoGroup? = nil
    ) throws -> Revision {
        try desk.edit(author, scope: scope, title) { context in
            context.undoGroup = group
            try desk.object(Article.self, article, context).title = title
        }
    }

    private func rating(_ author: String, _ rating: Int) throws {
        try desk.edit(author, Article.self, article) { $0.rating = rating }
    }

    private func labels(_ author: String, scope: String? = nil) throws -> [[String?]] {
        let stack = try desk.store.undoStack(author: author, scope: scope)
        return [stack.undo.map(\.label), stack.redo.map(\.label)]
    }

    @Test("U18 As many redos as undos give the same state")
    func undosAndRedos() throws {
        var states = [before]
        for number in 1...5 {
            try title("a", "\(number)")
            states.append(try desk.state())
        }
        for count in 1...5 {
            for number in 1...count {
                try desk.store.undo(author: "a")
                #expect(try desk.state() == states[5 - number])
            }
            for number in 1...count {
                try desk.store.redo(author: "a")
                #expect(try desk.state() == states[5 - count + number])
            }
            try desk.expect(states[5])
        }
        #expect(try labels("a") == [["5", "4", "3", "2", "1"], []])
        #expect(try desk.store.redo(author: "a") == nil)
    }

    @Test("U19 An edit after an undo ends the redo, in its scope")
    func anEditEndsTheRedo() throws {
        let one = try title("a", "one")
        let afterOne = try desk.state()
        let two = try title("a", "two", scope: "other")
        let afterTwo = try desk.state()
        try desk.store.undo(author: "a", scope: "other")
        try desk.store.undo(author: "a")
        #expect(try labels("a") == [[], ["one"]])
        #expect(try labels("a", scope: "other") == [[], ["two"]])
        try rating("a", 3)
        #expect(try labels("a") == [[nil], []])
        #expect(try labels("a", scope: "other") == [[], ["two"]])
        #expect(try desk.store.redo(author: "a") == nil)
        // The undone commits are still in the journal, with their states.
        #expect(try desk.state(asOf: one) == afterOne)
        #expect(try desk.state(asOf: two) == afterTwo)
        #expect(try desk.store.journal().map(\.revision).contains(one))
        try desk.reopen()
    }

    @Test("U20 Commits of others leave the redo, which obeys the rule of cells")
    func commitsOfOthersLeaveTheRedo() throws {
        try title("a", "A's")
        let theirs = try desk.state()
        try desk.store.undo(author: "a")
        try rating("b", 3)
        try desk.store.redo(author: "a")
        var state = theirs
        state[article]?[1] = .int(3)
        try desk.expect(state)
        try desk.store.undo(author: "a")
        try title("b", "B's")
        let error = #expect(throws: UndoConflictError.self) {
            try self.desk.store.redo(author: "a")
        }
        #expect(error?.conflicts.kinds == ["changed"])
        #expect(try labels("a") == [[], ["A's"]])
        try desk.store.redo(author: "a", policy: .overwrite)
        try desk.expect(state)
    }

    @Test("U21 An undo is taken back by a redo, or reverted like any commit")
    func anUndoIsTakenBack() throws {
        try title("a", "A's")
        let after = try desk.state()
        let undo = try #require(try desk.store.undo(author: "a"))
        let revert = try #require(try desk.store.revert(undo.revision, author: "a"))
        #expect(revert.cause == .revert(of: undo.revision))
        #expect(try labels("a") == [["A's"], []])
        try desk.expect(after)
        try desk.store.undo(author: "a")
        try desk.expect(before)
    }

    @Test("U22 Only a revert takes back what another has committed")
    func whatAnotherHasCommitted() throws {
        let theirs = try title("b", "B's")
        #expect(try desk.store.undo(author: "a") == nil)
        #expect(try desk.store.undo(author: "b", scope: "x") == nil)
        let plan = try desk.store.previewRevert(theirs)
        #expect(plan.commits == [theirs])
        #expect(plan.isPossible)
        #expect(plan.label == "B's")
        let revert = try #require(try desk.store.revert(theirs, author: "a"))
        #expect(revert.author == "a")
        #expect(revert.changeSet == plan.changes)
        try desk.expect(before)
        #expect(try labels("b") == [["B's"], []])
        #expect(try labels("a") == [["B's"], []])
        #expect(throws: StoreError.self) { try self.desk.store.revert(99) }
    }

    @Test("U18 A group is one step, whatever others have committed between")
    func aGroupIsOneStep() throws {
        try title("a", "before")
        let start = try desk.state()
        let group = UndoGroup()
        try title("a", "one", group: group)
        try rating("b", 4)
        try title("a", "two", group: group)
        try title("a", "other", group: UndoGroup())
        let end = try desk.state()
        #expect(
            try desk.store.undoStack(author: "a").undo.map(\.commits) == [[6], [5, 3], [2]])
        try desk.store.undo(author: "a")
        let commit = try #require(try desk.store.undo(author: "a"))
        #expect(commit.cause == .undo(of: 5))
        #expect(commit.label == "two")
        var state = start
        state[article]?[1] = .int(4)
        try desk.expect(state)
        try desk.store.redo(author: "a")
        try desk.store.redo(author: "a")
        try desk.expect(end)
        #expect(try desk.store.undoStack(author: "a").undo.count == 3)
    }

    #if STET_FAULTS
        @Test(
            "U26 A failure in the middle leaves nothing, and a retry with the same id is idempotent"
        )
        func aFailureInTheMiddle() throws {
            try title("a", "A's")
            let after = try desk.state()
            let id = try desk.store.makeCommitID()
            var failures = 0
            var written: Commit?
            while written == nil {
                desk.store.file.environment.faults.failNext(
                    .put, after: failures + 1, code: LMDBError.noSpace)
                do {
                    written = try desk.store.undo(author: "a", id: id)
                } catch let error as StoreError {
                    #expect(error.code == .diskFull)
                    failures += 1
                    try desk.expect(after)
                    #expect(try labels("a") == [["A's"], []])
                }
            }
            #expect(failures > 2)
            desk.store.file.environment.faults.disarm()
            let commit = try #require(written)
            try desk.expect(before)
            #expect(try desk.store.undo(author: "a", id: id) == commit)
            #expect(try desk.store.revision() == commit.revision)
            #expect(try labels("a") == [[], ["A's"]])
            // Also where the store was closed and opened between the attempts.
            try desk.reopen()
            #expect(try desk.store.undo(author: "a", id: id) == commit)
            #expect(try desk.store.revision() == commit.revision)
            #expect(try labels("a") == [[], ["A's"]])
        }
    #endif

    @Test("U27 What is not undoable is on no stack, and can be reverted")
    func whatIsNotUndoable() throws {
        try title("a", "A's")
        let after = try desk.state()
        try desk.store.undo(author: "a")
        let context = desk.store.context(author: "a")
        context.isUndoable = false
        let imported = Article(title: "Imported")
        context.insert(imported)
        let commit = try #require(try context.save("import"))
        #expect(!commit.isUndoable)
        #expect(try labels("a") == [[], ["A's"]])
        try desk.store.redo(author: "a")
        try desk.store.revert(commit.revision, author: "b")
        try desk.expect(after)
        #expect(try labels("b") == [["import"], []])
    }

    @Test("U28 Subscribers hear of an undo, and of its cause")
    func subscribersHearOfIt() async throws {
        var commits = desk.store.commits.makeAsyncIterator()
        let edit = try title("a", "A's")
        let undo = try #require(try await desk.store.undo(author: "a"))
        let redo = try #require(try await desk.store.redo(author: "a"))
        let revert = try #require(try await desk.store.revert(redo.revision, author: "b"))
        var heard: [Commit] = []
        for _ in 0..<4 { heard.append(try #require(try await commits.next())) }
        #expect(
            heard.map(\.cause) == [
                .edit, .undo(of: edit), .redo(of: undo.revision), .revert(of: redo.revision),
            ])
        #expect(Array(heard.dropFirst()) == [undo, redo, revert])
        #expect(heard[1].changes(of: Article.self).first?.old[\.title] == "A's")
    }

    @Test("U19 A head that can never be undone is discarded, which the journal tells")
    func aHeadIsDiscarded() throws {
        try title("a", "one")
        let two = try title("a", "two")
        try desk.delete("b", Article.self, article)
        #expect(try desk.conflicts("a").kinds == ["gone"])
        #expect(try desk.store.discardUndo(author: "a") == [two])
        let last = try #require(try desk.store.journal().last)
        #expect(last.cause == .discard(of: two))
        #expect(last.changeCount == 0)
        #expect(try labels("a") == [["one"], []])
        #expect(try desk.store.discardUndo(author: "a").count == 1)
        #expect(try desk.store.discardUndo(author: "a") == [])
        try desk.reopen()
    }

    @Test("U10 A cascade of many objects comes back with ids, references and order")
    func aLargeCascade() throws {
        let text = ProcessInfo.processInfo.environment["STET_CASCADE"]
        let count = text.flatMap { Int($0) } ?? 5_000
        let notebook = Notebook(name: "Large")
        try desk.edit(nil) { context in
            context.insert(notebook)
            var last: Article?
            for number in 0..<count {
                let article = Article(title: "\(number)", notebook: notebook)
                article.next = last
                context.insert(article)
                if number % 10 == 0 { notebook.shelf.append(article) }
                last = article
            }
        }
        let before = try desk.state()
        try desk.delete("a", Notebook.self, notebook.id)
        #expect(try desk.state() == self.before)
        let commit = try #require(try desk.store.undo(author: "a"))
        #expect(commit.changeCount == count + 1)
        try desk.expect(before)
        try desk.store.redo(author: "a")
        try desk.expect(self.before)
    }
}
