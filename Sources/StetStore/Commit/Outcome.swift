import StetLMDB

/// The outcome of a commit.
public enum Outcome: Sendable, Equatable {
    /// The commit is in the journal, and on the disk.
    case committed(Commit)
    /// The commit is not in the journal, and will not be, unless somebody saves with this id from
    /// now on, or another process that still runs is saving with it.
    case notCommitted
    /// The outcome is unknown: this process is saving with the id, the store cannot be read, the
    /// commits that may include it were trimmed, or the store is a copy from before the id was
    /// made, even if it has had other commits since.
    case unknown
}

/// The error of a commit with unknown outcome: the disk failed while it was written, and failed
/// again when the store was reopened to find out.
///
/// Nothing was restored: the commit may be on the disk. Call the store's `outcome(of:)` once it can
/// be opened again.
///
/// ```swift
/// do {
///     try context.save("rate")
/// } catch let error as UnknownOutcomeError {
///     isSaved = if case .committed = store.outcome(of: error.commit) { true } else { false }
/// }
/// ```
public struct UnknownOutcomeError: Error, Sendable {
    /// The id of the commit.
    public let commit: CommitID
    /// The failure of the disk.
    public let cause: StoreError

    package init(commit: CommitID, cause: StoreError) {
        self.commit = commit
        self.cause = cause
    }
}

extension UnknownOutcomeError: CustomStringConvertible {
    /// A sentence about what failed and what to do.
    public var description: String {
        "It is not known whether the commit was saved: \(cause.message) "
            + "Close the store, open it again, and ask for the outcome of the commit."
    }
}

/// The ids of the saves in progress in this process, from their calls to their ends.
///
/// State: the number of saves with each id, guarded by the monitor.
package final class SavesUnderWay: Sendable {
    private let counts = Monitor<[CommitID: Int]>([:])

    init() {}

    /// Records the call of a save; nothing is recorded for nil, which means a new id.
    package func begin(_ id: CommitID?) {
        if let id { counts.withLock { $0[id, default: 0] += 1 } }
    }

    /// Records the end of a save.
    package func end(_ id: CommitID?) {
        guard let id else { return }
        counts.withLock { counts in
            let count = counts[id, default: 1] - 1
            counts[id] = count > 0 ? count : nil
        }
    }

    func contains(_ id: CommitID) -> Bool { counts.withLock { $0[id] != nil } }
}

extension StoreFile {
    /// Returns the outcome of a commit that was prepared for this store, in this process or
    /// another.
    ///
    /// - Complexity: O(commits since its base).
    package func outcome(of id: CommitID) -> Outcome {
        guard id.store == storeID else { return .notCommitted }
        // Checked before the journal is read: a save that ends in between is found there.
        if savesUnderWay.contains(id) || writer.isWaiting(id) { return .unknown }
        do {
            return try decidedCommit(with: id).map(Outcome.committed) ?? .notCommitted
        } catch {
            return .unknown
        }
    }

    /// Returns the token for a commit that is prepared at a revision; 40 of its bits are random.
    ///
    /// - Complexity: O(1); no read when the base is the last commit.
    package func token(
        at base: Revision, _ random: UInt64 = .random(in: .min ... .max)
    ) throws -> UInt64 {
        let head = try head()
        let hash =
            try head.revision == base
            ? head.hash : read { try journal.knownHash(of: base, in: $0.transaction) }
        return CommitID.mark(of: hash) << CommitID.randomBitCount
            | random & (1 << CommitID.randomBitCount - 1)
    }

    /// Creates an identity for a commit that is prepared at a revision.
    ///
    /// - Complexity: as `token(at:)`.
    package func makeCommitID(at base: Revision) throws -> CommitID {
        CommitID(store: storeID, base: base, token: try token(at: base))
    }

    /// Returns the commit with an id; nil when the journal has none, and never will.
    func decidedCommit(with id: CommitID) throws -> Commit? {
        if let commit = try read({ reader in try reader.commit(with: id) }) { return commit }
        try StoreError.wrapping(path: path) { try environment.settle() }
        guard let shared else { return nil }
        try shared.fence()
        try StoreNode(self).follow()
        return try read { reader in try reader.commit(with: id) }
    }

    /// Returns the commit that an earlier attempt has made with an id; nil when the journal has
    /// none.
    ///
    /// - Throws: `StoreError`: `.wrongStore` when the id was made for another store, or for a later
    ///   state of this one; `.commitIDInUse` when `isSameKind` returns false for the commit's
    ///   cause.
    package func committed(
        _ id: CommitID, where isSameKind: (Cause) -> Bool
    ) throws -> Commit? {
        guard id.store == storeID else { throw StoreError.otherStore(path: path) }
        guard let commit = try read({ reader in try reader.commit(with: id) }) else { return nil }
        guard isSameKind(commit.cause) else {
            throw StoreError.commitIDInUse(by: commit, path: path)
        }
        return commit
    }
}

extension StoreReader {
    /// Returns the commit with an id; nil when the journal has none.
    ///
    /// - Complexity: O(commits since its base).
    func commit(with id: CommitID) throws -> Commit? {
        let head = try head().revision
        guard let revision = try file.journal.revision(of: id, through: head, in: transaction)
        else { return nil }
        return try commit(revision)
    }
}

extension Journal {
    /// Returns the revision of the commit with an id; nil when the journal has none.
    ///
    /// - Throws: `StoreError`: `.historyTrimmed` when it may have been trimmed, `.wrongStore` when
    ///   its base is beyond the head, or is another commit than the one for which it was made.
    func revision(
        of id: CommitID, through head: Revision, in transaction: borrowing ReadTransaction
    ) throws -> Revision? {
        guard id.base <= head else { throw StoreError.otherHistory(base: id.base, head: head) }
        let floor = try JournalFloor.read(in: transaction)?.revision ?? .zero
        var revision = max(id.base, floor)
        while revision < head {
            revision = revision.next
            let envelope = try envelope(revision, in: transaction)
            if envelope.token == id.token, envelope.base == id.base { return revision }
        }
        // The commit may be among the trimmed ones.
        if id.base < floor { try JournalFloor.refuse(id.base.next, in: transaction) }
        guard try CommitID.mark(of: hash(of: id.base, in: transaction)) == id.mark else {
            throw StoreError.otherHistory(base: id.base, head: head)
        }
        return nil
    }

    /// Returns the hash of a commit, also of the last trimmed one; zero for revision 0.
    private func hash(
        of revision: Revision, in transaction: borrowing ReadTransaction
    ) throws -> Digest {
        if revision == .zero { return .zero }
        if let floor = try JournalFloor.read(in: transaction), floor.revision == revision {
            return floor.hash
        }
        return try envelope(revision, in: transaction).hash
    }

    /// Returns the hash of a commit; zero for a trimmed one, which cannot be compared later.
    fileprivate func knownHash(
        of revision: Revision, in transaction: borrowing ReadTransaction
    ) throws -> Digest {
        let isTrimmed =
            try JournalFloor.read(in: transaction).map { revision < $0.revision } ?? false
        return isTrimmed ? .zero : try hash(of: revision, in: transaction)
    }
}

extension CommitID {
    /// The number of random bits of a token.
    fileprivate static let randomBitCount: UInt64 = 40

    /// The bits that identify the commit at the base, taken from its hash.
    fileprivate var mark: UInt64 { token >> Self.randomBitCount }

    fileprivate static func mark(of hash: Digest) -> UInt64 {
        hash.words.0 >> Self.randomBitCount
    }
}
