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
            try loseRedacted(commit, in: transaction)
            try file.projection.project(commit, in: transaction)
            head.follow(entry.envelope, hash)
            if let request = commit.request {
                try JournalRequestWork(file: file).carryOut(
                    request, of: commit.revision, in: transaction)
            }
        }
        try head.write(in: transaction)
    }

    /// Completes the requests of entries that were appended.
    func finish(_ entries: some Sequence<JournalEntry>) throws {
        for entry in entries {
            guard let request = try entry.request else { continue }
            try JournalRequestWork(file: file).finish(request)
        }
    }

    /// Takes the values that a commit replaces, and that were redacted in it since, from the digest
    /// of a trimmed journal: the commit does not count them any more.
    private func loseRedacted(
        _ commit: Commit, in transaction: borrowing WriteTransaction
    ) throws {
        guard commit.isRedacted, var floor = try JournalFloor.read(in: transaction.reading) else {
            return
        }
        let reader = StoreReader(transaction.reading, file)
        try commit.forEachChange { change in
            let slots = try change.slotsWithoutValueBefore()
            guard !slots.isEmpty,
                let (header, stored) = try reader.stored(change.entity, change.id),
                !header.isTombstone
            else { return }
            try reader.withBody(header, stored, change.entity) { bytes in
                let body = try RecordBody(bytes, of: file.schema.entities[change.entity])
                for slot in slots {
                    guard let cell = try body.cell(slot) else { continue }
                    floor.digest -= StateDigest.value(
                        cell, slot, ofEntity: change.entity, change.id)
                }
            }
        }
        try floor.write(in: transaction)
    }

    /// Updates the stacks of the entry's author.
    func moveStacks(of commit: Commit, in transaction: borrowing WriteTransaction) throws {
        guard let author = commit.author else { return }
        let owner = UndoOwner(author: author, scope: commit.scope)
        let before = try owner.heads(in: transaction.reading)
        var heads = before
        let purpose = try file.journal.purpose(
            of: commit, owner, after: .zero, in: transaction.reading)
        let floor = try JournalFloor.read(in: transaction.reading)?.revision ?? .zero
        let below = heads.move(for: purpose, commit.revision)
        guard commit.envelope.isAbove(below, floor) else {
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
            return try attributes().migration?.withUnsafeBytes { try Migration(decoding: $0) }
        }
    }

    /// The request of the entry; nil for all other entries.
    var request: JournalRequest? {
        get throws {
            guard [.trim, .redaction].contains(envelope.cause) else { return nil }
            return try attributes().request
        }
    }

    private func attributes() throws -> CommitAttributes {
        var reader = ByteReader(body.bytes)
        return try CommitAttributes(decoding: try JournalChange.readBlock(&reader, minimum: 4))
    }
}
