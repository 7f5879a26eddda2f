// The stacks as the journal makes them, and their comparison with those that are stored.

extension Verification {
    /// Lets the stacks of a commit's author follow it.
    mutating func foldStacks(_ commit: Commit) throws {
        let envelope = commit.envelope
        guard envelope.format > 1, let author = commit.author else {
            if envelope.below > .zero {
                note("Revision \(commit.revision) names what is below it, and is on no stack.")
            }
            return
        }
        let owner = UndoOwner(author: author, scope: commit.scope)
        var heads = stacks[owner] ?? UndoHeads()
        var purpose = CommitPurpose(cause: commit.cause, isUndoable: envelope.isUndoable)
        switch commit.cause {
        case .undo(let subject) where subject != heads.undo,
            .redo(let subject) where subject != heads.redo,
            .discard(let subject) where ![heads.undo, heads.redo].contains(subject):
            note("Revision \(commit.revision) takes \(subject) from a stack that it is not on.")
        case .undo(let subject), .redo(let subject), .discard(let subject):
            purpose.rest = try file.journal.step(at: subject, of: owner, in: transaction).rest
        default: break
        }
        if heads.move(for: purpose, commit.revision) != envelope.below {
            note("Revision \(commit.revision) names another one below it than its author's last.")
        }
        stacks[owner] = heads
    }

    mutating func compareStacks() throws {
        let stored = try UndoOwner.all(in: transaction)
        let expected = stacks.filter { $0.value != UndoHeads() }
        for owner in Set(stored.keys).union(expected.keys).sorted(by: UndoOwner.precedes)
        where stored[owner] != expected[owner] {
            note("The stacks of \(owner.author) are not those that the journal makes.")
        }
    }
}

extension UndoOwner {
    fileprivate static func precedes(_ one: UndoOwner, _ other: UndoOwner) -> Bool {
        (one.author, one.scope ?? "") < (other.author, other.scope ?? "")
    }
}
