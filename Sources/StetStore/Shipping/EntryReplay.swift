import StetLMDB

/// Appends entries of another copy of the journal to a store, with their effects.
struct EntryReplay {
    let file: StoreFile

    /// Appends entries that follow `head`, which must not be migrations; updates the head.
    ///
    /// - Throws: `DecodingFailure` for an entry that does not match the store.
    func append(
        _ entries: some Sequence<JournalEntry>, _ head: inout Head,
        in transaction: borrowing WriteTransaction
    ) throws {
        for entry in entries {
            let commit = try Commit(
                envelope: entry.envelope, body: entry.body, history: file.history,
                store: file.storeID)
            try commit.check(after: head)
            try moveStacks(of: commit, in: transaction)
            let hash = try file.journal.append(entry.envelope, entry.body, in: transaction)
            try file.projection.project(commit, in: transaction)
            head.follow(entry.envelope, hash)
        }
        try head.write(in: transaction)
    }

    /// Updates the stacks of the entry's author.
    func moveStacks(of commit: Commit, in transaction: borrowing WriteTransaction) throws {
        guard let author = commit.author else { return }
        let owner = UndoOwner(author: author, scope: commit.scope)
        let before = try owner.heads(in: transaction.reading)
        var heads = before
        let floor = try JournalFloor.read(in: transaction.reading)?.revision ?? .zero
        let purpose = try file.journal.purpose(
            of: commit, owner, after: floor, in: transaction.reading)
        guard heads.move(for: purpose, commit.revision) == commit.envelope.below else {
            throw DecodingFailure(
                "revision \(commit.revision) names another one below it than its author's last")
        }
        if heads != before { try owner.put(heads, in: transaction) }
    }
}

extension Commit {
    /// Checks that an entry is whole, and that it follows the last one.
    func check(after head: Head) throws {
        guard revision == head.revision.next, envelope.previousHash == head.hash else {
            throw DecodingFailure(
                "revision \(revision) does not follow the commit \(head.revision) of the base")
        }
        try validate()
    }
}

extension JournalEntry {
    /// The change of the schema that the entry makes; nil for all other entries.
    var migration: Migration? {
        get throws {
            guard envelope.cause == .migration else { return nil }
            var reader = ByteReader(body.bytes)
            let attributes = try CommitAttributes(
                decoding: try JournalChange.readBlock(&reader, minimum: 4))
            return try attributes.migration?.withUnsafeBytes { try Migration(decoding: $0) }
        }
    }
}
