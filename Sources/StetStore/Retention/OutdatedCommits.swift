/// The commits that a store need not keep.
struct OutdatedCommits {
    /// The last of these commits; the floor when there are none.
    var last: Revision
    /// False when there may be more.
    var isComplete = true
    /// The commit after an uncounted pause in the dates, if commits are kept only because of it.
    var uncountedPause: Revision?

    private init(last: Revision) { self.last = last }
}

extension OutdatedCommits {
    /// Finds the first commits that need not be kept, by default so many as one transaction trims.
    ///
    /// The age of a commit is the sum of the times between the dates. A long pause, up to now or
    /// between two commits, does not count, because a clock may have jumped ahead; commits that are
    /// dated in the future are trimmed with the next one.
    init(
        _ retention: Retention, now: Double, limit: Int = StoreFile.trimStep.commitCount,
        _ reader: borrowing StoreReader
    ) throws {
        try self.init(unheld: retention, now: now, limit, reader)
        let held = try SubscriptionTable.historyLimit(in: reader.transaction)?.last
        if let held, last >= held {
            last = max(held, try reader.floor())
            isComplete = true
        }
    }

    /// Finds the commits that the retention does not keep.
    private init(
        unheld retention: Retention, now: Double, _ limit: Int, _ reader: borrowing StoreReader
    ) throws {
        let (head, floor) = (try reader.head(), try reader.floor())
        self.init(last: floor)
        switch retention {
        case .forever: break
        case .count(let count):
            let kept = UInt64(max(count, 0))
            if head.revision.number > kept {
                last = max(floor, Revision(head.revision.number - kept))
            }
        case .age(let age):
            guard CommitDate.range.contains(now) else { break }
            let pauses = try Self.pauses(
                longerThan: retention.longestPause, until: now, head, reader)
            var uncounted = pauses.reduce(0) { $0 + $1.length }
            // A commit whose clock was behind is as old as the trimmed ones at most.
            var latest = try Self.floor(until: now, reader)?.time ?? CommitDate.range.lowerBound
            var ends = pauses[...]
            var revision = floor
            while revision < head.revision {
                if last.number - floor.number >= limit {
                    isComplete = false
                    break
                }
                revision = revision.next
                if let pause = ends.first, pause.end <= revision {
                    uncounted -= pause.length
                    ends.removeFirst()
                }
                let time = try reader.file.journal.envelope(revision, in: reader.transaction).time
                if time > now { continue }
                latest = max(latest, time)
                if latest < now - age.seconds - uncounted {
                    last = revision
                } else {
                    if latest < now - age.seconds { uncountedPause = ends.first?.end }
                    break
                }
            }
        }
    }

    /// Returns the last trimmed commit; nil when there is none, or it is dated in the future.
    private static func floor(
        until now: Double, _ reader: borrowing StoreReader
    ) throws -> (revision: Revision, time: Double)? {
        guard let floor = try JournalFloor.read(in: reader.transaction), floor.time <= now
        else { return nil }
        return (floor.revision, floor.time)
    }

    /// Returns the pauses between commits, and since the last one, that exceed a limit, in
    /// ascending order, each with the commit that ends it.
    ///
    /// - Complexity: O(log commits) reads for each pause; O(commits) up to the last commit that is
    ///   dated before its predecessor.
    private static func pauses(
        longerThan limit: Double, until now: Double, _ head: Head,
        _ reader: borrowing StoreReader
    ) throws -> [(end: Revision, length: Double)] {
        var pauses: [(end: Revision, length: Double)] = []
        func time(_ revision: Revision) throws -> Double {
            try reader.file.journal.envelope(revision, in: reader.transaction).time
        }
        /// Searches between two commits; the dates ascend from the first to the last.
        func search(_ first: Revision, _ start: Double, _ last: Revision, _ end: Double) throws {
            if end - start <= limit { return }
            guard first.next < last else { return pauses.append((last, end - start)) }
            let middle = Revision(first.number + (last.number - first.number) / 2)
            let between = try time(middle)
            try search(first, start, middle, between)
            try search(middle, between, last, end)
        }
        var revision = try reader.floor()
        var last = try floor(until: now, reader)
        func take(_ next: Revision) throws {
            revision = next
            let date = try time(next)
            if date > now { return }
            if let last, date - last.time > limit { pauses.append((next, date - last.time)) }
            last = (next, max(date, last?.time ?? date))
        }
        while revision < head.lastBackdated { try take(revision.next) }
        if revision < head.revision { try take(revision.next) }
        if let before = last,
            let end = try reader.file.journal.lastRevision(
                datedUntil: now, head, in: reader.transaction),
            end.revision > revision
        {
            try search(before.revision, before.time, end.revision, end.time)
            last = end
        }
        if let last, now - last.time > limit {
            pauses.append((head.revision.next, now - last.time))
        }
        return pauses
    }
}
