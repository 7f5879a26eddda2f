import Metrics

/// The position of one observer: the loop that reads every feed of commits from the ring or, where
/// it does not reach back, from the journal.
package struct FeedReader: Sendable {
    /// The number of journal entries that are examined in one read.
    private static let batchCount = 256

    private let file: StoreFile
    private let observer: CommitFeed.Observer
    private let start: FeedStart
    /// True when `read` may return without a commit.
    private let isNudged: Bool
    /// The revision up to which everything was delivered or does not concern the observer; nil
    /// until the observer begins.
    private var seen: Revision?

    /// The outcome of a read.
    package enum Reading: Sendable {
        /// The next commit that may concern the observer.
        case commit(Commit)
        /// No commit, but something else may have changed.
        case nudged
        /// The store was closed or the task cancelled.
        case end
    }

    /// Creates the position of an observer of everything, or of commits that may concern one of its
    /// interests.
    package init(
        file: StoreFile, after start: FeedStart, _ interests: [FeedInterest]? = nil,
        isNudged: Bool = false
    ) {
        self.file = file
        self.start = start
        self.isNudged = isNudged
        observer = CommitFeed.Observer(file.feed, interests, isNudged: isNudged)
        // Starts the thread that watches for commits of other processes.
        try? file.writer.attend()
    }

    /// Returns the next commit that may concern the observer; nil when the store was closed or the
    /// task cancelled.
    ///
    /// When it throws, the position has not moved.
    ///
    /// - Throws: `StoreError`.
    package mutating func next(
        isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> Commit? {
        while true {
            switch try await read(isolation: actor) {
            case .commit(let commit): return commit
            case .nudged: continue
            case .end: return nil
            }
        }
    }

    /// Reads until there is a commit that may concern the observer or, if it is nudged, until
    /// something else may have changed or many commits did not concern it.
    ///
    /// - Throws: `StoreError`; the position has then not moved.
    package mutating func read(
        isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> Reading {
        while true {
            switch try await seek(isolation: actor) {
            case .end: return .end
            case .nudged: return .nudged
            case .commit(let commit): return .commit(deliver(try asStored(commit)))
            case .journal(let last):
                let found = try read(through: last)
                seen = found.reached
                if let commit = found.commit { return .commit(deliver(commit)) }
                // Yields, so that skipping many commits does not block other tasks.
                await Task.yield()
                if isNudged { return .nudged }
            }
        }
    }

    /// The result of a search in the ring.
    private enum Found {
        /// A commit that may concern the observer; the position has not passed it.
        case commit(Commit)
        /// The ring does not reach back: the journal contains the next commits, up to a revision.
        case journal(through: Revision)
        case nudged
        /// The store was closed or the task cancelled.
        case end
    }

    /// Passes commits that do not concern the observer, and waits when none are left.
    private mutating func seek(isolation actor: isolated (any Actor)?) async throws -> Found {
        var seen = try seen ?? begin()
        defer { self.seen = seen }
        while !Task.isCancelled {
            switch file.feed.step(after: seen) {
            case .end: return .end
            case .wait:
                try file.writer.begin()
                seen = max(seen, await observer.wait(after: seen))
                if isNudged, case .wait = file.feed.step(after: seen) { return .nudged }
            case .deliver(let commit):
                if try observer.includes(commit) { return .commit(commit) }
                seen = commit.revision
            case .readJournal(let last): return .journal(through: last)
            }
        }
        return .end
    }

    /// The revision up to which everything was delivered or does not concern the observer; nil
    /// until it begins.
    package var reached: Revision? { seen }

    /// Moves the position back so that a delivered commit comes next.
    package mutating func giveBack(_ commit: Commit) { seen = commit.revision.previous }

    // MARK: All that there is

    /// The commits that an observer takes at once.
    package struct Backlog {
        /// The commits that may concern the observer, in order.
        package fileprivate(set) var commits: [Commit] = []
        /// The reason why commits are missing, in words; nil when none are.
        package fileprivate(set) var gap: String?

        package var isEmpty: Bool { commits.isEmpty && gap == nil }
    }

    /// Waits until a commit that has not been taken may concern the observer.
    ///
    /// - Returns: false when the store was closed or the task cancelled.
    /// - Throws: `StoreError`.
    package mutating func wait(
        isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> Bool {
        while true {
            switch try await seek(isolation: actor) {
            case .commit, .journal: return true
            case .nudged: continue
            case .end: return false
            }
        }
    }

    /// Takes all commits up to a revision, which becomes the position.
    ///
    /// If there are more than `limit`, or some were trimmed, the result has a gap instead.
    ///
    /// - Parameters:
    ///   - head: a revision that is not below the position.
    ///   - limit: the greatest number of commits that are examined.
    ///   - reader: a read of the store at `head`.
    /// - Returns: the commits that may concern the observer, or the reason for a gap.
    /// - Throws: `StoreError`; the position has then not moved.
    package mutating func take(
        through head: Revision, limit: Int, _ reader: borrowing StoreReader
    ) throws -> Backlog {
        var revision = try seen ?? begin()
        var backlog = Backlog()
        if revision < head, head.number - revision.number > UInt64(limit) {
            backlog.gap = "more than \(limit) commits at once"
            revision = head
        }
        do {
            while revision < head {
                revision = revision.next
                if let commit = try concerning(revision, reader) { backlog.commits.append(commit) }
            }
        } catch let error as StoreError where error.code == .historyTrimmed {
            backlog = Backlog(gap: "commits were trimmed before they were seen")
        }
        seen = max(seen ?? head, head)
        return backlog
    }

    /// Returns a commit from the ring or the journal; nil when it does not concern the observer.
    private func concerning(
        _ revision: Revision, _ reader: borrowing StoreReader
    ) throws -> Commit? {
        if let before = revision.previous, case .deliver(let commit) = file.feed.step(after: before)
        {
            return try observer.includes(commit) ? asStored(commit, reader) : nil
        }
        return try entry(revision, reader)
    }

    /// Returns a commit of the ring without the values that any process has redacted since.
    ///
    /// If the journal does not contain it any more, or this process cannot read that any more, the
    /// commit is returned.
    private func asStored(_ commit: Commit) throws -> Commit {
        do {
            return try file.read { try asStored(commit, $0) }
        } catch let error as StoreError
            where [.storeClosed, .modelMismatch].contains(error.code)
        {
            return commit
        }
    }

    private func asStored(_ commit: Commit, _ reader: borrowing StoreReader) throws -> Commit {
        if try commit.revision <= reader.floor() { return commit }
        let stored = try file.journal.envelope(commit.revision, in: reader.transaction)
        return stored.isRedacted ? try reader.commit(commit.revision) : commit
    }

    /// Returns an entry of the journal; nil when it does not concern the observer.
    private func entry(_ revision: Revision, _ reader: borrowing StoreReader) throws -> Commit? {
        file.feed.count { $0.entries += 1 }
        if let interests = observer.interests,
            try !interests.includes(reader.unverifiedCommit(revision))
        {
            return nil
        }
        return try reader.commit(revision)
    }

    private func begin() throws -> Revision {
        switch start {
        case .beginning: return try file.read { try $0.floor() }
        case .now: return file.feed.head
        case .revision(let revision):
            // A known revision needs no read, which would throw for a closed store.
            if revision <= file.feed.head { return revision }
            let head = try file.read { try $0.head().revision }
            guard revision <= head else {
                throw StoreError.noSuchRevision(revision, head: head, path: file.path)
            }
            return revision
        }
    }

    /// Returns the next entry of the journal that may concern the observer, and the last that was
    /// examined.
    private func read(through last: Revision) throws -> (commit: Commit?, reached: Revision) {
        var revision = try seen ?? begin()
        return try file.read { reader in
            for _ in 0..<Self.batchCount where revision < last {
                revision = revision.next
                if let commit = try entry(revision, reader) { return (commit, revision) }
            }
            return (nil, revision)
        }
    }

    private mutating func deliver(_ commit: Commit) -> Commit {
        seen = commit.revision
        let head = max(file.feed.head, commit.revision)
        file.metrics.observerLag.record(Int64(clamping: head.number - commit.revision.number))
        return commit
    }
}

/// The start of an observer.
public enum FeedStart: Hashable, Sendable, ExpressibleByIntegerLiteral {
    /// After the commit with this number, which need not be in the journal any more; 0 means all
    /// commits that were ever made.
    case revision(Revision)
    /// With the first commit that the journal still contains when the observer begins.
    case beginning
    /// After the commit that is the last one when the sequence is made.
    case now

    /// Creates a start after the commit with this number.
    public init(integerLiteral value: UInt64) { self = .revision(Revision(value)) }
}
