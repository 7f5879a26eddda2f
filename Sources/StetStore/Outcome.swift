import StetLMDB

/// What became of a commit.
public enum Outcome: Sendable, Equatable {
    /// It is in the journal, and on the disk.
    case committed(Commit)
    /// It is not in the journal, and will not be unless somebody saves with this id from now on.
    case notCommitted
    /// Not known now: it waits for the writer in this process, the store cannot be read, or the
    /// commits that it may have been among were trimmed.
    case unknown
}

/// The disk failed while a commit was written, and then failed again when the store was to be
/// opened to see what had become of it.
///
/// Nothing was put back: the commit may be on the disk. Ask `outcome(of:)` of the store, once it
/// can be opened again.
public struct UnknownOutcomeError: Error, Sendable {
    /// The commit in question.
    public let commit: CommitID
    /// What failed.
    public let cause: StoreError

    package init(commit: CommitID, cause: StoreError) {
        self.commit = commit
        self.cause = cause
    }
}

extension UnknownOutcomeError: CustomStringConvertible {
    /// What failed, and what to do.
    public var description: String {
        "It is not known whether the commit was saved: \(cause.message) "
            + "Close the store, open it again, and ask for the outcome of the commit."
    }
}

extension StoreFile {
    /// What became of a commit that was prepared for this store, in this process or another.
    ///
    /// - Complexity: O(commits since the one that it was based on).
    package func outcome(of id: CommitID) -> Outcome {
        guard id.store == storeID else { return .notCommitted }
        // Before the journal is read: what leaves the queue meanwhile is found there.
        if writer.isWaiting(id) { return .unknown }
        do {
            return try decidedCommit(with: id).map(Outcome.committed) ?? .notCommitted
        } catch {
            return .unknown
        }
    }

    /// The commit with this id; nil when the journal has none, and never will.
    func decidedCommit(with id: CommitID) throws -> Commit? {
        if let commit = try read({ reader in try reader.commit(with: id) }) { return commit }
        try StoreError.wrapping(path: path) { try environment.settle() }
        return nil
    }

    /// The commit with this id; nil when the journal has none.
    package func committed(_ id: CommitID) throws -> Commit? {
        try read { reader in try reader.commit(with: id) }
    }
}

extension StoreReader {
    /// The commit with this id; nil when the journal has none.
    ///
    /// - Complexity: O(commits since the one that it was based on).
    func commit(with id: CommitID) throws -> Commit? {
        let head = try head().revision
        guard let revision = try file.journal.revision(of: id, through: head, in: transaction)
        else { return nil }
        return try commit(revision)
    }
}

extension Journal {
    /// Where a commit stands in the journal; nil when it is not there.
    func revision(
        of id: CommitID, through head: Revision, in transaction: borrowing ReadTransaction
    ) throws -> Revision? {
        let floor = try JournalFloor.read(in: transaction)?.revision ?? .zero
        var revision = max(id.base, floor)
        while revision < head {
            revision = revision.next
            let envelope = try envelope(revision, in: transaction)
            if envelope.token == id.token, envelope.base == id.base { return revision }
        }
        // It may have been among those.
        if id.base < floor { try JournalFloor.refuse(id.base.next, in: transaction) }
        return nil
    }
}
