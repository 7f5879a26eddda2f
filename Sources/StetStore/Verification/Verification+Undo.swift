// The undo and redo stacks that follow from the journal, compared with the stored ones.

extension Verification {
    /// Applies a commit to the stacks of its author.
    mutating func foldStacks(_ commit: Commit) throws {
        let envelope = commit.envelope
        guard let author = commit.author else {
            if envelope.below > .zero {
                note("Revision \(commit.revision) names what is below it, and is on no stack.")
            }
            return
        }
        let owner = UndoOwner(author: author, scope: commit.scope)
        var heads = stacks[owner] ?? UndoHeads()
        let purpose = try file.journal.purpose(
            of: commit, owner, after: floor?.revision ?? .zero, in: transaction)
        switch commit.cause {
        case .undo(let subject) where known(subject) != heads.undo,
            .redo(let subject) where known(subject) != heads.redo,
            .discard(let subject) where ![heads.undo, heads.redo].contains(known(subject)):
            note("Revision \(commit.revision) takes \(subject) from a stack that it is not on.")
        default: break
        }
        let below = heads.move(for: purpose, commit.revision)
        if !envelope.isAbove(below, floor?.revision ?? .zero) {
            note("Revision \(commit.revision) names another one below it than its author's last.")
        }
        stacks[owner] = heads
        try foldGroup(commit)
    }

    /// Checks that an entry that continues a group is above one of it, if that still exists.
    ///
    /// One that begins a group may be above one of it, too, which its store had trimmed.
    private mutating func foldGroup(_ commit: Commit) throws {
        let envelope = commit.envelope
        guard envelope.continuesGroup, envelope.below == .zero || known(envelope.below) > .zero
        else { return }
        let group =
            try envelope.below == .zero
            ? nil : file.journal.description(of: envelope.below, in: transaction).attributes.group
        if group == nil || group != commit.group {
            note("Revision \(commit.revision) says another group of the one below it.")
        }
    }

    /// Returns a revision on a stack, or 0 when the journal does not contain it any more.
    private func known(_ revision: Revision) -> Revision {
        revision <= floor?.revision ?? .zero ? .zero : revision
    }

    mutating func compareStacks() throws {
        let stored = try UndoOwner.all(in: transaction)
            .mapValues { UndoHeads(undo: known($0.undo), redo: known($0.redo)) }
            .filter { $0.value != UndoHeads() }
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
