import Foundation
import Stet
import StetStore
import StetTestSupport
import Testing

/// The properties of the contract, over random histories; P6 is that of `UndoRuleTests`.
struct UndoPropertyTests {
    private static let seeds: Range<UInt64> = 0..<12

    /// Random edits of a few objects by a few authors.
    private final class RandomLedger {
        typealias Notebook = Ledger.Notebook
        typealias Article = Ledger.Article
        typealias Tag = Ledger.Tag

        let desk: LedgerDesk
        var random: SeededGenerator

        init(_ seed: UInt64) throws {
            desk = try LedgerDesk()
            random = SeededGenerator(seed: 0x57e7_4500, stream: Int(seed))
            try edits("x", 12)
        }

        func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

        private func any<M: Model>(_ type: M.Type, _ context: ManagedContext) throws -> M? {
            try context.fetch(type).all().sorted { $0.id < $1.id }.randomElement(using: &random)
        }

        /// One commit; nil when it came to nothing, or was refused.
        @discardableResult
        func edit(_ author: String?, steps: Int = 3) throws -> Commit? {
            let context = desk.store.context(author: author)
            for _ in 0...number(steps) { try step(context) }
            do {
                return try context.save("\(author ?? "nobody") \(number(1_000))")
            } catch is ValidationError {
                return nil
            }
        }

        func edits(_ author: String?, _ count: Int) throws {
            for _ in 0..<count { try edit(author) }
        }

        private func step(_ context: ManagedContext) throws {
            let article = try any(Article.self, context)
            let notebook = try any(Notebook.self, context)
            switch number(12) {
            case 0: context.insert(Notebook(name: "n\(number(8))"))
            case 1, 2: context.insert(Article(title: "t\(number(9))", notebook: notebook))
            case 3: article?.title = "t\(number(9))"
            case 4: article?.rating = number(6)
            case 5: article?.notebook = notebook
            case 6: article?.next = try any(Article.self, context)
            case 7: notebook?.colour = number(2) == 0 ? nil : "c\(number(3))"
            case 8:
                guard let article, let notebook else { return }
                let count = notebook.shelf.count - (notebook.shelf.contains(article) ? 1 : 0)
                notebook.shelf.insert(article, at: number(count + 1))
            case 9:
                guard let notebook, notebook.shelf.count > 1 else { return }
                let count = notebook.shelf.count
                notebook.shelf.move(from: number(count), to: number(count))
            case 10:
                guard let article else { return }
                if let tag = article.tags.first {
                    article.tags.remove(tag)
                } else {
                    article.tags.append(try any(Tag.self, context) ?? Tag(name: "tag"))
                }
            default:
                if number(4) == 0, let notebook {
                    context.delete(notebook)
                } else if let article {
                    context.delete(article)
                }
            }
        }
    }

    @Test("P1 Undos and as many redos with nothing between them change nothing", arguments: seeds)
    func undosAndRedosAreTheIdentity(seed: UInt64) throws {
        let ledger = try RandomLedger(seed)
        let desk = ledger.desk
        try ledger.edits("a", 8)
        var states = [try desk.state()]
        var count = 0
        while try desk.store.undo(author: "a") != nil {
            states.append(try desk.state())
            count += 1
        }
        #expect(count > 3)
        #expect(try desk.store.undoStack(author: "a").undo == [])
        for state in states.dropLast().reversed() {
            try desk.store.redo(author: "a")
            #expect(try desk.state() == state, "seed \(seed)")
        }
        try desk.reopen()
    }

    @Test("P2 An undo that fails has changed nothing")
    func aFailedUndoChangesNothing() throws {
        var failed = 0
        for seed in Self.seeds {
            let ledger = try RandomLedger(seed)
            for _ in 0..<12 {
                try ledger.edit("a")
                try ledger.edit("b")
                try ledger.edit("b")
                if try undoFails(ledger.desk) { failed += 1 }
            }
            try ledger.desk.reopen()
        }
        #expect(failed > 10)
    }

    /// True when an undo is refused, which has changed nothing then.
    private func undoFails(_ desk: LedgerDesk) throws -> Bool {
        let (before, revision) = (try desk.state(), try desk.store.revision())
        let stack = try desk.store.undoStack(author: "a")
        do {
            try desk.store.undo(author: "a")
            return false
        } catch let error as UndoConflictError {
            #expect(!error.conflicts.isEmpty)
        } catch is ValidationError {}
        #expect(try desk.store.revision() == revision && desk.state() == before)
        #expect(try desk.store.undoStack(author: "a") == stack)
        return true
    }

    @Test("P3 Without overwriting, what others have written last stays", arguments: seeds)
    func whatOthersHaveWrittenStays(seed: UInt64) throws {
        let ledger = try RandomLedger(seed)
        let desk = ledger.desk
        var undone = 0
        for _ in 0..<10 {
            guard let edit = try ledger.edit("a") else { continue }
            try ledger.edit("b")
            try ledger.edit("b")
            let before = try desk.state()
            let commit = try? desk.store.undo(author: "a", policy: .skip)
            guard let commit else { continue }
            undone += 1
            let after = try desk.state()
            for change in edit.changeSet.changes where change.kind == .update {
                let entity = try #require(desk.store.file.schema.entity(named: change.entity))
                for property in change.properties {
                    guard let slot = entity.slot(of: property.name),
                        entity.properties[slot].stamp == nil, let now = before[change.id]
                    else { continue }
                    let plain = entity.properties[..<slot.index].count { $0.stamp == nil }
                    // Positions alone never conflict.
                    if now[plain].target != property.new.target
                        || now[plain].target == nil && now[plain] != property.new
                    {
                        #expect(after[change.id]?[plain] == now[plain], "seed \(seed)")
                    }
                }
            }
            // Objects that the undone commit did not change stay unchanged.
            let touched = Set(edit.changeSet.changes.map(\.id))
            let others = Set(commit.changeSet.changes.map(\.id)).subtracting(touched)
            #expect(others.isEmpty, "seed \(seed)")
        }
        #expect(undone > 2, "seed \(seed)")
        try desk.reopen()
    }

    @Test("P4 A revert of a revert is the state after the commit", arguments: seeds)
    func aRevertOfARevert(seed: UInt64) throws {
        let ledger = try RandomLedger(seed)
        let desk = ledger.desk
        for _ in 0..<8 {
            let before = try desk.state()
            guard let commit = try ledger.edit("a") else { continue }
            let after = try desk.state()
            let revert = try #require(try desk.store.revert(commit.revision, author: "b"))
            #expect(try desk.state() == before, "seed \(seed)")
            try desk.store.revert(revert.revision, author: "c")
            #expect(try desk.state() == after, "seed \(seed)")
        }
        try desk.reopen()
    }

    @Test("P5 The stacks that the journal makes are those that are stored", arguments: seeds)
    func theStacksAreThoseOfTheJournal(seed: UInt64) throws {
        let ledger = try RandomLedger(seed)
        let desk = ledger.desk
        let authors = ["a", "b", "c"]
        for _ in 0..<40 {
            let author = authors[ledger.number(3)]
            do {
                switch ledger.number(5) {
                case 0, 1: try ledger.edit(author)
                case 2: try desk.store.undo(author: author, policy: .skip)
                case 3: try desk.store.redo(author: author, policy: .overwrite)
                default:
                    let last = try desk.store.revision().number
                    let revision = Revision(UInt64(ledger.number(Int(last)) + 1))
                    try desk.store.revert(revision, author: author, policy: .skip)
                }
            } catch is UndoConflictError {
            } catch is ValidationError {}
        }
        for author in authors {
            let stack = try desk.store.undoStack(author: author)
            #expect(try stack == rebuilt(desk.store, author), "seed \(seed)")
        }
        // `verify` compares them, too.
        try desk.reopen()
    }

    /// Returns the stacks of an author as the contract defines them, from the journal alone.
    private func rebuilt(_ store: Store, _ author: String) throws -> UndoStack {
        var undo: [Commit] = []
        var redo: [Commit] = []
        for commit in try store.journal() where commit.author == author {
            switch commit.cause {
            case .undo:
                undo.removeLast()
                redo.append(commit)
            case .redo:
                redo.removeLast()
                undo.append(commit)
            case .discard(let subject):
                undo.removeAll { $0.revision == subject }
                redo.removeAll { $0.revision == subject }
            default:
                redo = []
                undo.append(commit)
            }
        }
        func steps(_ commits: [Commit]) -> [UndoStack.Step] {
            commits.reversed().map { UndoStack.Step(commits: [$0.revision], label: $0.label) }
        }
        return UndoStack(undo: steps(undo), redo: steps(redo))
    }

    @Test("P7 The undos of two authors on disjoint cells commute", arguments: seeds)
    func disjointUndosCommute(seed: UInt64) throws {
        var states: [LedgerState] = []
        for order in [["a", "b"], ["b", "a"]] {
            let ledger = try RandomLedger(seed)
            let desk = ledger.desk
            let ids = try desk.store.context().fetch(Ledger.Article.self).all().map(\.id).sorted()
            let article = try #require(ids.first)
            try desk.edit("a", Ledger.Article.self, article) { $0.title = "a\(seed)" }
            try desk.edit("b", Ledger.Article.self, article) { $0.rating = 1 - $0.rating % 2 }
            for author in order { try desk.store.undo(author: author) }
            try desk.reopen()
            // Each run has different ids.
            let state = try desk.state()
            states.append(
                Dictionary(
                    uniqueKeysWithValues: state.keys.sorted().enumerated().map { offset, id in
                        (
                            ObjectID(high: 0, low: UInt64(offset)),
                            state[id].map { values in
                                values.map { value in
                                    func place(_ value: Value) -> Value {
                                        guard let target = value.target else { return value }
                                        return .int(
                                            state.keys.sorted().firstIndex(of: target) ?? -1)
                                    }
                                    guard case .list(let members) = value else {
                                        return place(value)
                                    }
                                    return .list(members.map(place))
                                }
                            } ?? []
                        )
                    }))
        }
        #expect(states[0] == states[1], "seed \(seed)")
    }
}

extension Value {
    /// The object that a reference refers to.
    fileprivate var target: ObjectID? {
        switch self {
        case .reference(let id), .placed(let id, _): id
        default: nil
        }
    }
}
