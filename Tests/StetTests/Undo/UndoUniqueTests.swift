import Foundation
import Stet
import StetStore
import Testing

/// Case 13 of the contract: unique values that others have taken.
struct UndoUniqueTests {
    private typealias Notebook = Ledger.Notebook
    private typealias Article = Ledger.Article

    private let desk: LedgerDesk
    private let notebook: ObjectID
    private let article: ObjectID
    private let before: LedgerState

    init() throws {
        let desk = try LedgerDesk()
        let notebook = Notebook(name: "Swift")
        let article = Article(title: "Macros", notebook: notebook)
        try desk.edit(nil) { $0.insert(article) }
        (self.desk, self.notebook, self.article) = (desk, notebook.id, article.id)
        before = try desk.state()
    }

    @Test("U13 A unique value that is taken is a conflict, left out, or renamed")
    func aUniqueValueThatIsTaken() throws {
        try desk.delete("a", Notebook.self, notebook)
        let holder = Notebook(name: "Swift")
        try desk.edit("b") { $0.insert(holder) }
        let theirs = try desk.state()
        for policy in [UndoPolicy.fail, .overwrite] {
            let conflicts = try desk.conflicts("a", policy)
            #expect(conflicts.kinds == ["notUnique"])
            #expect(conflicts.first?.others == [holder.id])
            #expect(conflicts.first?.object == notebook)
            #expect(conflicts.first?.property == "name")
        }
        // The article deleted by the cascade is restored without the notebook.
        let rest = try #require(try desk.store.previewUndo(author: "a", policy: .skip))
        #expect(rest.skipped.map(\.kind).contains(.notUnique))
        #expect(rest.changes.changes.map(\.id) == [article])
        let restored = rest.changes.changes.first?.properties ?? []
        #expect(restored.first { $0.name == "notebook" }?.new == .null)
        #expect(rest.conflicts == [])
        #expect(rest.violations == [])
        let taken = UndoPolicy.resolve { _ in .set(["name": .string("Swift")]) }
        #expect(try desk.conflicts("a", taken).kinds == ["notUnique"])
        try desk.store.undo(
            author: "a", policy: .resolve { _ in .set(["name": .string("Swift 2")]) })
        var state = before
        state[notebook]?[0] = .string("Swift 2")
        try desk.expect(state.merging(theirs) { one, _ in one })
    }

    @Test("U13 An object whose unique value is taken is left out, and the rest comes back")
    func anObjectWithATakenValueIsLeftOut() throws {
        try desk.delete("a", Notebook.self, notebook)
        let holder = Notebook(name: "Swift")
        try desk.edit("b") { $0.insert(holder) }
        var state = try desk.state()
        state[article] = before[article]
        state[article]?[2] = .null
        try desk.store.undo(author: "a", policy: .skip)
        try desk.expect(state)
    }

    @Test("U13 A changed unique value that is taken is a conflict, kept, or renamed")
    func aUniqueCellThatIsTaken() throws {
        try desk.edit("a", Notebook.self, notebook) { notebook in
            notebook.name = "Swift 6"
            notebook.colour = "red"
        }
        let holder = Notebook(name: "Swift")
        try desk.edit("b") { $0.insert(holder) }
        let theirs = try desk.state()
        for policy in [UndoPolicy.fail, .overwrite] {
            let conflicts = try desk.conflicts("a", policy)
            #expect(conflicts.kinds == ["notUnique"])
            #expect(conflicts.first?.object == notebook)
            #expect(conflicts.first?.property == "name")
            #expect(conflicts.first?.others == [holder.id])
        }
        // The colour is no conflict: it gets its former value, and the name is kept.
        try desk.store.undo(author: "a", policy: .skip)
        var kept = theirs
        kept[notebook]?[1] = .null
        try desk.expect(kept)
        try desk.store.redo(author: "a")
        try desk.expect(theirs)
    }
}
