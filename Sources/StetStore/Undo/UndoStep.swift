import StetLMDB

// The steps of a stack, read from the top down along the pointers in the entries.

/// One step of a stack: commits that are undone or redone together.
package struct UndoStep: Sendable, Hashable {
    /// The commits of the step, the last one first; more than one are a group.
    package let revisions: [Revision]
    /// The top of the stack without the step; 0 when there is nothing below it.
    package let nextTop: Revision

    package var top: Revision { revisions[0] }
}

extension Journal {
    /// Returns the envelope and the attributes of an entry.
    ///
    /// - Complexity: one read.
    func description(
        of revision: Revision, in transaction: borrowing ReadTransaction
    ) throws -> (envelope: Envelope, attributes: CommitAttributes) {
        try chunks(of: revision, in: transaction).description()
    }

    /// Returns the step on top of an owner's stack.
    ///
    /// - Throws: `DecodingFailure` when the stack contains a commit of another owner; `StoreError`
    ///   (`.historyTrimmed`) when commits of it were trimmed.
    /// - Complexity: a read for each commit of the step, plus one.
    func step(
        at top: Revision, of owner: UndoOwner, in transaction: borrowing ReadTransaction
    ) throws -> UndoStep {
        var revisions: [Revision] = []
        var next = top
        var isComplete = false
        while next > .zero, !isComplete {
            let (envelope, attributes) = try description(of: next, in: transaction)
            guard UndoOwner(attributes) == owner, envelope.isUndoable, envelope.below < next else {
                throw DecodingFailure("revision \(next) does not belong on the stack it is on")
            }
            revisions.append(next)
            next = envelope.below
            isComplete = !envelope.continuesGroup
        }
        return UndoStep(revisions: revisions, nextTop: next)
    }

    /// Returns the purpose of a commit of an author, as the entries before it determine it; a
    /// revision that was trimmed counts as 0.
    func purpose(
        of commit: Commit, _ owner: UndoOwner, after floor: Revision,
        in transaction: borrowing ReadTransaction
    ) throws -> CommitPurpose {
        var purpose = CommitPurpose(cause: commit.cause, isUndoable: commit.envelope.isUndoable)
        switch commit.cause {
        case .discard(let subject):
            purpose.cause = .discard(of: subject <= floor ? .zero : subject)
            purpose.nextTop = try nextTop(of: subject, owner, after: floor, in: transaction)
        case .undo(let subject), .redo(let subject):
            purpose.nextTop = try nextTop(of: subject, owner, after: floor, in: transaction)
        default: break
        }
        return purpose
    }

    private func nextTop(
        of subject: Revision, _ owner: UndoOwner, after floor: Revision,
        in transaction: borrowing ReadTransaction
    ) throws -> Revision {
        if subject <= floor { return .zero }
        do {
            let nextTop = try step(at: subject, of: owner, in: transaction).nextTop
            return nextTop <= floor ? .zero : nextTop
        } catch let error as StoreError where error.code == .historyTrimmed {
            // The rest of its group was trimmed.
            return .zero
        }
    }
}

extension EntryChunks {
    /// Returns the envelope and the attributes of the entry.
    ///
    /// - Complexity: one chunk.
    func description() throws -> (envelope: Envelope, attributes: CommitAttributes) {
        let (envelope, payload) = try firstChunk()
        var reader = ByteReader(payload)
        let block = try JournalChange.readBlock(&reader, minimum: 4)
        return (envelope, try CommitAttributes(decoding: block))
    }
}

extension StoreReader {
    /// Returns the tops of an owner's stacks.
    package func heads(of owner: UndoOwner) throws -> UndoHeads {
        try owner.heads(in: transaction)
    }

    /// Returns the step on top of an owner's stack; nil when the stack is empty.
    package func step(at top: Revision, of owner: UndoOwner) throws -> UndoStep? {
        top == .zero ? nil : try file.journal.step(at: top, of: owner, in: transaction)
    }

    /// Returns the envelope and the attributes of a commit, without reading its changes.
    ///
    /// - Complexity: one read.
    package func description(
        of revision: Revision
    ) throws -> (envelope: Envelope, attributes: CommitAttributes) {
        try file.journal.description(of: revision, in: transaction)
    }
}
