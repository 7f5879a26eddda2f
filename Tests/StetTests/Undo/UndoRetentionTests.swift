import Foundation
import Stet
import StetStore
import StetTestSupport
import Testing

/// Cases 24 and 25 of the contract: commits of which the journal has not everything any more.
struct UndoRetentionTests {
    private typealias Notebook = Ledger.Notebook
    private typealias Article = Ledger.Article

    private let desk: LedgerDesk
    private let article: ObjectID

    /// Commit 1 inserts, nobody's.
    init() throws {
        let desk = try LedgerDesk()
        let article = Article(title: "Macros", notebook: Notebook(name: "Swift"))
        try desk.edit(nil) { $0.insert(article) }
        (self.desk, self.article) = (desk, article.id)
    }

    private func title(_ author: String, _ title: String, group: UndoGroup? = nil) throws {
        try desk.edit(author, title) { context in
            context.undoGroup = group
            try desk.object(Article.self, article, context).title = title
        }
    }

    private func code<Result>(_ body: () throws -> Result) -> StoreError.Code? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? StoreError)?.code
        }
    }

    private func trim(before revision: Revision) throws {
        try desk.store.requestTrim(before: revision).confirm()
    }

    private func labels(_ author: String) throws -> [[String?]] {
        let stack = try desk.store.undoStack(author: author)
        return [stack.undo.map(\.label), stack.redo.map(\.label)]
    }

    @Test("U24 A stack ends where the journal begins", arguments: [0, 1, 2])
    func trimmedEntry(policyNumber: Int) throws {
        let policy = [UndoPolicy.fail, .skip, .overwrite][policyNumber]
        try title("a", "two")
        try title("a", "three")
        try title("a", "four")
        let atFloor = try desk.state(asOf: 3)
        try trim(before: 4)
        #expect(try labels("a") == [["four"], []])
        try desk.reopen()
        try desk.store.undo(author: "a", policy: policy)
        try desk.expect(atFloor)
        let revision = try desk.store.revision()
        #expect(code { try desk.store.undo(author: "a", policy: policy) } == .historyTrimmed)
        #expect(code { try desk.store.previewUndo(author: "a") } == .historyTrimmed)
        #expect(code { try desk.store.revert(3) } == .historyTrimmed)
        #expect(code { try desk.store.previewRevert(2) } == .historyTrimmed)
        #expect(try desk.store.revision() == revision)
        #expect(try labels("a") == [[], ["four"]])
        try desk.expect(atFloor)
        // The redo belongs to a commit that was not trimmed.
        try desk.store.redo(author: "a", policy: policy)
        #expect(try desk.value(article, "title") == .string("four"))
        // A step that can never be undone is discarded, and leaves an empty stack.
        try desk.store.undo(author: "a")
        #expect(try desk.store.discardUndo(author: "a") == [3])
        #expect(try desk.store.undo(author: "a") == nil)
        try desk.expect(atFloor)
        try title("a", "five")
        try desk.store.undo(author: "a")
        try desk.expect(atFloor)
    }

    @Test("U24 A group that goes on below where the journal begins is not torn")
    func trimmedGroup() throws {
        let group = UndoGroup()
        for title in ["two", "three", "four"] { try self.title("a", title, group: group) }
        try title("a", "five")
        try trim(before: 3)
        let state = try desk.state(asOf: 4)
        try desk.store.undo(author: "a")
        try desk.expect(state)
        #expect(code { try desk.store.undo(author: "a") } == .historyTrimmed)
        #expect(code { try desk.store.undo(author: "a", policy: .overwrite) } == .historyTrimmed)
        try desk.expect(state)
    }

    @Test("U24 A group is undone as a whole where only what is below it was trimmed")
    func trimmedBelowAGroup() throws {
        try title("a", "two")
        let before = try desk.state()
        let group = UndoGroup()
        for title in ["three", "four"] { try self.title("a", title, group: group) }
        try trim(before: 3)
        #expect(try desk.store.undoStack(author: "a").undo.map(\.commits) == [[4, 3]])
        try desk.store.undo(author: "a")
        try desk.expect(before)
        try desk.reopen()
        try desk.store.redo(author: "a")
        #expect(try desk.value(article, "title") == .string("four"))
        #expect(try desk.store.verify().problems == [])
    }

    @Test("U24 Everything can be trimmed, and undo goes on with what comes then")
    func trimmedToTheHead() throws {
        try title("a", "two")
        try desk.store.undo(author: "a")
        let state = try desk.state()
        try trim(before: .max)
        try desk.expect(state)
        #expect(code { try desk.store.redo(author: "a") } == .historyTrimmed)
        try title("a", "three")
        try desk.store.undo(author: "a")
        try desk.expect(state)
        try desk.store.redo(author: "a")
        #expect(try desk.value(article, "title") == .string("three"))
        try desk.reopen()
    }

    @Test("U24 A store that was trimmed is restored with its stacks", arguments: [false, true])
    func restoredStacks(trimsBeforeTheBase: Bool) async throws {
        let store = desk.store
        let shipped = TemporaryDirectory()
        try title("a", "two")
        try title("a", "three")
        if trimsBeforeTheBase {
            try trim(before: 3)
            try await store.ship(to: shipped.path)
            try await store.undo(author: "a")
        } else {
            try await store.ship(to: shipped.path)
            try title("a", "four")
            try await store.ship(to: shipped.path)
            try trim(before: 4)
            try await store.undo(author: "a")
            #expect(try store.discardUndo(author: "a") == [3])
        }
        try title("a", "last")
        try await store.ship(to: shipped.path)
        let path = shipped.file("restored.stet")
        let report = try await Store.restore(from: shipped.path, to: path)
        #expect(report.problems == [])
        #expect(try desk.store.verify().problems == [])
        let restored = try Store.open(at: path, for: Ledger.models)
        let stack = try restored.undoStack(author: "a")
        #expect(stack.undo.map(\.label) == ["last"])
        try await restored.undo(author: "a")
        try await store.undo(author: "a")
        let title = try restored.object(Article.self, id: article)?.title
        #expect(try store.object(Article.self, id: article)?.title == title)
    }

    @Test("U24 A restored store has the steps below an undone one")
    func restoredBelowAnUndo() async throws {
        let store = desk.store
        let shipped = TemporaryDirectory()
        try await store.ship(to: shipped.path)
        try title("a", "two")
        try title("a", "three")
        try await store.undo(author: "a")
        try await store.ship(to: shipped.path)
        let path = shipped.file("restored.stet")
        let report = try await Store.restore(from: shipped.path, to: path)
        #expect(report.problems == [])
        let restored = try Store.open(at: path, for: Ledger.models)
        let stack = try restored.undoStack(author: "a")
        #expect(try stack == store.undoStack(author: "a"))
        #expect(stack.undo.first?.label == "two")
        #expect(stack.redo.map(\.label) == ["three"])
        try await restored.undo(author: "a")
        try await store.undo(author: "a")
        let title = try restored.object(Article.self, id: article)?.title
        #expect(try store.object(Article.self, id: article)?.title == title)
    }

    @Test("U24 A store that trimmed half of a group is restored")
    func restoredGroup() async throws {
        let store = desk.store
        let shipped = TemporaryDirectory()
        let group = UndoGroup()
        try title("a", "two", group: group)
        try await store.ship(to: shipped.path)
        try trim(before: 3)
        try title("a", "three", group: group)
        try await store.ship(to: shipped.path)
        let path = shipped.file("restored.stet")
        let report = try await Store.restore(from: shipped.path, to: path)
        #expect(report.problems == [])
        let restored = try Store.open(at: path, for: Ledger.models)
        #expect(try restored.undoStack(author: "a").undo.map(\.commits) == [[3], [2]])
        #expect(try store.verify().problems == [])
    }

    @Test("U25 A redacted entry is popped, and nothing is written", arguments: [0, 1, 2])
    func redactedEntry(policyNumber: Int) throws {
        let policy = [UndoPolicy.fail, .skip, .overwrite][policyNumber]
        try desk.edit("a", Article.self, article) { $0.rating = 3 }
        let rated = try desk.state()
        try title("a", "secret")
        try title("a", "public")
        let state = try desk.state()
        try desk.store.requestRedaction(of: Article.self, id: article, \.title).confirm()
        try desk.expect(state)
        #expect(try labels("a") == [["public", "secret", nil], []])
        #expect(code { try desk.store.previewUndo(author: "a") } == .erased)
        #expect(try labels("a") == [["public", "secret", nil], []])
        #expect(code { try desk.store.undo(author: "a", policy: policy) } == .erased)
        try desk.expect(state)
        #expect(try labels("a") == [["secret", nil], []])
        let last = try #require(try desk.store.journal().last)
        #expect(last.cause == .discard(of: 4))
        #expect(last.changeCount == 0)
        #expect(code { try desk.store.undo(author: "a", policy: policy) } == .erased)
        try desk.expect(state)
        #expect(try labels("a") == [[nil], []])
        // An unrelated step can be undone.
        try desk.store.undo(author: "a")
        #expect(try desk.value(article, "rating") == .int(0))
        #expect(try desk.value(article, "title") == .string("public"))
        #expect(code { try desk.store.revert(3, policy: policy) } == .erased)
        #expect(try rated != desk.state())
        try desk.reopen()
    }

    @Test("U25 A redacted undo is popped from the redo, asynchronously, too")
    func redactedUndo() async throws {
        try title("a", "secret")
        try await desk.store.undo(author: "a")
        #expect(try labels("a") == [[], ["secret"]])
        try desk.edit("b", Article.self, article) { $0.title = "public" }
        let state = try desk.state()
        try desk.store.requestRedaction(of: Article.self, id: article, \.title).confirm()
        let error = await #expect(throws: StoreError.self) {
            try await desk.store.redo(author: "a")
        }
        #expect(error?.code == .erased)
        #expect(try labels("a") == [[], []])
        #expect(try await desk.store.redo(author: "a") == nil)
        try desk.expect(state)
    }
}
