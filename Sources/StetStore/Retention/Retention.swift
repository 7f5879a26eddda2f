/// Which commits a store keeps in its journal.
///
/// The state is kept in any case; what goes is the history before the oldest kept commit, and with
/// it the undo of those commits. The store trims by itself, between commits, on the thread that
/// commits: about every 30 seconds while it is saved to or observed, a few commits at a time, and
/// only while nobody waits to save. So no save waits for it, and more than what is to be kept may
/// be there for a while.
///
/// An age is counted from the date of one commit to that of the next. A pause that is longer than
/// a quarter of the age, and than a week, does not count: a clock that has jumped ahead would empty
/// the journal. Commits that are older by their dates alone stay, which the log tells once, until
/// `requestTrim` removes them, or the age has passed since.
///
/// Each process trims by what it was told, so of several the shortest decides. Within a process it
/// is that of the one who opened the store first; who opens it with another one is warned in the
/// log.
public enum Retention: Hashable, Sendable {
    /// All of them.
    case forever
    /// Those that are no older than this.
    case age(Duration)
    /// The last ones, this many.
    case count(Int)

    /// The longest time between two dates that counts for an age, in seconds.
    var longestPause: Double {
        let week = 7 * 86_400.0
        return if case .age(let age) = self { max(age.seconds / 4, week) } else { week }
    }

    /// A number for the case, and its value in 8 bytes.
    var encoded: (kind: UInt8, word: UInt64) {
        switch self {
        case .forever: (0, 0)
        case .age(let age): (1, age.seconds.bitPattern)
        case .count(let count): (2, UInt64(max(count, 0)))
        }
    }

    init(number kind: UInt8, word: UInt64) throws(DecodingFailure) {
        switch kind {
        case 0 where word == 0: self = .forever
        case 1 where (0..<1e12).contains(Double(bitPattern: word)):
            self = .age(.seconds(Double(bitPattern: word)))
        case 2 where word <= UInt64(Int.max): self = .count(Int(word))
        default: throw DecodingFailure("a retention that is none")
        }
    }
}

/// The commits that a store need not keep.
struct OutdatedCommits {
    /// The last of them; the floor when there are none.
    var last: Revision
    /// False when there may be more.
    var isComplete = true
    /// The commit after a pause in the dates that does not count, where commits stay only for that.
    var uncountedPause: Revision?
}

extension StoreReader {
    /// The commits that need not be kept, as far as one transaction trims them.
    ///
    /// The age of a commit is counted from date to date. A long pause, up to now or between two
    /// commits, does not count, as it may be a clock that has jumped ahead; commits that are dated
    /// in the future go with the one after them.
    func outdated(_ retention: Retention, now: Double) throws -> OutdatedCommits {
        let (head, floor) = (try head(), try floor())
        var outdated = OutdatedCommits(last: floor)
        switch retention {
        case .forever: break
        case .count(let count):
            let kept = UInt64(max(count, 0))
            if head.revision.number > kept {
                outdated.last = max(floor, Revision(head.revision.number - kept))
            }
        case .age(let age):
            guard CommitDate.range.contains(now) else { break }
            let pauses = try pauses(longerThan: retention.longestPause, until: now, head)
            var uncounted = pauses.reduce(0) { $0 + $1.length }
            var ends = pauses[...]
            var revision = floor
            while revision < head.revision {
                if outdated.last.number - floor.number >= StoreFile.trimStep.commitCount {
                    outdated.isComplete = false
                    break
                }
                revision = revision.next
                if let pause = ends.first, pause.end <= revision {
                    uncounted -= pause.length
                    ends.removeFirst()
                }
                let time = try file.journal.envelope(revision, in: transaction).time
                if time > now { continue }
                if time < now - age.seconds - uncounted {
                    outdated.last = revision
                } else {
                    if time < now - age.seconds { outdated.uncountedPause = ends.first?.end }
                    break
                }
            }
        }
        return outdated
    }

    /// The times between commits, and since the last one, that are longer than others can be, in
    /// ascending order, each with the commit that ends it.
    ///
    /// - Complexity: O(log commits) reads for each; up to the last commit that is dated before its
    ///   predecessor, O(commits).
    private func pauses(
        longerThan limit: Double, until now: Double, _ head: Head
    ) throws -> [(end: Revision, length: Double)] {
        var pauses: [(end: Revision, length: Double)] = []
        func time(_ revision: Revision) throws -> Double {
            try file.journal.envelope(revision, in: transaction).time
        }
        /// Dates ascend from the first to the last.
        func search(_ first: Revision, _ start: Double, _ last: Revision, _ end: Double) throws {
            if end - start <= limit { return }
            guard first.next < last else { return pauses.append((last, end - start)) }
            let middle = Revision(first.number + (last.number - first.number) / 2)
            let between = try time(middle)
            try search(first, start, middle, between)
            try search(middle, between, last, end)
        }
        let floor = try JournalFloor.read(in: transaction)
        var revision = floor?.revision ?? .zero
        var last = floor.flatMap { $0.time <= now ? (revision: $0.revision, time: $0.time) : nil }
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
            let end = try file.journal.lastRevision(datedUntil: now, head, in: transaction),
            end > revision
        {
            let date = try time(end)
            try search(before.revision, before.time, end, date)
            last = (end, date)
        }
        if let last, now - last.time > limit {
            pauses.append((head.revision.next, now - last.time))
        }
        return pauses
    }
}
