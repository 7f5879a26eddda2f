import Foundation
import Stet
import StetStore
import StetTestSupport
import Testing

/// The properties of the contract, over random histories; P6 is that of `UndoRuleTests`.
struct UndoPropertyTests {
    private static let seeds: Range<UInt64> = 0..<12

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

    @Test(
        "P1 Also among other authors and scopes, and with groups", arguments: seeds)
    func undosAndRedosOfEachStackAreTheIdentity(seed: UInt64) throws {
        let ledger = try RandomLedger(seed)
        let store = ledger.desk.store
        let owners: [(author: String, scope: String?)] = [("a", nil), ("a", "s"), ("b", nil)]
        var group = UndoGroup()
        for _ in 0..<20 {
            let owner = owners[ledger.number(owners.count)]
            if ledger.number(3) == 0 { group = UndoGroup() }
            try ledger.edit(
                owner.author, scope: owner.scope, group: ledger.number(2) == 0 ? group : nil)
        }
        var count = 0
        for owner in owners {
            var states = [try ledger.desk.state()]
            do {
                while try store.undo(author: owner.author, scope: owner.scope) != nil {
                    states.append(try ledger.desk.state())
                }
            } catch is UndoConflictError {
            } catch is ValidationError {}
            for state in states.dropLast().reversed() {
                try store.redo(author: owner.author, scope: owner.scope)
                #expect(try ledger.desk.state() == state, "seed \(seed)")
                count += 1
            }
            let restored = try store.undoStack(author: owner.author, scope: owner.scope)
            #expect(restored.redo == [], "seed \(seed)")
        }
        #expect(count > 0, "seed \(seed)")
        try ledger.desk.reopen()
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
        #expect(try desk.store.revision() == revision)
        #expect(try desk.state() == before)
        #expect(try desk.store.undoStack(author: "a") == stack)
        return true
    }

    @Test("P3 Without overwriting, what others have written last stays", arguments: seeds)
    func whatOthersHaveWrittenStays(seed: UInt64) throws {
        let ledger = try RandomLedger(seed)
        let desk = ledger.desk
        var undone = 0
        for policy in [UndoPolicy.skip, .fail, .skip, .fail, .skip, .skip, .skip, .skip, .skip] {
            guard try ledger.edit("a") != nil else { continue }
            let mine = try desk.state()
            try ledger.edit("b")
            try ledger.edit("b")
            let (theirs, revision) = (try desk.state(), try desk.store.revision())
            do {
                guard try desk.store.undo(author: "a", policy: policy) != nil else { continue }
                undone += 1
                let losses = Self.losses(mine, theirs, try desk.state())
                #expect(losses == [], "seed \(seed)")
            } catch let error where error is UndoConflictError || error is ValidationError {
                #expect(try desk.store.revision() == revision, "seed \(seed)")
                #expect(try desk.state() == theirs, "seed \(seed)")
            }
        }
        #expect(undone > 1, "seed \(seed)")
        try desk.reopen()
    }

    /// Returns the cells in which two states differ and that a third one has lost.
    ///
    /// Positions alone never conflict, so that references are compared by their targets, and lists
    /// by their members.
    private static func losses(
        _ mine: LedgerState, _ theirs: LedgerState, _ now: LedgerState
    ) -> [String] {
        var losses: [String] = []
        for id in mine.keys where theirs[id] == nil && now[id] != nil {
            losses.append("\(id) is there again")
        }
        for (id, values) in theirs {
            guard let old = mine[id] else {
                if now[id] == nil { losses.append("\(id) is gone") }
                continue
            }
            for (slot, (one, other)) in zip(old, values).enumerated() {
                guard let current = now[id]?[slot] else {
                    if one.cell != other.cell { losses.append("\(id) with slot \(slot) is gone") }
                    continue
                }
                let (old, new, left) = (one.cell, other.cell, current.cell)
                let isLost =
                    !new.subtracting(old).isSubset(of: left)
                    || !old.subtracting(new).isDisjoint(with: left)
                if isLost { losses.append("\(id) slot \(slot): \(left), not \(new)") }
            }
        }
        return losses
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

    /// Changes one of the cells 0 to 3 of an article.
    private func change(_ cell: Int, of article: Ledger.Article, _ author: String) {
        switch cell {
        case 0: article.title += author
        case 1: article.rating = (article.rating + 1) % 6
        case 2: article.next = article.next === article ? nil : article
        default:
            if article.sources.contains(article) {
                article.sources.remove(article)
            } else {
                article.sources.append(article)
            }
        }
    }

    @Test("P7 The undos of two authors on disjoint cells commute", arguments: seeds)
    func disjointUndosCommute(seed: UInt64) throws {
        let ledger = try RandomLedger(seed)
        let desk = ledger.desk
        var count = 0
        for order in [["a", "b"], ["b", "a"]] {
            let before = try desk.state()
            let articles = try desk.store.context().fetch(Ledger.Article.self).ids().sorted()
            // Each cell belongs to one of the authors.
            var cells: [String: [(article: ObjectID, cell: Int)]] = [:]
            for article in articles {
                for cell in 0..<4 {
                    cells[order[ledger.number(2)], default: []].append((article, cell))
                }
            }
            for author in ["a", "b", "a", "b"] {
                let chosen = (cells[author] ?? []).shuffled(using: &ledger.random).prefix(3)
                if chosen.isEmpty { continue }
                count += 1
                try desk.edit(author) { context in
                    for (id, cell) in chosen {
                        change(cell, of: try desk.object(Ledger.Article.self, id, context), author)
                    }
                }
            }
            for author in order {
                while try desk.store.undoStack(author: author).undo.isEmpty == false {
                    try desk.store.undo(author: author)
                }
            }
            #expect(try desk.state() == before, "seed \(seed)")
        }
        #expect(count > 4, "seed \(seed)")
        try desk.reopen()
    }
}

extension Value {
    /// The value as a set: the members of a list, or the value without its position.
    fileprivate var cell: Set<Value> {
        switch self {
        case .list(let members): Set(members)
        case .placed(let id, _): [.reference(id)]
        default: [self]
        }
    }
}
