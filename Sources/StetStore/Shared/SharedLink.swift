import Glibc
import StetLMDB

/// The connection of an open store to its shared journal: appends the entries of a transaction, and
/// reads those of other nodes.
///
/// State: the head that the journal had last, the last failure to follow it, the time of the last
/// trim for a retention and that of the last append, each guarded by its monitor.
package final class SharedLink: Sendable {
    /// The number of bytes of entries that are read at once.
    private static let readByteCount = 4 << 20

    let journal: any SharedJournal
    package let follower: JournalFollower
    private let store: ObjectID
    private let path: String
    /// The time for which an append with an unknown outcome is asked about.
    private let settleLimit: Duration
    private let known = Monitor<SharedJournalHead?>(nil)
    private let failure = Monitor<String?>(nil)
    private let lastTrim = Monitor<Duration?>(nil)
    /// The time that the last append took.
    private let lastRoundTrip = Monitor(Duration.zero)

    init(
        _ journal: any SharedJournal, of store: ObjectID, path: String,
        pause: Duration, settleLimit: Duration
    ) {
        self.settleLimit = settleLimit
        self.journal = journal
        follower = JournalFollower(journal, pause: pause)
        self.store = store
        self.path = path
    }

    // MARK: Appending

    /// Appends the entries that a transaction has written after `before` to the store's shared
    /// journal, if it has one, and replaces the earlier ones that it has redacted.
    ///
    /// - Throws: as `append`; `StoreError` (`.journalRequired`) when it has one and `link` is nil.
    static func append(
        to link: SharedLink?, after before: Head, through head: Head, redacted: Set<Revision> = [],
        from journal: Journal, in transaction: borrowing WriteTransaction
    ) throws {
        if let link {
            try link.append(
                after: before, through: head, redacted: redacted, from: journal, in: transaction)
        } else if try AttachedMark.read(in: transaction.reading) {
            throw StoreError.journalRequired(path: transaction.reading.environment.path)
        }
    }

    /// Appends the entries that a transaction has written after `before`, before it is committed.
    ///
    /// When this returns, they are in the shared journal, even if the transaction is aborted.
    ///
    /// - Throws: `SharedJournalMoved` when the journal has other entries after `before`,
    ///   `SharedAppendUnknown` when it cannot be found out whether they were appended, `StoreError`
    ///   (`.journalUnavailable`): they were not, and will not be.
    private func append(
        after before: Head, through head: Head, redacted: Set<Revision>, from journal: Journal,
        in transaction: borrowing WriteTransaction
    ) throws {
        func entry(_ revision: Revision) throws -> SharedJournalEntry {
            let (envelope, body) = try journal.entry(revision, in: transaction.reading)
            return SharedJournalEntry(JournalEntry(envelope: envelope, body: body))
        }
        var entries: [SharedJournalEntry] = []
        var revision = before.revision
        while revision < head.revision {
            revision = revision.next
            entries.append(try entry(revision))
        }
        let earlier = try redacted.filter { $0 <= before.revision }.sorted().map(entry)
        let start = SharedJournalHead(before, of: store)
        try send(
            entries, replacing: earlier, to: SharedJournalHead(head, of: store), after: start)
    }

    private func send(
        _ entries: [SharedJournalEntry], replacing earlier: [SharedJournalEntry],
        to end: SharedJournalHead, after start: SharedJournalHead
    ) throws {
        let last = known.withLock { $0 }
        var head = try last?.isSameCommit(start) == true ? last ?? self.head() : self.head()
        var isOpen = false
        while true {
            guard head.isSameCommit(start) else {
                do {
                    if try hasAppended(end, head) { return }
                } catch let error as StoreError where isOpen {
                    throw SharedAppendUnknown(cause: error)
                }
                throw SharedJournalMoved()
            }
            do {
                let begun = ContinuousClock.now
                if try journal.append(entries, replacing: earlier, after: head) {
                    var reached = end
                    reached.fence = head.fence
                    known.withLock { $0 = reached }
                    lastRoundTrip.withLock { $0 = ContinuousClock.now - begun }
                    return
                }
                head = try self.head()
                // Somebody asks for a turn: a node that was overtaken, or one that lost an answer.
                if head.isSameCommit(start) {
                    yield()
                    head = try self.head()
                }
            } catch let error as SharedJournalError where error.code == .outcomeUnknown {
                head = try fenced(after: error)
                isOpen = !head.isSameCommit(start)
            } catch let error as SharedJournalError {
                throw unavailable(error)
            }
        }
    }

    /// Waits for about the time that another node needs to read what it lacks, and to append.
    private func yield() {
        let pause = min(
            max(lastRoundTrip.withLock { $0 } * 4, .milliseconds(1)), .milliseconds(100))
        usleep(UInt32(pause / .microseconds(1) * .random(in: 0.75...1.25)))
    }

    /// Returns the head once no earlier append can succeed any more.
    ///
    /// - Throws: `SharedAppendUnknown` when the journal stays out of reach.
    private func fenced(after error: SharedJournalError) throws -> SharedJournalHead {
        let end = systemUptime() + settleLimit
        var last = error
        repeat {
            do {
                guard let head = try journal.fence() else {
                    throw SharedAppendUnknown(cause: removed())
                }
                return head
            } catch let error as SharedJournalError {
                last = error
                usleep(20_000)
            }
        } while systemUptime() < end
        throw SharedAppendUnknown(cause: unavailable(last))
    }

    /// Returns whether the journal has come to `end` on its way to `head`.
    private func hasAppended(_ end: SharedJournalHead, _ head: SharedJournalHead) throws -> Bool {
        guard head.revision >= end.revision, let before = end.revision.previous else {
            return false
        }
        let entry = try reading { try journal.entries(after: before, byteLimit: 1).first }
        guard let entry, entry.revision == end.revision else {
            throw trimmed(through: end.revision)
        }
        guard entry.hash == end.hash else { return false }
        known.withLock { $0 = head }
        return true
    }

    /// Replaces the copy of the store's file, and removes entries.
    ///
    /// - Throws: `StoreError` (`.journalUnavailable`).
    func replaceBase(
        by path: String, at head: Head, removingEntriesThrough last: Revision
    ) throws {
        try reading {
            try journal.replaceBase(
                by: path, at: SharedJournalHead(head, of: store), removingEntriesThrough: last)
        }
    }

    /// Makes sure that no append that was begun before will succeed.
    ///
    /// - Throws: `StoreError`: `.journalUnavailable`, `.journalDiverged`.
    func fence() throws {
        guard let head = try reading({ try journal.fence() }) else { throw removed() }
        known.withLock { $0 = head }
    }

    // MARK: Reading

    /// Returns the head of the shared journal.
    ///
    /// - Throws: `StoreError`: `.journalUnavailable`, `.journalDiverged` when it belongs to
    ///   another store.
    func head() throws -> SharedJournalHead {
        guard let head = try reading({ try journal.head() }) else { throw removed() }
        guard head.store == store else {
            throw diverged("it is the journal of another store")
        }
        known.withLock { $0 = head }
        return head
    }

    /// Returns entries after a commit of this node, at least one unless it is the last one.
    ///
    /// - Throws: `StoreError`: `.journalUnavailable`; `.historyTrimmed` when the next entry was
    ///   trimmed; `.journalDiverged` when the shared journal does not have that commit, or has
    ///   something that does not follow it.
    func entries(after own: Head) throws -> [JournalEntry] {
        let head = try head()
        let start = SharedJournalHead(own, of: store)
        guard head.revision > own.revision else {
            if head.isSameCommit(start) { return [] }
            throw diverged(
                "it ends at revision \(head.revision), and this file has another commit or later "
                    + "ones")
        }
        let found = try reading {
            try journal.entries(after: own.revision, byteLimit: Self.readByteCount)
        }
        guard found.first?.revision == own.revision.next else {
            throw trimmed(through: own.revision.next)
        }
        var entries: [JournalEntry] = []
        var last = (revision: own.revision, hash: own.hash)
        for shared in found {
            let entry: JournalEntry
            do {
                entry = try shared.decoded()
            } catch {
                throw diverged("\(error)")
            }
            guard entry.follows(last.revision, last.hash) else {
                throw diverged(
                    "its revision \(shared.revision) does not follow revision \(last.revision) of "
                        + "this file")
            }
            last = (entry.envelope.revision, entry.envelope.hash)
            entries.append(entry)
        }
        return entries
    }

    private func reading<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as SharedJournalError {
            throw unavailable(error)
        }
    }

    /// Returns whether a trim is due, and notes that it begins.
    func beginsTrim(at now: Duration, pause: Duration) -> Bool {
        lastTrim.withLock { last in
            if let last, now - last < pause { return false }
            last = now
            return true
        }
    }

    /// Notes that the node has followed the journal, or why it could not; returns whether that is
    /// another reason than before.
    @discardableResult
    func note(_ failure: String?) -> Bool {
        self.failure.withLock { last in
            defer { last = failure }
            return last != failure
        }
    }

    /// The failure to follow the journal, unless it has been followed since.
    var lastFailure: String? { failure.withLock { $0 } }

    /// Returns the number of commits by which a node with this head is behind the journal, as far
    /// as that is known.
    func lag(of own: Head) -> Int {
        let last = known.withLock { $0?.revision } ?? .zero
        return last > own.revision ? Int(clamping: last.number - own.revision.number) : 0
    }

    // MARK: Errors

    private func unavailable(_ error: SharedJournalError) -> StoreError {
        StoreError.unavailable(error, journal, path: path)
    }

    private func removed() -> StoreError { diverged("it has been removed") }

    private func trimmed(through revision: Revision) -> StoreError {
        StoreError(
            .historyTrimmed, path: path,
            message:
                "The shared journal \(journal.name) does not have commit \(revision) any more, "
                + "which the store \(path) lacks.",
            advice: "Close the store, and remake the node.")
    }

    private func diverged(_ what: String) -> StoreError {
        StoreError(
            .journalDiverged, path: path,
            message:
                "The shared journal \(journal.name) is not that of the store \(path): \(what).",
            advice: "Nothing was changed. Find out whether the shared journal was restored from a "
                + "backup, or has another store; a node whose file is removed is made anew from it."
        )
    }
}

/// The shared journal has entries that the transaction does not follow; it must be made anew.
struct SharedJournalMoved: Error {}

/// Entries may be in the shared journal, and it cannot be found out.
struct SharedAppendUnknown: Error {
    let cause: StoreError
}

extension StoreError {
    static func unavailable(
        _ error: SharedJournalError, _ journal: any SharedJournal, path: String
    ) -> StoreError {
        StoreError(
            error.code == .damaged ? .journalDiverged : .journalUnavailable, path: path,
            message: "The shared journal \(journal.name) can't be used: \(error.message).",
            advice: "Reads go on; save again when it can be reached.")
    }

    /// The error of a write to a node without its shared journal.
    static func journalRequired(path: String) -> StoreError {
        StoreError(
            .journalRequired, path: path,
            message: "The store \(path) is a node of a shared journal, and was opened without it.",
            advice: "Open it with its journal to save; reads need none.")
    }

    /// The error of a change that the nodes of a shared journal cannot make yet.
    static func sharedJournal(_ what: String, path: String) -> StoreError {
        StoreError(
            .sharedJournal, path: path,
            message: "The store \(path) is a node of a shared journal: \(what).",
            advice: "Detach the store first.")
    }
}
