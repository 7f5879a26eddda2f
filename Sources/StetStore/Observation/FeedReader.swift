import Metrics

/// Where an observer begins.
public enum FeedStart: Hashable, Sendable, ExpressibleByIntegerLiteral {
    /// After the commit with this number, which need not be in the journal any more; 0 for all
    /// commits that were ever made.
    case revision(Revision)
    /// With the first commit that the journal still has when the observer begins.
    case beginning
    /// After the commit that is the last one when the sequence is made.
    case now

    /// The revision with this number.
    public init(integerLiteral value: UInt64) { self = .revision(Revision(value)) }
}

/// The position of one observer: the loop by which every feed of commits is read, from the ring or,
/// where that does not reach back, from the journal.
package struct FeedReader: Sendable {
    /// Journal entries that are looked at in one read.
    private static let batchCount = 256

    private let file: StoreFile
    private let observer: CommitFeed.Observer
    private let start: FeedStart
    /// Whether `read` returns now and then without a commit.
    private let isNudged: Bool
    /// The revision up to which everything was delivered or does not concern the observer; nil
    /// until the observer begins.
    private var seen: Revision?

    /// What a read has come to.
    package enum Reading: Sendable {
        /// The next commit that may concern the observer.
        case commit(Commit)
        /// Nothing, but something beside the commits may have changed.
        case nudged
        /// The store was closed or the task cancelled.
        case end
    }

    /// A position of an observer of everything, or of what may concern one of some interests.
    package init(
        file: StoreFile, after start: FeedStart, _ interests: [FeedInterest]? = nil,
        isNudged: Bool = false
    ) {
        self.file = file
        self.start = start
        self.isNudged = isNudged
        observer = CommitFeed.Observer(file.feed, interests, isNudged: isNudged)
        // The thread begins to look for the commits of other processes.
        try? file.writer.attend()
    }

    /// The next commit that may concern the observer; nil when the store was closed or the task
    /// cancelled.
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

    /// The same, which also returns when it was nudged, or on a long way without such a commit.
    package mutating func read(
        isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> Reading {
        var seen = try seen ?? begin()
        while !Task.isCancelled {
            self.seen = seen
            switch file.feed.step(after: seen) {
            case .end: return .end
            case .wait:
                try file.writer.begin()
                seen = max(seen, await observer.wait(after: seen))
                if isNudged, case .wait = file.feed.step(after: seen) {
                    self.seen = seen
                    return .nudged
                }
            case .deliver(let commit):
                seen = commit.revision
                if try observer.interests?.includes(commit) ?? true {
                    return .commit(deliver(commit))
                }
            case .readJournal(let last):
                let found = try read(after: seen, through: last)
                seen = found.reached
                if let commit = found.commit { return .commit(deliver(commit)) }
                // A long way without a commit of interest is no reason to keep others waiting.
                await Task.yield()
                if isNudged {
                    self.seen = seen
                    return .nudged
                }
            }
        }
        self.seen = seen
        return .end
    }

    /// The revision up to which everything was delivered or does not concern the observer; nil
    /// until it begins.
    package var reached: Revision? { seen }

    /// Moves back to where a commit that was delivered comes next.
    package mutating func giveBack(_ commit: Commit) { seen = commit.revision.previous }

    // MARK: All that there is

    /// The commits that an observer takes at once.
    package struct Backlog {
        /// The commits that may concern the observer, in order.
        package fileprivate(set) var commits: [Commit] = []
        /// Why commits are left out, in words; nil when all are there.
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
        var seen = try seen ?? begin()
        while !Task.isCancelled {
            self.seen = seen
            switch file.feed.step(after: seen) {
            case .end: return false
            case .wait:
                try file.writer.begin()
                seen = max(seen, await observer.wait(after: seen))
            case .deliver(let commit):
                if try observer.interests?.includes(commit) ?? true { return true }
                seen = commit.revision
            case .readJournal: return true
            }
        }
        self.seen = seen
        return false
    }

    /// Takes all commits up to a revision, which is the position from then on.
    ///
    /// Where there are more than `limit`, or some of them were trimmed, there is a gap instead.
    ///
    /// - Parameters:
    ///   - head: a revision that is not below the position.
    ///   - limit: the most commits that are looked at.
    ///   - reader: a read of the store at `head`.
    /// - Returns: the commits that may concern the observer, or why there is a gap.
    /// - Throws: `StoreError`; the position has not moved then.
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

    /// A commit, unless it does not concern the observer.
    private func concerning(
        _ revision: Revision, _ reader: borrowing StoreReader
    ) throws -> Commit? {
        if let before = revision.previous, case .deliver(let commit) = file.feed.step(after: before)
        {
            return try observer.interests?.includes(commit) ?? true ? commit : nil
        }
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
            // A revision that is known needs no read, which a closed store would refuse.
            if revision <= file.feed.head { return revision }
            let head = try file.read { try $0.head().revision }
            guard revision <= head else {
                throw StoreError.noSuchRevision(revision, head: head, path: file.path)
            }
            return revision
        }
    }

    /// The next entry of the journal that may concern the observer, and the last that was looked
    /// at.
    private func read(
        after seen: Revision, through last: Revision
    ) throws -> (commit: Commit?, reached: Revision) {
        try file.read { reader in
            var revision = seen
            for _ in 0..<Self.batchCount where revision < last {
                let next = revision.next
                file.feed.count { $0.entries += 1 }
                guard let interests = observer.interests else {
                    return (try reader.commit(next), next)
                }
                if try interests.includes(try reader.unverifiedCommit(next)) {
                    return (try reader.commit(next), next)
                }
                revision = next
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
